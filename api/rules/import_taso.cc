#include "api/rules/import_taso.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/models/model_file.h"
#include "api/proofs/worker.h"
#include "api/rules/jobs.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/taso/import.h"
#include "verifier/preconditions/precondition.h"

namespace lemma::api {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ImportedRule DecideRule(const Substitution& rule, bool synthesize, ProofWorker* worker) {
  const Clock::time_point start = Clock::now();
  ImportedRule result;
  if (synthesize) {
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
  result.outcome.seconds = SecondsSince(start);
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

// Writes the proved rules that the matcher can search for.
absl::Status Write(const std::string& output, const std::string& path,
                   const std::vector<ImportedRule>& rules) {
  std::string text = absl::StrCat("# TASO's rules from ",
                                  std::string(path.begin() + path.rfind('/') + 1, path.end()),
                                  ", as far as they are proved.\n");
  for (const ImportedRule& rule : rules) {
    if (rule.written) absl::StrAppend(&text, "\n", PrintRule(rule.rule));
  }
  return WriteFileAtomically(output, {text});
}

absl::StatusOr<std::vector<Substitution>> Read(const std::string& path) {
  auto bytes = ReadFile(path, int64_t{1} << 28);
  if (!bytes.ok()) return Prefixed(path, bytes.status());
  if (bytes->empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": the file is empty"));
  auto rules = ImportTaso(*bytes);
  if (!rules.ok()) return Prefixed(path, rules.status());
  if (rules->empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": has no rules"));
  return rules;
}

}  // namespace

absl::Status ImportTasoOptions::Check() const { return CheckJobs(jobs); }

bool ImportedTaso::ok() const {
  return std::all_of(rules.begin(), rules.end(),
                     [](const ImportedRule& rule) { return rule.outcome.ok(); });
}

absl::StatusOr<ImportedTaso> ImportTasoFile(const std::string& path,
                                            const ImportTasoOptions& options) {
  if (absl::Status s = options.Check(); !s.ok()) return s;
  if (!options.output.empty()) {
    if (absl::Status s = CheckWritable(options.output); !s.ok()) return s;
  }
  auto read = Read(path);
  if (!read.ok()) return read.status();
  auto worker = ProofWorker::Create(options.proof);
  if (!worker.ok()) return worker.status();
  const Clock::time_point start = Clock::now();
  ImportedTaso result;
  result.solver = (*worker)->solver();
  result.rules.resize(read->size());
  const int n = static_cast<int>(read->size());
  const bool finished = RunJobs(
      n, static_cast<int>(options.jobs), options.proof.interrupted,
      [&](int i) { result.rules[i] = DecideRule((*read)[i], options.synthesize, worker->get()); },
      [&](int done) {
        if (options.progress) options.progress(done, n);
      });
  if (!finished || (*worker)->interrupted()) return InterruptedError();
  for (const ImportedRule& rule : result.rules) {
    if (!rule.outcome.status.ok()) return rule.outcome.status;
  }
  if (!options.output.empty()) {
    if (absl::Status s = Write(options.output, path, result.rules); !s.ok()) return s;
  }
  result.seconds = SecondsSince(start);
  return result;
}

}  // namespace lemma::api
