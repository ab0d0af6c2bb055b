// Well-known identities of tensor programs and claims that are nearly identities. The comment above
// a rule may say "unknown: REASON"; every other rule of the list is proved with the contract that
// it promises.
#include <chrono>
#include <fstream>
#include <map>

#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/checker/checker.h"
#include "verifier/prover/proof_file.h"

namespace lemma {
namespace {

const char* const kFamilies[] = {"activations",    "extremes", "exponentials", "angles",
                                 "normalizations", "linear",   "windows"};
constexpr int kIdentities = 109, kLeastProved = 108;

std::string PathOf(const std::string& family) {
  return "tests/verifier/identities/" + family + ".txt";
}

// Names of the rules of a file with the reason why they are not proved, "" if they are.
std::map<std::string, std::string> ReasonsIn(const std::string& family) {
  std::map<std::string, std::string> reasons;
  std::ifstream file(PathOf(family));
  EXPECT_TRUE(file.good()) << family;
  const std::string mark = "# unknown: ";
  std::string line, reason;
  while (std::getline(file, line)) {
    if (line.rfind(mark, 0) == 0) reason = line.substr(mark.size());
    if (line.rfind("rule ", 0) != 0) continue;
    const std::string name = line.substr(5, line.find('(') - 5);
    EXPECT_TRUE(reasons.emplace(name, reason).second) << name;
    reason.clear();
  }
  return reasons;
}

class KnownIdentities : public testing::TestWithParam<const char*> {};

TEST_P(KnownIdentities, HaveTheirVerdicts) {
  const std::map<std::string, std::string> reasons = ReasonsIn(GetParam());
  for (const Substitution& rule : RulesIn(PathOf(GetParam()))) {
    const auto start = std::chrono::steady_clock::now();
    const Verdict verdict = ProveRule(rule);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    printf("%-34s %6.2f s  %s\n", rule.name.c_str(), took.count(),
           ToString(verdict).substr(0, 160).c_str());
    auto* proved = std::get_if<Proved>(&verdict);
    if (!reasons.at(rule.name).empty()) {
      EXPECT_TRUE(std::holds_alternative<Unknown>(verdict)) << rule.name << " is decided now";
    } else if (proved == nullptr) {
      ADD_FAILURE() << rule.name << ": " << ToString(verdict);
    } else {
      EXPECT_EQ(proved->contract, rule.contract) << rule.name;
    }
  }
}

// The small checker finds no identity false, accepts each proof and says what it cannot decide.
TEST_P(KnownIdentities, AreRepeatedByTheChecker) {
  int whole = 0, proofs = 0;
  for (const Substitution& rule : RulesIn(PathOf(GetParam()))) {
    const checker::Checked checked = checker::CheckRule(rule);
    EXPECT_NE(checked.answer, checker::Checked::Answer::kDiffers)
        << rule.name << ": " << checked.detail;
    ProverOptions options;
    options.keep_obligations = true;
    const Verdict verdict = ProveRule(rule, options);
    if (!IsProved(verdict)) continue;
    const checker::Replayed replayed =
        checker::ReplayProof(WriteProofFile(rule, std::get<Proved>(verdict)), rule);
    EXPECT_TRUE(replayed.accepted) << rule.name << ": " << replayed.problem;
    EXPECT_EQ(replayed.unreached, 0) << rule.name;
    ++proofs;
    whole += replayed.undecided == 0;
    if (replayed.undecided > 0) {
      printf("%s: %ld of %ld checks undecided; %s\n", rule.name.c_str(), long{replayed.undecided},
             long{replayed.checks}, checked.detail.substr(0, 200).c_str());
    }
  }
  printf("%s: %d of %d proofs repeated\n", GetParam(), whole, proofs);
}

INSTANTIATE_TEST_SUITE_P(, KnownIdentities, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return std::string(info.param); });

TEST(KnownIdentitiesList, IsProvedButForOne) {
  int all = 0, proved = 0;
  for (const char* family : kFamilies) {
    for (const auto& [name, reason] : ReasonsIn(family)) {
      ++all;
      if (reason.empty()) ++proved;
    }
  }
  EXPECT_EQ(all, kIdentities);
  EXPECT_GE(proved, kLeastProved);
}

TEST(NearlyIdentities, AreNeverProved) {
  ProverOptions unrefuted;
  unrefuted.samples = 0;
  int count = 0;
  for (const Substitution& rule : RulesIn(PathOf("false"))) {
    ++count;
    for (const Substitution& claim : {rule, Reversed(rule)}) {
      const Verdict verdict = ProveRule(claim), believed = ProveRule(claim, unrefuted);
      EXPECT_FALSE(IsProved(verdict)) << rule.name << ": " << ToString(verdict);
      EXPECT_FALSE(IsProved(believed)) << rule.name << ": " << ToString(believed);
      printf("%-34s %s\n", rule.name.c_str(), ToString(verdict).substr(0, 120).c_str());
    }
  }
  EXPECT_GE(count, 20);
}

}  // namespace
}  // namespace lemma
