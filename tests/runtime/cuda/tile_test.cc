// Sums of products in every tile and in parts, emulated; and the model's choices.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/codegen/tiles/tile_choice.h"
#include "runtime/cuda/cuda_plan.h"
#include "tests/base/repetitions.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::ProductSize;
using codegen::TileChoice;
using codegen::TileChoices;

constexpr auto kF32 = codegen::ProductPrecision::kF32;

// Borders on every side, guards, divided indices, batches, an epilogue; and sizes without borders.
constexpr const char* kGraphs[] = {
    R"(graph product(x: f32[131,70], w: weight f32[70,133], b: weight f32[133]) {
      p = matmul(x, w)
      q = add(p, b)
      r = relu(q)
      return r
    })",
    "graph even(x: f32[128,64], w: f32[64,256]) { p = matmul(x, w) return p }",
    R"(graph strided(x: f32[2,17,23,21], w: weight f32[70,17,3,3], b: weight f32[70]) {
      c = conv2d(x, w, b) {pads = [1,1,1,1], strides = [2,1]}
      return c
    })",
    R"(graph grouped(x: f32[2,34,13,12], w: weight f32[66,17,3,3]) {
      c = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2], groups = 2}
      return c
    })",
    "graph doubles(x: f64[67,70], w: f64[70,69]) { p = matmul(x, w) return p }",
};

TEST(Tiles, EachMatchesTheReference) {
  EmulatedPlans plans;
  std::set<std::string> schedules;
  for (size_t tile = 0; tile < codegen::TileShapes(kF32).size(); ++tile) {
    for (int64_t parts : {1, 2}) {
      int64_t number = 0;
      for (const char* text : kGraphs) {
        if ((++number + parts) % WholeOr(1, 2) != 0) continue;
        cuda::PlanOptions options;
        options.grid.tile = TileChoice{static_cast<int>(tile), parts};
        ASSERT_TRUE(plans.Add(GraphWithWeights(text), options).ok());
        for (const cuda::CudaStep& step : plans.plan(plans.size() - 1).steps) {
          for (const codegen::GridKernel& kernel : step.program->kernels) {
            if (!kernel.tile) continue;
            schedules.insert(absl::StrCat(kernel.schedule, " in ", kernel.tile->choice.parts));
          }
        }
      }
    }
  }
  EXPECT_GE(schedules.size(), 2 * codegen::TileShapes(kF32).size());
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) plans.ExpectMatchesReference(i);
}

TEST(Tiles, SpaceHasAChoiceForEverySize) {
  for (const ProductSize& size :
       {ProductSize{1, 8, 8, 4}, ProductSize{1, 1, 1, 1}, ProductSize{7, 9, 100000, 3},
        ProductSize{1, 512, 49, 4608, 1, 10}, ProductSize{64, 2048, 2048, 2048}}) {
    const auto choices = TileChoices(size, kF32);
    ASSERT_FALSE(choices.empty());
    for (const TileChoice& choice : choices) {
      EXPECT_GT(codegen::PredictedMicroseconds(size, choice, kF32), 0);
      EXPECT_LE(0.9 * codegen::PredictedMicroseconds(size, codegen::ChooseTile(size, kF32), kF32),
                codegen::PredictedMicroseconds(size, choice, kF32));
    }
  }
}

TEST(Tiles, FewBlocksAddUpParts) {
  // 512 channels of 7 x 7 from 512: one block for each multiprocessor needs parts.
  EXPECT_GE(codegen::ChooseTile({1, 512, 49, 4608, 1, 10}, kF32).parts, 8);
  // Enough blocks without parts.
  EXPECT_EQ(codegen::ChooseTile({1, 64, 50176, 147, 1, 10}, kF32).parts, 1);
  EXPECT_EQ(codegen::ChooseTile({1, 8192, 8192, 64}, kF32).parts, 1);
}

}  // namespace
}  // namespace lemma
