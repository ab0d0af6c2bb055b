// Attention as one streamed kernel: where it is found, and its numbers.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/codegen/product_precision.h"
#include "kernels/codegen/tiles/tile_choice.h"
#include "kernels/codegen/tiles/tile_table.h"
#include "runtime/cuda/fusion/store_factors.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::ProductPrecision;
using ::testing::HasSubstr;

int StreamedOf(const cuda::CudaPlan& plan) {
  int streamed = 0;
  for (const cuda::Launch& launch : plan.launches) {
    streamed += !plan.IsCopy(launch) && plan.KernelOf(launch).streamed ? 1 : 0;
  }
  return streamed;
}

// softmax(q k^T scale + mask) v; `type` is the element type of all tensors.
std::string Plain(const std::string& type, int heads, int queries, int keys, int width,
                  int values) {
  return absl::StrCat("graph plain(q: ", type, "[", heads, ",", queries, ",", width, "], k: ", type,
                      "[", heads, ",", keys, ",", width, "], v: ", type, "[", heads, ",", keys, ",",
                      values, R"(]) {
    c = constant )",
                      type, "[] fill ", 1 / std::sqrt(width), R"(
    t = transpose(k) {perm = [0,2,1]} s = matmul(q, t) a = mul(s, c) p = softmax(a) {axis = 2}
    o = matmul(p, v) return o
  })");
}

struct Case {
  std::string text;
  ProductPrecision precision = ProductPrecision::kBf16;
  int rows = 64, keys = 128;  // of the tile
};

void ExpectStreamed(const std::vector<Case>& cases) {
  EmulatedPlans plans;
  for (const Case& c : cases) {
    cuda::PlanOptions options;
    options.grid.precision = c.precision;
    options.grid.stream = codegen::StreamTile{c.rows, c.keys};
    const absl::Status added = plans.Add(GraphWithWeights(c.text), options);
    ASSERT_TRUE(added.ok()) << added << c.text;
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(StreamedOf(plans.plan(i)), 1) << cases[i].text << "\n"
                                            << plans.plan(i).Describe(plans.graph(i));
  }
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (size_t i = 0; i < plans.size(); ++i) {
    SCOPED_TRACE(cases[i].text);
    plans.ExpectMatchesReference(i, i + 1);
  }
}

TEST(Streamed, SizesThatFillTilesOrDoNot) {
  std::vector<Case> cases;
  const auto f16 = ProductPrecision::kF16, tf32 = ProductPrecision::kTf32;
  cases.push_back({Plain("f16", 2, 192, 256, 64, 64), f16, 192, 128});
  cases.push_back({Plain("bf16", 2, 200, 328, 64, 64), tf32, 192, 64});
  cases.push_back({Plain("f16", 2, 200, 328, 64, 64), f16, 128, 128});
  cases.push_back({Plain("bf16", 1, 64, 136, 32, 128), tf32, 64, 128});
  cases.push_back({Plain("f16", 1, 136, 520, 128, 128), f16, 128, 64});
  cases.push_back({Plain("bf16", 1, 136, 520, 128, 128), tf32, 128, 128});
  cases.push_back({Plain("f16", 1, 72, 200, 256, 256), f16, 64, 64});
  cases.push_back({Plain("bf16", 1, 72, 200, 256, 256), tf32, 128, 64});
  cases.push_back({Plain("f16", 1, 72, 40, 80, 40), f16, 64, 64});
  cases.push_back({Plain("f16", 3, 16, 25, 16, 32), f16, 64, 64});
  ExpectStreamed(cases);
}

// As exporters write it: heads are parts of a row, the mask is added.
TEST(Streamed, HeadsAndMasks) {
  const std::string layers = R"(
    h = reshape(q) {shape = [2,72,3,64]} qh = transpose(h) {perm = [0,2,1,3]}
    i = reshape(k) {shape = [2,200,3,64]} kh = transpose(i) {perm = [0,2,3,1]}
    j = reshape(v) {shape = [2,200,3,64]} vh = transpose(j) {perm = [0,2,1,3]}
    s = matmul(qh, kh) )",
                    end = R"( o = matmul(p, vh) t = transpose(o) {perm = [0,2,1,3]}
    y = reshape(t) {shape = [2,72,192]} )";
  const std::string inputs = "graph g(x: f32[2,72,192], k: f32[2,200,192], v: f32[2,200,192]";
  const std::string made = " q = neg(x) ";
  ExpectStreamed({
      {inputs + ") {" + made + layers + "p = softmax(s) {axis = 3}" + end + "return y }"},
      {inputs + ", m: f32[2,1,1,200]) {" + made + layers +
       "a = add(s, m) p = softmax(a) {axis = 3}" + end + "return y }"},
      // Two masks: one by key, one by row and key.
      {inputs + ", m: f32[200], n: bf16[2,1,72,200]) {" + made + layers +
       R"(a = add(s, m) c = cast(n) {dtype = "f32"} b = add(a, c) p = softmax(b) {axis = 3})" +
       end + "return y }"},
      // The result is a factor of another product.
      {inputs + ", w: weight f32[192,64]) {" + made + layers + "p = softmax(s) {axis = 3}" + end +
       "z = matmul(y, w) return z }"},
      // The softmax as small operators, and a division instead of a multiplication.
      {inputs + ") {" + made + layers +
       R"(c = constant f32[] fill 8.0 a = div(s, c)
          n = reduce_max(a) {axes = [3], keepdims = 1} d = sub(a, n) e = exp(d)
          u = reduce_sum(e) {axes = [3], keepdims = 1} p = div(e, u))" +
       end + "return y }"},
  });
}

// A mask is read as it is before it is expanded; and what makes a mask may be long.
TEST(Streamed, MasksMadeByOtherOperators) {
  const std::string inputs =
                        "graph g(q: bf16[6,72,64], k: bf16[6,64,136], v: bf16[6,136,64], "
                        "m: f32[6,1,136]) { ",
                    end = " p = softmax(a) {axis = 2} o = matmul(p, v) return o }";
  std::string chain = "m0 = neg(m)";
  for (int i = 0; i < 30; ++i) absl::StrAppend(&chain, " m", i + 1, " = neg(m", i, ")");
  const std::vector<std::string> bodies = {
      "s = matmul(q, k) e = expand(m) {shape = [6,72,136]} c = cast(e) {dtype = \"bf16\"} "
      "a = add(s, c)",
      chain + " c = cast(m30) {dtype = \"bf16\"} s = matmul(q, k) a = add(s, c)",
      "f = cast(m) {dtype = \"bf16\"} e = expand(f) {shape = [6,72,136]} s = matmul(q, k) "
      "a = add(s, e)",
  };
  std::vector<Case> cases;
  cases.reserve(bodies.size());
  for (const std::string& body : bodies) cases.push_back({inputs + body + end});
  ExpectStreamed(cases);
  // The last one has no kernel for the expanded mask.
  NodeTraitsCache traits;
  cuda::PlanOptions options;
  options.grid.precision = ProductPrecision::kBf16;
  options.grid.stream = codegen::StreamTile();
  const auto plan = cuda::PlanGraph(GraphWithWeights(cases[2].text), traits, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->launches.size(), 2u) << plan->Describe(GraphWithWeights(cases[2].text));
}

// Queries, keys and values are parts of one value; and keys and values of one head serve several.
TEST(Streamed, SharedFactors) {
  ExpectStreamed({
      {R"(graph fused(x: f32[72,64], w: weight f32[64,576]) {
        b = matmul(x, w) c = constant f32[] fill 0.1 a = mul(b, c)
        q = slice(a) {starts = [0,0], sizes = [72,192], steps = [1,1]}
        k = slice(a) {starts = [0,192], sizes = [72,192], steps = [1,1]}
        v = slice(a) {starts = [0,384], sizes = [72,192], steps = [1,1]}
        qr = reshape(q) {shape = [72,3,64]} qh = transpose(qr) {perm = [1,0,2]}
        kr = reshape(k) {shape = [72,3,64]} kh = transpose(kr) {perm = [1,2,0]}
        vr = reshape(v) {shape = [72,3,64]} vh = transpose(vr) {perm = [1,0,2]}
        s = matmul(qh, kh) p = softmax(s) {axis = 2} o = matmul(p, vh)
        return o
      })"},
      // Split, with a causal mask that puts the lowest float in place of scores.
      {R"(graph causal(x: f32[72,64], w: weight f32[64,576], m: bool[72,72]) {
        b = matmul(x, w) c = constant f32[] fill 0.1 a = mul(b, c)
        q, k, v = split(a) {axis = 1, sizes = [192,192,192]}
        qr = reshape(q) {shape = [72,3,64]} qh = transpose(qr) {perm = [1,0,2]}
        kr = reshape(k) {shape = [72,3,64]} kh = transpose(kr) {perm = [1,2,0]}
        vr = reshape(v) {shape = [72,3,64]} vh = transpose(vr) {perm = [1,0,2]}
        s = matmul(qh, kh) n = constant f32[] fill -3.4028234663852886e38 z = where(m, s, n)
        p = softmax(z) {axis = 2} o = matmul(p, vh) t = transpose(o) {perm = [1,0,2]}
        y = reshape(t) {shape = [72,192]} return y
      })"},
      {R"(graph one_head(q: f16[4,72,64], k: f16[1,64,136], v: f16[1,136,64]) {
        s = matmul(q, k) p = softmax(s) {axis = 2} o = matmul(p, v) return o
      })",
       ProductPrecision::kF16},
      {R"(graph groups(q: bf16[6,72,64], k: bf16[2,136,64], v: bf16[2,136,64]) {
        kr = reshape(k) {shape = [2,1,136,64]} ke = expand(kr) {shape = [2,3,136,64]}
        kg = reshape(ke) {shape = [6,136,64]} kt = transpose(kg) {perm = [0,2,1]}
        vr = reshape(v) {shape = [2,1,136,64]} ve = expand(vr) {shape = [2,3,136,64]}
        vg = reshape(ve) {shape = [6,136,64]}
        s = matmul(q, kt) p = softmax(s) {axis = 2} o = matmul(p, vg) return o
      })"},
      // Values whose keys are adjacent in memory, and results too.
      {R"(graph turned(q: bf16[2,64,72], k: bf16[2,64,136], v: bf16[2,64,136]) {
        qt = transpose(q) {perm = [0,2,1]} vt = transpose(v) {perm = [0,2,1]}
        s = matmul(qt, k) p = softmax(s) {axis = 2} o = matmul(p, vt)
        y = transpose(o) {perm = [0,2,1]} return y
      })"},
  });
}

// Several attentions read one value: it is rounded, and turned, once.
TEST(Streamed, KeysAndValuesOfTwoAttentions) {
  const std::string attentions = R"(
    s = matmul(q, kt) p = softmax(s) {axis = 2} o = matmul(p, v)
    s2 = matmul(q2, kt) p2 = softmax(s2) {axis = 2} o2 = matmul(p2, v) return o, o2 })";
  const std::vector<std::string> texts = {
      "graph plain(q: f32[2,72,64], q2: f32[2,80,64], kt: f32[2,64,136], v: f32[2,136,64]) {",
      R"(graph turned(q: f32[2,72,64], q2: f32[2,80,64], k: f32[2,136,64], v: f32[2,136,64]) {
        kt = transpose(k) {perm = [0,2,1]})",
      R"(graph casts(a: f32[2,72,64], b: f32[2,80,64], c: bf16[2,64,136], d: bf16[2,136,64]) {
        q = neg(a) q2 = neg(b) n = neg(c)
        kt = cast(n) {dtype = "f32"} v = cast(d) {dtype = "f32"})"};
  EmulatedPlans plans;
  for (const std::string& text : texts) {
    cuda::PlanOptions options;
    options.grid.precision = ProductPrecision::kBf16;
    options.grid.stream = codegen::StreamTile{64, 64};
    ASSERT_TRUE(plans.Add(GraphWithWeights(text + attentions), options).ok()) << text;
    EXPECT_EQ(StreamedOf(plans.plan(plans.size() - 1)), 2)
        << plans.plan(plans.size() - 1).Describe(plans.graph(plans.size() - 1));
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) plans.ExpectMatchesReference(i, i + 1);
}

// Rows that a mask empties, in front, in the end and altogether; and scores that are no numbers.
TEST(Streamed, InfinitiesAndNaN) {
  const std::string text = R"(graph g(q: f16[1,72,64], k: f16[1,200,64], v: f16[1,200,64],
                                     m: f32[1,72,200]) {
    t = transpose(k) {perm = [0,2,1]} a = cast(q) {dtype = "f32"} b = cast(t) {dtype = "f32"}
    s = matmul(a, b) z = add(s, m) p = softmax(z) {axis = 2} c = cast(v) {dtype = "f32"}
    o = matmul(p, c) return o
  })";
  EmulatedPlans plans;
  for (int keys : {64, 128}) {
    cuda::PlanOptions options;
    options.grid.precision = ProductPrecision::kF16;
    options.grid.stream = codegen::StreamTile{128, keys};
    ASSERT_TRUE(plans.Add(GraphWithWeights(text), options).ok());
  }
  ASSERT_TRUE(plans.Compile().ok());
  const float inf = std::numeric_limits<float>::infinity();
  const float least = std::numeric_limits<float>::lowest();
  for (size_t i = 0; i < plans.size(); ++i) {
    ASSERT_EQ(StreamedOf(plans.plan(i)), 1) << plans.plan(i).Describe(plans.graph(i));
    std::vector<Tensor> inputs = RandomInputs(plans.graph(i), 7);
    std::vector<double> mask(72 * 200, 0);
    const auto fill = [&](int row, int from, int to, float value) {
      std::fill(mask.begin() + row * 200 + from, mask.begin() + row * 200 + to, value);
    };
    fill(0, 0, 150, -inf);
    fill(1, 20, 200, -inf);
    fill(2, 0, 200, -inf);
    fill(3, 0, 200, least);
    fill(4, 0, 150, least);
    fill(5, 0, 200, -1e9f);
    fill(6, 0, 200, 1e9f);
    fill(7, 90, 91, inf);
    fill(8, 199, 200, std::nanf(""));
    fill(9, 0, 199, -inf);
    fill(10, 0, 130, -1e30f);
    fill(11, 0, 200, 3e38f);
    inputs[3] = *Tensor::FromDoubles(inputs[3].type(), mask);
    plans.ExpectMatchesReference(i, inputs, 1);
    auto results = plans.Run(i, inputs, 1);
    ASSERT_TRUE(results.ok()) << results.status();
    const std::vector<double> values = (*results)[0].ToDoubles();
    for (int row = 0; row < 72; ++row) {
      EXPECT_EQ(std::isnan(values[row * 64]), row == 2 || row == 7 || row == 8) << row;
    }
  }
}

// The tile of a table counts, unless the options force one that the size allows.
TEST(Streamed, TheTileOfATable) {
  const Graph graph = GraphWithWeights(Plain("f16", 2, 192, 256, 64, 64));
  codegen::StreamSize size;
  const auto schedule_with = [&](const cuda::PlanOptions& options) -> std::string {
    NodeTraitsCache traits;
    const auto plan = cuda::PlanGraph(graph, traits, options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    for (const cuda::Launch& launch : plan->launches) {
      if (plan->IsCopy(launch) || !plan->KernelOf(launch).streamed) continue;
      size = *plan->KernelOf(launch).streamed;
      return plan->KernelOf(launch).schedule;
    }
    return "";
  };
  cuda::PlanOptions options;
  options.grid.precision = ProductPrecision::kF16;
  options.grid.stream = codegen::StreamTile();  // no size allows it
  const std::string chosen = schedule_with(options);
  codegen::TunedTile tuned;
  for (const codegen::StreamTile& tile : codegen::StreamTiles(size)) {
    if (!absl::StrContains(chosen, codegen::NameOf(tile))) tuned.stream = tile;
  }
  const auto table = std::make_shared<codegen::TileTable>();
  table->Set({std::nullopt, ProductPrecision::kF32, size}, tuned);
  options.grid.tiles = table;
  EXPECT_THAT(schedule_with(options), HasSubstr(codegen::NameOf(tuned.stream)));
  options.grid.stream = *codegen::ChooseStreamTile(size);
  EXPECT_EQ(schedule_with(options), chosen);
}

// What is read outside has to be stored.
TEST(Streamed, ValuesThatAreReadElsewhere) {
  const std::string inputs = "graph g(q: f16[2,128,64], k: f16[2,64,256], v: f16[2,256,64]) {",
                    body = "s = matmul(q, k) p = softmax(s) {axis = 2} o = matmul(p, v) ";
  EmulatedPlans plans;
  for (const char* end : {"return o, p }", "return o, s }", "r = relu(p) return o, r }",
                          "m = reduce_max(s) {axes = [2]} return o, m }"}) {
    cuda::PlanOptions options;
    options.grid.precision = ProductPrecision::kF16;
    options.grid.stream = codegen::StreamTile();
    ASSERT_TRUE(plans.Add(GraphWithWeights(inputs + body + end), options).ok());
    EXPECT_EQ(StreamedOf(plans.plan(plans.size() - 1)), 0) << end;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) plans.ExpectMatchesReference(i, i + 1);
}

// Nearly softmax: what must not be taken for it.
TEST(Streamed, OtherFunctions) {
  const std::string inputs = "graph g(q: f16[2,128,64], k: f16[2,64,128], v: f16[2,128,64]) {",
                    end = " o = matmul(p, v) return o }";
  EmulatedPlans plans;
  for (const char* body : {
           // Over the queries.
           "s = matmul(q, k) p = softmax(s) {axis = 1}",
           // Of the keys' transposed scores.
           "s = matmul(q, k) t = transpose(s) {perm = [0,2,1]} p = softmax(t) {axis = 1}",
           "s = matmul(q, k) p = log_softmax(s) {axis = 2}",
           "s = matmul(q, k) r = softmax(s) {axis = 2} p = mul(r, r)",
           // The total of other scores.
           R"(s = matmul(q, k) n = reduce_max(s) {axes = [2], keepdims = 1} d = sub(s, n) e = exp(d)
              a = abs(s) x = sub(a, n) w = exp(x) u = reduce_sum(w) {axes = [2], keepdims = 1}
              p = div(e, u))",
           // The least score.
           R"(s = matmul(q, k) n = reduce_min(s) {axes = [2], keepdims = 1} d = sub(s, n) e = exp(d)
              u = reduce_sum(e) {axes = [2], keepdims = 1} p = div(e, u))",
       }) {
    cuda::PlanOptions options;
    options.grid.precision = ProductPrecision::kF16;
    options.grid.stream = codegen::StreamTile();
    ASSERT_TRUE(plans.Add(GraphWithWeights(inputs + body + end), options).ok()) << body;
    EXPECT_EQ(StreamedOf(plans.plan(plans.size() - 1)), 0) << body;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) plans.ExpectMatchesReference(i, i + 1);
}

// Offsets in a mask, or in a result, of 2^31 elements and more take 64 bits.
TEST(Streamed, OffsetsBeyond32Bits) {
  struct Large {
    std::string text;
    ProductPrecision precision;
    std::vector<std::string> rows_and_columns;
  };
  const std::string product =
      "graph g(x: f32[65536,64], w: f32[64,65536]) { y = matmul(x, w) return y }";
  const std::vector<Large> cases = {
      {R"(graph masked(q: bf16[1,50000,64], k: bf16[1,64,50000], v: bf16[1,50000,64],
                       m: bf16[50000,50000]) {
        s = matmul(q, k) a = add(s, m) p = softmax(a) {axis = 2} o = matmul(p, v) return o
      })",
       ProductPrecision::kBf16,
       {"si1 =", "si2 ="}},
      {"graph g(x: bf16[65536,64], w: bf16[64,65536]) { y = matmul(x, w) return y }",
       ProductPrecision::kBf16,
       {"i0 =", "i1_start ="}},
      {product, ProductPrecision::kTf32, {"i0 =", "i1 ="}},
      {product, ProductPrecision::kF32, {"i0 =", "i1 ="}},
  };
  NodeTraitsCache traits;
  for (const Large& c : cases) {
    cuda::PlanOptions options;
    options.grid.precision = c.precision;
    auto plan = cuda::PlanGraph(GraphWithWeights(c.text), traits, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_EQ(plan->launches.size(), 1u) << c.text;
    const std::string& code = plan->KernelOf(plan->launches[0]).code;
    for (const std::string& name : c.rows_and_columns) {
      EXPECT_NE(code.find("const int64 " + name), std::string::npos) << name << "\n" << code;
      EXPECT_EQ(code.find("const int " + name), std::string::npos) << name << "\n" << code;
    }
  }
}

}  // namespace
}  // namespace lemma
