// True claims are proved.
#include <chrono>

#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

TEST(Prover, ProvesClassicalIdentities) {
  double total = 0;
  int count = 0;
  int64_t queries = 0;
  for (const Substitution& rule : RulesIn("tests/verifier/identities.txt")) {
    const auto start = std::chrono::steady_clock::now();
    Verdict verdict = ProveRule(rule);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    total += took.count();
    EXPECT_TRUE(IsProved(verdict)) << rule.name << ": " << ToString(verdict);
    if (auto* proved = std::get_if<Proved>(&verdict)) {
      EXPECT_LE(proved->contract, rule.contract) << rule.name;
      queries += proved->queries;
    }
    ++count;
    printf("%-32s %6.2f s  %s\n", rule.name.c_str(), took.count(),
           ToString(verdict).substr(0, 100).c_str());
  }
  printf("%d identities, %lld questions to the solver, total %.1f s\n", count,
         static_cast<long long>(queries), total);
  EXPECT_GE(count, 60);
  // Queries take most of the time: these, a few seconds on one core.
  EXPECT_LE(queries, 2000);
}

TEST(Prover, SaysTheSameTwice) {
  std::vector<Substitution> rules = RulesIn("tests/verifier/identities.txt");
  for (size_t i = 0; i < rules.size(); i += 7) {
    Verdict a = ProveRule(rules[i]), b = ProveRule(rules[i]);
    EXPECT_EQ(ToString(a), ToString(b));
    if (IsProved(a) && IsProved(b)) {
      EXPECT_EQ(std::get<Proved>(a).id, std::get<Proved>(b).id);
      EXPECT_EQ(std::get<Proved>(a).queries, std::get<Proved>(b).queries);
    }
  }
}

// A precondition that never holds proves nothing.
TEST(Prover, AnEmptyPreconditionIsUnknown) {
  Verdict verdict = ProveText(R"(
    rule nothing(x: [n]) bit_exact where n >= 2, n <= 1 {
      y = relu(x)
      return y
    } => {
      return x
    })");
  EXPECT_TRUE(std::holds_alternative<Unknown>(verdict)) << ToString(verdict);
}

}  // namespace
}  // namespace lemma
