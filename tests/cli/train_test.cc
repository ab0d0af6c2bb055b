// lemma train: the step it writes is a model like any other.
#include <string>

#include "gmock/gmock.h"
#include "graph/safetensors.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

// A small image classifier with the operators that a training step treats specially.
constexpr char kModel[] =
    R"(graph net(x: f32[4,2,8,8], "conv.w": weight f32[4,2,3,3] = fill 0.25, scale: weight f32[4] = fill 1.0,
          shift: weight f32[4] = fill 0.125, mean: weight f32[4] = fill 0.5, variance: weight f32[4] = fill 2.0,
          w: weight f32[4,3] = fill 0.5) {
  c = conv2d(x, "conv.w") {pads = [1,1,1,1]}
  n = batch_norm(c, scale, shift, mean, variance)
  a = relu(n)
  p = max_pool2d(a) {kernel = [2,2], strides = [2,2]}
  m = reduce_mean(p) {axes = [2,3]}
  y = matmul(m, w)
  return y
})";

std::string Train(const std::string& model, const std::string& name,
                  std::vector<std::string> flags = {}) {
  const std::string step = NewFolder() + "/" + name;
  flags.insert(flags.begin(), {"train", model, "-o", step});
  LemmaResult result = RunLemma(flags);
  EXPECT_EQ(result.exit_status, 0) << result.err;
  return step;
}

TEST(TrainTest, AStepComputesTheSameInEveryFormat) {
  const std::string model = WriteTemp("net.lemma", kModel), folder = NewFolder();
  const std::string step = Train(model, "step.lemma", {"--momentum=0.9"});
  ASSERT_EQ(RunLemma({"run", step, "--backend=reference", "--outputs=" + folder}).exit_status, 0);
  for (const char* name : {"step.onnx", "step.pb"}) {
    const std::string other = Train(model, name, {"--momentum=0.9"});
    LemmaResult run = RunLemma({"run", other, "--expect=" + folder});
    EXPECT_EQ(run.exit_status, 0) << name << run.out << run.err;
  }
}

TEST(TrainTest, AnOptimizedStepComputesTheSame) {
  const std::string model = WriteTemp("net.lemma", kModel), folder = NewFolder();
  const std::string step = Train(model, "step.onnx", {"--update=adam"}), out = folder + "/o.onnx";
  LemmaResult optimized = RunLemma({"optimize", step, "-o", out, "--cost=analytic"});
  ASSERT_EQ(optimized.exit_status, 0) << optimized.err;
  const std::string values = NewFolder();
  ASSERT_EQ(RunLemma({"run", step, "--outputs=" + values}).exit_status, 0);
  LemmaResult run = RunLemma({"run", out, "--expect=" + values});
  EXPECT_EQ(run.exit_status, 0) << run.out << run.err;
}

// ONNX has no gradient of pooling; the import recognizes the operators that express it.
TEST(TrainTest, AStepComesBackFromOnnxAsItWas) {
  const std::string model = WriteTemp("net.lemma", kModel);
  LemmaResult text = RunLemma({"show", Train(model, "a.lemma"), "--format=ops"});
  LemmaResult onnx = RunLemma({"show", Train(model, "a.onnx"), "--format=ops"});
  EXPECT_THAT(text.out, HasSubstr("max_pool2d_gradient"));
  EXPECT_THAT(onnx.out, HasSubstr("max_pool2d_gradient"));
  EXPECT_THAT(onnx.out, Not(HasSubstr("scatter")));
}

TEST(TrainTest, TheStateHasTheNamesOfTheGraph) {
  const std::string model = WriteTemp("net.lemma", kModel);
  const std::string step = Train(model, "step.lemma", {"--freeze=w", "--lr=0.5", "--update=adam"});
  auto state = ReadSafetensors(step + ".safetensors");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_THAT(state->tensors,
              ElementsAre(Key("conv.w"), Key("conv.w.m"), Key("conv.w.v"), Key("mean"),
                          Key("scale"), Key("scale.m"), Key("scale.v"), Key("shift"),
                          Key("shift.m"), Key("shift.v"), Key("step"), Key("variance")));
  EXPECT_EQ(state->tensors["conv.w"].AtDouble(0), 0.25);
  EXPECT_EQ(state->metadata["lr"], "0.5");
  EXPECT_EQ(state->metadata["update"], "adam");
  EXPECT_THAT(RunLemma({"show", step}).out, HasSubstr("conv.w.next = sub(conv.w, "));
}

// One convolution and one matrix product. The scale of f16 halves while gradients overflow.
TEST(TrainTest, AStepOfMixedPrecisionComputesTheSameInEveryFormat) {
  const std::string model = WriteTemp("net.lemma", kModel);
  for (const std::string precision : {"--precision=bf16", "--precision=f16"}) {
    const std::string step = Train(model, "step.lemma", {precision, "--momentum=0.9"});
    const std::string values = NewFolder(), optimized = NewFolder() + "/o.onnx";
    ASSERT_EQ(RunLemma({"run", step, "--backend=reference", "--outputs=" + values}).exit_status, 0);
    const std::string onnx = Train(model, "step.onnx", {precision, "--momentum=0.9"});
    LemmaResult search = RunLemma({"optimize", onnx, "-o", optimized, "--cost=analytic"});
    ASSERT_EQ(search.exit_status, 0) << search.err;
    for (const std::string& other :
         {onnx, Train(model, "step.pb", {precision, "--momentum=0.9"}), optimized}) {
      LemmaResult run = RunLemma({"run", other, "--expect=" + values});
      EXPECT_EQ(run.exit_status, 0) << precision << " " << other << run.out << run.err;
    }
    LemmaResult kernels = RunLemma({"check", step, "--kernels", "--precision=stored"});
    EXPECT_EQ(kernels.exit_status, 0) << kernels.out << kernels.err;
  }
}

// Errors of some 400, times 65536, overflow in f16.
TEST(TrainTest, AnOverflowingStepKeepsTheStateOnTheCpuAndOptimized) {
  const std::string model = WriteTemp("big.lemma",
                                      "graph g(x: f32[8,16], w: weight f32[16,4] = fill 100.0) { "
                                      "y = matmul(x, w) return y }");
  const std::string step =
      Train(model, "step.pb",
            {"--precision=f16", "--loss=mse", "--update=adamw", "--lr=0.1", "--clip-norm=1"});
  const std::string out = NewFolder() + "/o.pb";
  const LemmaResult optimized =
      RunLemma({"optimize", step, "-o", out, "--cost=analytic", "--runs=3", "--numerics=real"});
  ASSERT_EQ(optimized.exit_status, 0) << optimized.err;
  const auto start = ReadSafetensors(step + ".safetensors");
  ASSERT_TRUE(start.ok()) << start.status();
  for (const std::string& file : {step, out}) {
    const std::string checkpoint = NewFolder() + "/c.safetensors";
    const LemmaResult run = RunLemma(
        {"run", file, "--steps=1", "--state", step + ".safetensors", "--checkpoint", checkpoint});
    ASSERT_EQ(run.exit_status, 0) << run.err;
    auto state = ReadSafetensors(checkpoint);
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->tensors["loss_scale"].AtDouble(0), 32768) << file;
    for (const auto& [name, before] : start->tensors) {
      EXPECT_EQ(state->tensors[name].SameBytes(before), name != "loss_scale") << file << name;
    }
  }
}

TEST(TrainTest, SaysWhatPrecisionDoes) {
  const std::string model = WriteTemp("net.lemma", kModel);
  const std::string sum = WriteTemp(
      "sum.lemma", "graph g(x: f32[2,3], w: weight f32[3] = fill 1.0) { y = mul(x, w) return y }");
  auto train = [](const std::string& path, const std::string& flag) {
    return RunLemma({"train", path, "-o", NewFolder() + "/step.pb", flag});
  };
  EXPECT_THAT(train(model, "--precision=bf16").out, HasSubstr("products of the model in bf16: 2"));
  EXPECT_THAT(train(model, "--seed=1").out, Not(HasSubstr("products")));
  EXPECT_THAT(train(sum, "--precision=f16").out, HasSubstr("note: the model has no product"));
  EXPECT_EQ(train(sum, "--precision=f16").exit_status, 0);
}

TEST(TrainTest, TheDefaultScaleIsDynamicForF16Only) {
  const std::string model = WriteTemp("net.lemma", kModel);
  auto names = [&](std::vector<std::string> flags) {
    auto state = ReadSafetensors(Train(model, "step.lemma", std::move(flags)) + ".safetensors");
    EXPECT_TRUE(state.ok()) << state.status();
    return state->tensors;
  };
  EXPECT_THAT(names({"--precision=f16"}), Contains(Key("loss_scale")));
  EXPECT_THAT(names({"--precision=f16", "--loss-scale=128"}), Not(Contains(Key("loss_scale"))));
  EXPECT_THAT(names({"--precision=bf16"}), Not(Contains(Key("loss_scale"))));
  EXPECT_THAT(names({"--loss-scale=dynamic"}), Contains(Key("good_steps")));
}

TEST(TrainTest, SaysWhatIsWrong) {
  const std::string model = WriteTemp("net.lemma", kModel), folder = NewFolder();
  auto refused = [&](std::vector<std::string> flags, const std::vector<std::string>& parts) {
    flags.insert(flags.begin(), {"train", model, "-o", folder + "/step.onnx"});
    ExpectOneLine(RunLemma(flags), parts);
    EXPECT_TRUE(FilesIn(folder).empty());
  };
  ExpectOneLine(RunLemma({"train", model}), {"missing -o STEP"});
  ExpectOneLine(RunLemma({"train", model, "-o", folder + "/step"}), {"what format?"});
  refused({"--loss=hinge"}, {"--loss", "cross-entropy"});
  refused({"--lr=fast"}, {"--lr: must be a number"});
  refused({"--nesterov"}, {"--nesterov: needs --momentum"});
  refused({"--precision=f8"}, {"--precision", "f8", "bf16"});
  refused({"--loss-scale=auto"},
          {"--loss-scale: 'auto' is neither dynamic nor a finite positive number"});
  refused({"--scale-interval=0"}, {"--scale-interval: must be at least 1"});
  refused({"--update=adam", "--momentum=0.9"}, {"--momentum: is sgd's"});
  refused({"--freeze=v"}, {"net.lemma", "there is no weight v"});
  refused({"--loss-of=z"}, {"net.lemma", "has no output z; it has y"});
  refused({"--class-axis=2"}, {"net.lemma", "no class axis 2"});
}

}  // namespace
}  // namespace lemma
