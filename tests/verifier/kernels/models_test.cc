// The kernels of the models in data/models and of their training steps are right. Takes an hour or
// two of processor time, so it is tagged large.
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/grad/training_step.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "tests/verifier/kernels/checked_graph.h"

namespace lemma {
namespace {

using Kind = kernels::ProgramVerdict::Kind;

class KernelsOfModel : public testing::TestWithParam<const char*> {
 protected:
  static Graph Import(bool training) {
    ImportOptions options;
    options.training = training;
    auto model = ImportOnnx(absl::StrCat("data/models/light/light_", GetParam(), ".onnx"), options);
    EXPECT_TRUE(model.ok()) << model.status();
    return model->graph;
  }

  static void ExpectRight(const Graph& graph) {
    const StepVerdicts verdicts = CheckSteps(graph);
    RecordProperty("programs", static_cast<int>(verdicts.size()));
    EXPECT_GT(verdicts.size(), 10u);
    for (const auto& [operators, verdict] : verdicts) {
      EXPECT_EQ(verdict.kind, Kind::kEqual) << operators << ": " << verdict.reason;
    }
  }
};

TEST_P(KernelsOfModel, AreRight) { ExpectRight(Import(/*training=*/false)); }

TEST_P(KernelsOfModel, AreRightInTraining) {
  TrainingOptions options;
  options.update.momentum = 0.9;
  auto step = BuildTrainingStep(Import(/*training=*/true), options);
  ASSERT_TRUE(step.ok()) << step.status();
  ExpectRight(step->graph);
}

INSTANTIATE_TEST_SUITE_P(Light, KernelsOfModel,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "resnet50",
                                         "squeezenet", "vgg19"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lemma
