// nvcc compiles generated kernels, one for each schedule and list of element types, for the oldest
// architecture; `tools/test --all` compiles them for the other too.
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/examples/op_examples.h"
#include "graph/op_table.h"
#include "gtest/gtest.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/cuda/cuda_plan.h"
#include "tests/base/repetitions.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::GridKernel;
using codegen::GridProgram;
using codegen::ProductPrecision;

// Cases for which the operators' examples are too small: packs, long rows, reductions in parts.
struct LargeExample {
  const char* op;
  const char* text;  // TYPE stands for each element type
};
const LargeExample kLarge[] = {
    {"mul", "(TYPE[64,512], TYPE[64,512])"},
    {"softmax", "(TYPE[5,2051])"},
    {"reduce_max", "(TYPE[211,1003]) {axes = [0,1]}"},
    {"conv2d", "(TYPE[2,5,13,11], TYPE[9,5,3,3]) {pads = [1,1,1,1]}"},
};

// Large enough for every tile, and for parts.
const LargeExample kProduct = {"matmul", "(TYPE[129,130], TYPE[130,131])"};

constexpr const char* kTypes[] = {"f32", "f64", "f16", "bf16", "i64", "i32"};

codegen::GridOptions OptionsWith(codegen::TileChoice tile, ProductPrecision precision) {
  codegen::GridOptions options;
  options.tile = tile;
  options.precision = precision;
  return options;
}

// nullopt where the operator does not take this type.
std::optional<OpExample> ExampleOf(const LargeExample& large, const char* type) {
  std::string text = large.text;
  for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  auto example = ParseExample(*FindOp(large.op), text);
  EXPECT_TRUE(example.ok()) << example.status();
  if (!Define(*example->op, example->inputs, example->attrs).ok()) return std::nullopt;
  return *std::move(example);
}

std::vector<OpExample> LargeExamples() {
  std::vector<OpExample> examples;
  for (const char* type : kTypes) {
    for (const LargeExample& large : kLarge) {
      if (auto example = ExampleOf(large, type)) examples.push_back(*std::move(example));
    }
  }
  return examples;
}

// "by tile 64x64x16 by 256: float, float, -> float".
std::string KindOf(const GridProgram& program, const GridKernel& kernel) {
  std::string kind = absl::StrCat(kernel.schedule, ": ");
  for (int slot : kernel.reads) {
    absl::StrAppend(&kind, codegen::TypeName(program.slots[slot].dtype), ", ");
  }
  return absl::StrCat(kind, "-> ", codegen::TypeName(program.slots[kernel.writes[0]].dtype));
}

// Empty if there is none.
std::string FindNvcc() {
  for (const char* nvcc : {"/usr/local/cuda/bin/nvcc", "/usr/lib/cuda/bin/nvcc",
                           "/opt/cuda/bin/nvcc", "/usr/bin/nvcc"}) {
    if (std::ifstream(nvcc)) return nvcc;
  }
  return "";
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Compiles kernels for what `target` says.
void CompileWith(const std::string& nvcc, const std::string& target,
                 const std::vector<const GridKernel*>& kernels, std::string* log) {
  const std::string stem = absl::StrCat(testing::TempDir(), "/kernels");
  std::ofstream(stem + ".cu") << codegen::SourceOf(kernels);
  const int status =
      std::system(absl::StrCat(nvcc, " -std=c++17 ", target, " --threads 2 -fatbin ", stem,
                               ".cu -o ", stem, ".fatbin > ", stem, ".log 2>&1")
                      .c_str());
  *log = ReadFile(stem + ".log");
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << log->substr(0, 4000);
  EXPECT_GT(ReadFile(stem + ".fatbin").size(), 1000 * kernels.size());
}

TEST(Nvcc, CompilesEveryKindOfKernel) {
  const std::string nvcc = FindNvcc();
  if (nvcc.empty()) GTEST_SKIP() << "nvcc is not installed: kernels were not compiled with it";
  std::vector<OpExample> examples = AllExamples();
  for (OpExample& large : LargeExamples()) examples.push_back(std::move(large));
  std::vector<std::unique_ptr<GridProgram>> programs;
  std::map<std::string, const GridKernel*> kernels;
  auto add = [&](const OpExample& example, const codegen::GridOptions& options) {
    auto program =
        codegen::MakeGridProgram(*Define(*example.op, example.inputs, example.attrs), options);
    ASSERT_TRUE(program.ok()) << example.text << ": " << program.status();
    programs.push_back(std::make_unique<GridProgram>(*std::move(program)));
    for (const GridKernel& kernel : programs.back()->kernels) {
      kernels.emplace(KindOf(*programs.back(), kernel), &kernel);
    }
  };
  for (const OpExample& example : examples) add(example, {});
  std::vector<std::string> tiles;
  for (ProductPrecision precision :
       {ProductPrecision::kF32, ProductPrecision::kF32x3, ProductPrecision::kTf32,
        ProductPrecision::kF16, ProductPrecision::kBf16}) {
    const auto shapes = codegen::TileShapes(precision);
    const bool f32 = precision == ProductPrecision::kF32;
    for (const char* type : kTypes) {
      for (size_t tile = 0; tile < shapes.size(); ++tile) {
        if (shapes[tile].stages > 0) continue;  // see below
        // On tensor cores every tile for one type, and one tile for another.
        const bool wanted =
            type == std::string("f32") || (type == std::string("bf16") && tile == 4);
        if (!f32 && !wanted) continue;
        const int64_t parts = tile % 2 == 0 ? 1 : 2;
        add(*ExampleOf(kProduct, type), OptionsWith({static_cast<int>(tile), parts}, precision));
      }
    }
    for (const codegen::TileShape& shape : shapes) {
      if (shape.stages > 0) continue;
      tiles.push_back(absl::StrCat("by tile ", shape.ToString(), f32 ? "" : " in ",
                                   f32 ? "" : codegen::Name(precision)));
    }
  }
  std::map<std::string, int> schedules;
  std::vector<const GridKernel*> list;
  for (const auto& [kind, kernel] : kernels) {
    ++schedules[kernel->schedule];
    list.push_back(kernel);
  }
  for (const char* schedule :
       {"by element", "by element x4", "by element x8", "by row of 32", "by row of 256"}) {
    EXPECT_GE(schedules[schedule], 2) << schedule;
  }
  for (const std::string& tile : tiles) EXPECT_GE(schedules[tile], 1) << tile;
  std::string log;
  CompileWith(nvcc,
              absl::StrCat("-gencode arch=compute_80,code=sm_80",
                           WholeOr(1, 0) ? " -gencode arch=compute_90,code=sm_90" : ""),
              list, &log);
  RecordProperty("kernels", static_cast<int>(list.size()));
}

// Compiles kernels by warpgroup.
void ExpectFast(const std::string& nvcc, const std::map<std::string, const GridKernel*>& kernels) {
  std::vector<const GridKernel*> list;
  for (const auto& [name, kernel] : kernels) list.push_back(kernel);
  std::string log;
  CompileWith(nvcc, "-gencode arch=compute_90a,code=sm_90a -Xptxas -v", list, &log);
  // The compiler says so if it waits after every product; and spilled registers would be slow.
  EXPECT_EQ(log.find("serialized"), std::string::npos) << log;
  size_t unspilled = 0;
  for (size_t at = 0; (at = log.find(" 0 bytes spill stores", at)) != std::string::npos; ++at) {
    ++unspilled;
  }
  EXPECT_EQ(unspilled, list.size()) << log;
}

TEST(Nvcc, CompilesProductsByWarpgroup) {
  const std::string nvcc = FindNvcc();
  if (nvcc.empty()) GTEST_SKIP() << "nvcc is not installed: kernels were not compiled with it";
  const auto shapes = codegen::TileShapes(ProductPrecision::kBf16);
  std::vector<std::unique_ptr<GridProgram>> programs;
  std::map<std::string, const GridKernel*> kernels;
  size_t expected = 0;
  for (const char* type : {"bf16", "f16"}) {
    // With the second factor along the rows, and both along the depth.
    for (const char* op : {"matmul", "conv2d"}) {
      auto example = ParseExample(
          *FindOp(op),
          absl::StrCat("(", type, op == std::string("matmul") ? "[256,320], " : "[256,320,1,1], ",
                       type, op == std::string("matmul") ? "[320,264])" : "[264,320,1,1])"));
      ASSERT_TRUE(example.ok()) << example.status();
      for (size_t tile = 0; tile < shapes.size(); ++tile) {
        if (shapes[tile].stages == 0) continue;
        auto program = codegen::MakeGridProgram(
            *Define(*example->op, example->inputs, example->attrs),
            OptionsWith({static_cast<int>(tile), 1}, ProductPrecision::kBf16));
        ASSERT_TRUE(program.ok()) << program.status();
        programs.push_back(std::make_unique<GridProgram>(*std::move(program)));
        const GridKernel& kernel = programs.back()->kernels[0];
        EXPECT_EQ(kernel.bulk.size(), 2u) << kernel.schedule;
        kernels.emplace(kernel.name, &kernel);
        ++expected;
      }
    }
  }
  EXPECT_EQ(kernels.size(), expected);
  ExpectFast(nvcc, kernels);
}

// Attention by a third of the tiles; `tools/test --all` takes all.
TEST(Nvcc, CompilesStreamedKernels) {
  const std::string nvcc = FindNvcc();
  if (nvcc.empty()) GTEST_SKIP() << "nvcc is not installed: kernels were not compiled with it";
  std::vector<cuda::CudaPlan> plans;
  std::map<std::string, const GridKernel*> kernels;
  NodeTraitsCache traits;
  cuda::PlanOptions options;
  options.grid.precision = ProductPrecision::kBf16;
  for (int width : {64, 128, 256}) {
    const bool f16 = width == 64;  // its scores are rounded, too
    const auto tiles =
        codegen::StreamTiles({4, 4096, f16 ? 1000 : 4096, width, width, /*masked=*/false});
    ASSERT_FALSE(tiles.empty());
    for (size_t i = tiles.size(); i > 0; i -= std::min<size_t>(i, WholeOr(1, 3))) {
      const codegen::StreamTile& tile = tiles[i - 1];
      const std::string rows = absl::StrCat(f16 ? "f16" : "bf16", "[4,4096,", width, "]"),
                        keys = absl::StrCat(f16 ? "f16[4,1000," : "bf16[4,4096,", width, "]");
      const std::string text = absl::StrCat(
          "graph g(q: ", rows, ", k: ", keys, ", v: ", keys,
          ") { t = transpose(k) {perm = [0,2,1]} s = matmul(q, t) p = softmax(s) {axis = 2} "
          "o = matmul(p, v) return o }");
      options.grid.stream = tile;
      auto plan = cuda::PlanGraph(GraphWithWeights(text), traits, options);
      ASSERT_TRUE(plan.ok()) << plan.status();
      plans.push_back(*std::move(plan));
    }
  }
  for (const cuda::CudaPlan& plan : plans) {
    ASSERT_EQ(plan.launches.size(), 1u);
    const GridKernel& kernel = plan.KernelOf(plan.launches[0]);
    EXPECT_TRUE(kernel.streamed.has_value()) << kernel.schedule;
    kernels.emplace(kernel.name, &kernel);
  }
  EXPECT_EQ(kernels.size(), plans.size());
  ExpectFast(nvcc, kernels);
}

}  // namespace
}  // namespace lemma
