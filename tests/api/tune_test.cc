// Tuning from a model to the file of tiles, with a device that is made up.
#include "api/tune.h"

#include <memory>
#include <string>
#include <utility>

#include "api/execution/backends.h"
#include "api/json/tune.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "runtime/cuda/cuda_backend.h"
#include "tests/api/model_text.h"

namespace lemma::api {
namespace {

// Every step takes a microsecond, so no tile is better than the time model's.
class EvenDevice : public KernelMeasurer {
 public:
  std::string device() const override { return "even"; }
  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override { return planner_->Plan(graph); }
  Work WorkOf(const PlannedKernel& kernel) const override { return planner_->WorkOf(kernel); }
  absl::StatusOr<double> MeasureMs(const PlannedKernel&) override { return 1e-3; }

 private:
  std::unique_ptr<KernelMeasurer> planner_ = MakeCudaMeasurer();
};

TuneOptions Options(const std::string& file) {
  TuneOptions options;
  options.tiles = testing::TempDir() + file;
  options.measurer = [](std::shared_ptr<const codegen::TileTable>) {
    return std::make_unique<EvenDevice>();
  };
  return options;
}

Model Product() {
  return ModelOf("graph g(x: f32[64,64], w: f32[64,96]) { y = matmul(x, w) return y }");
}

TEST(Tune, WritesAFileThatExecutionsRead) {
  TuneOptions options = Options("tiles.txt");
  auto result = Tune(Product(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->tuned.kernels.size(), 1u);
  EXPECT_EQ(result->known, 0);
  EXPECT_EQ(result->tuned.kernels[0].operators, "matmul");
  EXPECT_NE(ToJson(*result).ToString().find("\"model_microseconds\":1"), std::string::npos);
  const auto table = TilesOf(options.tiles);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->size(), 1u);
  result = Tune(Product(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->known, 1);
  EXPECT_TRUE(result->tuned.kernels.empty());

  ExecutionOptions execution;
  execution.backend = "cuda";
  execution.backend_options.tiles = options.tiles;
  EXPECT_TRUE(CheckExecutionOptions(execution).ok()) << CheckExecutionOptions(execution);
}

TEST(Tune, AFileOfSomethingElseIsKept) {
  TuneOptions options = Options("other.txt");
  ASSERT_TRUE(WriteFileAtomically(options.tiles, {"a letter\n"}).ok());
  const auto result = Tune(Product(), options);
  EXPECT_NE(result.status().message().find("not a file of tiles"), std::string::npos)
      << result.status();
  EXPECT_EQ(*ReadFile(options.tiles, 100), "a letter\n");
  ExecutionOptions execution;
  execution.backend = "cuda";
  execution.backend_options.tiles = options.tiles;
  EXPECT_NE(CheckExecutionOptions(execution).message().find("option tiles: "), std::string::npos);
  execution.backend_options.tiles = options.tiles + ".missing";
  EXPECT_TRUE(absl::IsNotFound(CheckExecutionOptions(execution)));
}

TEST(Tune, NoTilesAreNoWork) {
  const auto result =
      Tune(ModelOf("graph g(x: f32[64]) { y = relu(x) return y }"), Options("none.txt"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->tuned.kernels.empty());
  TuneOptions wrong = Options("wrong.txt");
  wrong.most_tiles = 0;
  EXPECT_NE(Tune(Product(), wrong).status().message().find("option most_tiles"), std::string::npos);
}

}  // namespace
}  // namespace lemma::api
