// Sums of products on emulated tensor cores: every tile and precision, within its error bound.
#include <cmath>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/codegen/product_precision.h"
#include "kernels/codegen/tiles/tile_choice.h"
#include "runtime/reference/reference.h"
#include "tests/base/repetitions.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::ProductPrecision;
using codegen::TileChoice;

constexpr ProductPrecision kPrecisions[] = {ProductPrecision::kF32x3, ProductPrecision::kTf32,
                                            ProductPrecision::kF16, ProductPrecision::kBf16};

// A graph that grows with its inputs' absolute values, and the number of products in a sum.
struct Case {
  const char* text;
  int64_t terms;
};

// Borders on every side; loads along rows and along the depth, in packs and one by one; guards;
// divided indices; batches; an epilogue; factors of 16 bits.
constexpr Case kCases[] = {
    {R"(graph product(x: f32[67,70], w: f32[70,69], b: f32[69]) {
      p = matmul(x, w)
      q = add(p, b)
      r = relu(q)
      return r
    })",
     70},
    {"graph packed(x: f32[132,68], w: f32[68,132]) { p = matmul(x, w) return p }", 68},
    {R"(graph transposed(x: f32[72,66], w: f32[68,72]) {
      a = transpose(x) {perm = [1,0]}
      b = transpose(w) {perm = [1,0]}
      p = matmul(a, b)
      return p
    })",
     72},
    {R"(graph strided(x: f32[2,9,13,11], w: f32[34,9,3,3], b: f32[34]) {
      c = conv2d(x, w, b) {pads = [1,1,1,1], strides = [2,1]}
      return c
    })",
     81},
    {R"(graph grouped(x: f32[2,16,13,12], w: f32[66,8,3,3]) {
      c = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2], groups = 2}
      return c
    })",
     72},
    {"graph batches(x: f32[3,36,64], w: f32[3,64,44]) { p = matmul(x, w) return p }", 64},
    {R"(graph halves(x: bf16[34,72], w: f16[72,36]) {
      a = cast(x) {dtype = "f32"}
      b = cast(w) {dtype = "f32"}
      p = matmul(a, b)
      return p
    })",
     72},
};

// Factors of 16 bits that the copy engine moves: along the depth and along the rows, borders on
// every side, batches (of one factor, of two dimensions), an epilogue, a slice, two orders of
// dimensions.
constexpr Case kBulkCases[] = {
    {R"(graph bulk(x: bf16[133,136], w: bf16[136,200], b: f32[200]) {
      c = cast(x) {dtype = "f32"} d = cast(w) {dtype = "f32"}
      p = matmul(c, d) r = add(p, b) s = relu(r) return s
    })",
     136},
    {"graph direct(x: f16[70,72], w: f16[72,264]) { p = matmul(x, w) return p }", 72},
    {R"(graph bulk_transposed(x: bf16[200,136], w: bf16[136,200]) {
      a = transpose(x) {perm = [1,0]} b = transpose(w) {perm = [1,0]}
      c = cast(a) {dtype = "f32"} d = cast(b) {dtype = "f32"} p = matmul(c, d) return p
    })",
     200},
    {R"(graph bulk_heads(x: bf16[2,72,3,64], w: bf16[2,136,3,64]) {
      a = transpose(x) {perm = [0,2,1,3]} b = transpose(w) {perm = [0,2,3,1]}
      c = cast(a) {dtype = "f32"} d = cast(b) {dtype = "f32"} p = matmul(c, d) return p
    })",
     64},
    {R"(graph bulk_one_batch(x: f16[3,66,64], w: f16[64,136]) {
      a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"} p = matmul(a, b) return p
    })",
     64},
    {R"(graph bulk_slice(x: bf16[80,160], w: bf16[64,136]) {
      t = slice(x) {starts = [8,16], sizes = [70,64], steps = [1,1]}
      a = cast(t) {dtype = "f32"} b = cast(w) {dtype = "f32"} p = matmul(a, b) return p
    })",
     64},
    {R"(graph bulk_conv(x: bf16[2,72,8,17], w: bf16[72,72,1,1], b: f32[72]) {
      a = cast(x) {dtype = "f32"} k = cast(w) {dtype = "f32"} c = conv2d(a, k, b) return c
    })",
     72},
    // The result along the rows, and of a size that no pack divides; a residual.
    {R"(graph bulk_along_rows(x: bf16[72,72], w: bf16[72,136], r: f32[136,72]) {
      a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"}
      p = einsum(a, b) {equation = "ik,kj->ji"} q = add(p, r) return q
    })",
     72},
    {R"(graph bulk_odd(x: f16[69,72], w: f16[137,72], r: f32[69,137]) {
      t = transpose(w) {perm = [1,0]}
      a = cast(x) {dtype = "f32"} b = cast(t) {dtype = "f32"}
      p = matmul(a, b) q = add(p, r) return q
    })",
     72},
    {R"(graph bulk_residual(x: bf16[66,72], w: bf16[72,136], r: bf16[66,136], s: f32[66,1]) {
      a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"} c = cast(r) {dtype = "f32"}
      p = matmul(a, b) q = add(p, c) t = add(q, s) return t
    })",
     72},
    // Images that become a batch.
    {R"(graph bulk_images(x: bf16[3,72,8,17], w: bf16[72,72,1,1], b: f32[72]) {
      a = cast(x) {dtype = "f32"} k = cast(w) {dtype = "f32"} c = conv2d(a, k, b)
      r = relu(c) return r
    })",
     72},
    {R"(graph bulk_long(x: bf16[72,1000], w: bf16[1000,136]) {
      a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"} p = matmul(a, b) return p
    })",
     1000},
};

std::vector<Tensor> Magnitudes(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    std::vector<double> values;
    for (int64_t i = 0; i < input.type().num_elements(); ++i)
      values.push_back(std::fabs(input.AtDouble(i)));
    result.push_back(*Tensor::FromDoubles(input.type(), values));
  }
  return result;
}

std::vector<Tensor> Exact(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto backend = MakeReferenceBackend(BetweenOperators::kUnrounded);
  auto executable = backend->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *std::move(outputs);
}

class TensorTiles : public testing::TestWithParam<ProductPrecision> {};

// Plans of every case for every tile of its kind, which are within the bound when they run.
class TileSweep {
 public:
  explicit TileSweep(ProductPrecision precision) : precision_(precision) {}

  void Add(const Case& c, int tile, int parts) {
    cuda::PlanOptions options;
    options.grid.tile = TileChoice{tile, parts};
    options.grid.precision = precision_;
    const absl::Status added = plans_.Add(GraphWithWeights(c.text), options);
    ASSERT_TRUE(added.ok()) << added;
    cases_.push_back(c);
    for (const cuda::CudaStep& step : plans_.plan(plans_.size() - 1).steps) {
      for (const codegen::GridKernel& kernel : step.program->kernels) {
        if (!kernel.tile) continue;
        schedules_.insert(kernel.schedule);
        in_parts_ += kernel.tile->choice.parts > 1 ? 1 : 0;
        in_bulk_ += kernel.bulk.empty() ? 0 : 1;
      }
    }
  }

  // Runs all; *largest is the largest error relative to its bound.
  void Run(double* largest) {
    const absl::Status compiled = plans_.Compile();
    ASSERT_TRUE(compiled.ok()) << compiled;
    *largest = 0;
    for (size_t i = 0; i < plans_.size(); ++i) {
      SCOPED_TRACE(cases_[i].text);
      const std::vector<Tensor> inputs = RandomInputs(plans_.graph(i), i + 1);
      const Tensor exact = Exact(plans_.graph(i), inputs)[0];
      const Tensor scale = Exact(plans_.graph(i), Magnitudes(inputs))[0];
      auto actual = plans_.Run(i, inputs, i);
      ASSERT_TRUE(actual.ok()) << actual.status();
      const double stored = plans_.graph(i).outputs()[0].dtype() == DType::kF16 ? 0x1p-11 : 0x1p-22;
      const double bound = codegen::ProductErrorBound(precision_, cases_[i].terms) + stored;
      for (int64_t e = 0; e < exact.type().num_elements(); ++e) {
        const double error = std::fabs((*actual)[0].AtDouble(e) - exact.AtDouble(e));
        ASSERT_LE(error, bound * scale.AtDouble(e)) << "element " << e;
        if (scale.AtDouble(e) > 0)
          *largest = std::max(*largest, error / (bound * scale.AtDouble(e)));
      }
    }
  }

  size_t schedules() const { return schedules_.size(); }
  int in_parts() const { return in_parts_; }
  int in_bulk() const { return in_bulk_; }

 private:
  ProductPrecision precision_;
  EmulatedPlans plans_;
  std::vector<Case> cases_;
  std::set<std::string> schedules_;
  int in_parts_ = 0, in_bulk_ = 0;
};

TEST_P(TensorTiles, EachIsWithinTheBound) {
  const auto tiles = codegen::TileShapes(GetParam());
  TileSweep sweep(GetParam());
  const size_t every = WholeOr(1, 2);  // which of a tile's cases run
  size_t plain = 0, added = 0;
  for (size_t tile = 0; tile < tiles.size(); ++tile) {
    if (tiles[tile].stages > 0) continue;
    ++plain;
    for (const Case& c : kCases) {
      const int parts = added / std::size(kCases) % 2 == added % 2 ? 1 : 2;
      if ((added++ + tile) / 2 % every != 0) continue;
      ASSERT_NO_FATAL_FAILURE(sweep.Add(c, static_cast<int>(tile), parts));
    }
  }
  EXPECT_EQ(sweep.schedules(), plain);
  EXPECT_GE(sweep.in_parts(), WholeOr(15, 7));
  EXPECT_EQ(sweep.in_bulk(), 0);
  double largest = 0;
  ASSERT_NO_FATAL_FAILURE(sweep.Run(&largest));
  // The bound says something: rounding of this precision is visible.
  EXPECT_GT(largest, GetParam() == ProductPrecision::kF32x3 ? 1e-3 : 0.02);
}
INSTANTIATE_TEST_SUITE_P(Precisions, TensorTiles, testing::ValuesIn(kPrecisions),
                         [](const auto& test) { return codegen::Name(test.param); });

TEST(BulkTiles, EachIsWithinTheBound) {
  // The factors are exact, so the sums are as accurate as f32x3 promises.
  const auto tiles = codegen::TileShapes(ProductPrecision::kF32x3);
  TileSweep sweep(ProductPrecision::kF32x3);
  size_t bulk = 0, added = 0;
  for (size_t tile = 0; tile < tiles.size(); ++tile) {
    if (tiles[tile].stages == 0) continue;
    ++bulk;
    // Half of the cases or a quarter, others for each tile.
    for (size_t i = 0; i < std::size(kBulkCases) / WholeOr(2, 4); ++i) {
      const Case& c = kBulkCases[(5 * tile + i) % std::size(kBulkCases)];
      ASSERT_NO_FATAL_FAILURE(sweep.Add(c, static_cast<int>(tile), added++ % 3 == 0 ? 2 : 1));
    }
  }
  EXPECT_GE(sweep.schedules(), bulk);
  // Parts of a sum may begin where the engine cannot copy from.
  EXPECT_GE(sweep.in_bulk(), static_cast<int>(added) * 2 / 3);
  EXPECT_GE(sweep.in_parts(), 2);
  double largest = 0;
  ASSERT_NO_FATAL_FAILURE(sweep.Run(&largest));
  EXPECT_GT(largest, 1e-3);
}

// Graphs with factors to store, and the least number of products by warpgroup in their plans: an
// input; a factor made by a product; one that two products share; heads split and merged, where the
// last product's factor is not worth it.
constexpr Case kStoredCases[] = {
    {R"(graph plain(x: f32[256,512], w: weight f32[512,264], b: f32[264]) {
      p = matmul(x, w) q = add(p, b) return q
    })",
     1},
    {R"(graph layers(x: f32[256,512], w: weight f32[512,512], v: weight f32[512,256]) {
      h = relu(x) p = matmul(h, w) q = relu(p) r = matmul(q, v) return r
    })",
     2},
    {R"(graph shared(x: f32[256,512], w: weight f32[512,512], v: weight f32[512,512]) {
      h = relu(x) p = matmul(h, w) q = matmul(h, v) r = add(p, q) s = add(r, h) return s
    })",
     2},
    {R"(graph heads(x: f32[2,128,256], q: weight f32[256,256], k: weight f32[256,256],
                    v: weight f32[256,256], o: weight f32[256,256]) {
      a = matmul(x, q) b = matmul(x, k) c = matmul(x, v)
      a4 = reshape(a) {shape = [2,128,4,64]} b4 = reshape(b) {shape = [2,128,4,64]}
      c4 = reshape(c) {shape = [2,128,4,64]}
      ah = transpose(a4) {perm = [0,2,1,3]} bh = transpose(b4) {perm = [0,2,3,1]}
      ch = transpose(c4) {perm = [0,2,1,3]}
      s = matmul(ah, bh) p = softmax(s) {axis = 3} m = matmul(p, ch)
      t = transpose(m) {perm = [0,2,1,3]} u = reshape(t) {shape = [2,128,256]}
      y = matmul(u, o) z = add(y, x) return z
    })",
     5},
};

TEST(StoredFactors, GiveWhatProductsRoundTo) {
  EmulatedPlans plans;
  for (const Case& c : kStoredCases) {
    for (ProductPrecision precision : {ProductPrecision::kF16, ProductPrecision::kBf16}) {
      if (precision == ProductPrecision::kF16 && &c != &kStoredCases[1]) continue;
      for (int architecture : {90, 80}) {
        cuda::PlanOptions options;
        options.grid.precision = precision;
        options.grid.architecture = architecture;
        const absl::Status added = plans.Add(GraphWithWeights(c.text), options);
        ASSERT_TRUE(added.ok()) << added;
        int bulk = 0;
        for (const cuda::CudaStep& step : plans.plan(plans.size() - 1).steps) {
          for (const codegen::GridKernel& kernel : step.program->kernels) {
            bulk += kernel.bulk.empty() ? 0 : 1;
          }
        }
        EXPECT_GE(bulk, architecture == 90 ? c.terms : 0) << c.text;
        if (architecture != 90) {
          EXPECT_EQ(bulk, 0) << c.text;
        }
      }
    }
  }
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  int library_products = 0;
  for (size_t i = 0; i < plans.size(); i += 2) {
    SCOPED_TRACE(plans.graph(i).name());
    const std::vector<Tensor> inputs = RandomInputs(plans.graph(i), i + 1);
    const Tensor exact = Exact(plans.graph(i), inputs)[0];
    const std::vector<double> expected = exact.ToDoubles();
    auto stored = plans.Run(i, inputs, i), rounded = plans.Run(i + 1, inputs, i);
    ASSERT_TRUE(stored.ok() && rounded.ok()) << stored.status() << rounded.status();
    // As the library would compute them.
    auto by_library = plans.Run(i, inputs, i, /*products=*/true);
    ASSERT_TRUE(by_library.ok()) << by_library.status();
    const std::vector<double> library = (*by_library)[0].ToDoubles();
    library_products += plans.ProductsOf(i);
    const std::vector<double> actual = (*stored)[0].ToDoubles(), other = (*rounded)[0].ToDoubles();
    double scale = 0, error = 0, other_error = 0, between = 0;
    for (size_t e = 0; e < expected.size(); ++e) {
      scale = std::max(scale, std::fabs(expected[e]));
      error = std::max(error, std::fabs(actual[e] - expected[e]));
      other_error = std::max(other_error, std::fabs(other[e] - expected[e]));
      between =
          std::max({between, std::fabs(actual[e] - other[e]), std::fabs(actual[e] - library[e])});
    }
    // Sums in another order move some factors to the next number.
    EXPECT_LE(between, 0.25 * other_error + 1e-6 * scale);
    EXPECT_LE(error, 1.2 * other_error);
    EXPECT_GT(error, 0);
  }
  EXPECT_GE(library_products, 6);
}

TEST(TensorTiles, SpecialValues) {
  // Infinite and NaN factors give what IEEE arithmetic gives; f32x3 gives NaN for an infinite one.
  EmulatedPlans plans;
  for (ProductPrecision precision : kPrecisions) {
    cuda::PlanOptions options;
    options.grid.precision = precision;
    ASSERT_TRUE(plans
                    .Add(GraphWithWeights(
                             "graph g(x: f32[64,64], w: f32[64,64]) { p = matmul(x, w) return p }"),
                         options)
                    .ok());
  }
  ASSERT_TRUE(plans.Compile().ok());
  const TensorType type{DType::kF32, {64, 64}};
  std::vector<double> x(64 * 64, 1.0), w(64 * 64, 0.5);
  x[0] = INFINITY;
  x[64] = NAN;
  x[2 * 64] = -INFINITY;
  x[3 * 64] = 1e-30;
  for (size_t i = 0; i < plans.size(); ++i) {
    auto out = plans.Run(
        i, std::vector<Tensor>{*Tensor::FromDoubles(type, x), *Tensor::FromDoubles(type, w)}, 1);
    ASSERT_TRUE(out.ok()) << out.status();
    const Tensor& y = (*out)[0];
    if (kPrecisions[i] == ProductPrecision::kF32x3) {
      EXPECT_FALSE(std::isfinite(y.AtDouble(0)));
      EXPECT_FALSE(std::isfinite(y.AtDouble(2 * 64)));
    } else {
      EXPECT_EQ(y.AtDouble(0), INFINITY);
      EXPECT_EQ(y.AtDouble(2 * 64), -INFINITY);
    }
    EXPECT_TRUE(std::isnan(y.AtDouble(64)));
    EXPECT_EQ(y.AtDouble(3 * 64), 31.5);
    EXPECT_EQ(y.AtDouble(4 * 64), 32);
  }
}

TEST(TensorTiles, FewBlocksAddUpParts) {
  EXPECT_GE(codegen::ChooseTile({1, 512, 49, 4608, 1, 10}, ProductPrecision::kBf16).parts, 4);
  EXPECT_EQ(codegen::ChooseTile({1, 8192, 8192, 64}, ProductPrecision::kBf16).parts, 1);
}

TEST(ProductErrorBound, GrowsWithCoarserFormatsAndLongerSums) {
  double last = 0;
  for (ProductPrecision precision : {ProductPrecision::kF32, ProductPrecision::kF32x3,
                                     ProductPrecision::kTf32, ProductPrecision::kBf16}) {
    EXPECT_GT(codegen::ProductErrorBound(precision, 64), last);
    last = codegen::ProductErrorBound(precision, 64);
    EXPECT_LT(last, codegen::ProductErrorBound(precision, 128));
    EXPECT_EQ(codegen::ProductErrorBound(precision, int64_t{1} << 24), HUGE_VAL);
  }
}

}  // namespace
}  // namespace lemma
