// The kernels of the models in data/models and of their training steps are right,
// except for a few programs that are too large. Takes long, so it is tagged large.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/grad/training_step.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "tests/verifier/kernels/checked_graph.h"

namespace lemma {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
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
    size_t right = 0;
    for (const auto& [operators, verdict] : verdicts) {
      EXPECT_NE(verdict.kind, Kind::kWrong) << operators << ": " << verdict.reason;
      right += verdict.kind == Kind::kAgrees ? 1 : 0;
      if (verdict.kind != Kind::kNotChecked) continue;
      // The largest layers of AlexNet and VGG have too many weights, above all with their momenta.
      EXPECT_THAT(verdict.reason, AnyOf(HasSubstr("operations"), HasSubstr(" elements")))
          << operators;
    }
    RecordProperty("right", static_cast<int>(right));
    EXPECT_GT(right * 10, verdicts.size() * 9);
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
