// Builds graphs with products of quantized values, runs them, and checks that their CPU kernels
// state what they compute.
#ifndef LEMMA_TESTS_RUNTIME_INTEGERS_QUANTIZED_GRAPHS_H_
#define LEMMA_TESTS_RUNTIME_INTEGERS_QUANTIZED_GRAPHS_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/plan_claims.h"
#include "runtime/cpu/planner.h"

namespace lemma::integers_test {

// A product of x and w. x is an image or a matrix of integers; w is a constant weight.
struct Product {
  Shape x, w;                      // conv2d if w has 4 dimensions, otherwise matmul
  Attrs attrs;                     // of the conv2d
  DType dtype = DType::kU8;        // of x
  int64_t zero = 0;                // the zero point of x
  DType sum = DType::kF32;         // the type of the factors and of their product in the graph
  int64_t low = -128, high = 127;  // of the weights
};

// kExtreme: only the least and the largest number of the range are drawn.
enum class Values { kRandom, kExtreme };

// Builds a graph around a product. The functions return the value they add.
class Builder {
 public:
  Builder(const Product& product, Values values, uint64_t seed)
      : product_(product), values_(values), random_(seed), b_("g") {}

  // A constant of numbers from `low` to `high`, drawn as `values` says.
  Value Numbers(const Shape& shape, int64_t low, int64_t high, DType dtype) {
    std::vector<int64_t> all(NumElements(shape));
    std::uniform_int_distribution<int64_t> any(low, high);
    for (int64_t& v : all)
      v = values_ == Values::kExtreme ? (any(random_) % 4 ? high : low) : any(random_);
    return b_.Constant(*Tensor::FromInts({dtype, shape}, all));
  }
  // An f32 constant of shape Product::w with these elements.
  Value Constant(const std::vector<double>& weight) {
    return b_.Constant(*Tensor::FromDoubles({DType::kF32, product_.w}, weight));
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
    return v.dtype() == to ? v : Op("cast", {v}, {{"dtype", std::string(Name(to))}});
  }
  // x - zero, in the type Product::sum.
  Value Centered(const Value& x) {
    return Op("sub",
              {Cast(x, product_.sum), Number(static_cast<double>(product_.zero), product_.sum)});
  }
  // Inputs of type Product::dtype; the default shape is Product::x.
  Value Input(const char* name = "x") { return Input(name, product_.x); }
  Value Input(const char* name, Shape shape) {
    return b_.Input(name, {product_.dtype, std::move(shape)});
  }
  // An input that is an f32 scalar.
  Value Floats(const char* name) { return b_.Input(name, {DType::kF32, {}}); }
  Value Weight() { return Numbers(product_.w, product_.low, product_.high, product_.sum); }
  // The product of x and w: a conv2d or a matmul.
  Value Sum(const Value& x, const Value& w) {
    return IsConv() ? Op("conv2d", {x, w}, product_.attrs) : Op("matmul", {x, w});
  }
  bool IsConv() const { return product_.w.size() == 4; }
  // One random number in [low, high) for each channel of the result, in a shape that broadcasts
  // over the weight if `of_weight` is true, and otherwise over the result.
  Value PerChannel(double low, double high, bool of_weight) {
    const int64_t channels = IsConv() ? product_.w[0] : product_.w[1];
    Shape shape = {channels};
    if (IsConv()) shape = of_weight ? Shape{channels, 1, 1, 1} : Shape{channels, 1, 1};
    std::vector<double> all(channels);
    std::uniform_real_distribution<double> any(low, high);
    for (double& v : all) v = any(random_);
    return b_.Constant(*Tensor::FromDoubles({DType::kF32, shape}, all));
  }
  // clip(round(v / scale) + zero), cast to `to`, which is u8 or i8.
  Value Quantized(const Value& v, double scale, int64_t zero, DType to) {
    const bool is_unsigned = to == DType::kU8;
    Value y = Op("round", {Op("div", {v, Number(scale)})});
    y = Op("add", {y, Number(static_cast<double>(zero))});
    y = Op("clip", {y},
           {{"min", is_unsigned ? 0.0 : -128.0}, {"max", is_unsigned ? 255.0 : 127.0}});
    return Cast(y, to);
  }

  // The graph with these outputs, named y0, y1, …. Call it last.
  Graph Build(std::vector<Value> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) b_.Output(absl::StrCat("y", i), outputs[i]);
    auto graph = std::move(b_).Build();
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *std::move(graph);
  }

 private:
  const Product product_;
  const Values values_;
  std::mt19937_64 random_;
  GraphBuilder b_;
};

// Values for the graph's inputs: integers from the whole range of i8 or u8, and floats that are 1.
inline std::vector<Tensor> InputsOf(const Graph& graph, Values values, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> inputs;
  for (const Value& v : graph.inputs()) {
    std::vector<int64_t> all(v.type().num_elements());
    if (IsFloat(v.dtype())) {
      inputs.push_back(*Tensor::Filled(v.type(), 1));
      continue;
    }
    const int64_t low = v.dtype() == DType::kU8 ? 0 : -128, high = low + 255;
    std::uniform_int_distribution<int64_t> any(low, high);
    for (int64_t& e : all) {
      e = any(random);
      if (values == Values::kExtreme) e = e % 4 == 0 ? low : high;
    }
    inputs.push_back(*Tensor::FromInts(v.type(), all));
  }
  return inputs;
}

// The outputs of `graph` on `backend`. On error, the test fails and the result
// is empty.
inline std::vector<Tensor> OutputsOf(const Graph& graph, Backend* backend,
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

// The CPU's plan for `graph` as text. On error, the test fails and the result
// is "".
inline std::string PlanOf(const Graph& graph) {
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {1, true});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? plan->Describe() : "";
}

// Whether the CPU's plan computes a product on integers of 8 bits.
inline bool IsOnIntegers(const Graph& graph) {
  return absl::StrContains(PlanOf(graph), "integer product(");
}

// The notes of the kernels that run, in their order, each with ';' behind it.
inline std::string NotesOf(Executable& executable, const std::vector<Tensor>& inputs) {
  std::vector<KernelTiming> timings;
  EXPECT_TRUE(executable.RunTimed(inputs, &timings).ok());
  std::string notes;
  for (const KernelTiming& timing : timings) absl::StrAppend(&notes, timing.note, ";");
  return notes;
}

using Ints = std::vector<int64_t>;

// Checks the kernels of the CPU's plan for `graph` (runtime/cpu/plan_claims.h). Expects that each
// statement agrees with the nodes of its kernel, that at least one kernel is a product of integers,
// and that each such product has a statement. If `depends` is true, also expects that the check of
// a product's statement fails once the weights are changed. Pass false if other weights may give
// the same result, for example because the result saturates.
inline void ExpectStated(const Graph& graph, bool depends) {
  auto claims = ClaimsOfPlan(graph);
  ASSERT_TRUE(claims.ok()) << claims.status();
  int products = 0;
  for (KernelClaim& claim : *claims) {
    const absl::Status holds = CheckClaim(claim, 1);
    EXPECT_TRUE(holds.ok()) << holds;
    if (!absl::StartsWith(claim.kernel, "integer product(")) continue;
    ++products;
    EXPECT_TRUE(claim.statement.has_value()) << claim.why_none;
    if (!depends) continue;
    for (Tensor& known : claim.statics) {
      if (known.empty_handle() || known.size() < 2) continue;
      std::vector<double> other = known.ToDoubles();
      for (double& value : other) value += 3 + std::abs(value);
      known = *Tensor::FromDoubles(known.type(), other);
    }
    EXPECT_FALSE(CheckClaim(claim, 1).ok()) << claim.kernel;
  }
  EXPECT_GT(products, 0);
}

// The attributes of a conv2d.
inline Attrs Conv(Ints strides, Ints pads, int64_t groups = 1, Ints dilations = {1, 1}) {
  return {{"strides", strides}, {"pads", pads}, {"groups", groups}, {"dilations", dilations}};
}

}  // namespace lemma::integers_test

#endif  // LEMMA_TESTS_RUNTIME_INTEGERS_QUANTIZED_GRAPHS_H_
