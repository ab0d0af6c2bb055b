// False claims are refuted in both directions with a counterexample, and not proved with refutation
// switched off.
#include <fstream>
#include <set>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

// Names of files of false claims.
const char* const kFamilies[] = {"mixed",  "broadcast", "conv",  "data",    "elementwise",
                                 "layout", "matmul",    "norms", "pooling", "reductions"};

std::string PathOf(const std::string& family) {
  return family == "mixed" ? "tests/verifier/traps.txt" : "tests/verifier/traps/" + family + ".txt";
}

class Traps : public testing::TestWithParam<const char*> {};

TEST_P(Traps, AreRefuted) {
  for (const Substitution& rule : RulesIn(PathOf(GetParam()))) {
    for (const Substitution& claim : {rule, Reversed(rule)}) {
      Verdict verdict = ProveRule(claim);
      auto* refuted = std::get_if<Refuted>(&verdict);
      ASSERT_TRUE(refuted != nullptr) << rule.name << ": " << ToString(verdict);
      EXPECT_TRUE(refuted->source != refuted->target || refuted->shapes_differ()) << rule.name;
      // Each size is shrunk separately, so few stay large.
      int64_t sum = 0;
      for (const auto& [name, value] : refuted->values) {
        int64_t size = 0;
        if (absl::SimpleAtoi(value, &size)) sum += size;
      }
      EXPECT_LE(sum, 40) << rule.name << ": " << refuted->ToString();
    }
  }
}

TEST_P(Traps, AreNotBelieved) {
  ProverOptions options;
  options.samples = 0;
  for (const Substitution& rule : RulesIn(PathOf(GetParam()))) {
    for (const Substitution& claim : {rule, Reversed(rule)}) {
      Verdict verdict = ProveRule(claim, options);
      EXPECT_FALSE(IsProved(verdict)) << rule.name << ": " << ToString(verdict);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Traps, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return std::string(info.param); });

// The line above each rule says what is wrong with it.
TEST(TrapFiles, SayWhatIsWrong) {
  std::set<std::string> names;
  for (const char* family : kFamilies) {
    std::ifstream file(PathOf(family));
    ASSERT_TRUE(file.good()) << family;
    std::string before, line;
    for (; std::getline(file, line); before = line) {
      if (line.rfind("rule ", 0) != 0) continue;
      EXPECT_EQ(before.rfind("# ", 0), 0u) << line;
      EXPECT_TRUE(names.insert(line.substr(5, line.find('(') - 5)).second) << line;
    }
  }
  EXPECT_GE(names.size(), 400u);
}

}  // namespace
}  // namespace lemma
