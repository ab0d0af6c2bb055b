#include "api/train.h"

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

constexpr char kModel[] =
    "graph net(x: f32[8,4], w: weight f32[4,3] = fill 0.5) { y = matmul(x, w) return y }";

api::TrainingStepOptions SquaredError() {
  api::TrainingStepOptions options;
  options.loss = "mse";
  options.details.update.momentum = 0.5;
  options.lr = "1e-2";
  return options;
}

class TrainTest : public testing::Test {
 protected:
  TrainTest() {
    auto made = api::MakeTrainingStep(ModelOf(kModel), SquaredError());
    EXPECT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(api::SaveTrainingStep(*made, path_).ok());
    auto step = api::LoadModel(path_);
    EXPECT_TRUE(step.ok()) << step.status();
    step_ = *std::move(step);
    options_.execution.backend = "reference";
  }

  // The loss of each step that is run.
  std::vector<double> Losses() {
    auto run = api::TrainingRun::Start(step_, options_);
    EXPECT_TRUE(run.ok()) << run.status();
    std::vector<double> losses;
    EXPECT_TRUE(
        run->Continue([&](const auto& progress) { losses.push_back(progress.scalars[0]); }).ok());
    return losses;
  }
  std::string StartError() {
    return std::string(api::TrainingRun::Start(step_, options_).status().message());
  }

  const std::string folder_ = NewTestFolder();
  const std::string path_ = folder_ + "/step.lemma";
  api::Model step_;
  api::TrainingRunOptions options_;
};

TEST_F(TrainTest, TheStateSaysWhatARunHasToKnow) {
  auto state = ReadSafetensors(api::StatePathOf(path_));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->metadata["loss"], "mse");
  EXPECT_EQ(state->metadata["lr"], "1e-2");
  EXPECT_EQ(state->tensors.count("w.m"), 1u);
}

TEST_F(TrainTest, TheLossFalls) {
  options_.steps = 20;
  options_.data.batches = 1;
  const std::vector<double> losses = Losses();
  ASSERT_EQ(losses.size(), 20u);
  EXPECT_LT(losses.back(), 0.9 * losses.front());
}

TEST_F(TrainTest, AnInterruptedRunGoesOnAsIfItHadNotBeen) {
  options_.steps = 6;
  const std::vector<double> whole = Losses();

  options_.checkpoint = folder_ + "/state.safetensors";
  options_.resume = true;
  std::atomic<bool> interrupted = false;
  auto run = api::TrainingRun::Start(step_, options_);
  ASSERT_TRUE(run.ok()) << run.status();
  absl::Status done =
      run->Continue([&](const auto& progress) { interrupted = progress.step == 2; }, &interrupted);
  ASSERT_TRUE(done.ok()) << done;
  EXPECT_EQ(run->steps_done(), 2);
  EXPECT_EQ(run->scalar_names(), std::vector<std::string>{"loss"});
  EXPECT_EQ(run->state_bytes(), 2 * 4 * 3 * 4);
  EXPECT_EQ(Losses(), std::vector<double>(whole.begin() + 2, whole.end()));
}

TEST_F(TrainTest, ErrorsOfARunNameOptionsAndFiles) {
  options_.every = 0;
  EXPECT_EQ(StartError(), "option every: must be at least 1");
  options_.every = 1;
  options_.resume = true;
  EXPECT_EQ(StartError(), "option resume: from where? give option checkpoint FILE");
  options_.resume = false;
  options_.data.set["lr"] = -1;
  EXPECT_EQ(StartError(), path_ + ": option set: lr=-1: a learning rate is not negative");
  options_.data.set = {{"other", 1}};
  EXPECT_EQ(StartError(),
            path_ + ": option set: the step takes no scalar 'other' besides its state and data");
  options_.data.set = {};
  options_.checkpoint = path_;
  EXPECT_TRUE(absl::StrContains(StartError(), "would overwrite the input")) << StartError();
  options_.checkpoint = "";
  options_.state = folder_ + "/none";
  EXPECT_TRUE(absl::StartsWith(StartError(), options_.state)) << StartError();
  step_ = ModelOf(kModel);
  EXPECT_TRUE(absl::StartsWith(StartError(), "has no state")) << StartError();
}

TEST(TrainingStepTest, ErrorsNameOptions) {
  const api::Model model = ModelOf(kModel);
  api::TrainingStepOptions options;
  auto error = [&] {
    return std::string(api::MakeTrainingStep(model, options).status().message());
  };
  options.loss = "hinge";
  EXPECT_EQ(error(), "option loss: 'hinge' is none of cross-entropy, mse, bce");
  options = {};
  options.lr = "fast";
  EXPECT_EQ(error(), "option lr: must be a number");
  options = {};
  options.details.update.beta2 = 1;
  EXPECT_EQ(error(), "option beta2: must be at least 0, below 1");
  options = {};
  options.details.update.nesterov = true;
  EXPECT_EQ(error(), "option nesterov: needs option momentum");
  options = {};
  options.precision = "f64";
  EXPECT_EQ(error(), "option precision: 'f64' is none of f32, bf16, f16");
  options = {};
  options.loss_scale = "much";
  EXPECT_EQ(error(), "option loss_scale: 'much' is neither dynamic nor a finite positive number");
  options.loss_scale = "1e-39";
  EXPECT_TRUE(absl::StrContains(error(), "the inverse of 1e-39, which is infinite")) << error();
  options.loss_scale = "2";
  options.details.scale_interval = 7;
  EXPECT_EQ(error(), "option scale_interval: belongs to a dynamic loss scale");
  options = {};
  options.details.frozen = {"none"};
  EXPECT_TRUE(absl::StrContains(error(), "none")) << error();
}

TEST(TrainingStepTest, NothingIsWrittenInAnUnknownFormat) {
  auto made = api::MakeTrainingStep(ModelOf(kModel), {});
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string path = NewTestFolder() + "/step.bin";
  EXPECT_FALSE(api::SaveTrainingStep(*made, path).ok());
  EXPECT_FALSE(ReadSafetensors(api::StatePathOf(path)).ok());
}

}  // namespace
}  // namespace lemma
