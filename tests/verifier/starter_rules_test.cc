// Every rule of the starter database is proved, within its float contract.
#include <chrono>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

TEST(StarterRules, AreProved) {
  std::ifstream file("data/rules/starter.txt");
  ASSERT_TRUE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  auto rules = ParseRules(text.str(), "starter.txt");
  ASSERT_TRUE(rules.ok()) << rules.status();
  double total = 0;
  int64_t queries = 0;
  for (const Substitution& rule : *rules) {
    const auto start = std::chrono::steady_clock::now();
    Verdict verdict = ProveRule(rule);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(IsProved(verdict)) << rule.name << ": " << ToString(verdict);
    if (auto* proved = std::get_if<Proved>(&verdict)) {
      EXPECT_LE(proved->contract, rule.contract) << rule.name;
      queries += proved->queries;
    }
    total += took.count();
    printf("%-36s %6.2f s  %s\n", rule.name.c_str(), took.count(),
           ToString(verdict).substr(0, 150).c_str());
    fflush(stdout);
  }
  printf("%zu rules, %lld questions to the solver, total %.1f s\n", rules->size(),
         static_cast<long long>(queries), total);
  // Queries take most of the time: these, about 20 s on one core.
  EXPECT_LE(queries, 10000);
}

}  // namespace
}  // namespace lemma
