#include "api/generation/decide.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/matching/rewrite_source.h"
#include "verifier/preconditions/precondition.h"

namespace lemma::api {
namespace {

using generator::Decision;

// Limits of a candidate's proof, and of the search for its guard with all its proofs. True rules
// need a small part of them; hundreds of candidates stay undecided at any limit.
constexpr int64_t kProofWork = 30'000'000, kGuardWork = 40'000'000;

// `proved`, or a looser contract if an execution shows that it is needed: a proof is about
// definitions, and values inside an operator are not rounded.
FloatContract TestedContract(Substitution rule, FloatContract proved, uint64_t seed) {
  if (proved != FloatContract::kBitExact) return proved;
  RandomizedCheckOptions options;
  options.instances = 20;
  options.seed = seed;
  rule.contract = proved;
  auto tested = RandomizedCheck(rule, options);
  return tested.ok() && !tested->counterexample ? proved : FloatContract::kReassociates;
}

}  // namespace

Decision Decide(const Substitution& candidate, uint64_t seed,
                const std::atomic<bool>* interrupted) {
  ProverOptions options;
  options.seed = seed;
  options.interrupted = interrupted;
  options.work = kProofWork;
  PreconditionOptions guards;
  guards.work = kGuardWork;
  Precondition found = SynthesizePrecondition(candidate, options, guards);
  Decision decision;
  decision.rule = candidate;
  if (!found.proved()) {
    decision.answer =
        IsRefuted(found.without) ? Decision::Answer::kRefuted : Decision::Answer::kUnknown;
    decision.reason = Explanation(found.without);
    if (IsRefuted(found.without) && !found.reason.empty()) {
      absl::StrAppend(&decision.reason, "; ", found.reason);
    }
    return decision;
  }
  const bool guarded = found.with.has_value();
  decision.rule = found.rule;
  decision.rule.contract =
      TestedContract(found.rule, std::get<Proved>(found.verdict()).contract, seed);
  decision.rule.proof = RecordOf(decision.rule, found.verdict());
  if (guarded) {
    absl::StrAppend(&decision.rule.doc, "\nFalse without its guard.");
  }
  if (auto usable = RuleSet::Create({decision.rule}); !usable.ok()) {
    decision.reason =
        absl::StrCat("proved, but nothing could look for it: ",
                     absl::StripPrefix(usable.status().message(),
                                       absl::StrCat("rule ", decision.rule.name, ": ")));
    return decision;
  }
  decision.answer = guarded ? Decision::Answer::kGuarded : Decision::Answer::kProved;
  return decision;
}

}  // namespace lemma::api
