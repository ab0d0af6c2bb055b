// Small models, built in different ways, train as in PyTorch. `tools/check_training --zoo` does the
// same with more of them; with --write it made the files here.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/safetensors.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

constexpr char kFolder[] = "tests/cli/training_zoo/";
constexpr int kSteps = 3;

// As in tools/lib/check_zoo.py.
const std::vector<std::string>& FlagsOf(const std::string& update) {
  static const auto& sgd = *new std::vector<std::string>{"--update=sgd", "--momentum=0.875",
                                                         "--weight-decay=0.03125", "--lr=0.125"};
  static const auto& adamw = *new std::vector<std::string>{
      "--update=adamw",         "--beta1=0.875",         "--beta2=0.96875",
      "--epsilon=0.0009765625", "--weight-decay=0.0625", "--lr=0.015625"};
  return update == "sgd" ? sgd : adamw;
}

std::vector<double> LossesIn(const std::string& json) {
  const std::string key = "\"loss\":[";
  const size_t at = json.find(key);
  if (at == std::string::npos) return {};
  const size_t begin = at + key.size();
  std::vector<double> losses;
  for (absl::string_view text :
       absl::StrSplit(json.substr(begin, json.find(']', begin) - begin), ',')) {
    double loss = NAN;
    EXPECT_TRUE(absl::SimpleAtod(text, &loss)) << text;
    losses.push_back(loss);
  }
  return losses;
}

struct Model {
  const char *name, *loss;
};

class TrainingZooTest : public testing::TestWithParam<Model> {
 protected:
  // Losses off by more than this share of PyTorch's in f64 are wrong.
  void ExpectLossesOfPyTorch(const std::string& step, const std::string& update,
                             const std::string& backend, double allowed) {
    const std::string data = absl::StrCat(kFolder, GetParam().name, ".safetensors");
    const LemmaResult run =
        RunLemma({"run", step, "--steps", absl::StrCat(kSteps), "--data", data, "--state",
                  step + ".safetensors", "--backend", backend, "--json"});
    ASSERT_EQ(run.exit_status, 0) << run.err;
    const std::vector<double> losses = LossesIn(run.out);
    auto tensors = ReadSafetensors(data);
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    const Tensor& wanted = tensors->tensors.at("loss." + update);
    ASSERT_EQ(losses.size(), kSteps);
    for (int i = 0; i < kSteps; ++i) {
      const double want = wanted.AtDouble(i);
      EXPECT_NEAR(losses[i], want, allowed * std::abs(want))
          << GetParam().name << ", " << update << ", " << backend << ", step " << i + 1;
    }
  }
};

TEST_P(TrainingZooTest, LossesAreThoseOfPyTorch) {
  for (const std::string update : {"sgd", "adamw"}) {
    const std::string step = NewFolder() + "/step.pb";
    std::vector<std::string> train = {"train", absl::StrCat(kFolder, GetParam().name, ".onnx"),
                                      "-o", step};
    const std::vector<std::string>& flags = FlagsOf(update);
    train.insert(train.end(), flags.begin(), flags.end());
    train.push_back(absl::StrCat("--loss=", GetParam().loss));
    const LemmaResult made = RunLemma(train);
    ASSERT_EQ(made.exit_status, 0) << made.err;
    ExpectLossesOfPyTorch(step, update, "reference-f64", 1e-6);
    ExpectLossesOfPyTorch(step, update, "reference", 1e-5);
    ExpectLossesOfPyTorch(step, update, "cpu", 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingZooTest,
                         testing::Values(Model{"graph_scatter", "mse"},
                                         Model{"soft_experts", "cross-entropy"},
                                         Model{"pooling_ceil", "cross-entropy"},
                                         Model{"causal_shifts", "mse"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lemma
