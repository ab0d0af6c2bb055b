#include "graph/grad/training_step.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/checker.h"
#include "graph/text/text.h"
#include "runtime/reference/reference.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kLinear[] =
    "graph linear(x: f32[2,2], w: weight f32[2,1] = [0.5, -1.0], b: weight f32[1] = [0.25]) {\n"
    "p = matmul(x, w)\n y = add(p, b)\n return y }";

TrainingStep StepOf(const std::string& text, const TrainingOptions& options) {
  auto model = ParseGraph(text);
  EXPECT_TRUE(model.ok()) << model.status();
  auto step = BuildTrainingStep(*model, options);
  EXPECT_TRUE(step.ok()) << step.status();
  if (!step.ok()) return {};
  EXPECT_TRUE(CheckGraph(step->graph).ok());
  return *step;
}

// Steps taken one after the other, in double.
class Trainer {
 public:
  Trainer(const std::string& text, const TrainingOptions& options) : step_(StepOf(text, options)) {
    auto executable = MakeReferenceBackend()->Compile(step_.graph, {});
    EXPECT_TRUE(executable.ok()) << executable.status();
    executable_ = *std::move(executable);
  }

  // Runs a step and returns its loss. `given`: the values of inputs that are not state.
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
      EXPECT_THAT(name, testing::EndsWith(".next"));
      step_.state[name.substr(0, name.size() - 5)] = (*outputs)[i];
    }
    return (*outputs)[0].AtDouble(0);
  }
  std::vector<double> State(const std::string& name) { return step_.state.at(name).ToDoubles(); }

 private:
  TrainingStep step_;
  std::unique_ptr<Executable> executable_;
};

TrainingOptions MeanSquares() {
  TrainingOptions options;
  options.loss.kind = LossKind::kMeanSquaredError;
  return options;
}

auto Near(std::vector<double> values) {
  std::vector<testing::Matcher<double>> matchers;
  matchers.reserve(values.size());
  for (double v : values) matchers.push_back(testing::DoubleNear(v, 1e-6));
  return testing::ElementsAreArray(matchers);
}

// x w + b = (0.5 - 2 + 0.25, 1.5 + 1 + 0.25) = (-1.25, 2.75) for labels (0, 1): errors (-1.25,
// 1.75), loss (1.5625 + 3.0625) / 2, db = -1.25 + 1.75, dw = (1*-1.25 + 3*1.75, 2*-1.25 - 1*1.75).
const std::map<std::string, std::vector<double>> kBatch = {
    {"x", {1, 2, 3, -1}}, {"labels", {0, 1}}, {"lr", {0.1}}};

TEST(TrainingStepTest, StepIsAGraphOfItsOwn) {
  const TrainingStep step = StepOf(kLinear, MeanSquares());
  EXPECT_EQ(PrintGraph(step.graph),
            "graph linear(x: f32[2,2], labels: f32[2,1], lr: f32[], w: f32[2,1], b: f32[1]) {\n"
            "  p = matmul(x, w)\n"
            "  y = add(p, b)\n"
            "  %0 = sub(y, labels)\n"
            "  %1 = mul(%0, %0)\n"
            "  loss = reduce_mean(%1) {axes = [0, 1]}\n"
            "  %2 = transpose(x) {perm = [1, 0]}\n"
            "  %3 = matmul(%2, %0)\n"
            "  %4 = mul(%3, lr)\n"
            "  w.next = sub(w, %4)\n"
            "  %5 = reduce_sum(%0) {axes = [0]}\n"
            "  %6 = mul(%5, lr)\n"
            "  b.next = sub(b, %6)\n"
            "  return loss, w.next, b.next\n"
            "}\n");
  EXPECT_THAT(step.graph.input_names(), ElementsAre("x", "labels", "lr", "w", "b"));
  EXPECT_THAT(step.graph.output_names(), ElementsAre("loss", "w.next", "b.next"));
}

TEST(TrainingStepTest, PlainDescent) {
  Trainer run(kLinear, MeanSquares());
  EXPECT_NEAR(run.Step(kBatch), 2.3125, 1e-6);
  EXPECT_THAT(run.State("w"), Near({0.5 - 0.1 * 4, -1 + 0.1 * 4.25}));
  EXPECT_THAT(run.State("b"), Near({0.25 - 0.1 * 0.5}));
}

TEST(TrainingStepTest, MomentumAndDecay) {
  TrainingOptions options = MeanSquares();
  options.update.momentum = 0.5;
  options.update.weight_decay = 0.2;
  Trainer run(kLinear, options);
  run.Step(kBatch);
  const double b = 0.25 - 0.1 * (0.5 + 0.2 * 0.25);
  EXPECT_THAT(run.State("b"), Near({b}));
  EXPECT_THAT(run.State("b.m"), Near({0.55}));
  const double w0 = run.State("w")[0], w1 = run.State("w")[1];
  run.Step(kBatch);
  const double error0 = w0 + 2 * w1 + b, error1 = 3 * w0 - w1 + b - 1;
  const double m = 0.5 * 0.55 + error0 + error1 + 0.2 * b;
  EXPECT_THAT(run.State("b"), Near({b - 0.1 * m}));
}

TEST(TrainingStepTest, NesterovLooksAhead) {
  TrainingOptions options = MeanSquares();
  options.update.momentum = 0.5;
  options.update.nesterov = true;
  Trainer run(kLinear, options);
  run.Step(kBatch);
  EXPECT_THAT(run.State("b"), Near({0.25 - 0.1 * (0.5 + 0.5 * 0.5)}));
}

TEST(TrainingStepTest, Adam) {
  TrainingOptions options = MeanSquares();
  options.update.kind = UpdateKind::kAdam;
  options.update.epsilon = 1e-3;
  Trainer run(kLinear, options);
  run.Step(kBatch);
  // In the first step m / (1 - beta1) is g, and v / (1 - beta2) its square.
  EXPECT_THAT(run.State("step"), ElementsAre(1));
  EXPECT_THAT(run.State("b"), Near({0.25 - 0.1 * 0.5 / (0.5 + 1e-3)}));
  EXPECT_THAT(run.State("b.m"), Near({0.05}));
  EXPECT_THAT(run.State("b.v"), Near({0.00025}));
  const double w0 = run.State("w")[0], w1 = run.State("w")[1], b = run.State("b")[0];
  run.Step(kBatch);
  const double g = (w0 + 2 * w1 + b) + (3 * w0 - w1 + b - 1);
  const double m = 0.9 * 0.05 + 0.1 * g, v = 0.999 * 0.00025 + 0.001 * g * g;
  const double rate = 0.1 / (1 - 0.81), root = std::sqrt(v) / std::sqrt(1 - 0.999 * 0.999);
  EXPECT_THAT(run.State("b"), Near({b - rate * m / (root + 1e-3)}));
}

TEST(TrainingStepTest, AdamWDecaysTheWeightItself) {
  TrainingOptions options = MeanSquares();
  options.update.kind = UpdateKind::kAdamW;
  options.update.weight_decay = 0.5;
  Trainer run(kLinear, options);
  run.Step(kBatch);
  EXPECT_THAT(run.State("b"), Near({0.25 * (1 - 0.1 * 0.5) - 0.1}));
}

TEST(TrainingStepTest, ClipsByTheNormOfAllGradients) {
  TrainingOptions options = MeanSquares();
  options.clip_norm = 1;
  Trainer run(kLinear, options);
  run.Step(kBatch);
  const double norm = std::sqrt(4 * 4 + 4.25 * 4.25 + 0.5 * 0.5) + 1e-6;
  EXPECT_THAT(run.State("b"), Near({0.25 - 0.1 * 0.5 / norm}));
  options.clip_norm = 100;
  Trainer loose(kLinear, options);
  loose.Step(kBatch);
  EXPECT_THAT(loose.State("b"), Near({0.2}));
}

TEST(TrainingStepTest, AccumulatesBeforeItUpdates) {
  TrainingOptions options = MeanSquares();
  options.accumulate = 2;
  options.update.kind = UpdateKind::kAdam;
  Trainer run(kLinear, options);
  auto other = kBatch;
  other["labels"] = {-2.25, 1.75};  // errors 1 and 1
  run.Step(kBatch);
  EXPECT_THAT(run.State("b"), ElementsAre(0.25));
  EXPECT_THAT(run.State("step"), ElementsAre(0));
  EXPECT_THAT(run.State("b.grad"), Near({0.25}));
  run.Step(other);
  EXPECT_THAT(run.State("micro"), ElementsAre(0));
  EXPECT_THAT(run.State("step"), ElementsAre(1));
  EXPECT_THAT(run.State("b.grad"), ElementsAre(0));
  EXPECT_THAT(run.State("b.m"), Near({0.1 * (0.5 + 2) / 2}));
}

TEST(TrainingStepTest, LossScaleChangesNothing) {
  TrainingOptions options = MeanSquares();
  options.loss_scale = 1024;
  Trainer run(kLinear, options);
  EXPECT_NEAR(run.Step(kBatch), 2.3125, 1e-6);
  EXPECT_THAT(run.State("b"), Near({0.2}));
}

TEST(TrainingStepTest, HalfPrecisionWeightsAreKeptInFull) {
  TrainingOptions options = MeanSquares();
  options.loss_scale = 8;
  const std::string text =
      "graph g(x: f16[2,2], w: weight f16[2,1] = [0.5, -1.0]) { y = matmul(x, w)\n return y }";
  const TrainingStep step = StepOf(text, options);
  EXPECT_EQ(step.state.at("w").dtype(), DType::kF32);
  Trainer run(text, options);
  run.Step({{"x", {1, 2, 3, -1}}, {"labels", {-1.5, 2.499}}, {"lr", {1e-4}}});
  EXPECT_NE(run.State("w")[0], 0.5);  // f16 next to 0.5 is 0.00024 away
  EXPECT_NEAR(run.State("w")[0], 0.5, 1e-6);
}

constexpr char kClasses[] =
    "graph classes(x: f32[3,2], w: weight f32[2,2] = [1.0, 0.0, 0.0, 1.0]) {\n"
    "y = matmul(x, w)\n return y }";

TEST(TrainingStepTest, CrossEntropy) {
  Trainer run(kClasses, TrainingOptions());
  const double log_sum = std::log(1 + std::exp(1.0));
  EXPECT_NEAR(run.Step({{"x", {1, 0, 0, 1, 0, 0}}, {"labels", {0, 0, 1}}, {"lr", {0.1}}}),
              ((log_sum - 1) + log_sum + std::log(2.0)) / 3, 1e-6);
  // dw[0,:] comes from the row x[0] = (1, 0) alone: (p - 1, 1 - p) / 3 with p = e / (1 + e).
  const double p = std::exp(1.0) / (1 + std::exp(1.0));
  EXPECT_NEAR(run.State("w")[0], 1 - 0.1 * (p - 1) / 3, 1e-6);
}

TEST(TrainingStepTest, IgnoredLabelsDoNotCount) {
  TrainingOptions options;
  options.loss.ignore_index = -100;
  Trainer run(kClasses, options);
  EXPECT_NEAR(run.Step({{"x", {1, 0, 0, 1, 0, 0}}, {"labels", {0, -100, -100}}, {"lr", {0.1}}}),
              std::log(1 + std::exp(1.0)) - 1, 1e-6);
  const double p = std::exp(1.0) / (1 + std::exp(1.0));
  EXPECT_THAT(run.State("w"), Near({1 - 0.1 * (p - 1), -0.1 * (1 - p), 0, 1}));
}

TEST(TrainingStepTest, BinaryCrossEntropy) {
  TrainingOptions options;
  options.loss.kind = LossKind::kBinaryCrossEntropyLogits;
  Trainer run(
      "graph g(x: f32[1,1], w: weight f32[1,2] = [0.0, 2.0]) { y = matmul(x, w)\n return y }",
      options);
  EXPECT_NEAR(run.Step({{"x", {1}}, {"labels", {1, 0}}, {"lr", {1}}}),
              (std::log(2.0) + std::log(1 + std::exp(2.0))) / 2, 1e-6);
  EXPECT_THAT(run.State("w"), Near({0.25, 2 - 0.5 / (1 + std::exp(-2.0))}));
}

TEST(TrainingStepTest, BatchNormalizationLearnsItsStatistics) {
  const std::string text =
      "graph g(x: f32[2,1], s: weight f32[1] = [1.0], o: weight f32[1] = [0.0],\n"
      "        m: weight f32[1] = [0.5], v: weight f32[1] = [2.0]) {\n"
      "y = batch_norm(x, s, o, m, v)\n return y }";
  const TrainingStep step = StepOf(text, MeanSquares());
  EXPECT_THAT(step.graph.output_names(),
              ElementsAre("loss", "m.next", "v.next", "s.next", "o.next"));
  Trainer run(text, MeanSquares());
  // With mean 2 and variance 1, the batch becomes -1 and 1.
  EXPECT_NEAR(run.Step({{"x", {1, 3}}, {"labels", {0, 0}}, {"lr", {0.1}}}), 1, 1e-4);
  EXPECT_THAT(run.State("m"), Near({0.9 * 0.5 + 0.1 * 2}));
  EXPECT_THAT(run.State("v"), Near({0.9 * 2 + 0.1 * 1}));
}

TEST(TrainingStepTest, FrozenAndUnusedWeightsStay) {
  TrainingOptions options = MeanSquares();
  options.frozen = {"w"};
  const TrainingStep step = StepOf(kLinear, options);
  EXPECT_THAT(step.graph.input_names(), ElementsAre("x", "labels", "lr", "b"));
}

// A weight without dimensions is not trained, and the step says so, unless it is frozen.
TEST(TrainingStepTest, AFrozenScalarIsNotNoted) {
  const std::string text =
      "graph g(x: f32[2,1], w: weight f32[1] = [1.0], c: weight f32[] = fill 2.0) {\n"
      "p = mul(x, w)\n y = mul(p, c)\n return y }";
  TrainingOptions options = MeanSquares();
  EXPECT_EQ(StepOf(text, options).untrained.size(), 1);
  options.frozen = {"c"};
  EXPECT_EQ(StepOf(text, options).untrained.size(), 0);
}

std::string ErrorOf(const std::string& text, const TrainingOptions& options) {
  auto step = BuildTrainingStep(*ParseGraph(text), options);
  EXPECT_FALSE(step.ok());
  return std::string(step.status().message());
}

TEST(TrainingStepTest, SaysWhatIsWrong) {
  TrainingOptions options = MeanSquares();
  options.frozen = {"w", "b"};
  EXPECT_THAT(ErrorOf(kLinear, options), HasSubstr("depends on no weight that could be trained"));
  options.frozen = {"z"};
  EXPECT_THAT(ErrorOf(kLinear, options), HasSubstr("there is no weight z"));
  options = MeanSquares();
  options.output = "z";
  EXPECT_THAT(ErrorOf(kLinear, options), HasSubstr("the model has no output z; it has y"));
  TrainingOptions classes;
  classes.loss.class_axis = 3;
  EXPECT_THAT(ErrorOf(kLinear, classes), HasSubstr("f32[2,1], which has no class axis 3"));
  EXPECT_THAT(
      ErrorOf("graph g(x: f32[2], w: weight f32[2]) { y = mul(x, w)\n return y }", MeanSquares()),
      HasSubstr("weight w has no values"));
  EXPECT_THAT(ErrorOf("graph g(lr: f32[2], w: weight f32[2] = [1.0, 2.0]) { y = mul(lr, w)\n "
                      "return y }",
                      MeanSquares()),
              HasSubstr("two inputs named lr"));
}

}  // namespace
}  // namespace lemma
