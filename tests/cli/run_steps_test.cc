// lemma run --steps: training.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/safetensors.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

// Least squares of x w to y by gradient descent with momentum.
constexpr char kStep[] =
    R"(graph step(x: f32[8,4], y: f32[8,2], lr: f32[], w: f32[4,2], v: f32[4,2]) {
  p = matmul(x, w)
  e = sub(p, y)
  s = mul(e, e)
  loss = reduce_sum(s) {axes = [0,1]}
  xt = transpose(x) {perm = [1,0]}
  g = matmul(xt, e)
  c = constant f32[] [0.5]
  m = mul(v, c)
  u = add(m, g)
  d = mul(u, lr)
  n = sub(w, d)
  return loss, w.next = n, v.next = u
})";

class RunStepsTest : public testing::Test {
 protected:
  RunStepsTest() {
    NamedTensors state;
    state.tensors["w"] = *Tensor::Filled({DType::kF32, {4, 2}}, 0.25);
    state.tensors["v"] = *Tensor::Filled({DType::kF32, {4, 2}}, 0);
    EXPECT_TRUE(WriteSafetensors(model_ + ".safetensors", state).ok());
  }
  LemmaResult Train(const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"run", model_, "--set", "lr=0.01"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunLemma(arguments);
  }

  const std::string model_ = WriteTemp("step.lemma", kStep);
  const std::string folder_ = NewFolder();
  const std::string checkpoint_ = folder_ + "/state.safetensors";
};

TEST_F(RunStepsTest, TheLossOfOneBatchFalls) {
  const LemmaResult result = Train({"--steps=100", "--batches=1", "--checkpoint", checkpoint_});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("step 1  loss "));
  EXPECT_THAT(result.out, HasSubstr("100 steps done"));
  EXPECT_THAT(result.out, HasSubstr("of state"));
  auto loss = [&](const std::string& step) {
    const size_t at = result.out.find("step " + step + "  loss ");
    return std::stod(result.out.substr(at + 12 + step.size()));
  };
  EXPECT_LT(loss("100"), 0.9 * loss("1"));
  auto state = ReadSafetensors(checkpoint_);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->metadata["lemma.step"], "100");
  EXPECT_EQ(state->tensors.size(), 2);
}

// Computed by hand for x = 1, y = 0, one step: each of 8 rows has p = 4 * 0.25 = 1.
TEST_F(RunStepsTest, OneStepIsWhatItsEquationsSay) {
  NamedTensors data;
  data.tensors["x"] = *Tensor::Filled({DType::kF32, {1, 8, 4}}, 1);
  data.tensors["y"] = *Tensor::Filled({DType::kF32, {1, 8, 2}}, 0);
  const std::string file = folder_ + "/data.safetensors";
  ASSERT_TRUE(WriteSafetensors(file, data).ok());
  const LemmaResult result =
      Train({"--steps=1", "--data", file, "--checkpoint", checkpoint_, "--json"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"loss\":[16"));
  auto state = ReadSafetensors(checkpoint_);
  ASSERT_TRUE(state.ok());
  EXPECT_FLOAT_EQ(state->tensors["v"].AtDouble(0), 8);
  EXPECT_FLOAT_EQ(state->tensors["w"].AtDouble(0), 0.25 - 0.01 * 8);
}

TEST_F(RunStepsTest, KilledAndResumedGivesTheSameBits) {
  const std::string whole = folder_ + "/whole.safetensors";
  ASSERT_EQ(Train({"--steps=300", "--checkpoint", whole}).exit_status, 0);
  const std::vector<std::string> flags = {"--steps=300", "--checkpoint", checkpoint_, "--every=1",
                                          "--resume"};
  for (int kill = 0; kill < 5; ++kill) {
    std::vector<std::string> arguments = {"run", model_, "--set", "lr=0.01"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    int asked = 0;
    KillLemma(arguments, [&] { return ++asked > kill && !FilesIn(folder_).empty(); });
  }
  ASSERT_EQ(Train(flags).exit_status, 0);
  EXPECT_EQ(ReadAll(checkpoint_), ReadAll(whole));
}

TEST_F(RunStepsTest, AnInterruptedRunSavesItsState) {
  std::vector<std::string> arguments = {"run", model_, "--set", "lr=0.01", "--steps=100000000"};
  arguments.insert(arguments.end(), {"--checkpoint", checkpoint_, "--every=50"});
  const LemmaResult result =
      InterruptLemma(arguments, [&] { return !ReadAll(checkpoint_).empty(); });
  EXPECT_EQ(result.exit_status, 130);
  EXPECT_THAT(result.err, HasSubstr("--resume goes on from"));
  EXPECT_TRUE(ReadSafetensors(checkpoint_).ok());
}

TEST_F(RunStepsTest, BadInputIsNamed) {
  ExpectOneLine(RunLemma({"run", model_, "--steps=1"}), {"--set lr=", "step needs a value of lr"});
  ExpectOneLine(Train({"--steps=1", "--set", "momentum=1"}), {"momentum"});
  ExpectOneLine(Train({"--steps=1", "--set", "lr"}), {"'lr' is not NAME=VALUE"});
  ExpectOneLine(Train({"--steps=1", "--state", folder_ + "/none"}), {"none"});
  ExpectOneLine(Train({"--checkpoint", checkpoint_}), {"give --steps N"});
  ExpectOneLine(Train({"--steps=1", "--resume"}), {"--checkpoint FILE"});
  const std::string other =
      WriteTemp("g.lemma", "graph g(x: f32[2]) {\n  y = relu(x)\n  return y\n}");
  ExpectOneLine(RunLemma({"run", other, "--steps=1"}), {"has no state", "NAME.next"});

  NamedTensors wrong;
  wrong.tensors["w"] = *Tensor::Filled({DType::kF32, {2, 4}}, 1);
  wrong.tensors["v"] = *Tensor::Filled({DType::kF32, {4, 2}}, 0);
  ASSERT_TRUE(WriteSafetensors(checkpoint_, wrong).ok());
  ExpectOneLine(Train({"--steps=1", "--state", checkpoint_}), {"w is f32[2,4]", "needs f32[4,2]"});
  wrong.tensors.erase("w");
  wrong.tensors["x"] = *Tensor::Filled({DType::kF32, {3, 8, 4}}, 1);
  wrong.tensors["y"] = *Tensor::Filled({DType::kF32, {2, 8, 2}}, 1);
  ASSERT_TRUE(WriteSafetensors(checkpoint_, wrong).ok());
  ExpectOneLine(Train({"--steps=1", "--state", checkpoint_}), {"has no tensor w"});
  ExpectOneLine(Train({"--steps=1", "--data", checkpoint_}), {"y has 2 batches, others have 3"});
}

TEST_F(RunStepsTest, ACountOfStepsBelowZeroIsRefused) {
  ASSERT_EQ(Train({"--steps=1", "--checkpoint", checkpoint_}).exit_status, 0);
  auto state = ReadSafetensors(checkpoint_);
  ASSERT_TRUE(state.ok()) << state.status();
  state->metadata["lemma.step"] = "-9";
  ASSERT_TRUE(WriteSafetensors(checkpoint_, *state).ok());
  ExpectOneLine(Train({"--steps=1", "--state", checkpoint_}), {"-9", "not a count of steps"});
}

TEST_F(RunStepsTest, TheCheckpointOfAnotherStepIsRefused) {
  ASSERT_EQ(Train({"--steps=1", "--checkpoint", checkpoint_}).exit_status, 0);
  std::string changed = kStep;
  changed.replace(changed.find("[0.5]"), 5, "[0.9]");
  ExpectOneLine(RunLemma({"run", WriteTemp("other.lemma", changed), "--steps=2", "--set", "lr=0.01",
                          "--resume", "--checkpoint", checkpoint_}),
                {"checkpoint of another step"});
}

// Eight layers whose activations are needed again in the backward pass; the limit is below their
// sum.
TEST_F(RunStepsTest, ValuesAreComputedTwiceToKeepToALimit) {
  std::string text = "graph deep(x: f32[64,64]) {\n  a0 = tanh(x)\n";
  for (int i = 1; i <= 8; ++i) absl::StrAppend(&text, "  a", i, " = tanh(a", i - 1, ")\n");
  absl::StrAppend(&text, "  g8 = matmul(a8, a8)\n");
  for (int i = 8; i-- > 0;) {
    absl::StrAppend(&text, "  g", i, " = matmul(g", i + 1, ", a", i, ")\n");
  }
  absl::StrAppend(&text, "  return g0\n}");
  const std::string deep = WriteTemp("deep.lemma", text);
  auto optimize = [&](const std::string& out) {
    return RunLemma({"optimize", deep, "-o", folder_ + out, "--memory-limit", "100K", "--runs", "3",
                     "--budget", "1", "--cost-db", folder_ + "/c.sqlite"});
  };
  const LemmaResult kept = optimize("/o.lemma");
  ASSERT_EQ(kept.exit_status, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("computed again, to save memory"));
  const LemmaResult checked =
      RunLemma({"check", deep, folder_ + "/o.lemma", folder_ + "/o.lemma.cert"});
  EXPECT_EQ(checked.exit_status, 0) << checked.out;
  const LemmaResult onnx = optimize("/o.onnx");
  EXPECT_EQ(onnx.exit_status, 1);
  EXPECT_THAT(onnx.err, HasSubstr("ONNX cannot hold values that are computed again"));
}

TEST_F(RunStepsTest, MemoryIsShown) {
  const LemmaResult result = RunLemma({"show", model_, "--memory"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("largest at the peak"));
  EXPECT_THAT(RunLemma({"show", model_, "--memory", "--json"}).out, HasSubstr("\"live_bytes\":["));
  ExpectOneLine(RunLemma({"show", model_, "--memory", "--backend=reference"}), {"makes no plan"});
}

}  // namespace
}  // namespace lemma
