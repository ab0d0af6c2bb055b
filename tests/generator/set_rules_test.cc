// The operator sets find the rules for which they were written.
#include <set>
#include <string>
#include <vector>

#include "generator/run/generate.h"
#include "generator/sets/named_sets.h"
#include "gtest/gtest.h"
#include "rewrite/matching/rewrite_source.h"
#include "verifier/prover/prover.h"

namespace lemma::generator {
namespace {

absl::StatusOr<std::vector<Decision>> ByProof(const std::vector<Substitution>& rules) {
  std::vector<Decision> decisions;
  for (const Substitution& rule : rules) {
    const Verdict verdict = ProveRule(rule);
    Decision& decision = decisions.emplace_back();
    decision.rule = rule;
    if (IsRefuted(verdict)) decision.answer = Decision::Answer::kRefuted;
    if (!IsProved(verdict)) continue;
    decision.answer = Decision::Answer::kProved;
    // The matcher can search for each proved rule.
    decision.rule.contract = std::get<Proved>(verdict).contract;
    EXPECT_TRUE(RuleSet::Create({decision.rule}).ok()) << rule.doc;
  }
  return decisions;
}

std::set<std::string> RulesOf(const std::vector<std::string>& names, int max_ops) {
  auto set = NamedSet(names);
  EXPECT_TRUE(set.ok()) << set.status();
  if (!set.ok()) return {};
  EnumeratorOptions enumerator;
  enumerator.max_ops = max_ops;
  auto enumerated = Enumerate(set->get(), enumerator);
  EXPECT_TRUE(enumerated.ok()) << enumerated.status();
  if (!enumerated.ok()) return {};
  auto generated = Generate(set->get(), *enumerated, {}, ByProof);
  EXPECT_TRUE(generated.ok()) << generated.status();
  std::set<std::string> texts;
  if (!generated.ok()) return texts;
  for (const GeneratedRule& rule : generated->rules) texts.insert(rule.rule.doc);
  return texts;
}

TEST(SetRulesTest, TransformerOfTwoOperators) {
  const std::set<std::string> found =
      RulesOf({"transformer", "matmul", "linear", "add", "add_bias", "sub_row", "mul_row",
               "div_row", "scale", "exp", "gelu", "max_last", "softmax", "split_heads",
               "merge_heads", "swap_heads", "transpose_4d"},
              2);
  for (const char* rule :
       {"merge_heads(split_heads(x1)) => x1", "split_heads(merge_heads(x1)) => x1",
        "swap_heads(swap_heads(x1)) => x1", "transpose_4d(transpose_4d(x1)) => x1",
        "linear(x3, matmul(x1, x2)) => linear(linear(x3, x1), x2)",
        "linear(scale(x1, x2), x3) => scale(linear(x1, x3), x2)",
        "linear(x3, scale(x1, x2)) => scale(linear(x3, x1), x2)",
        // The division of a softmax moves behind the product with the values.
        "linear(div_row(x1, x2), x3) => div_row(linear(x1, x3), x2)",
        "add_bias(x3, add(x1, x2)) => add_bias(add_bias(x3, x1), x2)",
        "softmax(sub_row(x1, x2)) => softmax(x1)", "gelu(merge_heads(x1)) => merge_heads(gelu(x1))",
        "softmax(swap_heads(x1)) => swap_heads(softmax(x1))"}) {
    EXPECT_EQ(found.count(rule), 1u) << rule;
  }
}

TEST(SetRulesTest, SiblingProjections) {
  const std::set<std::string> found =
      RulesOf({"transformer", "linear", "add", "concat_last", "concat_rows", "split_last"}, 3);
  for (const char* rule :
       {"split_last(linear(x3, concat_last(x1, x2))).0, split_last(linear(x3, concat_last(x1, "
        "x2))).1 => linear(x3, x1), linear(x3, x2)",
        "concat_last(linear(x1, x2), linear(x1, x3)) => linear(x1, concat_last(x2, x3))",
        "add(linear(x1, x2), linear(x3, x4)) => linear(concat_last(x1, x3), concat_rows(x2, x4))",
        "add(linear(x1, x2), linear(x1, x3)) => linear(x1, add(x2, x3))"}) {
    EXPECT_EQ(found.count(rule), 1u) << rule;
  }
}

TEST(SetRulesTest, TrainingOfTwoOperators) {
  const std::set<std::string> found =
      RulesOf({"training", "matmul", "matmul_tn", "matmul_nt", "transpose", "scale", "sum_rows",
               "add_bias", "conv2d", "conv_data_grad", "conv_weight_grad"},
              2);
  for (const char* rule :
       {"matmul(transpose(x1), x2) => matmul_tn(x1, x2)",
        "matmul(x2, transpose(x1)) => matmul_nt(x2, x1)",
        "transpose(matmul_tn(x1, x2)) => matmul_tn(x2, x1)",
        "scale(conv_data_grad(x1, x2), x3) => conv_data_grad(scale(x1, x3), x2)",
        "scale(conv_weight_grad(x1, x2), x3) => conv_weight_grad(scale(x1, x3), x2)",
        "scale(conv2d(x1, x2), x3) => conv2d(x1, scale(x2, x3))"}) {
    EXPECT_EQ(found.count(rule), 1u) << rule;
  }
  // With 3 x 3 kernels and padding 1, a convolution and its gradient have equal sizes.
  for (const std::string& rule : found) {
    EXPECT_FALSE(rule.find("conv2d(") == 0 && rule.find("=> conv_data_grad(") != rule.npos) << rule;
  }
}

// The hand-written rules for inference, over operands that are bundles.
TEST(SetRulesTest, Inference) {
  const struct {
    const char* set;
    int max_ops;
    std::vector<const char*> rules;
  } cases[] = {
      {"fold",
       3,
       {"conv2d_bias(x3, scaled_filter(x2, norm_affine(x1))) => batch_norm(conv2d(x3, x2), x1)",
        "conv2d_bias(x3, scaled_filter_bias(x2, norm_affine(x1))) => batch_norm(conv2d_bias(x3, "
        "x2), x1)"}},
      {"norm", 2, {"scale_shift(x2, norm_affine(x1)) => batch_norm(x2, x1)"}},
      {"pointwise",
       4,
       {"image(matmul(matrix_of_filter(x1), flat_image(x2))) => pointwise_conv(x2, x1)"}},
      {"scalars", 2, {"mul(x1, x1) => square(x1)", "mul(sigmoid(x1), x1) => silu(x1)"}},
      {"layer_norm",
       4,
       {"scale_shift(div_rows(centre(x1), deviation(centre(x1))), x2) => layer_norm(x1, x2)"}},
  };
  for (const auto& one : cases) {
    const std::set<std::string> found = RulesOf({one.set}, one.max_ops);
    for (const char* rule : one.rules) EXPECT_EQ(found.count(rule), 1u) << rule;
  }
}

}  // namespace
}  // namespace lemma::generator
