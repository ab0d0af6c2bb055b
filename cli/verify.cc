// lemma verify: proves every rule of a file, lets others repeat the proofs, keeps the records.
#include "api/verify.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/json/proofs.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/process_use.h"
#include "base/progress_line.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/proof_commands.h"

namespace lemma::cli {
namespace {

struct VerifyFlags {
  api::VerifyOptions options;
  std::string replay;
  bool json = false;
};

// "reassociates", with the contract that the rule promises if it is stricter.
std::string ContractCell(const api::VerifiedRule& rule) {
  auto* proved = std::get_if<Proved>(&rule.outcome.verdict);
  if (proved == nullptr) return "";
  if (rule.outcome.contract_holds()) return Name(proved->contract);
  return absl::StrCat(Name(proved->contract), ", not ", Name(rule.rule.contract));
}

constexpr size_t kSlowest = 5;

// "slowest: a 1.2 s, b 0.9 s, …; peak memory 80 MB".
std::string Slowest(const std::vector<api::VerifiedRule>& rules) {
  std::vector<const api::VerifiedRule*> order;
  for (const api::VerifiedRule& rule : rules) order.push_back(&rule);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->outcome.seconds > b->outcome.seconds;
  });
  order.resize(std::min(order.size(), kSlowest));
  return absl::StrCat("slowest: ",
                      absl::StrJoin(order, ", ",
                                    [](std::string* text, const api::VerifiedRule* rule) {
                                      absl::StrAppend(text, rule->rule.name, " ",
                                                      FormatMs(rule->outcome.seconds * 1e3));
                                    }),
                      "; peak memory ", FormatBytes(ProcessUse::SoFar().megabytes * (1 << 20)));
}

void PrintTable(const VerifyFlags& flags, const std::vector<api::VerifiedRule>& rules) {
  const bool recheck = !flags.options.proof.recheck.empty(), check = flags.options.proof.check;
  std::vector<std::string> header = {"rule", "<verdict", "<contract", "<sizes", "time", "queries"};
  if (recheck) header.push_back("<cvc5");
  if (check) header.push_back("<checker");
  TextTable table(header);
  for (const api::VerifiedRule& rule : rules) {
    const api::ProofOutcome& outcome = rule.outcome;
    auto* proved = std::get_if<Proved>(&outcome.verdict);
    std::vector<std::string> cells = {rule.rule.name,
                                      Word(outcome.verdict),
                                      ContractCell(rule),
                                      proved ? Shortened(proved->coverage, 44) : "",
                                      FormatMs(outcome.seconds * 1e3),
                                      proved ? absl::StrCat(proved->queries) : ""};
    if (recheck) cells.push_back(RecheckCell(outcome));
    if (check) cells.push_back(CheckCell(outcome));
    table.Row(std::move(cells));
  }
  std::fputs(table.ToString().c_str(), stdout);
  for (const api::VerifiedRule& rule : rules) {
    for (const std::string& problem : Problems(rule.outcome)) {
      std::printf("%s: %s\n", rule.rule.name.c_str(), problem.c_str());
    }
  }
}

void Print(const VerifyFlags& flags, const api::VerifyResult& result) {
  const api::VerifyCounts counts = result.counts();
  std::vector<const api::ProofOutcome*> outcomes;
  for (const api::VerifiedRule& rule : result.rules) outcomes.push_back(&rule.outcome);
  PrintTable(flags, result.rules);
  std::printf("%zu rules: %d proved, %d refuted, %d unknown; %.1f s, %d queries\n",
              result.rules.size(), counts.proved, counts.refuted, counts.unknown, result.seconds,
              static_cast<int>(counts.queries));
  if (result.rules.size() > kSlowest) std::puts(Slowest(result.rules).c_str());
  if (!result.solver.empty()) std::puts(RecheckSummary(result.solver, outcomes).c_str());
  if (!flags.options.output.empty()) {
    std::printf("records written to %s\n", flags.options.output.c_str());
  } else if (counts.outdated > 0) {
    std::printf("%d records are missing or out of date; -o FILE writes them\n",
                static_cast<int>(counts.outdated));
  }
}

absl::StatusOr<int> Verify(const VerifyFlags& flags, const std::string& path) {
  InterruptScope interrupt;
  api::VerifyOptions options = flags.options;
  options.proof.interrupted = &interrupt.flag();
  absl::StatusOr<api::VerifyResult> result;
  {
    ProgressLine progress(flags.json);
    options.progress = ShowRules(&progress);
    result = api::Verify(path, options);
  }
  if (!result.ok()) return WithFlags(result.status());
  flags.json ? PrintJson(ToJson(*result)) : Print(flags, *result);
  return result->ok() ? kExitOk : kExitNo;
}

void Print(const api::ReplayResult& result) {
  TextTable table({"rule", "<proof", "instances", "steps", "checks"});
  for (const api::ReplayedRule& rule : result.rules) {
    table.Row({rule.rule.name, rule.problem.empty() ? "accepted" : "REJECTED",
               absl::StrCat(rule.checked.equal), absl::StrCat(rule.replayed.steps),
               absl::StrCat(rule.replayed.checks)});
  }
  std::fputs(table.ToString().c_str(), stdout);
  for (const api::ReplayedRule& rule : result.rules) {
    if (!rule.problem.empty()) {
      std::printf("%s: %s\n", rule.rule.name.c_str(), rule.problem.c_str());
    }
  }
  std::printf("%zu proofs: %d accepted\n", result.rules.size(),
              static_cast<int>(result.accepted()));
}

absl::StatusOr<int> Replay(const VerifyFlags& flags, const std::string& path) {
  InterruptScope interrupt;
  api::ReplayOptions options;
  options.only = flags.options.only;
  options.interrupted = &interrupt.flag();
  absl::StatusOr<api::ReplayResult> result;
  {
    ProgressLine progress(flags.json);
    options.progress = [&](const std::string& rule) { progress.Show(rule); };
    result = api::Replay(path, flags.replay, options);
  }
  if (!result.ok()) return WithFlags(result.status());
  flags.json ? PrintJson(ToJson(*result)) : Print(*result);
  return result->accepted() == static_cast<int64_t>(result->rules.size()) ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunVerify(Arguments arguments) {
  VerifyFlags verify;
  api::VerifyOptions& options = verify.options;
  Flags flags("verify", "RULES",
              "Proves every rule of a file for all sizes. Exit status 1 if one is not proved, or "
              "promises a stricter float contract than is proved.");
  flags.String("output|o", &options.output, "FILE",
               "write RULES with each rule's proof record; FILE may be RULES");
  flags.Bool(
      "relax", &options.relax,
      "write a rule that promises a stricter float contract than is proved with the one that "
      "is");
  flags.List("only", &options.only, "RULE,...", "the only rules to prove");
  flags.Int("jobs", &options.jobs, "rules proved at the same time; verdicts do not depend on it");
  AddProofFlags(&flags, &options.proof);
  flags.String("replay", &verify.replay, "DIR",
               "prove nothing; let the small checker repeat the proofs that --proofs wrote there");
  flags.Bool("json", &verify.json, "print one JSON object instead of text");
  flags.Note("Ctrl-C ends it, within a second or so; no records are written then.");
  return ParseAndRun(&flags, arguments, "RULES", [&](const auto& path) -> absl::StatusOr<int> {
    if (absl::Status s = options.Check(); !s.ok()) return WithFlags(s);
    if (verify.replay.empty()) return Verify(verify, path);
    if (!options.output.empty() || !options.proof.proofs.empty() ||
        !options.proof.recheck.empty()) {
      return absl::InvalidArgumentError(
          "--replay proves nothing: leave out -o, --proofs, --recheck");
    }
    return Replay(verify, path);
  });
}

}  // namespace lemma::cli
