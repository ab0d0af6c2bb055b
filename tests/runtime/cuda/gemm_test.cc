// Which kernels are matrix products for a library, derived from definitions. Executed on the host,
// these products give the reference's results.
#include <algorithm>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "gtest/gtest.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::GemmCall;
using codegen::GemmMatrix;

std::string TextOf(const char* name, const GemmMatrix& x) {
  return absl::StrCat(" ", name, x.transposed ? "'" : "", x.leading,
                      x.batch_stride > 0 ? absl::StrCat("+", x.batch_stride) : "",
                      x.offset > 0 ? absl::StrCat("@", x.offset) : "");
}

// "BATCHxMxNxK A… B… D…": leading dimensions, then ' if transposed, + and the batch stride, @ and
// the offset.
std::string TextOf(const GemmCall& call) {
  return absl::StrCat(call.batch, "x", call.m, "x", call.n, "x", call.k, TextOf("A", call.a),
                      TextOf("B", call.b), TextOf("D", call.d),
                      call.c.argument >= 0 ? TextOf("C", call.c) : "",
                      call.bias_argument >= 0 ? " bias" : "");
}

struct Case {
  const char* product;  // empty: none
  const char* text;
};
const Case kCases[] = {
    {"1x43x37x65 A43 B65 D43",
     "graph plain(x: f32[37,65], w: f32[65,43]) { p = matmul(x, w) return p }"},
    // All batches as the rows of one product.
    {"1x43x111x65 A43 B65 D43",
     "graph rows(x: f32[3,37,65], w: f32[65,43]) { p = matmul(x, w) return p }"},
    {"6x19x17x16 A'16+304 B16+272 D19+323",
     R"(graph scores(q: f32[2,3,17,16], k: f32[2,3,19,16]) {
      t = transpose(k) {perm = [0,1,3,2]}
      s = matmul(q, t)
      return s
    })"},
    // Heads taken from the middle of a tensor and put back into it.
    {"3x16x17x19 A48+16 B19+323 D16+272", R"(graph heads(p: f32[3,17,19], v: f32[19,3,16]) {
      t = transpose(v) {perm = [1,0,2]}
      s = matmul(p, t)
      return s
    })"},
    // Two batch dimensions that are not adjacent in memory.
    {"", R"(graph mixed(p: f32[2,3,17,19], v: f32[2,19,3,16]) {
      t = transpose(v) {perm = [0,2,1,3]}
      s = matmul(p, t)
      return s
    })"},
    {"1x43x37x20 A43@645 B65@40 D43", R"(graph part(x: f32[37,65], w: f32[65,43]) {
      a = slice(x) {starts = [0,40], sizes = [37,20]}
      b = slice(w) {starts = [15,0], sizes = [20,43]}
      p = matmul(a, b)
      return p
    })"},
    {"1x43x37x65 A43 B65 D43 C43 bias",
     R"(graph layer(x: f32[37,65], w: f32[65,43], b: f32[43], r: f32[37,43]) {
      p = matmul(x, w)
      q = add(p, b)
      s = add(q, r)
      return s
    })"},
    // The library has no bias along the other side.
    {"", R"(graph other(x: f32[37,65], w: f32[65,43], b: f32[37,1]) {
      p = matmul(x, w)
      q = add(p, b)
      return q
    })"},
    {"", R"(graph more(x: f32[37,65], w: f32[65,43]) {
      p = matmul(x, w)
      q = relu(p)
      return q
    })"},
    {"", "graph half(x: f16[37,65], w: f16[65,43]) { p = matmul(x, w) return p }"},
    {"", "graph wide(x: f64[37,65], w: f64[65,43]) { p = matmul(x, w) return p }"},
    // A convolution of one pixel is a product; a larger one is not.
    {"2x143x9x16 A143+2288 B16 D143+1287",
     "graph point(x: f32[2,16,13,11], w: f32[9,16,1,1]) { c = conv2d(x, w) return c }"},
    {"", R"(graph window(x: f32[2,5,13,11], w: f32[9,5,3,3]) {
      c = conv2d(x, w) {pads = [1,1,1,1]}
      return c
    })"},
    {"", R"(graph stride(x: f32[1,16,13,11], w: f32[9,16,1,1]) {
      c = conv2d(x, w) {strides = [2,2]}
      return c
    })"},
};

TEST(Gemm, IsDerivedFromDefinitions) {
  EmulatedPlans plans;
  for (const Case& c : kCases) {
    ASSERT_TRUE(plans.Add(GraphWithWeights(c.text)).ok()) << c.text;
    const size_t i = plans.size() - 1;
    ASSERT_EQ(plans.plan(i).launches.size(), 1u) << plans.plan(i).Describe(plans.graph(i));
    const codegen::GridKernel& kernel = plans.plan(i).KernelOf(plans.plan(i).launches[0]);
    EXPECT_EQ(kernel.gemm ? TextOf(*kernel.gemm) : "", c.product) << c.text << kernel.schedule;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) plans.ExpectMatchesReference(i);
}

// Products of random layouts, with something added.
class RandomProduct {
 public:
  explicit RandomProduct(uint64_t seed) : random_(seed), builder_(absl::StrCat("product", seed)) {}

  Graph Make() {
    Shape batch;
    for (int i = Below(3); i > 0; --i) batch.push_back(1 + Below(4));
    const int64_t m = Size(), n = Size(), k = Size();
    const Value a = Factor(batch, m, k);
    const Value b = Factor(Below(3) == 0 ? Shape{} : batch, k, n);
    Value y = *builder_.Op("matmul", {a, b});
    if (Below(2) == 0) y = *builder_.Op("add", {y, NewInput({n})});
    if (Below(2) == 0) y = *builder_.Op("add", {NewInput(y.shape()), y});
    if (Below(4) == 0) {
      const int rank = y.type().rank();
      std::vector<int64_t> perm;
      for (int i = 0; i < rank; ++i) perm.push_back(i);
      std::shuffle(perm.begin(), perm.end(), random_);
      y = *builder_.Op("transpose", {y}, {{"perm", perm}});
    }
    builder_.Output("y", y);
    return *std::move(builder_).Build();
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  // Large enough for a sum to be treated as a product.
  int64_t Size() { return 16 + Below(20); }

  Value NewInput(Shape shape) {
    return builder_.Input(absl::StrCat("x", inputs_++), {DType::kF32, std::move(shape)});
  }

  // A tensor of shape batch + [rows, columns], in any order in memory, perhaps inside a larger one.
  Value Factor(Shape shape, int64_t rows, int64_t columns) {
    shape.push_back(rows);
    shape.push_back(columns);
    const int rank = static_cast<int>(shape.size());
    std::vector<int64_t> perm, starts(rank, 0), stored(rank);
    for (int i = 0; i < rank; ++i) perm.push_back(i);
    if (Below(2) == 0) std::shuffle(perm.begin(), perm.end(), random_);
    for (int i = 0; i < rank; ++i) stored[perm[i]] = shape[i];
    const std::vector<int64_t> sizes = stored;
    if (Below(3) == 0) {
      const int axis = Below(rank);
      starts[axis] = Below(5);
      stored[axis] += starts[axis] + Below(5);
    }
    Value v = NewInput(stored);
    if (stored != sizes) v = *builder_.Op("slice", {v}, {{"starts", starts}, {"sizes", sizes}});
    return *builder_.Op("transpose", {v}, {{"perm", perm}});
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  int inputs_ = 0;
};

TEST(Gemm, RandomProductsMatchReference) {
  EmulatedPlans plans;
  int products = 0, transposed = 0, batched = 0, added = 0;
  constexpr int kGraphs = 150;
  for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
    const absl::Status status = plans.Add(RandomProduct(seed).Make());
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status;
    const cuda::CudaPlan& plan = plans.plan(plans.size() - 1);
    for (const cuda::Launch& launch : plan.launches) {
      const auto& gemm = plan.KernelOf(launch).gemm;
      if (!gemm) continue;
      ++products;
      transposed += gemm->a.transposed != gemm->b.transposed ? 1 : 0;
      batched += gemm->batch > 1 ? 1 : 0;
      added += gemm->c.argument >= 0 || gemm->bias_argument >= 0 ? 1 : 0;
    }
  }
  EXPECT_GT(products, kGraphs / 2);
  EXPECT_GT(transposed, 20);
  EXPECT_GT(batched, 20);
  EXPECT_GT(added, 20);
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (size_t i = 0; i < plans.size(); ++i) plans.ExpectMatchesReference(i, i + 1);
  RecordProperty("products", products);
}

// The examples of the operator table are too small for tiles, so every dimension but those of 1 is
// multiplied by eight, if the operator allows it. Those that become products are executed.
TEST(Gemm, LargerOperatorExamplesMatchReference) {
  EmulatedPlans plans, found;
  std::set<std::string> operators;
  for (const OpExample& example : AllExamples()) {
    GraphBuilder builder(absl::StrCat(example.op->name, " ", example.text));
    std::vector<Value> operands;
    int64_t elements = 0;
    for (size_t i = 0; i < example.inputs.size(); ++i) {
      TensorType type = example.inputs[i];
      for (int64_t& dim : type.shape) dim *= dim > 1 ? 8 : 1;
      elements = std::max(elements, type.num_elements());
      operands.push_back(builder.Input(absl::StrCat("x", i), type));
    }
    auto outputs = builder.Ops(example.op->name, operands, example.attrs);
    if (!outputs.ok() || elements > 50000 || outputs->size() != 1) continue;
    if ((*outputs)[0].type().num_elements() > 50000) continue;
    builder.Output("y", (*outputs)[0]);
    const Graph graph = *std::move(builder).Build();
    ASSERT_TRUE(plans.Add(graph).ok()) << graph.name();
    if (plans.ProductsOf(plans.size() - 1) == 0) continue;
    ASSERT_TRUE(found.Add(graph).ok());
    operators.insert(example.op->name);
  }
  RecordProperty("examples", static_cast<int>(plans.size()));
  RecordProperty("products", static_cast<int>(found.size()));
  EXPECT_EQ(operators.count("matmul") + operators.count("einsum"), 2u);
  ASSERT_TRUE(found.Compile().ok());
  for (size_t i = 0; i < found.size(); ++i) found.ExpectMatchesReference(i);
}

}  // namespace
}  // namespace lemma
