// Values that stay integers of 8 bits across operators that move or select elements.
#include "runtime/cpu/narrowing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/plan_claims.h"
#include "runtime/reference/reference.h"

namespace lemma {
namespace {

using Ints = std::vector<int64_t>;

struct Steps {
  double scale = 0.37;
  int64_t zero = 7;
  DType dtype = DType::kU8;
};

class Builder {
 public:
  Builder() : b_("g") {}
  Value Input(DType dtype, const Shape& shape) {
    return b_.Input(absl::StrCat("x", inputs_++), {dtype, shape});
  }
  Value Number(double value, DType dtype = DType::kF32) {
    return b_.Constant(*Tensor::Filled({dtype, {}}, value));
  }
  Value Op(const char* name, std::vector<Value> in, Attrs attrs = {}) {
    auto y = b_.Op(name, std::move(in), std::move(attrs));
    EXPECT_TRUE(y.ok()) << y.status();
    return *y;
  }
  Value Cast(const Value& v, DType to) {
    return Op("cast", {v}, {{"dtype", std::string(Name(to))}});
  }
  Value DQ(const Value& q, const Steps& s) { return DQ(q, Number(s.scale), s.zero); }
  Value DQ(const Value& q, const Value& scale, int64_t zero) {
    const Value z = Cast(Number(static_cast<double>(zero), q.dtype()), DType::kF32);
    return Op("mul", {Op("sub", {Cast(q, DType::kF32), z}), scale});
  }
  Value Q(const Value& v, const Steps& s) {
    const bool is_unsigned = s.dtype == DType::kU8;
    const Value z = Cast(Number(static_cast<double>(s.zero), s.dtype), DType::kF32);
    Value y = Op("add", {Op("round", {Op("div", {v, Number(s.scale)})}), z});
    y = Op("clip", {y},
           {{"min", is_unsigned ? 0.0 : -128.0}, {"max", is_unsigned ? 255.0 : 127.0}});
    return Cast(y, s.dtype);
  }
  Graph Build(const std::vector<Value>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) b_.Output(absl::StrCat("y", i), outputs[i]);
    auto graph = std::move(b_).Build();
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *std::move(graph);
  }
  GraphBuilder& graph() { return b_; }

 private:
  GraphBuilder b_;
  int inputs_ = 0;
};

std::vector<Tensor> InputsOf(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> inputs;
  for (const Value& v : graph.inputs()) {
    const bool narrow = v.dtype() == DType::kU8 || v.dtype() == DType::kI8;
    const int64_t low = v.dtype() == DType::kI8 ? -128 : 0;
    std::vector<double> all(v.type().num_elements());
    // Half of the elements are at one end, so that windows have equal maxima.
    for (double& e : all) {
      e = narrow
              ? static_cast<double>(low + static_cast<int64_t>(random() % 2 ? random() % 256 : 0))
              : static_cast<double>(random() % 2001) / 40 - 25;
    }
    inputs.push_back(*Tensor::FromDoubles(v.type(), all));
  }
  return inputs;
}

std::vector<Tensor> OutputsOf(const Graph& graph, Backend* backend,
                              const std::vector<Tensor>& inputs, int threads) {
  CompileOptions options;
  options.threads = threads;
  auto executable = backend->Compile(graph, options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return {};
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

// Both back ends give the same bits; all NaN count as one, and both zeros unless `signed_zeros`.
void ExpectSame(const Graph& graph, uint64_t seed = 1, bool signed_zeros = true) {
  const std::vector<Tensor> inputs = InputsOf(graph, seed);
  const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
  for (const int threads : {1, 2}) {
    const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, threads);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].type(), expected[i].type());
      for (int64_t e = 0; e < actual[i].size(); ++e) {
        const double a = actual[i].AtDouble(e), b = expected[i].AtDouble(e);
        if (std::isnan(a) && std::isnan(b)) continue;
        const bool same_sign = std::signbit(a) == std::signbit(b) || (a == 0 && !signed_zeros);
        ASSERT_TRUE(a == b && same_sign) << "seed " << seed << ", output " << i << ", element " << e
                                         << ": " << a << ", not " << b << "\n"
                                         << PrintGraph(graph);
      }
    }
  }
}

Graph Narrow(const Graph& graph) {
  NodeTraitsCache traits;
  return cpu::Narrowed({graph, {}}, traits).graph;
}

// How many applications of `op` have a result of this type.
int Count(const Graph& graph, const char* op, DType dtype) {
  const auto& nodes = graph.nodes();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const NodePtr& node) {
    return node->IsOp(op) && node->type(0).dtype == dtype;
  }));
}

// Every kernel that moves or pools integers states what it computes.
void ExpectStated(const Graph& graph) {
  auto claims = ClaimsOfPlan(graph);
  ASSERT_TRUE(claims.ok()) << claims.status();
  for (const KernelClaim& claim : *claims) {
    const absl::Status holds = CheckClaim(claim, 1);
    EXPECT_TRUE(holds.ok()) << holds;
    if (claim.kernel.rfind("max pool(", 0) == 0) {
      EXPECT_TRUE(claim.statement.has_value()) << claim.why_none;
    }
  }
}

struct Pool {
  Shape x;
  Ints kernel, strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  int64_t ceil = 0;
  bool narrow = true;  // has a kernel for integers

  Attrs attrs() const {
    return {{"kernel", kernel},
            {"strides", strides},
            {"pads", pads},
            {"dilations", dilations},
            {"ceil_mode", ceil}};
  }
};

const Pool kPools[] = {
    {{1, 64, 12, 12}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {{2, 5, 9, 7}, {2, 3}, {1, 2}, {1, 2, 0, 1}},
    {{1, 1, 1, 1}, {1, 1}},
    {{1, 1, 1, 1}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{3, 33, 1, 6}, {1, 2}, {1, 2}},
    {{1, 7, 6, 1}, {2, 1}, {3, 1}, {1, 0, 0, 0}},
    {{1, 17, 7, 7}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1},
    {{1, 40, 8, 8}, {3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1},
    {{2, 3, 7, 8}, {3, 2}, {3, 3}, {1, 1, 2, 1}, {1, 1}, 1},
    {{1, 6, 9, 9}, {3, 3}, {1, 1}, {0, 0, 0, 0}, {2, 2}, 0, false},
    {{1, 6, 9, 9}, {2, 3}, {2, 1}, {1, 2, 1, 2}, {3, 2}, 0, false},
    // One window lies in padding only: its maximum is -infinity.
    {{1, 8, 1, 5}, {2, 2}, {1, 1}, {2, 0, 2, 0}, {3, 1}, 0, false},
    {{1, 8, 5, 1}, {2, 3}, {1, 1}, {0, 3, 0, 3}, {1, 2}, 0, false},
};

TEST(Narrowing, PoolsSelectIntegers) {
  for (const Pool& pool : kPools) {
    for (const DType dtype : {DType::kU8, DType::kI8}) {
      for (const double scale : {0.37, 0x1p-7, 1e-30, 3e30}) {
        Builder b;
        const Steps s{scale, dtype == DType::kU8 ? 7 : -3, dtype};
        const Value p = b.Op("max_pool2d", {b.DQ(b.Input(dtype, pool.x), s)}, pool.attrs());
        const Graph graph = b.Build({b.Q(p, s)});
        const Graph narrow = Narrow(graph);
        EXPECT_EQ(Count(narrow, "max_pool2d", dtype), pool.narrow) << PrintGraph(graph);
        EXPECT_EQ(Count(narrow, "div", DType::kF32), !pool.narrow) << PrintGraph(narrow);
        ExpectSame(graph);
        ExpectStated(graph);
      }
    }
  }
}

// The result is also read as numbers, and by an operator that quantizes it otherwise.
TEST(Narrowing, PoolsHaveSeveralReaders) {
  for (const Pool& pool : kPools) {
    for (const DType dtype : {DType::kU8, DType::kI8}) {
      Builder b;
      const Steps s{0.11, 5, dtype}, other{0.19, 100, DType::kU8};
      const Value x = b.DQ(b.Input(dtype, pool.x), s);
      const Value r = b.Op("relu", {x});
      const Value p = b.Op("max_pool2d", {r}, pool.attrs());
      const Value again = b.Op("max_pool2d", {p}, {{"kernel", Ints{1, 1}}});
      const Graph graph = b.Build({b.Q(p, s), p, b.Q(p, other), b.Op("add", {again, p}), x,
                                   b.Q(b.Op("sigmoid", {again}), {1.0 / 255, 0, DType::kU8})});
      EXPECT_EQ(Count(Narrow(graph), "max_pool2d", DType::kF32) == 0, pool.narrow);
      ExpectSame(graph);
    }
  }
}

// A function that is not monotone, or whose numbers are not known, stays in front of the maximum.
TEST(Narrowing, OtherFunctionsStay) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double scale : {-0.5, 0.0, -0.0, inf, -inf, double{NAN}, 1e-46}) {
    Builder b;
    const Value x = b.DQ(b.Input(DType::kU8, {1, 8, 6, 6}), {scale, 9, DType::kU8});
    const Value p = b.Op("max_pool2d", {x}, {{"kernel", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    const Graph graph = b.Build({p, b.Q(p, {0.5, 9, DType::kU8})});
    EXPECT_EQ(Count(Narrow(graph), "max_pool2d", DType::kF32), 1) << scale;
    // The library's maximum of -0 and 0 may be either.
    ExpectSame(graph, 1, /*signed_zeros=*/static_cast<float>(scale) != 0);
  }
  for (const char* text : {"square", "channels", "scale of the run", "overflow"}) {
    Builder b;
    const Value q = b.Input(DType::kU8, {1, 8, 6, 6});
    Value x = b.DQ(q, {0.5, 128, DType::kU8});
    bool stays = true;
    if (text == std::string("square")) {
      x = b.Op("mul", {x, x});
    } else if (text == std::string("channels")) {
      x = b.DQ(q,
               b.graph().Constant(
                   *Tensor::FromDoubles({DType::kF32, {8, 1, 1}}, {1, 2, -3, 4, 5, -6, 7, 8})),
               3);
    } else if (text == std::string("scale of the run")) {
      x = b.DQ(q, b.Input(DType::kF32, {}), 3);
    } else {
      x = b.DQ(q, {3e38, 0, DType::kU8});  // infinite from 2 on: still monotone
      stays = false;
    }
    const Value p = b.Op("max_pool2d", {x}, {{"kernel", Ints{3, 3}}});
    const Graph graph = b.Build({p});
    EXPECT_EQ(Count(Narrow(graph), "max_pool2d", DType::kF32), stays) << text;
    ExpectSame(graph);
  }
}

// Parameters that are nearly equal: integers are kept only if all 256 are.
TEST(Narrowing, OnlyTheSameIntegersAreKept) {
  for (const auto& [factor, zero, kept] :
       std::vector<std::tuple<double, int64_t, bool>>{{1, 7, true},
                                                      {1 + 0x1p-20, 7, true},
                                                      {1 + 0x1p-8, 7, false},
                                                      {1 - 0x1p-8, 7, false},
                                                      {1, 8, false},
                                                      {0.5, 7, false}}) {
    Builder b;
    const Value q = b.Input(DType::kU8, {2, 200});
    const Value again = b.Q(b.DQ(q, {0.37, 7, DType::kU8}), {0.37 * factor, zero, DType::kU8});
    const Graph graph = b.Build({again});
    EXPECT_EQ(Count(Narrow(graph), "div", DType::kF32), !kept) << factor << " " << zero;
    ExpectSame(graph);
  }
  // Other integers, though each is the one before plus 128.
  Builder i;
  const Value shifted =
      i.Q(i.DQ(i.Input(DType::kI8, {300}), {0.5, -128, DType::kI8}), {0.5, 0, DType::kU8});
  const Graph shift = i.Build({shifted});
  EXPECT_EQ(PrintGraph(Narrow(shift)), PrintGraph(shift));
  ExpectSame(shift);
  // Up to 127, or up to 254.
  Builder b;
  const Value q = b.Input(DType::kU8, {300});
  const Graph graph = b.Build(
      {b.Q(b.DQ(q, {0.5, 0, DType::kU8}), {0.5, 0, DType::kI8}),
       b.Cast(b.Op("clip", {b.Cast(q, DType::kF32)}, {{"min", 0.0}, {"max", 254.0}}), DType::kU8)});
  EXPECT_EQ(PrintGraph(Narrow(graph)), PrintGraph(graph));
  ExpectSame(graph);
}

TEST(Narrowing, ConcatenationsOfEqualParametersMoveBytes) {
  for (const int64_t axis : {0, 1, 2, 3}) {
    for (const DType dtype : {DType::kU8, DType::kI8}) {
      for (const bool pooled : {false, true}) {
        Builder b;
        const Steps s{0.37, 11, dtype};
        Shape shapes[] = {{2, 8, 4, 5}, {2, 8, 4, 5}, {2, 8, 4, 5}};
        shapes[1][axis] = 1;
        shapes[2][axis] = 19;
        std::vector<Value> parts;
        for (const Shape& shape : shapes) {
          Value q = b.Input(dtype, shape);
          if (pooled) {  // by a kernel that writes its own layout
            q = b.Op("max_pool2d", {q}, {{"kernel", Ints{1, 1}}});
          }
          parts.push_back(b.DQ(q, s));
        }
        const Value c = b.Op("concat", parts, {{"axis", axis}});
        const Value y = b.Q(c, s);
        const Value t = b.Op("transpose", {y}, {{"perm", Ints{0, 2, 3, 1}}});
        const Graph graph = b.Build({y, c, t});
        const Graph narrow = Narrow(graph);
        EXPECT_EQ(Count(narrow, "concat", dtype), 1);
        EXPECT_EQ(Count(narrow, "concat", DType::kF32), 0);
        EXPECT_EQ(Count(narrow, "div", DType::kF32), 0);
        ExpectSame(graph);
        ExpectStated(graph);
      }
    }
  }
}

TEST(Narrowing, ConcatenationsOfOtherParametersAreQuantizedBefore) {
  for (const int64_t axis : {0, 1, 2, 3}) {
    for (const bool last : {false, true}) {
      Builder b;
      Shape shapes[] = {{2, 16, 4, 5}, {2, 16, 4, 5}, {2, 16, 4, 5}};
      shapes[1][axis] = 1;
      shapes[2][axis] = 7;
      const Steps steps[] = {
          {0.37, 11, DType::kU8}, {0.21, -8, DType::kI8}, {0.37, 12, DType::kU8}};
      std::vector<Value> parts;
      for (int i = 0; i < 3; ++i)
        parts.push_back(b.DQ(b.Input(steps[i].dtype, shapes[i]), steps[i]));
      const Value c = b.Op("concat", parts, {{"axis", axis}});
      const Value y = b.Q(b.Op("relu", {c}), steps[0]);
      const Graph graph = b.Build(last ? std::vector<Value>{y} : std::vector<Value>{y, c});
      // If the numbers are needed too, they are computed once.
      EXPECT_EQ(Count(Narrow(graph), "concat", DType::kU8), last);
      EXPECT_EQ(Count(Narrow(graph), "concat", DType::kF32), !last);
      ExpectSame(graph);
    }
  }
}

// Several threads write their rows.
TEST(Narrowing, LargeConcatenationsOfOtherParameters) {
  for (const int64_t axis : {1, 2, -1}) {
    Builder b;
    const Steps one{0.37, 11, DType::kU8}, two{0.21, 8, DType::kU8};
    Value p = b.Input(DType::kU8, {2, 20, 80, 70}), q = b.Input(DType::kU8, {2, 20, 80, 70});
    if (axis != 2) {  // by a kernel with the channels innermost: short rows
      p = b.Op("max_pool2d", {p}, {{"kernel", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}});
      q = b.Op("max_pool2d", {q}, {{"kernel", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}});
    }
    const Value c = b.Op("concat", {b.DQ(p, one), b.DQ(q, two)}, {{"axis", axis}});
    const Graph graph = b.Build({b.Op("transpose", {b.Q(c, one)}, {{"perm", Ints{0, 3, 2, 1}}})});
    EXPECT_EQ(Count(Narrow(graph), "concat", DType::kU8), 1);
    ExpectSame(graph);
  }
}

// An operand that is a number, known, or computed by a kernel of floats.
TEST(Narrowing, ConcatenationsOfNumbersStay) {
  for (const int kind : {0, 1, 2}) {
    Builder b;
    const Steps s{0.5, 3, DType::kU8};
    const Value x = b.DQ(b.Input(DType::kU8, {2, 8}), s);
    Value other = b.Input(DType::kF32, {2, 8});
    if (kind == 1) other = b.graph().Constant(*Tensor::Filled({DType::kF32, {2, 8}}, 1.75));
    if (kind == 2) other = b.Op("softmax", {other}, {{"axis", int64_t{1}}});
    const Graph graph = b.Build({b.Q(b.Op("concat", {x, other}, {{"axis", int64_t{1}}}), s)});
    EXPECT_EQ(Count(Narrow(graph), "concat", DType::kF32), 1);
    if (kind < 2) ExpectSame(graph);
  }
}

TEST(Narrowing, LayoutOperatorsMoveBytes) {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    Builder b;
    const Steps s{0.37, 4, dtype}, other{0.9, 1, dtype};
    const Value x = b.DQ(b.Input(dtype, {2, 6, 4, 5}), s);
    const Value t = b.Op("transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}});
    const Value r = b.Op("reshape", {t}, {{"shape", Ints{8, 30}}});
    const Value p = b.Op("slice", {r}, {{"starts", Ints{1, 2}}, {"sizes", Ints{5, 20}}});
    const Graph graph = b.Build({b.Q(r, s), b.Q(p, other), b.Op("relu", {p})});
    const Graph narrow = Narrow(graph);
    EXPECT_EQ(Count(narrow, "transpose", dtype), 1);
    EXPECT_EQ(Count(narrow, "reshape", dtype), 1);
    EXPECT_EQ(Count(narrow, "slice", dtype), 1);
    EXPECT_EQ(Count(narrow, "div", DType::kF32), 1);  // for the other parameters
    ExpectSame(graph);
  }
}

// A reshape to fewer dimensions than a scale has.
TEST(Narrowing, ScalesOfSeveralDimensions) {
  for (const Shape& shape : {Shape{120}, Shape{2, 60}, Shape{1, 2, 3, 4, 5}}) {
    Builder b;
    const Value scale = b.graph().Constant(*Tensor::Filled({DType::kF32, {1, 1, 1}}, 0.37));
    const Value x = b.DQ(b.Input(DType::kU8, {2, 3, 20}), scale, 4);
    const Value r = b.Op("reshape", {x}, {{"shape", Ints(shape)}});
    ExpectSame(b.Build({b.Q(r, {0.37, 4, DType::kU8})}));
  }
}

// Products write their parts of a concatenation themselves, with gaps. Scales are powers of two, so
// that no sum is rounded.
TEST(Narrowing, ProductsWriteIntoConcatenations) {
  for (const int64_t images : {1, 3}) {
    for (const int64_t axis : {1, 2}) {
      for (const double last : {2.0, 8.0}) {
        const int64_t size = images == 1 ? 40 : 7;
        Builder b;
        std::mt19937_64 random(4);
        auto weight = [&](const Shape& shape) {
          std::vector<double> all(NumElements(shape));
          for (double& e : all) e = static_cast<double>(static_cast<int64_t>(random() % 256)) - 128;
          return b.Op("mul", {b.graph().Constant(*Tensor::FromDoubles({DType::kF32, shape}, all)),
                              b.Number(0.0625)});
        };
        const Steps in{0.125, 3, DType::kU8}, one{2, 100, DType::kU8}, two{4, 90, DType::kU8};
        const Value x = b.DQ(b.Input(DType::kU8, {images, 16, size, size - 1}), in);
        const Value a = b.Op("relu", {b.Op("conv2d", {x, weight({24, 16, 1, 1})})});
        const Value c = b.Op("conv2d", {x, weight({24, 16, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}});
        const Value j =
            b.Op("concat", {b.DQ(b.Q(a, one), one), b.DQ(b.Q(c, two), two)}, {{"axis", axis}});
        const Steps to{last, 90, DType::kU8};
        const Value y = b.DQ(b.Q(j, to), to);
        const int64_t channels = axis == 1 ? 48 : 24;
        const Value z = b.Op("conv2d", {y, weight({32, channels, 1, 1})});
        const Graph graph = b.Build({b.Q(z, {64, 128, DType::kU8})});
        EXPECT_EQ(Count(Narrow(graph), "concat", DType::kU8), 1);
        ExpectSame(graph);
        ExpectStated(graph);
      }
    }
  }
}

// A matrix product reads integers behind a reshape.
TEST(Narrowing, ProductsReadMovedIntegers) {
  Builder b;
  const Value x = b.DQ(b.Input(DType::kU8, {2, 16, 3, 3}), {0.25, 9, DType::kU8});
  const Value flat = b.Op("reshape", {x}, {{"shape", Ints{2, 144}}});
  std::vector<double> all(144 * 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i * 37 % 255) - 127;
  const Value w = b.graph().Constant(*Tensor::FromDoubles({DType::kF32, {144, 16}}, all));
  const Graph graph = b.Build({b.Op("matmul", {flat, w})});
  EXPECT_EQ(Count(Narrow(graph), "reshape", DType::kU8), 1);
  ExpectSame(graph);
  ExpectStated(graph);
}

// Random graphs of operators that round nothing between quantizations.
class RandomGraphs {
 public:
  explicit RandomGraphs(uint64_t seed) : random_(seed) {}

  Graph Make() {
    std::vector<Value> values;  // numbers
    for (int i = 0; i < 3; ++i) {
      const Steps s = Any();
      values.push_back(b_.DQ(b_.Input(s.dtype, {2, 4, 6, 6}), s));
    }
    for (int i = 0; i < 10; ++i) values.push_back(Next(values));
    std::vector<Value> outputs;
    for (size_t i = 3; i < values.size(); ++i) {
      if (random_() % 4 == 0 || i + 1 == values.size()) outputs.push_back(values[i]);
    }
    return b_.Build(outputs);
  }

 private:
  Steps Any() {
    static const double kScales[] = {0.5, 0.37, 0.37, 1.25};
    return {kScales[random_() % 4], static_cast<int64_t>(random_() % 3),
            random_() % 3 == 0 ? DType::kI8 : DType::kU8};
  }
  Value Next(const std::vector<Value>& values) {
    const Value x = values[random_() % 2 ? values.size() - 1 : random_() % values.size()];
    switch (random_() % 8) {
      case 0:
        return b_.Op("max_pool2d", {x}, {{"kernel", Ints{3, 2}}, {"pads", Ints{1, 1, 1, 0}}});
      case 1: {
        std::vector<Value> parts;
        for (const Value& v : values) {
          if (v.shape() == x.shape() && random_() % 2) parts.push_back(v);
        }
        if (parts.size() < 2) parts = {x, x};
        const Value all = b_.Op("concat", parts, {{"axis", int64_t{1}}});
        return b_.Op("slice", {all},
                     {{"starts", Ints{0, all.shape()[1] - 4, 0, 0}}, {"sizes", Ints{2, 4, 6, 6}}});
      }
      case 2:
        return b_.Op("transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}});
      case 3:
        return b_.Op("relu", {x});
      case 4:
        return b_.Op("max", {x, values[random_() % values.size()]});
      default: {
        const Steps s = Any();
        return b_.DQ(b_.Q(x, s), s);
      }
    }
  }

  std::mt19937_64 random_;
  Builder b_;
};

TEST(Narrowing, RandomGraphsKeepTheirBits) {
  int changed = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const Graph graph = RandomGraphs(seed).Make();
    changed += PrintGraph(Narrow(graph)) != PrintGraph(graph) ? 1 : 0;
    ExpectSame(graph, seed);
  }
  EXPECT_GT(changed, 75);
}

// Nothing is done to graphs without integers of 8 bits.
TEST(Narrowing, LeavesFloatsAlone) {
  Builder b;
  const Value x = b.Input(DType::kF32, {1, 4, 6, 6});
  const Graph graph = b.Build({b.Op("max_pool2d", {x}, {{"kernel", Ints{2, 2}}})});
  EXPECT_EQ(PrintGraph(Narrow(graph)), PrintGraph(graph));
}

}  // namespace
}  // namespace lemma
