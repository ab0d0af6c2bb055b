#include "graph/grad/mixed_precision.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/checker.h"
#include "graph/grad/loss_scale.h"
#include "graph/grad/precision_role.h"
#include "graph/grad/training_step.h"
#include "graph/text/text.h"
#include "runtime/reference/reference.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using Kind = PrecisionRole::Kind;

TrainingStep StepOf(const std::string& text, const TrainingOptions& options) {
  auto model = ParseGraph(text);
  EXPECT_TRUE(model.ok()) << model.status();
  auto step = BuildTrainingStep(*model, options);
  EXPECT_TRUE(step.ok()) << step.status();
  if (!step.ok()) return {};
  EXPECT_TRUE(CheckGraph(step->graph).ok());
  return *step;
}

TrainingOptions Mixed(DType precision) {
  TrainingOptions options;
  options.loss.kind = LossKind::kMeanSquaredError;
  options.precision = precision;
  options.dynamic_loss_scale = precision == DType::kF16;
  return options;
}

Kind KindOf(const std::string& application) {
  auto graph = ParseGraph(absl::StrCat(
      "graph g(x: f32[2,4,4,4], w: f32[4,4,3,3], v: f32[4], b: bool[2,4,4,4]) {\n y = ",
      application, "\n return y }"));
  EXPECT_TRUE(graph.ok()) << application << ": " << graph.status();
  return graph.ok() ? PrecisionRoleOf(graph->outputs()[0].node()).kind : Kind::kWide;
}

TEST(PrecisionRoleTest, FollowsFromTheDefinition) {
  for (const char* product :
       {"matmul(x, x)", "conv2d(x, w)", "conv2d(x, w, v)", "conv_transpose2d(x, w)",
        "conv2d(x, w) {pads = [1,1,1,1], strides = [2,2]}",
        "einsum(x, x, v) {equation = \"abcd,abce,d->abe\"}"}) {
    EXPECT_EQ(KindOf(product), Kind::kProduct) << product;
  }
  for (const char* follows :
       {"add(x, v)", "mul(x, x)", "relu(x)", "max_pool2d(x) {kernel = [2,2]}", "where(b, x, v)",
        "transpose(x) {perm = [0,2,3,1]}", "reshape(x) {shape = [8,16]}", "clip(x) {min = 0.0}",
        "concat(x, x) {axis = 1}", "reduce_max(x) {axes = [1]}",
        "einsum(x, x) {equation = \"abcd,abcd->abcd\"}"}) {
    EXPECT_EQ(KindOf(follows), Kind::kFollows) << follows;
  }
  for (const char* wide :
       {"softmax(x) {axis = 1}", "exp(x)", "sqrt(x)", "pow(x, x)", "gelu(x)", "sigmoid(x)",
        "reduce_sum(x) {axes = [1]}", "reduce_mean(x) {axes = [1]}", "batch_norm(x, v, v, v, v)",
        "layer_norm(x, v, v)", "avg_pool2d(x) {kernel = [2,2]}",
        "einsum(x) {equation = \"abcd->ab\"}"}) {
    EXPECT_EQ(KindOf(wide), Kind::kWide) << wide;
  }
}

constexpr char kLinear[] =
    "graph linear(x: f32[2,2], w: weight f32[2,1] = [0.5, -1.0], b: weight f32[1] = [0.25]) {\n"
    "p = matmul(x, w)\n y = add(p, b)\n return y }";

TEST(MixedPrecisionTest, ProductsTakeAndGive16Bits) {
  const TrainingStep step = StepOf(kLinear, Mixed(DType::kBF16));
  EXPECT_EQ(step.products, 1);
  EXPECT_EQ(step.state.at("w").dtype(), DType::kF32);
  EXPECT_EQ(PrintGraph(step.graph),
            "graph linear(x: f32[2,2], labels: f32[2,1], lr: f32[], w: f32[2,1], b: f32[1]) {\n"
            "  %0 = cast(x) {dtype = \"bf16\"}\n"
            "  %1 = cast(w) {dtype = \"bf16\"}\n"
            "  p = matmul(%0, %1)\n"
            "  %2 = cast(p) {dtype = \"f32\"}\n"
            "  %3 = add(%2, b)\n"
            "  y = cast(%3) {dtype = \"bf16\"}\n"
            "  %4 = cast(y) {dtype = \"f32\"}\n"
            "  %5 = sub(%4, labels)\n"
            "  %6 = mul(%5, %5)\n"
            "  loss = reduce_mean(%6) {axes = [0, 1]}\n"
            "  %7 = transpose(%0) {perm = [1, 0]}\n"
            "  %8 = cast(%5) {dtype = \"bf16\"}\n"
            "  %9 = matmul(%7, %8)\n"
            "  %10 = cast(%9) {dtype = \"f32\"}\n"
            "  %11 = mul(%10, lr)\n"
            "  w.next = sub(w, %11)\n"
            "  %12 = cast(%8) {dtype = \"f32\"}\n"
            "  %13 = reduce_sum(%12) {axes = [0]}\n"
            "  %14 = mul(%13, lr)\n"
            "  b.next = sub(b, %14)\n"
            "  return loss, w.next, b.next\n"
            "}\n");
}

// --- Values ---

class MixedTrainer {
 public:
  MixedTrainer(const std::string& text, const TrainingOptions& options)
      : step_(StepOf(text, options)) {
    auto executable = MakeReferenceBackend()->Compile(step_.graph, {});
    EXPECT_TRUE(executable.ok()) << executable.status();
    executable_ = *std::move(executable);
  }

  double Step(const std::map<std::string, std::vector<double>>& given) {
    const Graph& graph = step_.graph;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const std::string& name = graph.input_names()[i];
      inputs.push_back(step_.state.count(name) > 0
                           ? step_.state[name]
                           : *Tensor::FromDoubles(graph.inputs()[i].type(), given.at(name)));
    }
    auto outputs = executable_->Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    for (size_t i = 1; i < outputs->size(); ++i) {
      const std::string& name = graph.output_names()[i];
      step_.state[name.substr(0, name.size() - 5)] = (*outputs)[i];
    }
    return (*outputs)[0].AtDouble(0);
  }
  const std::map<std::string, Tensor>& state() const { return step_.state; }
  double Number(const std::string& name) const { return step_.state.at(name).AtDouble(0); }

 private:
  TrainingStep step_;
  std::unique_ptr<Executable> executable_;
};

// The names of the variables whose bits differ.
std::vector<std::string> Changed(const std::map<std::string, Tensor>& a,
                                 const std::map<std::string, Tensor>& b) {
  std::vector<std::string> names;
  for (const auto& [name, value] : a) {
    if (!value.SameBytes(b.at(name))) names.push_back(name);
  }
  return names;
}

// y - labels = (-1.25, 1.75), so with the scale s, dw[0] = s (-1.25 + 3 * 1.75) = 4 s, which is
// infinite in f16 from s = 16384 on.
const std::map<std::string, std::vector<double>> kBatch = {
    {"x", {1, 2, 3, -1}}, {"labels", {0, 1}}, {"lr", {0.125}}};

// Every update, with clipping, and with statistics that could be spoiled.
class SkippedStepTest : public ::testing::TestWithParam<UpdateKind> {};

TEST_P(SkippedStepTest, KeepsEveryBitAndHalvesTheScale) {
  TrainingOptions options = Mixed(DType::kF16);
  options.update.kind = GetParam();
  options.update.weight_decay = 0.125;
  if (GetParam() == UpdateKind::kSgd) options.update.momentum = 0.5;
  options.clip_norm = 1;
  MixedTrainer run(kLinear, options);
  const auto start = run.state();
  for (const double scale : {32768, 16384, 8192}) {
    run.Step(kBatch);
    EXPECT_THAT(Changed(start, run.state()), ElementsAre("loss_scale"));
    EXPECT_EQ(run.Number("loss_scale"), scale);
  }
  run.Step(kBatch);
  EXPECT_EQ(run.Number("loss_scale"), 8192);
  EXPECT_EQ(run.Number("good_steps"), 1);
  EXPECT_NE(run.Number("w"), 0.5);
  if (options.update.counts_steps()) {
    EXPECT_EQ(run.Number("step"), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Updates, SkippedStepTest,
                         ::testing::Values(UpdateKind::kSgd, UpdateKind::kAdam,
                                           UpdateKind::kAdamW));

TEST(DynamicLossScaleTest, TheUpdateIsThatOfTheUnscaledGradient) {
  TrainingOptions options = Mixed(DType::kF32), plain = options;
  options.dynamic_loss_scale = true;
  MixedTrainer scaled(kLinear, options), unscaled(kLinear, plain);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(scaled.Step(kBatch), unscaled.Step(kBatch));
  EXPECT_TRUE(scaled.state().at("w").SameBytes(unscaled.state().at("w")));
  EXPECT_TRUE(scaled.state().at("b").SameBytes(unscaled.state().at("b")));
}

TEST(DynamicLossScaleTest, GrowsAfterGoodUpdates) {
  TrainingOptions options = Mixed(DType::kF32);
  options.dynamic_loss_scale = true;
  options.scale_interval = 3;
  MixedTrainer run(kLinear, options);
  std::vector<double> scales, good;
  for (int i = 0; i < 7; ++i) {
    // A label that overflows f32's squares gives an infinite loss, and an infinite gradient.
    auto batch = kBatch;
    if (i == 4) batch["labels"] = {3e38, 1};
    run.Step(batch);
    scales.push_back(run.Number("loss_scale"));
    good.push_back(run.Number("good_steps"));
  }
  EXPECT_THAT(scales, ElementsAre(65536, 65536, 131072, 131072, 65536, 65536, 65536));
  EXPECT_THAT(good, ElementsAre(1, 2, 0, 1, 0, 1, 2));
}

TEST(DynamicLossScaleTest, OneOverflowSpoilsAnAccumulatedUpdate) {
  TrainingOptions options = Mixed(DType::kF32);
  options.dynamic_loss_scale = true;
  options.accumulate = 2;
  MixedTrainer run(kLinear, options);
  auto bad = kBatch;
  bad["labels"] = {NAN, 1};
  run.Step(bad);
  EXPECT_EQ(run.Number("loss_scale"), 65536);
  EXPECT_EQ(run.Number("micro"), 1);
  run.Step(kBatch);
  EXPECT_EQ(run.Number("loss_scale"), 32768);
  EXPECT_EQ(run.Number("micro"), 0);
  EXPECT_EQ(run.Number("w.grad"), 0);
  EXPECT_EQ(run.Number("w"), 0.5);
  run.Step(kBatch);
  run.Step(kBatch);
  EXPECT_EQ(run.Number("good_steps"), 1);
  EXPECT_EQ(run.Number("w"), 0.5 - 0.125 * 4);
}

TEST(DynamicLossScaleTest, StatisticsStayFinite) {
  const std::string text =
      "graph g(x: f32[2,1], s: weight f32[1] = [1.0], o: weight f32[1] = [0.0],\n"
      "        m: weight f32[1] = [0.5], v: weight f32[1] = [2.0]) {\n"
      "y = batch_norm(x, s, o, m, v)\n return y }";
  TrainingOptions options = Mixed(DType::kF32);
  options.dynamic_loss_scale = true;
  MixedTrainer run(text, options);
  const auto start = run.state();
  run.Step({{"x", {INFINITY, 1}}, {"labels", {0, 1}}, {"lr", {0.125}}});
  EXPECT_THAT(Changed(start, run.state()), ElementsAre("loss_scale"));
}

// What is added in f32 is not rounded in between, nor after the addition.
TEST(MixedPrecisionTest, ContributionsOfSeveralUsersAreAddedInF32) {
  const std::string text =
      "graph g(x: f32[1,1], w: weight f32[1,1] = [1.0]) {\n"
      "a = matmul(x, w)\n h = scalar_mul(x) {alpha = 0.00390625}\n b = matmul(h, w)\n"
      "p = reduce_sum(a) {axes = [0,1]}\n q = reduce_sum(b) {axes = [0,1]}\n y = add(p, q)\n"
      "return y }";
  TrainingOptions options = Mixed(DType::kBF16);
  MixedTrainer run(text, options);
  // dw = 2 (y - label) (x + x / 256) with x = 1: in bf16, 1 + 1/256 is 1.
  run.Step({{"x", {1}}, {"labels", {1.00390625 - 0.5}}, {"lr", {1}}});
  EXPECT_EQ(run.Number("w"), 1 - 1.00390625);
}

}  // namespace
}  // namespace lemma
