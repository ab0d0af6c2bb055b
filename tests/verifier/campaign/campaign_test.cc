// The campaign of an independent evaluator: mutants of true rules go through the prover with
// refutation switched off, so that only the missing proof stops a false one, and the evaluator
// judges whatever is proved.
//
// Other mutants in each run unless --test_arg=--first_seed=N; --test_arg=--mutants=N draws so many
// instead of as many as fit into the time. A failure prints its mutant, which reads as a rule.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "gtest/gtest.h"
#include "tests/runtime/seeded_main.h"
#include "tests/verifier/campaign/judge.h"
#include "tests/verifier/campaign/mutator.h"
#include "tests/verifier/campaign/operator_claims.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

constexpr double kSeconds = 10;
constexpr int kFewest = 40;  // mutants, where the machine is slow

const char* const kFamilies[] = {
    "tests/verifier/campaign/claims.txt", "tests/verifier/campaign/claims.txt",
    "tests/verifier/identities.txt",      "data/rules/starter.txt",
    "data/rules/generated_inference.txt", "data/rules/taso_4.txt",
    "data/rules/taso_plus.txt",           "data/rules/training.txt",
    "data/rules/training_2d.txt",         "data/rules/transformer.txt"};

struct Counts {
  int mutants = 0, proved = 0, unknown = 0, differ = 0;
  int judged = 0, typed = 0;  // of those proved: run at some size, and as typed
  int64_t instances = 0, comparisons = 0, largest_size = 0;
  std::map<FloatContract, int> by_contract;
};

ProverOptions WithoutRefutation() {
  ProverOptions options;
  options.samples = 0;
  options.work = 30'000'000;  // about a second
  return options;
}

void JudgeMutant(const RuleMutant& mutant, uint64_t seed, Counts* counts) {
  ++counts->mutants;
  const Verdict verdict = ProveRule(mutant.rule, WithoutRefutation());
  ASSERT_FALSE(IsRefuted(verdict)) << mutant.text;
  JudgeOptions options;
  options.seed = seed;
  const auto* proved = std::get_if<Proved>(&verdict);
  if (proved == nullptr) {
    // Many of these are false: the proof did not let them pass.
    ++counts->unknown;
    options.as_proved = false;
    options.instances = 6;
    counts->differ += Judge(mutant.rule, options).difference.has_value();
    return;
  }
  ++counts->proved;
  ++counts->by_contract[proved->contract];
  Substitution rule = mutant.rule;
  rule.contract = proved->contract;
  const Judgment judgment = Judge(rule, options);
  EXPECT_FALSE(judgment.difference)
      << "FALSE PROOF, " << Name(proved->contract) << ", seed " << seed << "\n"
      << mutant.what << "\n"
      << mutant.text << ToString(verdict) << "\n"
      << *judgment.difference;
  counts->judged += judgment.instances > 0;
  counts->typed += judgment.typed > 0;
  counts->instances += judgment.instances;
  counts->comparisons += judgment.comparisons;
  counts->largest_size = std::max(counts->largest_size, judgment.largest_size);
}

TEST(Campaign, NothingFalseIsProved) {
  std::vector<std::vector<Substitution>> families;
  for (const char* path : kFamilies) families.push_back(RulesIn(path));
  families.insert(families.end(), 2, OperatorClaims());
  Mutator mutator(std::move(families), Seeds().first_seed);
  const int64_t wanted = Seeds().mutants;
  const auto start = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Counts counts;
  while (wanted > 0 ? counts.mutants < wanted : counts.mutants < kFewest || seconds() < kSeconds) {
    const RuleMutant mutant = mutator.Draw();
    JudgeMutant(mutant, HashCombine(Seeds().first_seed, counts.mutants), &counts);
    if (HasFatalFailure()) return;
  }
  printf("%d distinct mutants of %lld drawn, in %.0f s\n", counts.mutants,
         static_cast<long long>(mutator.tries()), seconds());
  printf("%d proved:", counts.proved);
  for (const auto& [contract, count] : counts.by_contract) printf(" %d %s", count, Name(contract));
  printf("\n%d of these judged at %lld instances, sizes up to %lld, on %lld inputs; %d as typed\n",
         counts.judged, static_cast<long long>(counts.instances),
         static_cast<long long>(counts.largest_size), static_cast<long long>(counts.comparisons),
         counts.typed);
  printf("%d unknown, %d of these seen to be false\n", counts.unknown, counts.differ);
  // For the rest no suitable sizes are found quickly.
  EXPECT_GE(counts.judged, counts.proved - counts.proved / 10 - 5);
  EXPECT_GT(counts.judged, 0);
  EXPECT_GT(counts.differ, 0);
  if (counts.mutants < 200) return;
  // Not all mutants are true, and not nearly all lack a proof.
  EXPECT_GT(counts.proved, counts.mutants / 20);
  EXPECT_GT(counts.differ, counts.mutants / 5);
}

}  // namespace
}  // namespace lemma
