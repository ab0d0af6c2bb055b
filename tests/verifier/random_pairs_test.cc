// A rewritten graph is proved equal to its original; a graph with one thing changed is not.
#include "tests/verifier/random_pairs.h"

#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

constexpr uint64_t kSeed = 20261121;
const char kRules[] = "data/rules/starter.txt";

TEST(RandomPairs, RewrittenGraphsAreProved) {
  RandomPairs pairs(kRules, kSeed);
  int proved = 0, all = 0;
  for (int i = 0; all < 120 && i < 1000; ++i) {
    auto graph = pairs.DrawGraph();
    if (!graph) continue;
    int steps = 0;
    const Graph other = pairs.Rewritten(*graph, 1 + i % 3, &steps);
    if (steps == 0) continue;
    ++all;
    const Verdict verdict = ProveGraphs(*graph, other);
    proved += IsProved(verdict);
    EXPECT_FALSE(IsRefuted(verdict))
        << "seed " << kSeed << ", pair " << i << "\n"
        << PrintGraph(*graph) << PrintGraph(other) << ToString(verdict);
    if (!IsProved(verdict)) {
      printf("pair %d: %s\n", i, ToString(verdict).substr(0, 300).c_str());
    }
  }
  printf("%d of %d proved\n", proved, all);
  EXPECT_EQ(all, 120);
  EXPECT_GE(proved, 114);
}

TEST(RandomPairs, PerturbedGraphsAreRefuted) {
  RandomPairs pairs(kRules, kSeed + 1);
  int refuted = 0, all = 0;
  for (int i = 0; all < 150 && i < 2000; ++i) {
    auto graph = pairs.DrawGraph();
    if (!graph) continue;
    int steps = 0;
    const Graph rewritten = pairs.Rewritten(*graph, i % 3, &steps);
    std::string what;
    auto other = pairs.Perturbed(rewritten, &what);
    if (!other || !DifferVisibly(EvaluateGraph(*graph, 1), EvaluateGraph(*other, 1))) continue;
    ++all;
    const Verdict verdict = ProveGraphs(*graph, *other);
    refuted += IsRefuted(verdict);
    EXPECT_FALSE(IsProved(verdict))
        << "seed " << kSeed << ", pair " << i << ", " << what << "\n"
        << PrintGraph(*graph) << PrintGraph(*other) << ToString(verdict);
    if (!IsRefuted(verdict)) {
      printf("pair %d, %s: %s\n", i, what.c_str(), ToString(verdict).substr(0, 300).c_str());
    }
    // With refutation switched off it is not proved either.
    ProverOptions options;
    options.samples = 0;
    if (all % 3 == 0) {
      EXPECT_FALSE(IsProved(ProveGraphs(*graph, *other, options))) << what;
    }
  }
  printf("%d of %d refuted\n", refuted, all);
  EXPECT_EQ(all, 150);
  EXPECT_GE(refuted, 145);
}

}  // namespace
}  // namespace lemma
