// Wrong labels, learning rates and output paths of training are refused.
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "graph/safetensors.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kModel[] = R"(graph net(x: f32[2,3], w: weight f32[3,5] = fill 0.5) {
  y = matmul(x, w) return y })";

class TrainingInputTest : public testing::Test {
 protected:
  TrainingInputTest() : model_(WriteTemp("net.lemma", kModel)), folder_(NewFolder()) {}

  std::string Step(std::vector<std::string> flags = {}) {
    const std::string step = folder_ + "/step.lemma";
    flags.insert(flags.begin(), {"train", model_, "--lr=0.1", "-o", step});
    const LemmaResult result = RunLemma(flags);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    return step;
  }
  // Two batches, the second with these labels.
  LemmaResult RunWithLabels(const std::string& step, int64_t a, int64_t b) {
    NamedTensors data;
    data.tensors["x"] = *Tensor::Filled({DType::kF32, {2, 2, 3}}, 1);
    data.tensors["labels"] = *Tensor::FromInts({DType::kI64, {2, 2}}, {0, 4, a, b});
    const std::string file = folder_ + "/data.safetensors";
    EXPECT_TRUE(WriteSafetensors(file, data).ok());
    return RunLemma({"run", step, "--steps=1", "--data", file});
  }

  const std::string model_, folder_;
};

TEST_F(TrainingInputTest, ALabelThatIsNoClassIsNamed) {
  const std::string step = Step();
  EXPECT_EQ(RunWithLabels(step, 3, 4).exit_status, 0);
  ExpectOneLine(RunWithLabels(step, 3, 5), {"data.safetensors", "label 5", "number 1 of batch 1",
                                            "classes 0 to 4", "--ignore-index"});
  ExpectOneLine(RunWithLabels(step, -1, 0), {"label -1", "number 0 of batch 1"});
  ExpectOneLine(RunWithLabels(step, 1000000000000, 0), {"label 1000000000000"});
}

TEST_F(TrainingInputTest, TheLabelToIgnoreIsNone) {
  const std::string step = Step({"--ignore-index=-1"});
  EXPECT_EQ(RunWithLabels(step, -1, 2).exit_status, 0);
  ExpectOneLine(RunWithLabels(step, -2, 2), {"label -2", "nor -1, which is ignored"});
}

TEST_F(TrainingInputTest, LabelsAreCheckedOfAnOptimizedStepToo) {
  const std::string step = Step(), out = folder_ + "/o.pb";
  ASSERT_EQ(RunLemma({"optimize", step, "-o", out, "--cost=analytic", "--runs=3"}).exit_status, 0);
  RunWithLabels(step, 0, 0);
  NamedTensors data = *ReadSafetensors(folder_ + "/data.safetensors");
  data.tensors["labels"] = *Tensor::FromInts({DType::kI64, {2, 2}}, {0, 0, 0, 5});
  ASSERT_TRUE(WriteSafetensors(folder_ + "/bad.safetensors", data).ok());
  ExpectOneLine(RunLemma({"run", out, "--steps=1", "--state", step + ".safetensors", "--data",
                          folder_ + "/bad.safetensors"}),
                {"label 5"});
}

TEST_F(TrainingInputTest, MadeUpLabelsAreClasses) {
  EXPECT_EQ(RunLemma({"run", Step(), "--steps=20", "--int-range=1000"}).exit_status, 0);
}

TEST_F(TrainingInputTest, RatesOfWhichNothingCanComeAreRefused) {
  const std::string out = folder_ + "/s.lemma";
  for (const std::string flag :
       {"--beta1=1",       "--beta1=-0.1",      "--beta2=1",          "--beta2=nan",
        "--lr=-1",         "--lr=nan",          "--lr=inf",           "--momentum=-1",
        "--momentum=inf",  "--weight-decay=-1", "--weight-decay=nan", "--epsilon=-1",
        "--clip-norm=nan", "--clip-norm=inf",   "--loss-scale=0",     "--loss-scale=inf",
        "--loss-scale=-1", "--loss-scale=nan",  "--scale-interval=0", "--batch-norm-momentum=2"}) {
    ExpectOneLine(RunLemma({"train", model_, "-o", out, flag}), {flag.substr(0, flag.find('='))});
  }
  const std::string step = Step();
  for (const std::string rate : {"nan", "inf", "-inf", "-0.5"}) {
    ExpectOneLine(RunLemma({"run", step, "--steps=1", "--set", "lr=" + rate}), {"--set", "lr"});
  }
  EXPECT_THAT(FilesIn(folder_), ElementsAre("step.lemma", "step.lemma.safetensors"));
}

TEST_F(TrainingInputTest, WhereNoCheckpointCanBeWrittenNoStepIsDone) {
  const std::string step = Step();
  const LemmaResult result =
      RunLemma({"run", step, "--steps=3", "--checkpoint", folder_ + "/none/c.safetensors"});
  ExpectOneLine(result, {"cannot be written", "none"});
  EXPECT_THAT(result.out, IsEmpty());
  ExpectOneLine(RunLemma({"run", step, "--steps=3", "--checkpoint", step}), {"would overwrite"});
}

TEST_F(TrainingInputTest, ATemporaryFileOfAKilledRunIsGoneWhenItIsResumed) {
  const std::string step = Step(), checkpoint = folder_ + "/c.safetensors";
  // As left by a process that was killed while writing: the file exists, and nobody has it open.
  ASSERT_EQ(RunLemma({"run", step, "--steps=1", "--checkpoint", checkpoint}).exit_status, 0);
  NamedTensors none;
  ASSERT_TRUE(WriteSafetensors(checkpoint + ".lemma-AbCdEf", none).ok());
  const LemmaResult resumed =
      RunLemma({"run", step, "--steps=2", "--checkpoint", checkpoint, "--resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_THAT(FilesIn(folder_),
              ElementsAre("c.safetensors", "step.lemma", "step.lemma.safetensors"));
}

TEST_F(TrainingInputTest, ParametersThatAreNotTrainedAreNamed) {
  onnx::ModelProto model =
      OnnxModel("g (float[2,3] x) => (float[2,5] y) { m = MatMul(x, w)  y = Mul(m, temperature) }");
  AddOnes(&model, "w", {3, 5});
  AddOnes(&model, "temperature", {});
  AddOnes(&model, "unused", {7});
  const std::string file = WriteTemp("m.onnx", model.SerializeAsString());
  const LemmaResult result = RunLemma({"train", file, "-o", folder_ + "/s.lemma"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("'temperature' is not trained: it has no dimensions"));
  EXPECT_THAT(result.err, HasSubstr("'unused' is not trained: no output depends on it"));
  EXPECT_THAT(result.err, Not(HasSubstr("'w'")));
}

TEST_F(TrainingInputTest, AWeightTheLossDoesNotDependOnIsNamed) {
  const std::string two = WriteTemp("two.lemma", R"(graph net(x: f32[2,3],
      w: weight f32[3,5] = fill 0.5, v: weight f32[3,5] = fill 0.5, t: weight f32[] = fill 2.0) {
    y = matmul(x, w) z = matmul(x, v) u = mul(y, t) return u, z })");
  const LemmaResult result = RunLemma({"train", two, "-o", folder_ + "/s.lemma"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("not trained: v (the loss does not depend on it)"));
  EXPECT_THAT(result.out, HasSubstr("not trained: t (it has no dimensions)"));
}

}  // namespace
}  // namespace lemma
