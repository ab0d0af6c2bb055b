// Hunts in engines that are wrong on purpose, and in one that is right.
#include "api/hunt.h"

#include <atomic>
#include <string>
#include <vector>

#include "api/json/hunt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/api/hunting/wrong_engine.h"
#include "tests/base/temp_files.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

using Wrong = absl::StatusOr<std::optional<Tensor>>;

api::HuntOptions Options(int64_t cases) {
  api::HuntOptions options;
  options.seconds = 0;
  options.cases = cases;
  options.seed = 3;
  options.rules = "starter";
  return options;
}

api::HuntResult Hunted(const api::HuntOptions& options, const WrongEngine::Fault& fault) {
  WrongEngine engine(fault);
  auto result = api::Hunt(options, &engine);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : api::HuntResult();
}

Wrong Right(const Node&, const std::vector<Tensor>&, const std::string&) { return std::nullopt; }

TEST(HuntTest, FindsNothingInARightEngine) {
  const api::HuntResult result = Hunted(Options(80), Right);
  EXPECT_EQ(result.cases, 80);
  EXPECT_GT(result.agree, 60);
  EXPECT_THAT(result.findings, IsEmpty()) << TextOf(result);
  EXPECT_THAT(result.not_finite, IsEmpty()) << TextOf(result);
  EXPECT_THAT(result.own_faults, IsEmpty()) << TextOf(result);
}

// A kernel that scales its result.
Wrong ScalesRelu(const Node& node, const std::vector<Tensor>& operands, const std::string&) {
  if (!node.IsOp("relu")) return std::nullopt;
  return Scaled((*EvaluateNode(node, operands))[0], 1.01);
}

TEST(HuntTest, ReducesAWrongKernelToItsOperator) {
  const api::HuntResult result = Hunted(Options(80), ScalesRelu);
  ASSERT_FALSE(result.findings.empty());
  for (const api::Finding& finding : result.findings) {
    EXPECT_THAT(finding.operators, ElementsAre("relu")) << TextOf(result);
    EXPECT_THAT(finding.levels, ElementsAre("none", "all"));
    EXPECT_FALSE(finding.difference.is_optimization);
    EXPECT_EQ(finding.model.graph.inputs()[0].type().num_elements(), 1) << TextOf(result);
    EXPECT_EQ(finding.own_fault, "");
  }
}

// An optimization that halves what an element-wise operator gets from a transpose.
Wrong HalvesTransposed(const Node& node, const std::vector<Tensor>& operands,
                       const std::string& level) {
  if (level != "all" || operands.size() != 1 || !IsFloat(node.type(0).dtype)) return std::nullopt;
  const Value& operand = node.inputs()[0];
  if (!operand.node().IsOp("transpose") || operand.type() != node.type(0)) return std::nullopt;
  return (*EvaluateNode(node, {Scaled(operands[0], 0.5)}))[0];
}

TEST(HuntTest, ReducesAWrongOptimizationToItsTwoOperators) {
  const api::HuntResult result = Hunted(Options(400), HalvesTransposed);
  ASSERT_FALSE(result.findings.empty());
  for (const api::Finding& finding : result.findings) {
    // One if its form in ONNX has a transpose.
    EXPECT_LE(finding.operators.size(), 2) << TextOf(result);
    EXPECT_THAT(finding.levels, ElementsAre("all"));
    EXPECT_TRUE(finding.difference.is_optimization);
    if (finding.operators.size() == 2) {
      EXPECT_EQ(finding.operators[0], "transpose");
    }
  }
}

// It gives a result another shape.
Wrong FlattensTanh(const Node& node, const std::vector<Tensor>& operands, const std::string&) {
  if (!node.IsOp("tanh") || node.type(0).rank() == 1) return std::nullopt;
  const Tensor result = (*EvaluateNode(node, operands))[0];
  return result.Reshaped({result.size()});
}

TEST(HuntTest, FindsAWrongShape) {
  const api::HuntResult result = Hunted(Options(1000), FlattensTanh);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].difference.fault, hunt::Fault::kType);
  EXPECT_THAT(result.findings[0].operators, ElementsAre("tanh")) << TextOf(result);
}

// Its optimizations make a model that it refuses; and an operator ends it.
Wrong Refuses(const Node& node, const std::vector<Tensor>&, const std::string& level) {
  if (node.IsOp("sigmoid")) return absl::AbortedError("Segmentation fault");
  if (node.IsOp("softmax") && level == "all") return absl::InvalidArgumentError("Foo is unknown");
  if (node.IsOp("reduce_sum")) return absl::UnimplementedError("no kernel");
  return std::nullopt;
}

TEST(HuntTest, FindsRefusalsAndEnds) {
  const api::HuntResult result = Hunted(Options(200), Refuses);
  std::vector<std::string> found;
  for (const api::Finding& finding : result.findings) {
    ASSERT_EQ(finding.operators.size(), 1) << TextOf(result);
    found.push_back(finding.operators[0] + ": " + Name(finding.difference.fault));
  }
  EXPECT_THAT(found, IsSupersetOf({"sigmoid: no answer", "softmax: refused with optimizations"}));
  EXPECT_THAT(found, Not(Contains(HasSubstr("reduce_sum"))));
  EXPECT_EQ(result.refused.count("no kernel"), 1);
}

// It loses NaN, which only models with infinite or NaN values show.
Wrong LosesNaN(const Node& node, const std::vector<Tensor>& operands, const std::string&) {
  if (operands.empty() || !IsFloat(node.type(0).dtype)) return std::nullopt;
  const Tensor result = (*EvaluateNode(node, operands))[0];
  std::vector<double> values = result.ToDoubles();
  for (double& value : values) value = std::isnan(value) ? 0 : value;
  return *Tensor::FromDoubles(result.type(), values);
}

TEST(HuntTest, CountsInfiniteAndNaNApart) {
  const api::HuntResult result = Hunted(Options(150), LosesNaN);
  EXPECT_THAT(result.findings, IsEmpty()) << TextOf(result);
  EXPECT_THAT(result.not_finite, Not(IsEmpty()));
}

TEST(HuntTest, RepeatsOneCase) {
  const api::HuntResult all = Hunted(Options(80), ScalesRelu);
  ASSERT_FALSE(all.findings.empty());
  const api::Finding& first = all.findings[0];
  EXPECT_THAT(first.repeat, HasSubstr("--seed=3 --only=" + std::to_string(first.case_number)));
  api::HuntOptions options = Options(0);
  options.only = first.case_number;
  const api::HuntResult one = Hunted(options, ScalesRelu);
  ASSERT_EQ(one.findings.size(), 1);
  EXPECT_EQ(one.cases, 1);
  EXPECT_EQ(one.findings[0].model.graph.StructuralHash(), first.model.graph.StructuralHash());
}

TEST(HuntTest, WritesModelsInputsAndRecords) {
  api::HuntOptions options = Options(80);
  options.output = NewFolder() + "/found";
  const api::HuntResult result = Hunted(options, ScalesRelu);
  ASSERT_FALSE(result.findings.empty());
  const std::string folder = result.findings[0].folder;
  EXPECT_THAT(FilesIn(folder), ElementsAre("expected_0.pb", "finding.json", "input_0.pb",
                                           "model.onnx", "seen_0.pb"));
  const std::string record = ReadAll(folder + "/finding.json");
  EXPECT_THAT(record, HasSubstr("\"fault\":\"wrong values\",\"engine\":\"Wrong 1.0\""));
  EXPECT_THAT(record, HasSubstr("\"operators\":[\"relu\"],\"levels\":[\"none\",\"all\"]"));
  EXPECT_THAT(ToJson(result).ToString(), HasSubstr("\"own_faults\":[],\"was_interrupted\":false"));
}

TEST(HuntTest, IsInterrupted) {
  std::atomic<bool> interrupted{false};
  api::HuntOptions options = Options(0);
  options.interrupted = &interrupted;
  options.progress = [&](int64_t cases, int64_t) { interrupted = cases == 3; };
  const api::HuntResult result = Hunted(options, Right);
  EXPECT_TRUE(result.was_interrupted);
  EXPECT_EQ(result.cases, 3);
}

TEST(HuntTest, NamesOptionsThatAreWrong) {
  WrongEngine engine(Right);
  api::HuntOptions options = Options(1);
  options.models = "/nowhere";
  EXPECT_THAT(api::Hunt(options, &engine).status().message(), HasSubstr("/nowhere"));
  options = Options(1);
  options.rules = "/nowhere.txt";
  EXPECT_THAT(api::Hunt(options, &engine).status().message(), HasSubstr("/nowhere.txt"));
  options = Options(1);
  options.engine = "abacus";
  EXPECT_THAT(api::Hunt(options).status().message(), HasSubstr("onnxruntime"));
}

}  // namespace
}  // namespace lemma
