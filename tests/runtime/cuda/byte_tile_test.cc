// Products of integers of 8 bits on emulated tensor cores give the reference's bits.
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/builder.h"
#include "gtest/gtest.h"
#include "kernels/codegen/product_precision.h"
#include "kernels/codegen/tiles/tile_choice.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::GridKernel;
using codegen::ProductPrecision;
using codegen::TileChoice;

// `q` less the zero point `z`, in `type`, named `name`.
std::string Centered(const std::string& name, const std::string& q, const std::string& z,
                     const std::string& type) {
  return absl::StrCat(name, "q = cast(", q, ") {dtype = \"", type, "\"} ", name, "z = cast(", z,
                      ") {dtype = \"", type, "\"} ", name, " = sub(", name, "q, ", name, "z) ");
}
std::string Widened(const std::string& name, const std::string& q, const std::string& type) {
  return absl::StrCat(name, " = cast(", q, ") {dtype = \"", type, "\"} ");
}

// Borders on every side; depths that 4 and 64 do not divide; all pairs of types; zero points of
// none, one and both factors; loads along rows and along the depth, in packs and one by one;
// padding, strides, dilations, groups; batches; an epilogue; sums in f32 and in i32.
std::vector<std::string> Cases() {
  std::vector<std::string> cases;
  for (const char* a : {"u8", "i8"}) {
    for (const char* b : {"u8", "i8"}) {
      for (int zeros = 0; zeros < 4; ++zeros) {
        for (const char* type : {"f32", "i32"}) {
          cases.push_back(absl::StrCat(
              "graph product(x: ", a, "[37,70], w: ", b, "[70,41], xz: ", a, "[], wz: ", b, "[]) {",
              zeros % 2 != 0 ? Centered("c", "x", "xz", type) : Widened("c", "x", type),
              zeros / 2 != 0 ? Centered("d", "w", "wz", type) : Widened("d", "w", type),
              "p = matmul(c, d) return p }"));
        }
      }
    }
  }
  cases.push_back(absl::StrCat("graph packed(x: u8[36,72], w: i8[72,40], xz: u8[]) {",
                               Centered("c", "x", "xz", "f32"), Widened("d", "w", "f32"),
                               "p = matmul(c, d) return p }"));
  cases.push_back(absl::StrCat("graph transposed(x: u8[72,33], w: i8[40,72], xz: u8[1,1]) {",
                               "t = transpose(x) {perm = [1,0]} v = transpose(w) {perm = [1,0]}",
                               Centered("c", "t", "xz", "f32"), Widened("d", "v", "f32"),
                               "p = matmul(c, d) return p }"));
  cases.push_back(absl::StrCat("graph batches(x: u8[3,20,65], w: i8[3,65,24], xz: u8[]) {",
                               Centered("c", "x", "xz", "f32"), Widened("d", "w", "f32"),
                               "p = matmul(c, d) return p }"));
  cases.push_back(absl::StrCat("graph long(x: u8[20,1100], w: i8[1100,24], xz: u8[], wz: i8[]) {",
                               Centered("c", "x", "xz", "i32"), Centered("d", "w", "wz", "i32"),
                               "p = matmul(c, d) return p }"));
  for (const char* type : {"f32", "i32"}) {
    cases.push_back(
        absl::StrCat("graph conv(x: u8[2,9,11,10], w: i8[17,9,3,3], xz: u8[]) {",
                     Centered("c", "x", "xz", type), Widened("d", "w", type),
                     "p = conv2d(c, d) {pads = [1,2,1,0], strides = [2,1]} return p }"));
  }
  cases.push_back(absl::StrCat(
      "graph grouped(x: i8[1,16,9,8], w: u8[36,8,3,3], xz: i8[], wz: u8[]) {",
      Centered("c", "x", "xz", "f32"), Centered("d", "w", "wz", "f32"),
      "p = conv2d(c, d) {pads = [2,2,2,2], dilations = [2,2], groups = 2} return p }"));
  // Two products share a centered value.
  cases.push_back(absl::StrCat("graph shared(x: u8[40,64], w: i8[64,32], v: i8[64,24], xz: u8[]) {",
                               Centered("c", "x", "xz", "f32"), Widened("d", "w", "f32"),
                               Widened("e", "v", "f32"),
                               "p = matmul(c, d) q = matmul(c, e) return p, q }"));
  cases.push_back(absl::StrCat(
      "graph requantized(x: u8[1,8,9,9], w: i8[12,8,3,3], xz: u8[], b: f32[12,1,1]) {",
      Centered("c", "x", "xz", "f32"), Widened("d", "w", "f32"),
      "p = conv2d(c, d) {pads = [1,1,1,1]} s = add(p, b) h = constant f32[] fill 0.001953125 "
      "m = mul(s, h) r = round(m) y = cast(r) {dtype = \"u8\"} return y }"));
  return cases;
}

// Integers in the whole range of their type, many of them at its ends; floats are integers too.
Tensor RandomIntegers(const TensorType& type, std::mt19937_64* random) {
  const int64_t least = type.dtype == DType::kU8 ? 0 : -128, most = least + 255;
  std::vector<double> values;
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    const uint64_t drawn = (*random)();
    const bool end = drawn % 4 == 0;
    values.push_back(static_cast<double>(end ? (drawn >> 8) % 2 == 0 ? least : most
                                             : least + static_cast<int64_t>((drawn >> 8) % 256)));
  }
  return *Tensor::FromDoubles(type, values);
}

class ByteSweep {
 public:
  void Add(const Graph& graph, const codegen::GridOptions& grid, int products) {
    cuda::PlanOptions options;
    options.grid = grid;
    const absl::Status added = plans_.Add(graph, options);
    ASSERT_TRUE(added.ok()) << added;
    const size_t i = plans_.size() - 1;
    EXPECT_EQ(plans_.ByteProductsOf(i), products) << graph.name();
    for (const cuda::CudaStep& step : plans_.plan(i).steps) {
      for (const GridKernel& kernel : step.program->kernels) {
        if (absl::StrContains(kernel.schedule, " in bytes")) schedules_.insert(kernel.schedule);
      }
    }
  }

  void Run() {
    const absl::Status compiled = plans_.Compile();
    ASSERT_TRUE(compiled.ok()) << compiled;
    std::mt19937_64 random(1);
    for (size_t i = 0; i < plans_.size(); ++i) {
      const Graph& graph = plans_.graph(i);
      std::vector<Tensor> inputs;
      for (const Value& v : graph.inputs()) inputs.push_back(RandomIntegers(v.type(), &random));
      auto reference = MakeReferenceBackend()->Compile(graph, {});
      ASSERT_TRUE(reference.ok()) << reference.status();
      auto expected = (*reference)->Run(inputs);
      auto actual = plans_.Run(i, inputs, i);
      ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
      for (size_t k = 0; k < expected->size(); ++k) {
        const Tensor &wanted = (*expected)[k], &result = (*actual)[k];
        for (int64_t e = 0; e < wanted.size(); ++e) {
          ASSERT_EQ(wanted.AtDouble(e), result.AtDouble(e))
              << graph.name() << ", element " << e << " of result " << k;
        }
      }
    }
  }

  const cuda::CudaPlan& last() const { return plans_.plan(plans_.size() - 1); }
  size_t schedules() const { return schedules_.size(); }

 private:
  EmulatedPlans plans_;
  std::set<std::string> schedules_;
};

TEST(ByteTiles, HaveTheReferencesBits) {
  ByteSweep sweep;
  for (const std::string& text : Cases()) {
    sweep.Add(GraphWithWeights(text), {}, absl::StrContains(text, "shared") ? 2 : 1);
  }
  sweep.Run();
}

// Every tile, with the sum in one part and in two.
TEST(ByteTiles, HaveTheReferencesBitsForEveryTile) {
  const std::string product =
      absl::StrCat("graph large(x: u8[133,70], w: i8[70,131], xz: u8[], wz: i8[]) {",
                   Centered("c", "x", "xz", "i32"), Centered("d", "w", "wz", "i32"),
                   "p = matmul(c, d) return p }");
  const std::string images =
      absl::StrCat("graph images(x: u8[2,9,11,10], w: i8[130,9,3,3], xz: u8[], b: f32[130,1,1]) {",
                   Centered("c", "x", "xz", "f32"), Widened("d", "w", "f32"),
                   "p = conv2d(c, d) {pads = [1,1,1,1]} q = add(p, b) return q }");
  ByteSweep sweep;
  const auto tiles = codegen::TileShapes(ProductPrecision::kBytes);
  int expected = 0;
  for (size_t tile = 0; tile < tiles.size(); ++tile) {
    const bool wanted =
        tiles[tile].stages == 0 && tiles[tile].thread_rows * tiles[tile].thread_columns <= 64 * 32;
    expected += wanted ? 1 : 0;
    for (int parts = 1; wanted && parts <= 2; ++parts) {
      codegen::GridOptions grid;
      grid.tile = TileChoice{static_cast<int>(tile), parts};
      for (const std::string& text : {product, images}) sweep.Add(GraphWithWeights(text), grid, 1);
    }
  }
  sweep.Run();
  EXPECT_GT(expected, 5);
  EXPECT_EQ(sweep.schedules(), static_cast<size_t>(expected));
}

// Constants and zero points as the import of a model gives them, which are numbers of f32.
TEST(ByteTiles, KnownIntegersAreStoredAsBytes) {
  std::mt19937_64 random(1);
  const auto graph = [&](double zero, int64_t most) {
    GraphBuilder b("known");
    std::vector<double> weights(64 * 24);
    const int64_t least = -(most / 2);
    for (double& weight : weights) {
      weight = static_cast<double>(static_cast<int64_t>(random() % (most + 1)) + least);
    }
    weights[0] = static_cast<double>(most + least);
    const Value x = b.Input("x", {DType::kU8, {40, 64}});
    const Value w = b.Constant(*Tensor::FromDoubles({DType::kF32, {64, 24}}, weights));
    const Value z = b.Constant(*Tensor::FromDoubles({DType::kF32, {}}, {zero}));
    const Value q = *b.Op("cast", {x}, {{"dtype", std::string("f32")}});
    b.Output("y", *b.Op("matmul", {*b.Op("sub", {q, z}), w}));
    return *std::move(b).Build();
  };
  ByteSweep sweep;
  sweep.Add(graph(7, 200), {}, 1);
  sweep.Add(graph(0, 200), {}, 1);
  sweep.Add(graph(255, 254), {}, 1);
  sweep.Add(graph(7, 400), {}, 0);   // weights that no byte holds
  sweep.Add(graph(-1, 200), {}, 0);  // zero points that are no u8
  sweep.Add(graph(0.5, 200), {}, 0);
  sweep.Run();
}

// What only a product reads is stored as bytes all the same: the product's kernel would compute it
// for each of its reads, and multiply no bytes. What only moves stored bytes is part of that
// kernel.
TEST(ByteTiles, ReadBytesThatAreStored) {
  ByteSweep sweep;
  const std::string quantized =
      "h = constant f32[] fill 0.5 g = mul(f, h) r = round(g) x = cast(r) {dtype = \"i8\"} ";
  const auto steps = [&](const std::string& text, size_t expected) {
    sweep.Add(GraphWithWeights(text), {}, 1);
    EXPECT_EQ(sweep.last().steps.size(), expected) << sweep.last().Describe(GraphWithWeights(text));
  };
  steps(absl::StrCat("graph images(f: f32[1,8,14,14], w: i8[40,8,3,3], z: i8[]) {", quantized,
                     Centered("c", "x", "z", "f32"), Widened("d", "w", "f32"),
                     "p = conv2d(c, d) {pads = [1,1,1,1]} return p }"),
        2);
  steps(absl::StrCat("graph rows(f: f32[40,64], w: i8[64,36], z: i8[]) {", quantized,
                     Centered("c", "x", "z", "i32"), Widened("d", "w", "i32"),
                     "p = matmul(c, d) return p }"),
        2);
  steps(absl::StrCat("graph weights(x: u8[40,64], f: f32[64,36], z: u8[]) {",
                     absl::StrReplaceAll(quantized, {{"x = ", "w = "}}),
                     Centered("c", "x", "z", "f32"), Widened("d", "w", "f32"),
                     "p = matmul(c, d) return p }"),
        2);
  steps(absl::StrCat("graph turned(f: f32[64,40], w: i8[36,64], z: i8[]) {", quantized,
                     "t = transpose(x) {perm = [1,0]} v = transpose(w) {perm = [1,0]} ",
                     Centered("c", "t", "z", "i32"), Widened("d", "v", "i32"),
                     "p = matmul(c, d) return p }"),
        2);
  steps(absl::StrCat("graph zero(x: i8[40,64], w: i8[64,36], f: f32[]) {",
                     absl::StrReplaceAll(quantized, {{"x = ", "z = "}}),
                     Centered("c", "x", "z", "f32"), Widened("d", "w", "f32"),
                     "p = matmul(c, d) return p }"),
        2);
  sweep.Run();
}

// Each kernel widens a zero point for itself. It is also stored if it is a result, or if what reads
// it is no kernel of operators.
TEST(ByteTiles, ZeroPointsHaveOtherUsers) {
  const auto shares = [](const char* use) {
    return absl::StrCat("graph zero(x: u8[40,64], w: i8[64,36], z: u8[1,1], y: f32[3,50]) {",
                        Centered("c", "x", "z", "f32"), Widened("d", "w", "f32"),
                        "p = matmul(c, d) ", use, " }");
  };
  ByteSweep sweep;
  const auto steps = [&](const std::string& text, size_t expected) {
    sweep.Add(GraphWithWeights(text), {}, 1);
    EXPECT_EQ(sweep.last().steps.size(), expected) << sweep.last().Describe(GraphWithWeights(text));
  };
  steps(shares("o = add(y, cz) return p, o"), 2);
  steps(shares("o = add(y, cz) s = mul(cz, cz) return p, o, s"), 2);
  steps(shares("o = add(p, cz) return o"), 1);
  steps(shares("return p, cz"), 2);
  steps(shares("o = add(y, cz) return p, o, cz"), 2);
  steps(shares("r = reshape(cz) {shape = [1]} o = add(y, r) return p, o, r"), 3);
  steps(absl::StrCat("graph computed(x: u8[40,64], w: i8[64,36], f: f32[], y: f32[3,50]) {"
                     "r = round(f) a = abs(r) z = cast(a) {dtype = \"u8\"} ",
                     Centered("c", "x", "z", "f32"), Widened("d", "w", "f32"),
                     "p = matmul(c, d) v = reshape(cz) {shape = [1]} o = add(y, v) "
                     "return p, o, v }"),
        4);
  sweep.Run();
}

// A kernel of many operators takes the factors all the same, so that a constant is neither widened
// in every run nor stored in 32 bits.
TEST(ByteTiles, KernelsOfManyOperatorsReadBytes) {
  for (int more = 27; more <= 31; ++more) {
    std::string text = absl::StrCat(
        "graph many(x: u8[40,64], z: u8[], b: f32[]) { w = constant i8[64,36] fill 3 ",
        Centered("c", "x", "z", "f32"), Widened("d", "w", "f32"), "k0 = matmul(c, d) ");
    for (int k = 1; k <= more; ++k) absl::StrAppend(&text, "k", k, " = add(k", k - 1, ", b) ");
    absl::StrAppend(&text, "return k", more, " }");
    ByteSweep sweep;
    const Graph graph = GraphWithWeights(text);
    sweep.Add(graph, {}, 1);
    EXPECT_EQ(sweep.last().steps.size(), 1u) << sweep.last().Describe(graph);
    EXPECT_EQ(sweep.last().memory.weight_bytes, 64 * 36) << sweep.last().Describe(graph);
    if (more == 31) sweep.Run();
  }
}

// Products that are too long to be exact have stored factors of 16 bits, as other products.
TEST(ByteTiles, InexactProductsHaveStoredFactors) {
  const Graph graph = GraphWithWeights(absl::StrCat(
      "graph long(x: u8[1024,4096], w: i8[4096,1024], z: u8[]) {", Centered("c", "x", "z", "f32"),
      Widened("d", "w", "f32"), "y = matmul(c, d) return y }"));
  ByteSweep sweep;
  for (const ProductPrecision precision : {ProductPrecision::kBf16, ProductPrecision::kF16}) {
    codegen::GridOptions grid;
    grid.precision = precision;
    sweep.Add(graph, grid, 0);
    int in_bulk = 0;
    for (const cuda::CudaStep& step : sweep.last().steps) {
      for (const GridKernel& kernel : step.program->kernels) in_bulk += kernel.bulk.empty() ? 0 : 1;
    }
    EXPECT_EQ(in_bulk, 1) << sweep.last().Describe(graph);
  }
}

// Sums that f32 may not hold exactly stay as they are defined, and so do sums that i32 may not
// hold.
TEST(ByteTiles, InexactSumsAreNoProductsOfBytes) {
  const auto count = [](const std::string& text, const codegen::GridOptions& grid) {
    NodeTraitsCache traits;
    cuda::PlanOptions options;
    options.grid = grid;
    auto plan = cuda::PlanGraph(GraphWithWeights(text), traits, options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    int products = 0;
    for (const cuda::CudaStep& step : plan->steps) {
      for (const GridKernel& kernel : step.program->kernels) {
        products += kernel.tile && kernel.tile->precision == ProductPrecision::kBytes ? 1 : 0;
      }
    }
    return products;
  };
  const auto product = [](int terms, const char* b, const char* type) {
    return absl::StrCat("graph g(x: u8[16,", terms, "], w: ", b, "[", terms, ",16]) {",
                        Widened("c", "x", type), Widened("d", "w", type),
                        "p = matmul(c, d) return p }");
  };
  EXPECT_EQ(count(product(514, "i8", "f32"), {}), 1);  // 514 * 255 * 128 is at most 2^24
  EXPECT_EQ(count(product(515, "i8", "f32"), {}), 0);
  EXPECT_EQ(count(product(258, "u8", "f32"), {}), 1);
  EXPECT_EQ(count(product(259, "u8", "f32"), {}), 0);
  EXPECT_EQ(count(product(515, "i8", "i32"), {}), 1);
  EXPECT_GE(count(product(33024, "i8", "i32"), {}), 1);
  EXPECT_EQ(count(product(33025, "i8", "i32"), {}), 0);
  // Without the instruction.
  codegen::GridOptions old;
  old.architecture = 75;
  EXPECT_EQ(count(product(64, "i8", "f32"), old), 0);
  // In every precision, since nothing is rounded.
  codegen::GridOptions half;
  half.precision = ProductPrecision::kBf16;
  EXPECT_EQ(count(product(64, "i8", "f32"), half), 1);
}

}  // namespace
}  // namespace lemma
