// Products of floats and weights that are small integers times scales: which ones keep the integers
// in memory, and that they give what their definitions give.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/kernels/integers/narrow_weights.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/cpu/plan_claims.h"
#include "runtime/cpu/planner.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/integers/quantized_graphs.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using kernels::NarrowWeights;
using Form = NarrowWeights::Form;

bool HasKernel() { return kernels::BestIntegerIsa() == kernels::IntegerIsa::kVnni; }

struct Weights {
  int64_t depth, columns;
  std::vector<float> integers, scales;
};

// Integers from [low, high]; a scale of its own for `block` adjacent integers of a column.
Weights RandomWeights(int64_t depth, int64_t columns, int low, int high, int64_t block) {
  std::mt19937_64 random(depth * 1000 + columns);
  std::uniform_int_distribution<int> any(low, high);
  std::uniform_real_distribution<float> size(0.5f, 1.5f);
  Weights w = {depth, columns, {}, std::vector<float>(depth * columns)};
  for (int64_t i = 0; i < depth * columns; ++i) {
    w.integers.push_back(static_cast<float>(any(random)));
    const bool first = i / columns % block == 0;
    w.scales[i] = first ? size(random) * (any(random) % 2 ? 1 : -1) : w.scales[i - columns];
  }
  return w;
}

NarrowWeights Packed(const Weights& w, int threads = 1) {
  return NarrowWeights::Pack(w.integers.data(), w.scales.data(), w.depth, w.columns, threads);
}

uint32_t Bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

void ExpectRight(const Weights& w, Form form) {
  const NarrowWeights packed = Packed(w, 2);
  EXPECT_EQ(packed.form(), form);
  for (int64_t k = 0; k < w.depth; ++k) {
    for (int64_t j = 0; j < w.columns; ++j) {
      const int64_t i = k * w.columns + j;
      ASSERT_EQ(Bits(packed.At(k, j)), Bits(w.integers[i] * w.scales[i])) << k << " " << j;
    }
  }
  if (!HasKernel()) return;
  const int64_t step = packed.runs() * NarrowWeights::kRun;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> any(-1, 1);
  for (const int64_t rows : {1, 2, 3, 4, 5, 9}) {
    std::vector<float> x(rows * step, 0), y(rows * w.columns, -7);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < w.depth; ++k) x[i * step + k] = any(random);
    }
    const int64_t middle = w.columns / 2 / NarrowWeights::kColumns * NarrowWeights::kColumns;
    packed.Multiply(x.data(), rows, step, 0, middle, y.data(), w.columns);
    packed.Multiply(x.data(), rows, step, middle, w.columns, y.data(), w.columns);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < w.columns; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < w.depth; ++k) {
          const double term = double{x[i * step + k]} * double{packed.At(k, j)};
          sum += term;
          magnitude += std::abs(term);
        }
        // Every term is rounded at most depth / 16 + 6 times, since 16 sums are added up.
        const double bound = magnitude * (static_cast<double>(w.depth) / 16 + 6) * 0x1p-24;
        ASSERT_NEAR(y[i * w.columns + j], sum, bound) << rows << " " << i << " " << j;
      }
    }
  }
}

TEST(NarrowWeightsTest, HoldsIntegersOfFourBits) {
  ExpectRight(RandomWeights(64, 24, -8, 7, 32), Form::kFourBits);
  ExpectRight(RandomWeights(96, 17, 0, 15, 32), Form::kFourBits);  // has bases
  ExpectRight(RandomWeights(256, 8, -8, 7, 128), Form::kFourBits);
  ExpectRight(RandomWeights(200, 40, -3, 12, 200), Form::kFourBits);
  ExpectRight(RandomWeights(33, 1, -8, 7, 64), Form::kFourBits);
  ExpectRight(RandomWeights(1, 3, -8, 7, 32), Form::kFourBits);
  ExpectRight(RandomWeights(1000, 9, -255, -240, 96), Form::kFourBits);
}

TEST(NarrowWeightsTest, HoldsIntegersOfEightBits) {
  ExpectRight(RandomWeights(64, 24, -128, 127, 32), Form::kEightBits);
  ExpectRight(RandomWeights(300, 19, -127, 127, 300), Form::kEightBits);
  ExpectRight(RandomWeights(70, 8, -9, 7, 64), Form::kEightBits);
  ExpectRight(RandomWeights(64, 24, -30, 225, 32), Form::kEightBits);  // has bases
  ExpectRight(RandomWeights(77, 9, -255, 0, 32), Form::kEightBits);
}

TEST(NarrowWeightsTest, HoldsFloatsOtherwise) {
  ExpectRight(RandomWeights(64, 24, -200, 200, 32), Form::kFloats);
  ExpectRight(RandomWeights(64, 24, -8, 7, 16), Form::kFloats);  // two scales in a run
  Weights w = RandomWeights(64, 24, -8, 7, 32);
  w.integers[5] = -0.0f;  // times a scale, a zero of another sign than 0 times it
  ExpectRight(w, Form::kFloats);
  w = RandomWeights(40, 3, -8, 7, 64);
  for (int64_t k = 0; k < 32; ++k) w.scales[k * 3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Packed(w).form(), Form::kFloats);
}

// Behind the end of a column, 0 is multiplied by what the packed weights have there.
TEST(NarrowWeightsTest, HugeScalesReachNothingBehindTheEnd) {
  for (const int64_t depth : {33, 50, 63}) {
    for (const auto& [low, high] : {std::pair(0, 1), std::pair(-5, 5), std::pair(-2, 100)}) {
      Weights w = RandomWeights(depth, 20, low, high, 32);
      for (float& scale : w.scales) scale = high > 9 ? 3e36f : 6e37f;
      const NarrowWeights packed = Packed(w);
      EXPECT_NE(packed.form(), Form::kFloats);
      if (!HasKernel()) continue;
      std::vector<float> x(64, 0), y(20);
      std::fill_n(x.begin(), depth, 1e-5f);
      packed.Multiply(x.data(), 1, 64, 0, 20, y.data(), 20);
      for (const float v : y) EXPECT_TRUE(std::isfinite(v)) << depth << " " << low;
    }
    // Weights that are infinite themselves.
    Weights w = RandomWeights(depth, 20, 4, 8, 32);
    for (float& scale : w.scales) scale = 1e38f;
    EXPECT_EQ(Packed(w).form(), Form::kFloats);
  }
}

TEST(NarrowWeightsTest, ZerosHaveTheSignOfTheDefinition) {
  Weights w = RandomWeights(32, 8, 0, 0, 32);
  for (int64_t i = 0; i < 256; ++i) w.scales[i] = i % 8 < 4 ? -2.0f : 2.0f;
  ExpectRight(w, Form::kFourBits);
}

// How a graph states its weight.
enum class Stated { kBlocks, kNibbles, kBytes, kColumns, kSmall, kSmallUnsigned };

// y = x * w^T + bias, then what a layer has behind it.
Graph ProductGraph(Stated stated, int64_t rows, int64_t depth, int64_t columns, int low, int high,
                   bool with_epilogue, uint64_t seed = 5) {
  std::mt19937_64 random(seed);
  GraphBuilder b("g");
  const auto op = [&](const char* name, std::vector<Value> in, Attrs attrs = {}) {
    auto y = b.Op(name, std::move(in), std::move(attrs));
    EXPECT_TRUE(y.ok()) << y.status();
    return *y;
  };
  const auto numbers = [&](DType dtype, const Shape& shape, int least, int most) {
    std::vector<int64_t> all(NumElements(shape));
    std::uniform_int_distribution<int64_t> any(least, most);
    for (int64_t& v : all) v = any(random);
    return b.Constant(*Tensor::FromInts({dtype, shape}, all));
  };
  const auto scales = [&](const Shape& shape) {
    std::vector<double> all(NumElements(shape));
    std::uniform_real_distribution<double> any(0.01, 0.02);
    for (double& v : all) v = any(random);
    return b.Constant(*Tensor::FromDoubles({DType::kF32, shape}, all));
  };
  const auto cast = [&](const Value& v, DType to) {
    return op("cast", {v}, {{"dtype", std::string(Name(to))}});
  };
  const auto reshape = [&](const Value& v, std::vector<int64_t> shape) {
    return op("reshape", {v}, {{"shape", std::move(shape)}});
  };
  const auto number = [&](DType dtype, double value) {
    return b.Constant(*Tensor::Filled({dtype, {}}, value));
  };
  const Value x = b.Input("x", {DType::kF32, {1, rows, depth}});
  const int64_t blocks = depth / 32;
  Value w;
  if (stated == Stated::kColumns) {
    // Integers of 8 bits with a zero point, and one scale for each column.
    const Value q = cast(numbers(DType::kU8, {depth, columns}, low + 128, high + 128), DType::kF32);
    w = op("mul", {op("sub", {q, number(DType::kF32, 128)}), scales({columns})});
  } else {
    Value q;
    if (stated == Stated::kNibbles) {
      const Value bytes = cast(numbers(DType::kU8, {columns, blocks, 16}, 0, 255), DType::kI32);
      const Value whole = reshape(bytes, {columns, blocks, 16, 1});
      const Value least = op("mod", {whole, number(DType::kI32, 16)});
      const Value rest = op("div", {whole, number(DType::kI32, 16)});
      const Value most = op("mod", {rest, number(DType::kI32, 16)});
      q = reshape(op("concat", {least, most}, {{"axis", int64_t{3}}}), {columns, blocks, 32});
      q = op("sub", {cast(q, DType::kF32), number(DType::kF32, 8)});
    } else if (stated == Stated::kBytes) {  // as MatMulNBits has integers of 8 bits
      const Value bytes = cast(numbers(DType::kU8, {columns, blocks, 32}, 0, 255), DType::kI32);
      const Value whole = op("mod", {bytes, number(DType::kI32, 256)});
      q = op("sub", {cast(whole, DType::kF32), number(DType::kF32, 128)});
    } else if (stated == Stated::kSmall || stated == Stated::kSmallUnsigned) {
      // As DequantizeLinear has integers of 4 bits, with zero points for blocks.
      const DType dtype = stated == Stated::kSmall ? DType::kI4 : DType::kU4;
      q = op("sub", {cast(numbers(dtype, {columns, blocks, 32}, low, high), DType::kF32),
                     cast(numbers(dtype, {columns, blocks, 1}, low, high), DType::kF32)});
    } else {
      q = numbers(DType::kF32, {columns, blocks, 32}, low, high);
    }
    w = reshape(op("mul", {q, scales({columns, blocks, 1})}), {columns, depth});
    w = op("transpose", {w}, {{"perm", std::vector<int64_t>{1, 0}}});
  }
  Value y = op("matmul", {x, w});
  if (with_epilogue) {
    y = op("add", {y, scales({columns})});
    y = op("mul", {y, op("sigmoid", {y})});
    y = op("add", {y, b.Input("residual", y.type())});
  }
  b.Output("y", y);
  auto graph = std::move(b).Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

std::string PlanOf(const Graph& graph) {
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {1, true});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? plan->Describe() : "";
}

bool IsWeightOnly(const Graph& graph) {
  return absl::StrContains(PlanOf(graph), "weight-only product ");
}

class WeightOnlyProducts : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!HasKernel()) GTEST_SKIP() << "needs AVX-512 with VNNI";
  }
};

TEST_P(WeightOnlyProducts, GiveWhatTheirDefinitionsGive) {
  const struct {
    Stated stated;
    int64_t rows, depth, columns;
    int low, high;
    const char* note;
  } cases[] = {
      {Stated::kBlocks, 1, 256, 300, -8, 7, "weights of 4 bits"},
      {Stated::kBlocks, 3, 512, 200, -8, 7, "weights of 4 bits"},
      {Stated::kBlocks, 8, 96, 801, 0, 15, "weights of 4 bits"},
      {Stated::kBlocks, 2, 1024, 65, -100, 100, "weights of 8 bits"},
      {Stated::kBlocks, 1, 1024, 65, -200, 200, "weights of 32 bits"},
      {Stated::kBytes, 2, 256, 300, 0, 0, "weights of 8 bits"},
      {Stated::kNibbles, 1, 512, 128, 0, 0, "weights of 4 bits"},
      {Stated::kNibbles, 7, 128, 513, 0, 0, "weights of 4 bits"},
      {Stated::kSmall, 1, 256, 300, -8, 7, "weights of 4 bits"},
      {Stated::kSmallUnsigned, 3, 512, 130, 0, 15, "weights of 4 bits"},
      {Stated::kColumns, 1, 300, 333, -128, 127, "weights of 8 bits"},
      {Stated::kColumns, 5, 77, 1000, -128, 127, "weights of 8 bits"},
  };
  for (const auto& c : cases) {
    for (const bool with_epilogue : {false, true}) {
      SCOPED_TRACE(absl::StrCat(c.rows, " ", c.depth, " ", c.columns, " ", c.note));
      const Graph graph =
          ProductGraph(c.stated, c.rows, c.depth, c.columns, c.low, c.high, with_epilogue);
      EXPECT_TRUE(IsWeightOnly(graph)) << PlanOf(graph);
      const std::vector<Tensor> inputs = RandomInputs(graph);
      auto executable = ExpectCpuMatchesReference(graph, inputs, GetParam());
      ASSERT_NE(executable, nullptr);
      EXPECT_TRUE(absl::StrContains(integers_test::NotesOf(*executable, inputs), c.note));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, WeightOnlyProducts, testing::Values(1, 2));

class WeightOnlyTest : public WeightOnlyProducts {};
INSTANTIATE_TEST_SUITE_P(One, WeightOnlyTest, testing::Values(1));

TEST_P(WeightOnlyTest, NonFiniteFloatsStay) {
  const Graph graph = ProductGraph(Stated::kBlocks, 2, 128, 600, -8, 7, false);
  std::vector<Tensor> inputs = RandomInputs(graph);
  absl::Span<float> x = inputs[0].mutable_data<float>();
  x[3] = std::numeric_limits<float>::infinity();
  x[128 + 40] = std::numeric_limits<float>::quiet_NaN();
  ExpectCpuMatchesReference(graph, inputs);
}

TEST_P(WeightOnlyTest, ManyRowsOrFewWeightsAreProductsOfFloats) {
  EXPECT_TRUE(IsWeightOnly(ProductGraph(Stated::kBlocks, 8, 256, 256, -8, 7, false)));
  EXPECT_FALSE(IsWeightOnly(ProductGraph(Stated::kBlocks, 9, 256, 256, -8, 7, false)));
  EXPECT_FALSE(IsWeightOnly(ProductGraph(Stated::kBlocks, 1, 64, 64, -8, 7, false)));
  EXPECT_FALSE(IsWeightOnly(ProductGraph(Stated::kBlocks, 1, 256, 256, -300, 300, false)));
}

// What follows the product may read the weight or what it is made of.
TEST_P(WeightOnlyTest, TheWeightIsReadBehindTheProduct) {
  for (const char* read : {"w", "q", "s", "wide"}) {
    GraphBuilder b("g");
    const auto op = [&](const char* name, std::vector<Value> in) {
      auto y = b.Op(name, std::move(in));
      EXPECT_TRUE(y.ok()) << y.status();
      return *y;
    };
    const Value q = b.Constant(*Tensor::Filled({DType::kF32, {300, 300}}, 3));
    const Value s = b.Constant(*Tensor::Filled({DType::kF32, {300}}, 0.25));
    const Value w = op("mul", {q, s}), wide = b.Constant(*Tensor::Filled({DType::kF32, {300}}, 2));
    const Value x = b.Input("x", {DType::kF32, {1, 300}});
    const std::string which = read;
    const Value other = which == "w" ? w : which == "q" ? q : which == "s" ? s : wide;
    b.Output("y", op("add", {op("matmul", {x, w}), other}));
    b.Output("z", op("matmul", {op("relu", {x}), w}));
    auto graph = std::move(b).Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    // The second executable finds the weights of the first one.
    const auto first = ExpectCpuMatchesReference(*graph, RandomInputs(*graph));
    const auto second = ExpectCpuMatchesReference(*graph, RandomInputs(*graph));
    EXPECT_TRUE(first != nullptr && second != nullptr) << read;
  }
}

// The kernel says what its nodes mean; with another weight, it does not.
TEST_P(WeightOnlyTest, StatesWhatItComputes) {
  for (const Stated stated : {Stated::kBlocks, Stated::kNibbles, Stated::kColumns}) {
    auto claims = ClaimsOfPlan(ProductGraph(stated, 2, 256, 260, -8, 7, true));
    ASSERT_TRUE(claims.ok()) << claims.status();
    int products = 0;
    for (KernelClaim& claim : *claims) {
      EXPECT_TRUE(CheckClaim(claim, 1).ok()) << CheckClaim(claim, 1);
      if (!absl::StartsWith(claim.kernel, "weight-only product ")) continue;
      ++products;
      EXPECT_TRUE(claim.statement.has_value()) << claim.why_none;
      for (Tensor& known : claim.statics) {
        if (known.empty_handle() || known.size() < 1000) continue;
        std::vector<double> other = known.ToDoubles();
        other[known.size() / 2] += 3;
        known = *Tensor::FromDoubles(known.type(), other);
      }
      EXPECT_FALSE(CheckClaim(claim, 1).ok()) << claim.kernel;
    }
    EXPECT_EQ(products, 1);
  }
}

// Kernels that are measured have made-up weights, which no executable may take for the model's.
TEST_P(WeightOnlyTest, MadeUpWeightsAreNotShared) {
  const Graph graph = ProductGraph(Stated::kNibbles, 1, 256, 512, 0, 0, true);
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {1, true});
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::unique_ptr<cpu::Kernel>> made_up;
  for (const auto& step : plan->steps) {
    cpu::CpuKernelSpec spec = *step.spec;
    spec.is_made_up = true;
    cpu::StaticValues statics;
    for (const auto& in : spec.inputs) statics.push_back(*Tensor::Filled(in.type, 1));
    auto kernel = cpu::BuildKernel(spec, statics);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    made_up.push_back(*std::move(kernel));
  }
  ExpectCpuMatchesReference(graph, RandomInputs(graph));
}

// Executables of the same weights share them, also if only one of them is left.
TEST_P(WeightOnlyTest, ExecutablesShareWeights) {
  const Graph graph = ProductGraph(Stated::kNibbles, 1, 256, 512, 0, 0, true);
  const std::vector<Tensor> inputs = RandomInputs(graph);
  auto first = ExpectCpuMatchesReference(graph, inputs);
  auto second = ExpectCpuMatchesReference(graph, inputs);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  auto expected = first->Run(inputs);
  first.reset();
  auto y = second->Run(inputs);
  ASSERT_TRUE(y.ok() && expected.ok());
  EXPECT_TRUE((*y)[0].SameBytes((*expected)[0]));
}

}  // namespace
}  // namespace lemma
