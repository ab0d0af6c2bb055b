// The search for tiles, with a device that is made up: its times follow from the tiles.
#include "runtime/cuda/tuner.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "gtest/gtest.h"
#include "runtime/cuda/cuda_backend.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::ProductPrecision;
using codegen::TileTable;

constexpr char kTwoProducts[] = R"(graph g(x: f32[96,64], w: weight f32[64,160],
    v: weight f32[160,48]) {
  h = matmul(x, w) r = relu(h) y = matmul(r, v) return y })";

// Microseconds of a kernel by tile.
using TimeOf = std::function<double(const codegen::TileUse& use)>;

// Plans as the CUDA back end does; a step takes what `time` says of its kernel.
class MadeUpDevice : public KernelMeasurer {
 public:
  MadeUpDevice(codegen::GridOptions grid, TimeOf time, std::atomic<int>* measured)
      : grid_(std::move(grid)), time_(std::move(time)), measured_(measured) {
    CudaOptions options;
    options.grid = grid_;
    planner_ = MakeCudaMeasurer(options);
  }
  std::string device() const override { return "made up"; }
  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override { return planner_->Plan(graph); }
  Work WorkOf(const PlannedKernel& kernel) const override { return planner_->WorkOf(kernel); }

  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    ++*measured_;
    GraphBuilder builder("kernel");
    std::vector<Value> inputs;
    for (const Value& v : kernel.nodes[0]->inputs()) {
      inputs.push_back(builder.Input(absl::StrCat("x", inputs.size()), v.type()));
    }
    builder.Output("y", *builder.Op(kernel.nodes[0]->op().name, inputs, kernel.nodes[0]->attrs()));
    cuda::PlanOptions options;
    options.grid = grid_;
    NodeTraitsCache traits;
    auto plan = cuda::PlanGraph(*std::move(builder).Build(), traits, options);
    if (!plan.ok()) return plan.status();
    for (const codegen::GridKernel& k : plan->steps[0].program->kernels) {
      if (!k.tile) continue;
      const double us = time_(*k.tile);
      if (us < 0) return absl::UnimplementedError("this tile cannot run");
      return us * 1e-3;
    }
    return absl::InternalError("no kernel by tile");
  }

 private:
  codegen::GridOptions grid_;
  TimeOf time_;
  std::atomic<int>* measured_;
  std::unique_ptr<KernelMeasurer> planner_;
};

struct Tuned {
  cuda::TunedKernels result;
  int measured = 0;
};

Tuned Tune(const std::string& text, const TimeOf& time, TileTable* table,
           cuda::TunerOptions options = {}) {
  std::atomic<int> measured = 0;
  auto make = [&](std::shared_ptr<const TileTable> tiles) -> std::unique_ptr<KernelMeasurer> {
    codegen::GridOptions grid;
    grid.tiles = std::move(tiles);
    return std::make_unique<MadeUpDevice>(grid, time, &measured);
  };
  auto result = cuda::TuneTiles(GraphWithWeights(text), {}, options, make, table);
  EXPECT_TRUE(result.ok()) << result.status();
  Tuned tuned;
  if (result.ok()) tuned.result = *result;
  tuned.measured = measured;
  return tuned;
}

// The fastest tile of the device is the model's third.
double ThirdIsBest(const codegen::TileUse& use) {
  const auto model = codegen::ChooseTile(use.size, use.precision);
  const auto all = codegen::TileChoices(use.size, use.precision);
  const bool is_model = use.choice.tile == model.tile && use.choice.parts == model.parts;
  return is_model ? 10 : use.choice.tile == all[2].tile && use.choice.parts == 1 ? 5 : 20;
}

TEST(Tuner, TheFastestTileIsKeptAndUsed) {
  TileTable table;
  cuda::TunerOptions options;
  options.most_tiles = 100;
  int calls = 0;
  options.on_size = [&](const cuda::TunedKernel&, int left) {
    ++calls;
    EXPECT_EQ(left, 2 - calls);
    return absl::OkStatus();
  };
  const Tuned tuned = Tune(kTwoProducts, ThirdIsBest, &table, options);
  ASSERT_EQ(tuned.result.kernels.size(), 2u);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(table.size(), 2u);
  cuda::PlanOptions plan;
  plan.grid.tiles = std::make_shared<const TileTable>(table);
  EmulatedPlans plans;
  ASSERT_TRUE(plans.Add(GraphWithWeights(kTwoProducts), plan).ok());
  ASSERT_TRUE(plans.Add(GraphWithWeights(kTwoProducts)).ok());
  int changed = 0;
  for (size_t i = 0; i < plans.plan(0).steps.size(); ++i) {
    const cuda::CudaStep& step = plans.plan(0).steps[i];
    for (const codegen::GridKernel& kernel : step.program->kernels) {
      if (!kernel.tile) continue;
      EXPECT_EQ(ThirdIsBest(*kernel.tile), 5) << kernel.schedule;
      // The kernel takes another time, so it has another name for the database of costs.
      EXPECT_NE(step.signature, plans.plan(1).steps[i].signature);
      ++changed;
    }
  }
  EXPECT_EQ(changed, 2);
  ASSERT_TRUE(plans.Compile().ok());
  plans.ExpectMatchesReference(0);
}

TEST(Tuner, ASmallGainIsNotTaken) {
  TileTable table;
  const Tuned tuned = Tune(
      kTwoProducts, [](const codegen::TileUse& use) { return ThirdIsBest(use) == 5 ? 9.9 : 10.0; },
      &table);
  for (const cuda::TunedKernel& kernel : tuned.result.kernels) {
    EXPECT_EQ(kernel.TileName(), kernel.ModelTileName());
    EXPECT_EQ(kernel.tile.microseconds, 10);
  }
  EXPECT_EQ(table.size(), 2u);  // so it is not measured again
  EXPECT_EQ(Tune(kTwoProducts, ThirdIsBest, &table).measured, 0);
  cuda::TunerOptions again;
  again.again = true;
  EXPECT_GT(Tune(kTwoProducts, ThirdIsBest, &table, again).measured, 0);
}

TEST(Tuner, TilesThatCannotRunAreLeftOut) {
  TileTable table;
  const Tuned tuned = Tune(
      kTwoProducts, [](const codegen::TileUse& use) { return ThirdIsBest(use) == 10 ? 10 : -1; },
      &table);
  ASSERT_EQ(tuned.result.kernels.size(), 2u);
  EXPECT_EQ(tuned.result.kernels[0].tried, 1);
  EXPECT_EQ(tuned.result.kernels[0].TileName(), tuned.result.kernels[0].ModelTileName());
}

TEST(Tuner, NoMoreTilesThanWanted) {
  TileTable table;
  cuda::TunerOptions options;
  options.most_tiles = 3;
  const auto equal = [](const codegen::TileUse&) { return 10.0; };
  const Tuned tuned = Tune(kTwoProducts, equal, &table, options);
  EXPECT_EQ(tuned.measured, 2 * 3);
}

TEST(Tuner, AnInterruptionKeepsWhatWasFound) {
  TileTable table;
  std::atomic<bool> interrupted = false;
  cuda::TunerOptions options;
  options.deadline = Deadline::After(0, &interrupted);
  options.on_size = [&](const cuda::TunedKernel&, int) {
    interrupted = true;
    return absl::OkStatus();
  };
  const Tuned tuned = Tune(kTwoProducts, ThirdIsBest, &table, options);
  EXPECT_EQ(tuned.result.kernels.size(), 1u);
  EXPECT_EQ(tuned.result.left, 1);
  EXPECT_EQ(table.size(), 1u);
}

}  // namespace
}  // namespace lemma
