// Proofs at any rank: a claim that is true only without carried dimensions is not proved with them.
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/batch_text.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

// True if the list is empty, false with one dimension more.
TEST(Carried, RanksAtWhichARuleIsFalse) {
  const char* kRules[] = {
      R"(rule other_axis(x: [b..,m,n]) bit_exact {
           y = reduce_max(x) {axes = [len(b)]} return y } => {
           y = reduce_max(x) {axes = [0]} return y })",
      R"(rule other_end(x: [b..,n,n]) bit_exact {
           y = softmax(x) {axis = len(b)} return y } => {
           y = softmax(x) {axis = 0} return y })",
      R"(rule mean_of_all(x: [b..,n]) reassociates {
           y = reduce_mean(x) {axes = [len(b)]} z = reduce_sum(y) {axes = iota(len(b))}
           return z } => {
           z = reduce_mean(x) {axes = iota(len(b) + 1)} return z })",
      R"(rule inverse_for_itself(x: [s..]) bit_exact {
           y = transpose(x) {perm = p} z = transpose(y) {perm = p} return z } => {
           return x })",
      R"(rule bias_on_the_left(x: [b..,n], c: [n]) bit_exact {
           y = add(x, c) z = reshape(y) {shape = [n*product(b)]} return z } => {
           d = reshape(c) {shape = [n, 1]} y = reshape(x) {shape = [n, product(b)]}
           w = add(y, d) z = reshape(w) {shape = [n*product(b)]} return z })",
  };
  for (const char* rule : kRules) {
    Verdict verdict = ProveText(rule);
    EXPECT_TRUE(IsRefuted(verdict)) << rule << "\n" << ToString(verdict);
  }
}

TEST(Carried, CoverageSaysSo) {
  Verdict verdict = ProveText(R"(rule r(x: [b..,m,n], c: [n]) reassociates {
      y = add(x, c) z = scalar_mul(y) {alpha = a} return z } => {
      p = scalar_mul(x) {alpha = a} q = scalar_mul(c) {alpha = a} z = add(p, q) return z })");
  ASSERT_TRUE(IsProved(verdict)) << ToString(verdict);
  EXPECT_THAT(std::get<Proved>(verdict).coverage,
              HasSubstr("b in {0 elements} or any that carries more dimensions along"));
  verdict = ProveText(R"(rule r(x: [s..]) bit_exact {
      y = reshape(x) {shape = [product(s)]} z = relu(y) return z } => {
      y = relu(x) z = reshape(y) {shape = [product(s)]} return z })");
  ASSERT_TRUE(IsProved(verdict)) << ToString(verdict);
  // A reshape looks into a list, unless it has one element.
  EXPECT_THAT(std::get<Proved>(verdict).coverage,
              HasSubstr("s in {0 elements; 2 elements; 3 elements; 4 elements}"));
}

// Without their carried dimensions, false claims do not look like true ones.
TEST(Carried, TellsFalseFromTrue) {
  std::map<std::string, std::string> truths;
  for (const char* path : {"tests/verifier/identities.txt", "data/rules/starter.txt"}) {
    for (const Substitution& rule : RulesIn(path)) {
      for (const RuleForm& form : FormsOf(rule).forms) {
        truths[TextWithoutBatchDims(form.statement, DType::kF32).text] = rule.name;
      }
    }
  }
  int compared = 0;
  for (const char* family : {"traps.txt", "traps/broadcast.txt", "traps/conv.txt", "traps/data.txt",
                             "traps/elementwise.txt", "traps/layout.txt", "traps/matmul.txt",
                             "traps/norms.txt", "traps/pooling.txt", "traps/reductions.txt"}) {
    for (const Substitution& rule : RulesIn(std::string("tests/verifier/") + family)) {
      for (const RuleForm& form : FormsOf(rule).forms) {
        ++compared;
        auto it = truths.find(TextWithoutBatchDims(form.statement, DType::kF32).text);
        EXPECT_TRUE(it == truths.end()) << rule.name << " reads as " << it->second;
      }
    }
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace lemma
