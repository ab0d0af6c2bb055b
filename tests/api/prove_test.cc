#include "api/prove.h"

#include <atomic>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/base/temp_files.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTwice[] = "graph twice(x: f32[4]) { y = relu(x) z = relu(y) return z }";
constexpr char kOnce[] = "graph once(x: f32[4]) { y = relu(x) return y }";
constexpr char kOther[] = "graph other(x: f32[4]) { y = neg(x) return y }";
constexpr char kRule[] =
    "rule relu_twice(x: [n]) bit_exact { y = relu(x) z = relu(y) return z } => "
    "{ y = relu(x) return y }";

Graph GraphOf(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

Substitution Rule() {
  auto rules = ParseRules(kRule);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules->front();
}

std::string AllSizes(std::string text) { return text.replace(text.find("[4]"), 3, "[n]"); }

TEST(ApiProveTest, GraphsAtTheirShapes) {
  auto result = api::Prove(GraphOf(kTwice), GraphOf(kOnce));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->symbolic);
  EXPECT_TRUE(result->outcome.ok());
  result = api::Prove(GraphOf(kTwice), GraphOf(kOther));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(IsRefuted(result->outcome.verdict));
  EXPECT_FALSE(result->outcome.ok());
}

TEST(ApiProveTest, ARuleWithItsProofRepeated) {
  api::ProofOptions options;
  options.check = true;
  options.proofs = NewFolder() + "/proofs";
  auto result = api::Prove(Rule(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->symbolic);
  EXPECT_TRUE(result->outcome.ok());
  ASSERT_TRUE(result->outcome.checked && result->outcome.replayed);
  EXPECT_GT(result->outcome.checked->equal, 0);
  EXPECT_TRUE(result->outcome.replayed->accepted);
  EXPECT_THAT(FilesIn(options.proofs), ElementsAre("relu_twice.proof", "relu_twice.smt2"));
}

TEST(ApiProveTest, APromiseThatIsNotKeptIsNotOk) {
  api::ProofOutcome outcome;
  Proved proved;
  proved.contract = FloatContract::kReassociates;
  outcome.verdict = proved;
  outcome.promised = FloatContract::kBitExact;
  EXPECT_FALSE(outcome.ok());
  outcome.promised = FloatContract::kReassociates;
  EXPECT_TRUE(outcome.ok());
}

// The element of the counterexample that belongs to A comes first, whichever way the rule reads.
TEST(ApiProveTest, FilesForAllSizes) {
  const std::string once = WriteTemp("once.txt", AllSizes(kOnce));
  auto result = api::Prove(WriteTemp("twice.txt", AllSizes(kTwice)), once);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->symbolic);
  EXPECT_TRUE(result->outcome.ok());
  const std::string input = WriteTemp("x.txt", "graph input(x: f32[n]) { return x }");
  const std::string twice = WriteTemp("d.txt", "graph d(x: f32[n]) { y = add(x, x) return y }");
  for (const bool first : {true, false}) {
    result = first ? api::Prove(input, twice) : api::Prove(twice, input);
    ASSERT_TRUE(result.ok()) << result.status();
    auto* refuted = std::get_if<Refuted>(&result->outcome.verdict);
    ASSERT_NE(refuted, nullptr);
    const double one = first ? refuted->source : refuted->target;
    EXPECT_EQ(2 * one, first ? refuted->target : refuted->source);
  }
}

TEST(ApiProveTest, SaysWhichOptionIsWrong) {
  api::ProofOptions options;
  options.work = 0;
  EXPECT_THAT(api::Prove(Rule(), options).status().message(), HasSubstr("option work"));
  options = {};
  options.check = true;
  EXPECT_THAT(api::Prove(GraphOf(kTwice), GraphOf(kOnce), options).status().message(),
              HasSubstr("option check"));
  options = {};
  options.recheck = "/nowhere/cvc5";
  const absl::Status missing = api::Prove(Rule(), options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(missing)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr("option recheck: /nowhere/cvc5"));
  EXPECT_THAT(api::Prove("/nowhere.txt", "/nowhere.txt").status().message(),
              HasSubstr("/nowhere.txt"));
}

TEST(ApiProveTest, AnInterruptedProofIsNoAnswer) {
  const std::atomic<bool> interrupted{true};
  api::ProofOptions options;
  options.interrupted = &interrupted;
  EXPECT_TRUE(absl::IsCancelled(api::Prove(Rule(), options).status()));
  EXPECT_TRUE(absl::IsCancelled(api::Prove(GraphOf(kTwice), GraphOf(kOnce), options).status()));
}

}  // namespace
}  // namespace lemma
