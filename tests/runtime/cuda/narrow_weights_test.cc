// Products of few rows with weights of 4 and 8 bits: packed in memory, unpacked in the kernel.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

struct Case {
  const char* what;
  Shape x;  // [..., depth]
  int64_t columns = 256;
  int64_t low = -8, high = 7;  // of the integers
  int64_t block = 32;          // weights with one scale; 0: all of a column
  int bits = 4;                // in which they are packed; 0: they stay floats
  DType dtype = DType::kF32;
  int64_t shift = 0;       // the range moves by up to this from block to block
  bool transposed = true;  // the integers are stored [columns, depth]
  bool epilogue = false;
};

const Case kCases[] = {
    {"one row", {1, 512}},
    {"a batch of rows", {2, 1, 2, 256}, 256, 0, 15},
    {"three rows and an epilogue", {1, 3, 256}, 256, -8, 7, 64, 4, DType::kF32, 0, true, true},
    {"eight rows", {8, 256}, 257},
    {"zero points", {1, 512}, 256, 0, 15, 32, 4, DType::kF32, 40},
    {"one scale for each column", {2, 256}, 256, -8, 7, 0},
    {"one block for three parts", {1, 768}, 128, -7, 8, 128},
    {"integers by depth", {1, 256}, 300, -8, 7, 32, 4, DType::kF32, 0, false},
    {"f16", {1, 256}, 256, -8, 7, 32, 4, DType::kF16},
    {"bf16", {2, 256}, 256, -8, 7, 32, 4, DType::kBF16},
    {"8 bits", {1, 256}, 256, -128, 127, 32, 8},
    {"8 bits without a sign", {3, 256}, 256, 0, 255, 64, 8},
    {"8 bits below zero", {1, 256}, 256, -255, -1, 32, 8},
    {"8 bits with zero points", {1, 512}, 256, -20, 60, 32, 8, DType::kF32, 100},
    {"8 bits in f16", {1, 256}, 256, -128, 127, 0, 8, DType::kF16},
    {"nine rows", {9, 256}, 256, -8, 7, 32, 0},
    {"few weights", {1, 256}, 255, -8, 7, 32, 0},
    {"a depth that 32 does not divide", {1, 272}, 256, -8, 7, 16, 0},
    {"blocks of 16", {1, 256}, 256, -8, 7, 16, 0},
    {"nine bits", {1, 256}, 256, -255, 255, 32, 0},
};

Tensor Floats(DType dtype, Shape shape, const std::vector<double>& values) {
  return *Tensor::FromDoubles({dtype, std::move(shape)}, values);
}

// x w, where w = integers * scale.
Graph ProductOf(const Case& c, uint64_t seed) {
  std::mt19937_64 random(seed);
  const int64_t depth = c.x.back(), columns = c.columns;
  const int64_t block = c.block == 0 ? depth : c.block, blocks = depth / block;
  std::vector<double> integers, scales, moved;
  std::normal_distribution<double> normal(0, 0.02);
  for (int64_t i = 0; i < columns * blocks; ++i) {
    scales.push_back(i % 50 == 7 ? 0 : normal(random));
    moved.push_back(c.shift == 0 ? 0 : static_cast<double>(random() % c.shift));
  }
  for (int64_t n = 0; n < columns; ++n) {
    for (int64_t k = 0; k < depth; ++k) {
      const uint64_t drawn = random();
      const auto span = static_cast<uint64_t>(c.high - c.low + 1);
      const int64_t q = drawn % 5 == 0   ? c.low
                        : drawn % 5 == 1 ? c.high
                                         : c.low + static_cast<int64_t>((drawn >> 8) % span);
      integers.push_back(static_cast<double>(q) + moved[n * blocks + k / block]);
    }
  }
  GraphBuilder builder("product");
  const Value x = builder.Input("x", {c.dtype, c.x});
  const bool is_signed = c.low < 0;
  // Integers beyond 8 bits are floats in the file.
  const bool fits = is_signed ? c.low >= -128 && c.high + c.shift <= 127 : c.high + c.shift <= 255;
  const DType stored = !fits ? c.dtype : is_signed ? DType::kI8 : DType::kU8;
  Value q = builder.Weight("q", Floats(stored, {columns, blocks, block}, integers));
  if (fits) q = *builder.Op("cast", {q}, {{"dtype", std::string(Name(c.dtype))}});
  const Value s = builder.Weight("s", Floats(c.dtype, {columns, blocks, 1}, scales));
  Value w = *builder.Op("mul", {q, s});
  w = *builder.Op("reshape", {w}, {{"shape", Shape{columns, depth}}});
  w = *builder.Op("transpose", {w}, {{"perm", Shape{1, 0}}});
  if (!c.transposed) {  // the same numbers, computed in the other layout
    std::vector<double> by_depth, whole_scales;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t n = 0; n < columns; ++n) {
        by_depth.push_back(integers[n * depth + k]);
        whole_scales.push_back(scales[n * blocks + k / block]);
      }
    }
    const Value p = builder.Weight("p", Floats(DType::kI8, {depth, columns}, by_depth));
    w = *builder.Op("mul", {*builder.Op("cast", {p}, {{"dtype", std::string(Name(c.dtype))}}),
                            builder.Weight("t", Floats(c.dtype, {depth, columns}, whole_scales))});
  }
  Value y = *builder.Op("matmul", {x, w});
  if (c.epilogue) {
    std::vector<double> bias;
    for (int64_t n = 0; n < columns; ++n) bias.push_back(normal(random));
    y = *builder.Op(
        "relu", {*builder.Op("add", {y, builder.Weight("b", Floats(c.dtype, {columns}, bias))})});
  }
  builder.Output("y", y);
  auto graph = std::move(builder).Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Rows of zeros with a single 1: the results are weights, to the bit.
Tensor UnitRows(const TensorType& type) {
  std::vector<double> values(type.num_elements(), 0);
  const int64_t depth = type.shape.back();
  for (int64_t row = 0; row * depth < type.num_elements(); ++row) {
    values[row * depth + (row * 37 + 5) % depth] = 1;
  }
  return Floats(type.dtype, type.shape, values);
}

Tensor WithInfinities(const Tensor& x) {
  std::vector<double> values = x.ToDoubles();
  values[3] = std::numeric_limits<double>::infinity();
  if (values.size() > 600) values[600] = std::nan("");
  return Floats(x.dtype(), x.shape(), values);
}

TEST(CudaNarrowWeights, ArePackedAndGiveTheDefinitionsResults) {
  EmulatedPlans plans;
  std::vector<Graph> graphs;
  for (const Case& c : kCases) {
    graphs.push_back(ProductOf(c, graphs.size() + 1));
    const absl::Status added = plans.Add(graphs.back());
    ASSERT_TRUE(added.ok()) << c.what << ": " << added;
  }
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const Case& c = kCases[i];
    SCOPED_TRACE(c.what);
    const cuda::CudaPlan& plan = plans.plan(i);
    const int64_t weights = c.x.back() * c.columns;
    if (c.bits == 0) {
      EXPECT_GE(plan.memory.weight_bytes, weights * SizeOf(c.dtype));
    } else {
      EXPECT_LE(plan.memory.weight_bytes, weights * c.bits / 8 + weights * 6 / 32 + 2048);
      ASSERT_EQ(plan.launches.size(), 1u) << plan.Describe(graphs[i]);
      const codegen::GridKernel& kernel = plan.KernelOf(plan.launches[0]);
      EXPECT_TRUE(absl::StrContains(kernel.code, "LoadPack<16>(p")) << kernel.code;
      for (const char* half : {"HighBits<float, 16>(", "LowBits<float, 16>("}) {
        EXPECT_EQ(absl::StrContains(kernel.code, half), c.bits == 4) << kernel.code;
      }
    }
    const TensorType type = graphs[i].inputs()[0].type();
    plans.ExpectMatchesReference(i, i + 1);
    const std::vector<Tensor> infinite = {WithInfinities(RandomInputs(graphs[i])[0])};
    plans.ExpectMatchesReference(i, infinite);
    const std::vector<Tensor> units = {UnitRows(type)};
    auto actual = plans.Run(i, units, 1);
    auto reference = MakeReferenceBackend()->Compile(graphs[i], {});
    ASSERT_TRUE(actual.ok() && reference.ok()) << actual.status();
    auto wanted = (*reference)->Run(units);
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    EXPECT_EQ((*actual)[0].ToDoubles(), (*wanted)[0].ToDoubles());
  }
}

// Each value is looked at once, however many paths lead to it.
TEST(CudaNarrowWeights, AWeightOfManyPathsIsPlannedQuickly) {
  std::string text = "graph g(x: f32[1,256], w: weight f32[256,256], c0: weight f32[1,1]) {\n";
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&text, "c", i + 1, " = mul(c", i, ", c", i, ")\n");
  }
  const Graph graph =
      GraphWithWeights(absl::StrCat(text, "v = mul(w, c60) y = matmul(x, v) return y }"));
  EmulatedPlans plans;
  const absl::Status planned = plans.Add(graph);
  EXPECT_TRUE(planned.ok()) << planned;
}

}  // namespace
}  // namespace lemma
