// Plans of the models in data/models and of their training steps: they exist, their peak is close
// to the bytes that are live at once, and every launch has memory for the values it reads and
// writes.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/grad/training_step.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/plan_check.h"

namespace lemma {
namespace {

class CudaModels : public testing::TestWithParam<const char*> {
 protected:
  static Graph Import(bool training) {
    ImportOptions options;
    options.training = training;
    auto model = ImportOnnx(absl::StrCat("data/models/light/light_", GetParam(), ".onnx"), options);
    EXPECT_TRUE(model.ok()) << model.status();
    return model->graph;
  }

  static void ExpectPlan(const Graph& graph) {
    NodeTraitsCache traits;
    auto plan = cuda::PlanGraph(graph, traits);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_FALSE(plan->launches.empty());
    ASSERT_TRUE(cuda::CheckPlan(graph, *plan).ok()) << cuda::CheckPlan(graph, *plan);
    EXPECT_LT(plan->steps.size(), static_cast<size_t>(graph.num_ops()));
    const int64_t peak = plan->memory.planned_bytes;
    EXPECT_GE(peak, plan->memory.live_bytes);
    EXPECT_LE(static_cast<double>(peak), 1.25 * static_cast<double>(plan->memory.live_bytes));
    for (const cuda::Launch& launch : plan->launches) {
      for (int b : plan->Arguments(launch)) {
        ASSERT_GE(b, 0) << cuda::OperatorsOf(plan->steps[launch.step].nodes);
        const cuda::Buffer& buffer = plan->buffers[b];
        const bool is_static = buffer.kind == cuda::Buffer::Kind::kStatic;
        EXPECT_GE(buffer.offset, 0);
        EXPECT_LE(buffer.offset + buffer.type.num_bytes(),
                  is_static ? plan->memory.weight_bytes : peak);
      }
    }
    RecordProperty("kernels", static_cast<int>(plan->launches.size()));
    RecordProperty("peak_mb", static_cast<int>(peak / 1000000));
  }
};

TEST_P(CudaModels, HavePlans) { ExpectPlan(Import(/*training=*/false)); }

TEST_P(CudaModels, HavePlansOfTraining) {
  TrainingOptions options;
  options.update.momentum = 0.9;
  auto step = BuildTrainingStep(Import(/*training=*/true), options);
  ASSERT_TRUE(step.ok()) << step.status();
  ExpectPlan(step->graph);
}

// Except where the gradient that reads the old value is fused with later operators: in fc7 and fc8
// of AlexNet and VGG.
TEST_P(CudaModels, UpdateWeightsInPlace) {
  TrainingOptions options;
  options.update.momentum = 0.9;
  auto step = BuildTrainingStep(Import(/*training=*/true), options);
  ASSERT_TRUE(step.ok()) << step.status();
  NodeTraitsCache traits;
  auto plan = cuda::PlanGraph(step->graph, traits);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_GT(plan->state.size(), 20);
  const auto apart =
      std::count_if(plan->state.begin(), plan->state.end(), [&](const StatePair& pair) {
        return plan->inputs[pair.input] != plan->outputs[pair.output];
      });
  EXPECT_LE(apart, 2);
}

INSTANTIATE_TEST_SUITE_P(Light, CudaModels,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "resnet50",
                                         "squeezenet", "vgg19"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lemma
