// NVRTC compiles the kernels of every operator example, for each architecture, and cubins are kept.
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/examples/op_examples.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/cuda/cuda_backend.h"
#if HAVE_CUDA
#include "runtime/cuda/cublas.h"
#include "runtime/cuda/cuda_compiler.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma {
namespace {

using codegen::GridProgram;

class CudaCompile : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!cuda::CompilerVersion().ok()) GTEST_SKIP() << cuda::CompilerVersion().status();
  }
};

TEST_P(CudaCompile, EveryOperator) {
  std::vector<std::unique_ptr<GridProgram>> programs;
  std::vector<const codegen::GridKernel*> kernels;
  for (const OpExample& example : AllExamples()) {
    auto program = codegen::MakeGridProgram(*Define(*example.op, example.inputs, example.attrs));
    ASSERT_TRUE(program.ok()) << example.text << ": " << program.status();
    programs.push_back(std::make_unique<GridProgram>(*std::move(program)));
    for (const auto& kernel : programs.back()->kernels) kernels.push_back(&kernel);
  }
  ASSERT_GT(kernels.size(), 300u);
  auto cubin = cuda::CompileCubin(codegen::SourceOf(kernels), GetParam(), "");
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  EXPECT_EQ(cubin->substr(1, 3), "ELF");
  for (const auto* kernel : kernels) {
    EXPECT_NE(cubin->find(kernel->name), std::string::npos) << kernel->name;
  }
}
// Products of 8-bit integers: every pair of types and every tile, with two zero points.
TEST_P(CudaCompile, ProductsOfBytes) {
  std::vector<cuda::CudaPlan> plans;
  NodeTraitsCache traits;
  const auto tiles = codegen::TileShapes(codegen::ProductPrecision::kBytes);
  for (const char* a : {"u8", "i8"}) {
    for (const char* b : {"u8", "i8"}) {
      const auto graph = ParseGraph(absl::StrCat(
          "graph g(x: ", a, "[129,130], w: ", b, "[130,131], y: ", a, "[], z: ", b,
          "[]) { c = cast(x) {dtype = \"i32\"} d = cast(y) {dtype = \"i32\"} e = sub(c, d) "
          "f = cast(w) {dtype = \"i32\"} h = cast(z) {dtype = \"i32\"} i = sub(f, h) "
          "p = matmul(e, i) return p }"));
      ASSERT_TRUE(graph.ok()) << graph.status();
      for (size_t tile = 0; tile < tiles.size(); ++tile) {
        if (tiles[tile].stages > 0) continue;
        cuda::PlanOptions options;
        options.grid.tile = codegen::TileChoice{static_cast<int>(tile), 1};
        options.grid.architecture = GetParam();
        auto plan = cuda::PlanGraph(*graph, traits, options);
        ASSERT_TRUE(plan.ok()) << plan.status();
        plans.push_back(*std::move(plan));
      }
    }
  }
  std::vector<const codegen::GridKernel*> kernels;
  std::set<std::string> names;
  for (const cuda::CudaPlan& plan : plans) {
    ASSERT_EQ(plan.launches.size(), 1u);
    kernels.push_back(&plan.KernelOf(plan.launches[0]));
    EXPECT_TRUE(absl::StrContains(kernels.back()->schedule, " in bytes"));
    names.insert(kernels.back()->name);
  }
  EXPECT_GT(names.size(), 4u * 5);
  auto cubin = cuda::CompileCubin(codegen::SourceOf(kernels), GetParam(), "");
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  for (const std::string& name : names) EXPECT_NE(cubin->find(name), std::string::npos) << name;
}
INSTANTIATE_TEST_SUITE_P(Architectures, CudaCompile, testing::Values(80, 90));

// Older devices would run kernels without their products.
TEST(CompileAhead, RefusesAPrecisionWithoutTensorCores) {
  const auto graph =
      ParseGraph("graph g(x: f32[64,64], y: f32[64,64]) { z = matmul(x, y) return z }");
  ASSERT_TRUE(graph.ok()) << graph.status();
  CudaOptions options;
  options.grid.precision = codegen::ProductPrecision::kTf32;
  const absl::Status refused = CompileAhead({*graph}, options, 75);
  ASSERT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "--precision=tf32 needs tensor cores of sm_80 or newer; the device is sm_75");
}

TEST(CudaCompiler, NamesTheMistake) {
  if (!cuda::CompilerVersion().ok()) GTEST_SKIP() << cuda::CompilerVersion().status();
  const auto cubin = cuda::CompileCubin("__global__ void k() { nothing(); }", 90, "");
  ASSERT_TRUE(absl::IsInternal(cubin.status())) << cubin.status();
  EXPECT_NE(cubin.status().message().find("nothing"), std::string::npos) << cubin.status();
}

TEST(CudaCompiler, KeepsCubinsByContentAndArchitecture) {
  if (!cuda::CompilerVersion().ok()) GTEST_SKIP() << cuda::CompilerVersion().status();
  const std::string folder = absl::StrCat(testing::TempDir(), "/cubins");
  const std::string source = "extern \"C\" __global__ void k(int* p) { *p = 1; }";
  auto count = [&] {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    return files;
  };
  const auto first = cuda::CompileCubin(source, 90, folder);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(*cuda::CompileCubin(source, 90, folder), *first);
  EXPECT_EQ(count(), 1);
  ASSERT_TRUE(cuda::CompileCubin(source, 80, folder).ok());
  ASSERT_TRUE(cuda::CompileCubin(source + " ", 90, folder).ok());
  EXPECT_EQ(count(), 3);
}

TEST(CudaCompiler, CompilesSideBySide) {
  if (!cuda::CompilerVersion().ok()) GTEST_SKIP() << cuda::CompilerVersion().status();
  std::vector<std::string> sources;
  for (int i = 0; i < 5; ++i) {
    sources.push_back(
        absl::StrCat("extern \"C\" __global__ void k", i % 3, "(int* p) { *p = 1; }"));
  }
  const std::string folder = absl::StrCat(testing::TempDir(), "/horizontal_fusion");
  const auto cubins = cuda::CompileCubins(sources, 90, folder, 0, 3);
  ASSERT_TRUE(cubins.ok()) << cubins.status();
  ASSERT_EQ(cubins->size(), sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ((*cubins)[i], *cuda::CompileCubin(sources[i], 90, ""));
  }
  sources[4] = "wrong";
  EXPECT_TRUE(absl::IsInternal(cuda::CompileCubins(sources, 90, folder, 0, 3).status()));
  EXPECT_TRUE(cuda::CompileCubins({}, 90, folder, 0, 3)->empty());
}

// The library itself needs a device; descriptions do not.
TEST(Cublas, TakesDescriptions) {
  if (!cuda::CublasVersion(0).ok()) GTEST_SKIP() << cuda::CublasVersion(0).status();
  EXPECT_EQ(cuda::CublasVersion(0)->substr(0, 9), "cuBLASLt ");
  codegen::GemmCall call;
  call.m = 43;
  call.n = 37;
  call.k = 65;
  call.a = {0, 0, false, 43, 0};
  call.b = {1, 5, true, 50, 0};
  call.d = {2, 0, false, 43, 0};
  EXPECT_TRUE(cuda::CheckDescription(call).ok()) << cuda::CheckDescription(call);
  call.batch = 3;
  call.a.batch_stride = 43 * 65;
  call.d.batch_stride = 43 * 37;
  call.c = {3, 0, false, 48, 0};
  call.bias_argument = 4;
  EXPECT_TRUE(cuda::CheckDescription(call).ok()) << cuda::CheckDescription(call);
  call.factors = DType::kBF16;
  EXPECT_TRUE(cuda::CheckDescription(call).ok()) << cuda::CheckDescription(call);
  call.bias_argument = -1;
  call.c = {};
  call.result = DType::kBF16;
  EXPECT_TRUE(cuda::CheckDescription(call).ok()) << cuda::CheckDescription(call);
}

TEST(Cublas, SaysWhatItLookedFor) {
  const absl::Status none = cuda::OpenCublas(/*newest=*/1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(none)) << none;
}

}  // namespace
}  // namespace lemma
#endif
