// Verdicts, and the repetition of proofs, as text.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/proofs/outcome_text.h"
#include "api/prove.h"
#include "api/verify.h"
#include "base/process_use.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr size_t kSlowest = 5;         // rules whose times are listed
constexpr size_t kCoverageWidth = 44;  // of a table's cell

// "reassociates", with the contract that the rule promises if it is stricter.
std::string ContractCell(const VerifiedRule& rule) {
  auto* proved = std::get_if<Proved>(&rule.outcome.verdict);
  if (proved == nullptr) return "";
  if (rule.outcome.contract_holds()) return Name(proved->contract);
  return absl::StrCat(Name(proved->contract), ", not ", Name(rule.rule.contract));
}

// "slowest: a 1.2 s, b 0.9 s, …; peak memory 80 MB".
std::string Slowest(const std::vector<VerifiedRule>& rules) {
  std::vector<const VerifiedRule*> order;
  order.reserve(rules.size());
  for (const VerifiedRule& rule : rules) order.push_back(&rule);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->outcome.seconds > b->outcome.seconds;
  });
  order.resize(std::min(order.size(), kSlowest));
  return absl::StrCat("slowest: ",
                      absl::StrJoin(order, ", ",
                                    [](std::string* text, const VerifiedRule* rule) {
                                      absl::StrAppend(text, rule->rule.name, " ",
                                                      FormatMs(rule->outcome.seconds * 1e3));
                                    }),
                      "; peak memory ", FormatBytes(ProcessUse::SoFar().megabytes * (1 << 20)));
}

std::string VerdictsTable(const std::vector<VerifiedRule>& rules, const ProofOptions& options) {
  const bool recheck = !options.recheck.empty(), check = options.check;
  std::vector<std::string> header = {"rule", "<verdict", "<contract", "<sizes", "time", "queries"};
  if (recheck) header.push_back("<cvc5");
  if (check) header.push_back("<checker");
  TextTable table(header);
  for (const VerifiedRule& rule : rules) {
    const ProofOutcome& outcome = rule.outcome;
    auto* proved = std::get_if<Proved>(&outcome.verdict);
    std::vector<std::string> cells = {rule.rule.name,
                                      Word(outcome.verdict),
                                      ContractCell(rule),
                                      proved ? Shortened(proved->coverage, kCoverageWidth) : "",
                                      FormatMs(outcome.seconds * 1e3),
                                      proved ? absl::StrCat(proved->queries) : ""};
    if (recheck) cells.push_back(RecheckCell(outcome));
    if (check) cells.push_back(CheckCell(outcome));
    table.Row(std::move(cells));
  }
  return table.ToString();
}

}  // namespace

std::string TextOf(const std::string& a, const std::string& b, const ProveResult& result) {
  const ProofOutcome& outcome = result.outcome;
  auto* proved = std::get_if<Proved>(&outcome.verdict);
  if (proved == nullptr) {
    return absl::StrCat(IsRefuted(outcome.verdict) ? "" : "unknown: ", Explanation(outcome.verdict),
                        "\n");
  }
  std::string text = absl::StrCat(
      "proved: ", a, " = ", b, "\ncontract  ", Name(proved->contract), "\nsizes     ",
      proved->coverage, "\nproof id  ", proved->id, "\ntime      ", FormatMs(outcome.seconds * 1e3),
      ", ", proved->queries, proved->queries == 1 ? " query\n" : " queries\n");
  if (outcome.recheck) {
    absl::StrAppend(&text, "recheck   ", result.solver, ": ", RecheckCell(outcome), "\n");
  }
  if (outcome.checked) absl::StrAppend(&text, "checker   ", CheckCell(outcome), "\n");
  for (const std::string& problem : Problems(outcome)) absl::StrAppend(&text, problem, "\n");
  return text;
}

std::string TextOf(const VerifyResult& result, const VerifyOptions& options) {
  const VerifyCounts counts = result.counts();
  std::string text = VerdictsTable(result.rules, options.proof);
  std::vector<const ProofOutcome*> outcomes;
  for (const VerifiedRule& rule : result.rules) {
    outcomes.push_back(&rule.outcome);
    for (const std::string& problem : Problems(rule.outcome)) {
      absl::StrAppend(&text, rule.rule.name, ": ", problem, "\n");
    }
  }
  absl::StrAppendFormat(&text, "%s: %d proved, %d refuted, %d unknown; %.1f s, %d %s\n",
                        FormatCount(static_cast<int64_t>(result.rules.size()), "rule"),
                        counts.proved, counts.refuted, counts.unknown, result.seconds,
                        counts.queries, counts.queries == 1 ? "query" : "queries");
  if (result.rules.size() > kSlowest) absl::StrAppend(&text, Slowest(result.rules), "\n");
  if (!result.solver.empty()) {
    absl::StrAppend(&text, RecheckSummary(result.solver, outcomes), "\n");
  }
  if (!options.output.empty()) {
    absl::StrAppend(&text, "records written to ", options.output, "\n");
  } else if (counts.outdated > 0) {
    absl::StrAppend(&text, FormatCount(counts.outdated, "record"),
                    counts.outdated == 1 ? " is" : " are",
                    " missing or out of date; -o FILE writes them\n");
  }
  return text;
}

std::string TextOf(const ReplayResult& result) {
  TextTable table({"rule", "<proof", "instances", "steps", "checks"});
  std::string problems;
  for (const ReplayedRule& rule : result.rules) {
    table.Row({rule.rule.name, rule.problem.empty() ? "accepted" : "REJECTED",
               absl::StrCat(rule.checked.equal), absl::StrCat(rule.replayed.steps),
               absl::StrCat(rule.replayed.checks)});
    if (rule.problem.empty()) continue;
    absl::StrAppend(&problems, rule.rule.name, ": ", rule.problem, "\n");
  }
  return absl::StrCat(table.ToString(), problems,
                      FormatCount(static_cast<int64_t>(result.rules.size()), "proof"), ": ",
                      result.accepted(), " accepted\n");
}

}  // namespace lemma::api
