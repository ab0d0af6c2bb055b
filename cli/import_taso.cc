#include "cli/import_taso.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "api/models/model_file.h"
#include "api/rules/jobs.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/common_flags.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/proof_outcome.h"
#include "cli/verdict_text.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/taso/import.h"
#include "verifier/preconditions/precondition.h"

namespace lemma::cli {
namespace {

struct ImportFlags {
  ProofFlags proof;
  std::string output;
  int64_t jobs = 1;
  bool synthesize = true, json = false;
};

// One rule, decided.
struct Imported {
  Substitution rule;      // with its guard, contract and record
  std::string guard;      // "" if none is needed
  Verdict without_guard;  // of the rule as it is in the file
  ProofOutcome outcome;   // of `rule`
  std::string note;       // for people
  bool written = false;   // to the output, if there is one
  double seconds = 0;

  const char* word() const {
    return guard.empty() || !outcome.ok() ? Word(outcome.verdict) : "guarded";
  }
};

std::string GuardText(const std::vector<Comparison>& guard) {
  return absl::StrJoin(guard, ", ", [](std::string* text, const Comparison& c) {
    absl::StrAppend(text, c.lhs.ToString(), " ", Name(c.relation), " ", c.rhs.ToString());
  });
}

Imported Decide(const ImportFlags& flags, const Substitution& rule, ProofWorker* worker) {
  const auto start = std::chrono::steady_clock::now();
  Imported result;
  if (flags.synthesize) {
    Precondition found = SynthesizePrecondition(rule, worker->options());
    result.guard = found.with && IsProved(*found.with) ? GuardText(found.found) : "";
    result.outcome.verdict = found.proved() ? found.verdict() : found.without;
    result.rule = found.proved() ? std::move(found.rule) : rule;
    result.without_guard = std::move(found.without);
    if (!found.proved() && !found.reason.empty() && IsRefuted(result.without_guard)) {
      result.note = absl::StrCat("no guard was found: ", found.reason);
    }
  } else {
    result.rule = rule;
    result.outcome.verdict = ProveRule(rule, worker->options());
    result.without_guard = result.outcome.verdict;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.outcome.seconds = result.seconds;
  auto* proved = std::get_if<Proved>(&result.outcome.verdict);
  if (proved == nullptr) return result;
  result.rule.contract = proved->contract;
  result.rule.proof = RecordOf(result.rule, result.outcome.verdict);
  if (!result.guard.empty()) {
    absl::StrAppend(&result.rule.doc, result.rule.doc.empty() ? "" : "\n", "False unless ",
                    result.guard, ".");
  }
  worker->Repeat(result.rule.name, &result.rule, &result.outcome);
  auto usable = RuleSet::Create({result.rule});
  if (!usable.ok()) {
    result.note = absl::StrCat("proved, but not written, for nothing could look for it: ",
                               absl::StripPrefix(usable.status().message(),
                                                 absl::StrCat("rule ", result.rule.name, ": ")));
  }
  result.written = usable.ok();
  return result;
}

void PrintTable(const std::vector<Imported>& rules) {
  TextTable table({"rule", "<verdict", "<contract", "<guard", "time"});
  for (const Imported& rule : rules) {
    table.Row({rule.rule.name, rule.word(),
               IsProved(rule.outcome.verdict) ? Name(rule.rule.contract) : "", rule.guard,
               FormatMs(rule.seconds * 1e3)});
  }
  std::fputs(table.ToString().c_str(), stdout);
  for (const Imported& rule : rules) {
    const std::string& name = rule.rule.name;
    if (!rule.guard.empty()) {
      std::printf("%s: without its guard %s\n", name.c_str(),
                  Explanation(rule.without_guard).c_str());
    }
    for (const std::string& problem : rule.outcome.Problems()) {
      std::printf("%s: %s\n", name.c_str(), problem.c_str());
    }
    if (!rule.note.empty()) std::printf("%s: %s\n", name.c_str(), rule.note.c_str());
  }
}

void PrintJson(const std::string& path, const std::vector<Imported>& rules, double seconds) {
  Json list = Json::Array();
  for (const Imported& rule : rules) {
    Json json = Json::Object(), without = Json::Object();
    json.Set("rule", rule.rule.name).Set("guard", rule.guard);
    rule.outcome.AddTo(&json);
    AddVerdict(rule.without_guard, &without);
    json.Set("without_guard", std::move(without)).Set("note", rule.note);
    json.Set("written", rule.written);
    json.Set("text", PrintRule(rule.rule));
    list.Add(std::move(json));
  }
  Json all = Json::Object();
  all.Set("file", path).Set("rules", std::move(list)).Set("seconds", seconds);
  std::puts(all.ToString().c_str());
}

// The proved rules that can be looked for, as text.
absl::Status Write(const std::string& output, const std::string& path,
                   const std::vector<Imported>& rules) {
  std::string text = absl::StrCat("# TASO's rules from ",
                                  std::string(path.begin() + path.rfind('/') + 1, path.end()),
                                  ", as far as they are proved.\n");
  for (const Imported& rule : rules) {
    if (rule.written) absl::StrAppend(&text, "\n", PrintRule(rule.rule));
  }
  return WriteFileAtomically(output, {text});
}

absl::StatusOr<std::vector<Substitution>> Read(const std::string& path) {
  auto bytes = ReadFile(path, int64_t{1} << 28);
  if (!bytes.ok()) return api::Prefixed(path, bytes.status());
  if (bytes->empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": the file is empty"));
  auto rules = ImportTaso(*bytes);
  if (!rules.ok()) return api::Prefixed(path, rules.status());
  if (rules->empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": has no rules"));
  return rules;
}

absl::StatusOr<int> Import(const ImportFlags& flags, const std::string& path) {
  if (!flags.output.empty()) {
    if (absl::Status s = CheckWritable(flags.output); !s.ok()) return s;
  }
  auto read = Read(path);
  if (!read.ok()) return read.status();
  InterruptScope interrupt;
  auto worker = ProofWorker::Create(flags.proof, &interrupt.flag());
  if (!worker.ok()) return worker.status();
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<Imported> rules(read->size());
  const int n = static_cast<int>(rules.size());
  {
    ProgressLine progress(flags.json);
    const bool finished = api::RunJobs(
        n, static_cast<int>(flags.jobs), interrupt.flag(),
        [&](int i) { rules[i] = Decide(flags, (*read)[i], worker->get()); },
        [&](int done) {
          progress.Show(absl::StrFormat("%d of %d rules, %.0f s", done, n, elapsed()));
        });
    if (!finished || interrupt.flag()) return InterruptedError();
  }
  std::map<std::string, int> words;
  bool all = true;
  int written = 0;
  std::vector<const ProofOutcome*> outcomes;
  const std::string solver = (*worker)->solver();
  for (const Imported& rule : rules) {
    if (!rule.outcome.status.ok()) return rule.outcome.status;
    ++words[rule.word()];
    all = all && rule.outcome.ok();
    written += rule.written ? 1 : 0;
    outcomes.push_back(&rule.outcome);
  }
  if (!flags.output.empty()) {
    if (absl::Status s = Write(flags.output, path, rules); !s.ok()) return s;
  }
  if (flags.json) {
    PrintJson(path, rules, elapsed());
    return all ? kExitOk : kExitNo;
  }
  PrintTable(rules);
  std::printf("%d rules: %d proved, %d proved under a guard, %d refuted, %d unknown; %.1f s\n", n,
              words["proved"], words["guarded"], words["refuted"], words["unknown"], elapsed());
  if (!solver.empty()) std::puts(RecheckSummary(solver, outcomes).c_str());
  if (!flags.output.empty()) {
    std::printf("%d rules written to %s\n", written, flags.output.c_str());
  }
  return all ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunImportTaso(Arguments arguments) {
  ImportFlags import;
  Flags flags("rules import-taso", "FILE -o RULES",
              "Reads a file of rules in TASO's format, proves each, and writes those that are "
              "proved. Exit status 1 if one is not.");
  flags.String("output|o", &import.output, "RULES", "where to write the proved rules");
  flags.Bool(
      "synthesize", &import.synthesize,
      "where a rule is false, look for the weakest guard under which it is true (default true)");
  flags.Int("jobs", &import.jobs, "rules proved at the same time; verdicts do not depend on it");
  import.proof.Add(&flags);
  flags.Bool("json", &import.json, "print one JSON object instead of text");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("FILE", *positional);
  if (!path.ok()) return path.status();
  if (import.jobs < 1 || import.jobs > 256) {
    return absl::InvalidArgumentError("--jobs: must be in 1…256");
  }
  return Import(import, *path);
}

}  // namespace lemma::cli
