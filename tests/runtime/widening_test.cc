// Operators on 16-bit floats that the library computes in f32.
#include "runtime/cpu/widening.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using Values = std::vector<double>;

// The values of output 0.
Values OutputOf(Backend* backend, const Graph& graph, const std::vector<Tensor>& inputs) {
  auto executable = backend->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0].ToDoubles();
}

int Casts(const Graph& graph) {
  const auto& nodes = graph.nodes();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(),
                                        [](const NodePtr& node) { return node->IsOp("cast"); }));
}

Graph Wide(const Graph& graph) {
  NodeTraitsCache traits;
  return cpu::Widened(graph, traits).graph;
}

// Every kernel of the graph, whose 16-bit type is written T, is the library's.
void ExpectLibrary(const std::string& text) {
  for (const char* type : {"f16", "bf16"}) {
    const Graph graph =
        GraphWithWeights(absl::StrReplaceAll(text, {{"T[", std::string(type) + "["}}));
    const std::vector<Tensor> inputs = RandomInputs(graph);
    auto executable = ExpectCpuMatchesReference(graph, inputs);
    ASSERT_NE(executable, nullptr);
    std::vector<KernelTiming> timings;
    ASSERT_TRUE(executable->RunTimed(inputs, &timings).ok());
    for (const KernelTiming& t : timings) {
      EXPECT_NE(t.note, "by its definition") << type << ": " << t.kernel;
    }
  }
}

TEST(Widening, ConvolutionsProductsAndPoolingsAreTheLibrarys) {
  ExpectLibrary(R"(graph g(x: T[1,8,9,9], w: weight T[16,8,3,3], b: weight T[16],
      u: weight T[16,16,1,1], f: weight T[16,4]) {
    c = conv2d(x, w, b) {pads = [1,1,1,1]}
    r = relu(c)
    d = conv2d(r, u)
    s = add(d, r)
    p = max_pool2d(s) {kernel = [3,3], strides = [2,2]}
    a = avg_pool2d(p) {kernel = [4,4]}
    l = reshape(a) {shape = [1,16]}
    y = matmul(l, f)
    return y, s
  })");
}

TEST(Widening, ConcatenationsAndTransposesOfF32ValuesMove) {
  ExpectLibrary(R"(graph g(x: T[1,4,5,5], w: weight T[4,4,3,3]) {
    c = conv2d(x, w) {pads = [1,1,1,1]}
    j = concat(c, x) {axis = 1}
    t = transpose(j) {perm = [0,2,3,1]}
    y = softmax(t) {axis = 3}
    return y
  })");
}

// 2049 is not an f16, 257 not a bf16: each operator's result is rounded before it is used.
TEST(Widening, EveryResultIsRounded) {
  struct Case {
    const char* type;
    double first;
    Values expected;
  };
  // x*1 + 1*1, then - first: rounded to even before the subtraction.
  for (const Case& c : {Case{"f16", 2048, {0, 2, 4}}, Case{"bf16", 256, {0, 2, 4}}}) {
    const std::string type = c.type;
    const std::string text = absl::StrReplaceAll(R"(graph g(x: T[3,2], w: T[2,1], s: T[1]) {
      p = matmul(x, w)
      d = sub(p, s)
      return d
    })",
                                                 {{"T[", type + "["}});
    const Graph graph = GraphWithWeights(text);
    const DType dtype = *ParseDType(type);
    const std::vector<Tensor> inputs = {
        *Tensor::FromDoubles({dtype, {3, 2}}, {c.first, 1, c.first, 2, c.first + 2, 1}),
        *Tensor::FromDoubles({dtype, {2, 1}}, {1, 1}),
        *Tensor::FromDoubles({dtype, {1}}, {c.first})};
    EXPECT_GT(Casts(Wide(graph)), 0);
    EXPECT_EQ(OutputOf(MakeCpuBackend().get(), graph, inputs), c.expected) << type;
    EXPECT_EQ(OutputOf(MakeReferenceBackend().get(), graph, inputs), c.expected) << type;
    EXPECT_EQ(OutputOf(MakeReferenceBackend().get(), Wide(graph), inputs), c.expected) << type;
  }
}

TEST(Widening, ASumBeyondTheRangeIsInfinite) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f16[1,2], w: f16[2,2]) {
    p = matmul(x, w)
    h = mul(p, p)
    r = div(p, h)
    return p, r
  })");
  const std::vector<Tensor> inputs = {*Tensor::FromDoubles({DType::kF16, {1, 2}}, {60000, 60000}),
                                      *Tensor::FromDoubles({DType::kF16, {2, 2}}, {1, 1, 1, -1})};
  const Values p = OutputOf(MakeCpuBackend().get(), graph, inputs);
  EXPECT_EQ(p, (Values{std::numeric_limits<double>::infinity(), 0}));
  ExpectCpuMatchesReference(graph, inputs);
}

TEST(Widening, WeightsThatAreLookedUpStayNarrow) {
  const Graph graph =
      GraphWithWeights(R"(graph g(i: i64[3], t: weight f16[50,8], w: weight f16[8,4]) {
    e = gather(t, i) {axis = 0}
    y = matmul(e, w)
    return y
  })");
  const Graph wide = Wide(graph);
  for (const NodePtr& node : wide.nodes()) {
    if (node->IsOp("gather")) {
      EXPECT_EQ(node->type(0).dtype, DType::kF16);
    }
    if (node->IsOp("matmul")) {
      EXPECT_EQ(node->type(0).dtype, DType::kF32);
    }
  }
  ExpectCpuMatchesReference(graph, RandomInputs(graph));
}

TEST(Widening, NothingChangesWithoutALibrarysOperator) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f16[3,4], y: bf16[3,4], z: f32[4,4]) {
    a = relu(x)
    b = neg(y)
    c = matmul(z, z)
    return a, b, c
  })");
  EXPECT_EQ(Wide(graph).StructuralHash(), graph.StructuralHash());
}

TEST(Widening, EachAddedValueHasItsOrigin) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f16[3,4], w: weight f16[4,4]) {
    a = matmul(x, w)
    b = relu(a)
    return b
  })");
  NodeTraitsCache traits;
  const cpu::WideGraph wide = cpu::Widened(graph, traits);
  for (const NodePtr& node : wide.graph.nodes()) {
    const NodePtr& origin = wide.OriginOf(node);
    EXPECT_TRUE(std::find(graph.nodes().begin(), graph.nodes().end(), origin) !=
                graph.nodes().end());
    if (!node->IsOp("cast")) {
      EXPECT_EQ(node->kind(), origin->kind());
    }
  }
}

TEST(Widening, EmptyAndSingleElementsAgree) {
  for (const char* text : {"graph g(x: f16[0,4], w: weight f16[4,4]) { a = matmul(x, w) return a }",
                           "graph g(x: bf16[1,1], w: weight bf16[1,1]) { a = matmul(x, w) "
                           "return a }",
                           "graph g(x: f16[2,1,1,1], w: weight f16[1,1,1,1]) { a = conv2d(x, w) "
                           "b = relu(a) return a, b }"}) {
    ExpectCpuMatchesReference(text);
  }
}

}  // namespace
}  // namespace lemma
