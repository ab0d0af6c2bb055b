#include "api/verify.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/models/option_error.h"
#include "api/proofs/worker.h"
#include "api/rules/jobs.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

absl::Status WriteRecords(const VerifyOptions& options, const RulesFile& file,
                          const std::vector<VerifiedRule>& rules) {
  std::map<std::string, ProofRecord> records;
  std::map<std::string, FloatContract> contracts;
  for (const VerifiedRule& rule : rules) {
    const Verdict& verdict = rule.outcome.verdict;
    records[rule.rule.name] = RecordOf(rule.rule, verdict);
    auto* proved = std::get_if<Proved>(&verdict);
    const bool relaxed = proved != nullptr && !rule.outcome.contract_holds();
    if (options.relax && relaxed) contracts[rule.rule.name] = proved->contract;
  }
  auto relaxed = WithContracts(TextOf(file), file.name, contracts);
  if (!relaxed.ok()) return relaxed.status();
  auto text = WithRecords(*relaxed, file.name, records);
  if (!text.ok()) return text.status();
  return WriteFileAtomically(options.output, {*text});
}

}  // namespace

absl::Status VerifyOptions::Check() const {
  if (relax && output.empty()) {
    return OptionError("option relax changes what is written: it needs option output");
  }
  return CheckJobs(jobs);
}

bool VerifyResult::ok() const {
  return std::all_of(rules.begin(), rules.end(),
                     [](const VerifiedRule& rule) { return rule.outcome.ok(); });
}

VerifyCounts VerifyResult::counts() const {
  VerifyCounts counts;
  for (const VerifiedRule& rule : rules) {
    const Verdict& verdict = rule.outcome.verdict;
    ++(IsProved(verdict) ? counts.proved : IsRefuted(verdict) ? counts.refuted : counts.unknown);
    if (auto* proved = std::get_if<Proved>(&verdict)) counts.queries += proved->queries;
    counts.failed += rule.outcome.ok() ? 0 : 1;
    counts.outdated += rule.record_problem.empty() ? 0 : 1;
  }
  return counts;
}

absl::StatusOr<VerifyResult> Verify(const std::string& rules, const VerifyOptions& options) {
  if (absl::Status s = options.Check(); !s.ok()) return s;
  auto file = LoadRulesFile(rules, RuleKinds::kAll);
  if (!file.ok()) return file.status();
  auto asked = NamedRules(*file, options.only);
  if (!asked.ok()) return asked.status();
  if (!options.output.empty()) {
    if (absl::Status s = CheckWritable(options.output); !s.ok()) return s;
  }
  auto worker = ProofWorker::Create(options.proof);
  if (!worker.ok()) return worker.status();
  VerifyResult result;
  result.file = file->name;
  result.solver = (*worker)->solver();
  for (const Substitution* rule : *asked)
    result.rules.push_back({*rule, {}, OutdatedRecord(*rule)});
  const auto start = std::chrono::steady_clock::now();
  const int n = static_cast<int>(result.rules.size());
  const bool finished = RunJobs(
      n, static_cast<int>(options.jobs), options.proof.interrupted,
      [&](int i) { result.rules[i].outcome = (*worker)->Prove(result.rules[i].rule); },
      [&](int done) {
        if (options.progress) options.progress(done, n);
      });
  if (!finished || (*worker)->interrupted()) return InterruptedError();
  for (const VerifiedRule& rule : result.rules) {
    if (!rule.outcome.status.ok()) return rule.outcome.status;
  }
  if (!options.output.empty()) {
    if (absl::Status s = WriteRecords(options, *file, result.rules); !s.ok()) return s;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace lemma::api
