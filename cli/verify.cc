// lemma verify: proves every rule of a file, lets others repeat the proofs, keeps the records.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/models/model_file.h"
#include "api/rules/jobs.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/proof_outcome.h"
#include "cli/replay.h"
#include "cli/verdict_text.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::cli {
namespace {

struct VerifyFlags {
  ProofFlags proof;
  std::string output, replay;
  std::vector<std::string> only;
  int64_t jobs = 1;
  bool json = false, relax = false;
};

struct Row {
  const Substitution* rule = nullptr;
  ProofOutcome outcome;
  std::string record_problem;  // of the record in the file
};

// "reassociates", or what the rule promises in vain too.
std::string ContractCell(const Row& row) {
  auto* proved = std::get_if<Proved>(&row.outcome.verdict);
  if (proved == nullptr) return "";
  if (row.outcome.contract_holds()) return Name(proved->contract);
  return absl::StrCat(Name(proved->contract), ", not ", Name(row.rule->contract));
}

constexpr size_t kSlowest = 5;

// "slowest: a 1.2 s, b 0.9 s, …; peak memory 80 MB".
std::string Slowest(const std::vector<Row>& rows) {
  std::vector<const Row*> order;
  for (const Row& row : rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const Row* a, const Row* b) {
    return a->outcome.seconds > b->outcome.seconds;
  });
  order.resize(std::min(order.size(), kSlowest));
  rusage use = {};
  getrusage(RUSAGE_SELF, &use);
  return absl::StrCat("slowest: ",
                      absl::StrJoin(order, ", ",
                                    [](std::string* text, const Row* row) {
                                      absl::StrAppend(text, row->rule->name, " ",
                                                      FormatMs(row->outcome.seconds * 1e3));
                                    }),
                      "; peak memory ", FormatBytes(static_cast<double>(use.ru_maxrss) * 1024));
}

void PrintTable(const VerifyFlags& flags, const std::vector<Row>& rows) {
  std::vector<std::string> header = {"rule", "<verdict", "<contract", "<sizes", "time", "queries"};
  if (flags.proof.recheck()) header.push_back("<cvc5");
  if (flags.proof.check) header.push_back("<checker");
  TextTable table(header);
  for (const Row& row : rows) {
    const ProofOutcome& outcome = row.outcome;
    auto* proved = std::get_if<Proved>(&outcome.verdict);
    std::vector<std::string> cells = {row.rule->name,
                                      Word(outcome.verdict),
                                      ContractCell(row),
                                      proved ? Shortened(proved->coverage, 44) : "",
                                      FormatMs(outcome.seconds * 1e3),
                                      proved ? absl::StrCat(proved->queries) : ""};
    if (flags.proof.recheck()) cells.push_back(outcome.RecheckCell());
    if (flags.proof.check) cells.push_back(outcome.CheckCell());
    table.Row(std::move(cells));
  }
  std::fputs(table.ToString().c_str(), stdout);
  for (const Row& row : rows) {
    for (const std::string& problem : row.outcome.Problems()) {
      std::printf("%s: %s\n", row.rule->name.c_str(), problem.c_str());
    }
  }
}

Json RowJson(const Row& row) {
  Json json = Json::Object();
  json.Set("rule", row.rule->name).Set("promised", Name(row.rule->contract));
  row.outcome.AddTo(&json);
  json.Set("record", row.record_problem.empty() ? "current" : row.record_problem);
  return json;
}

void Print(const VerifyFlags& flags, const api::RulesFile& file, const std::vector<Row>& rows,
           double seconds, const std::string& solver) {
  std::map<std::string, int> verdicts;
  int64_t queries = 0, failed = 0, outdated = 0;
  std::vector<const ProofOutcome*> outcomes;
  for (const Row& row : rows) {
    ++verdicts[Word(row.outcome.verdict)];
    if (auto* proved = std::get_if<Proved>(&row.outcome.verdict)) queries += proved->queries;
    failed += row.outcome.ok() ? 0 : 1;
    outdated += row.record_problem.empty() ? 0 : 1;
    outcomes.push_back(&row.outcome);
  }
  if (flags.json) {
    Json list = Json::Array();
    for (const Row& row : rows) list.Add(RowJson(row));
    Json json = Json::Object();
    json.Set("file", file.name).Set("rules", std::move(list));
    for (const char* word : {"proved", "refuted", "unknown"}) json.Set(word, verdicts[word]);
    json.Set("failed", failed).Set("queries", queries).Set("seconds", seconds);
    if (!solver.empty()) json.Set("solver", solver);
    std::puts(json.ToString().c_str());
    return;
  }
  PrintTable(flags, rows);
  std::printf("%zu rules: %d proved, %d refuted, %d unknown; %.1f s, %d queries\n", rows.size(),
              verdicts["proved"], verdicts["refuted"], verdicts["unknown"], seconds,
              static_cast<int>(queries));
  if (rows.size() > kSlowest) std::puts(Slowest(rows).c_str());
  if (!solver.empty()) std::puts(RecheckSummary(solver, outcomes).c_str());
  if (!flags.output.empty()) {
    std::printf("records written to %s\n", flags.output.c_str());
  } else if (outdated > 0) {
    std::printf("%d records are missing or out of date; -o FILE writes them\n",
                static_cast<int>(outdated));
  }
}

absl::Status WriteRecords(const VerifyFlags& flags, const api::RulesFile& file,
                          const std::vector<Row>& rows) {
  std::map<std::string, ProofRecord> records;
  for (const Row& row : rows) records[row.rule->name] = RecordOf(*row.rule, row.outcome.verdict);
  std::map<std::string, FloatContract> contracts;
  for (const Row& row : rows) {
    auto* proved = std::get_if<Proved>(&row.outcome.verdict);
    const bool relaxed = proved != nullptr && !row.outcome.contract_holds();
    if (flags.relax && relaxed) contracts[row.rule->name] = proved->contract;
  }
  auto relaxed = WithContracts(file.text, file.name, contracts);
  if (!relaxed.ok()) return relaxed.status();
  auto text = WithRecords(*relaxed, file.name, records);
  if (!text.ok()) return text.status();
  return WriteFileAtomically(flags.output, {*text});
}

absl::StatusOr<int> Verify(const VerifyFlags& flags, const std::string& path) {
  auto file = api::LoadRulesFile(path);
  if (!file.ok()) return file.status();
  if (absl::Status s = api::CheckRuleNames(flags.only, *file); !s.ok()) return s;
  if (!flags.output.empty()) {
    if (absl::Status s = CheckWritable(flags.output); !s.ok()) return s;
  }
  InterruptScope interrupt;
  auto prover = ProofWorker::Create(flags.proof, &interrupt.flag());
  if (!prover.ok()) return prover.status();
  std::vector<Row> rows;
  for (const Substitution& rule : file->rules) {
    const bool asked = flags.only.empty() || std::find(flags.only.begin(), flags.only.end(),
                                                       rule.name) != flags.only.end();
    if (asked) rows.push_back({&rule, {}, ProofProblem(rule)});
  }
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const int n = static_cast<int>(rows.size());
  {
    ProgressLine progress(flags.json);
    const bool finished = api::RunJobs(
        n, static_cast<int>(flags.jobs), interrupt.flag(),
        [&](int i) { rows[i].outcome = (*prover)->Prove(*rows[i].rule); },
        [&](int done) {
          progress.Show(absl::StrFormat("%d of %d rules, %.0f s", done, n, elapsed()));
        });
    if (!finished || interrupt.flag()) return InterruptedError();
  }
  for (const Row& row : rows) {
    if (!row.outcome.status.ok()) return row.outcome.status;
  }
  if (!flags.output.empty()) {
    if (absl::Status s = WriteRecords(flags, *file, rows); !s.ok()) return s;
  }
  Print(flags, *file, rows, elapsed(), (*prover)->solver());
  const bool all =
      std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.outcome.ok(); });
  return all ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunVerify(Arguments arguments) {
  VerifyFlags verify;
  Flags flags("verify", "RULES",
              "Proves every rule of a file for all sizes. Exit status 1 if one is not proved, or "
              "promises a stricter float contract than is proved.");
  flags.String("output|o", &verify.output, "FILE",
               "write RULES with each rule's proof record; FILE may be RULES");
  flags.Bool(
      "relax", &verify.relax,
      "write a rule that promises a stricter float contract than is proved with the one that "
      "is");
  flags.List("only", &verify.only, "RULE,...", "the only rules to prove");
  flags.Int("jobs", &verify.jobs, "rules proved at the same time; verdicts do not depend on it");
  verify.proof.Add(&flags);
  flags.String("replay", &verify.replay, "DIR",
               "prove nothing; let the small checker repeat the proofs that --proofs wrote there");
  flags.Bool("json", &verify.json, "print one JSON object instead of text");
  flags.Note("Ctrl-C ends it, within a second or so; no records are written then.");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("RULES", *positional);
  if (!path.ok()) return path.status();
  if (verify.relax && verify.output.empty()) {
    return absl::InvalidArgumentError("--relax changes what is written: it needs -o");
  }
  if (verify.jobs < 1 || verify.jobs > 256) {
    return absl::InvalidArgumentError("--jobs: must be in 1…256");
  }
  if (verify.replay.empty()) return Verify(verify, *path);
  if (!verify.output.empty() || !verify.proof.proofs.empty() || verify.proof.recheck()) {
    return absl::InvalidArgumentError("--replay proves nothing: leave out -o, --proofs, --recheck");
  }
  auto file = api::LoadRulesFile(*path);
  if (!file.ok()) return file.status();
  if (absl::Status s = api::CheckRuleNames(verify.only, *file); !s.ok()) return s;
  return ReplayProofs(*file, verify.only, verify.replay, verify.json);
}

}  // namespace lemma::cli
