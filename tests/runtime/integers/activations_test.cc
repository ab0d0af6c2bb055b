// A product of integers is one kernel with the functions behind it, up to the next integers, and
// gives what the definitions give.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/builder.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/integers/quantized_graphs.h"

namespace lemma::integers_test {
namespace {

using Function = std::function<Value(Builder&, const Value&)>;

const Product kProducts[] = {
    {{1, 16, 7, 5}, {20, 16, 3, 3}, Conv({1, 1}, {1, 1, 1, 1})},
    {{2, 3, 9, 8}, {9, 3, 3, 2}, Conv({2, 1}, {1, 0, 2, 1}), DType::kU8, 128},
    {{1, 40, 7, 6}, {40, 1, 3, 3}, Conv({2, 1}, {1, 1, 1, 1}, 40), DType::kI8, 3},
    {{1, 8, 16, 15}, {130, 8, 1, 1}, Conv({1, 1}, {0, 0, 0, 0}), DType::kU8, 5},
    {{70, 37}, {37, 21}, {}, DType::kU8, 30},
    {{1, 1}, {1, 8}, {}, DType::kI8, 0},
};

Function Of(const char* name, Attrs attrs = {}) {
  return [=](Builder& b, const Value& x) { return b.Op(name, {x}, attrs); };
}
Function With(const char* name, double number) {
  return [=](Builder& b, const Value& x) { return b.Op(name, {x, b.Number(number)}); };
}
Function Then(const Function& f, const Function& g) {
  return [=](Builder& b, const Value& x) { return g(b, f(b, x)); };
}
Function Slopes(double low, double high) {
  return [=](Builder& b, const Value& x) {
    return b.Op("prelu", {x, b.PerChannel(low, high, false)});
  };
}
// The sum with other quantized values.
Function Added() {
  return [](Builder& b, const Value& x) {
    const Value other = b.Input("other", x.shape());
    return b.Op("add", {x, b.Op("mul", {b.Centered(other), b.Number(2.625)})});
  };
}
Attrs Slope(float alpha) { return {{"alpha", static_cast<double>(alpha)}}; }

// Behind the sums, which are exact: `f`, and a quantization whose scale is no power of two.
Graph GraphOf(const Product& product, const Function& f, DType to, Values values) {
  Builder b(product, values, 3);
  const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.125)});
  const Value w = b.Op("mul", {b.Weight(), b.Number(0.0625)});
  return b.Build({b.Quantized(f(b, b.Sum(x, w)), 3.7, to == DType::kU8 ? 101 : -3, to)});
}

int ElementWiseKernelsOf(const Graph& graph) {
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {1, true});
  EXPECT_TRUE(plan.ok()) << plan.status();
  int result = 0;
  for (const cpu::CpuStep& step : plan->steps) {
    result += step.spec->def->name == "element-wise" ? 1 : 0;
  }
  return result;
}

class Activations : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels::HasIntegerTiles()) GTEST_SKIP() << "this machine has no instructions for them";
  }

  // share: of the results that may be off by one.
  static void Check(const Function& f, double share) {
    for (const Product& product : kProducts) {
      for (const Values values : {Values::kRandom, Values::kExtreme}) {
        for (const DType to : {DType::kU8, DType::kI8}) {
          const Graph graph = GraphOf(product, f, to, values);
          ASSERT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
          EXPECT_EQ(ElementWiseKernelsOf(graph), 0) << PlanOf(graph);
          if (values == Values::kRandom && to == DType::kU8) ExpectStated(graph, false);
          Compare(graph, values, share);
        }
      }
    }
  }

  static void Compare(const Graph& graph, Values values, double share) {
    const std::vector<Tensor> inputs = InputsOf(graph, values, 3);
    const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
    for (const int threads : {1, 2}) {
      const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, threads);
      ASSERT_EQ(actual.size(), expected.size());
      const std::vector<int64_t> a = actual[0].ToInts(), e = expected[0].ToInts();
      int64_t different = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_LE(std::abs(a[i] - e[i]), share > 0 ? 1 : 0) << i << "\n" << PlanOf(graph);
        different += a[i] != e[i] ? 1 : 0;
      }
      EXPECT_LE(static_cast<double>(different), std::ceil(share * static_cast<double>(a.size())));
    }
  }
};

TEST_F(Activations, OfStraightPiecesGiveEveryBit) {
  const Function functions[] = {
      Of("leaky_relu", Slope(0.1f)),
      Of("leaky_relu", Slope(1.7f)),
      Of("leaky_relu", Slope(-0.3f)),
      Of("leaky_relu", Slope(0)),
      Slopes(0.01, 0.4),
      Slopes(-1.5, 2),
      With("prelu", 0.35f),
      With("max", 30.3f),
      With("min", 30.3f),
      Then(With("max", -80), With("min", 90.5)),
      Then(With("mul", -1.3f), Of("leaky_relu", Slope(0.2f))),
      Then(Of("leaky_relu", Slope(0.2f)), With("mul", 0.7f)),
      Then(Of("leaky_relu", Slope(0.2f)), With("mul", -0.7f)),
      Then(Of("leaky_relu", Slope(0.2f)), Of("clip", {{"min", -20.0}, {"max", 300.0}})),
      Then(Of("clip", {{"min", -20.0}, {"max", 300.0}}), Of("leaky_relu", Slope(0.2f))),
      Then(Of("leaky_relu", Slope(0.2f)), Of("leaky_relu", Slope(0.3f))),
      Then(Added(), Of("leaky_relu", Slope(0.15f))),
      Then(Of("leaky_relu", Slope(0.15f)), Added()),
      Then(Added(), Slopes(0.01, 0.4)),
      Of("abs"),
      Of("neg"),
      Then(Of("neg"), Of("abs")),
  };
  for (const Function& f : functions) Check(f, 0);
}

TEST_F(Activations, OfOtherFunctionsAreWithinAStep) {
  const Function functions[] = {Of("sigmoid"),      Of("tanh"),
                                Of("silu"),         Of("gelu"),
                                Of("gelu_tanh"),    Of("hard_swish"),
                                Of("hard_sigmoid"), Of("elu"),
                                Of("selu"),         Of("celu"),
                                Of("softplus"),     Of("softsign"),
                                Of("mish"),         Of("exp"),
                                Of("erf"),          Of("sin"),
                                Of("reciprocal"),   Of("log"),
                                Of("sqrt"),         Of("floor"),
                                Of("sign"),         Of("thresholded_relu")};
  for (const Function& f : functions) {
    Check(Then(With("mul", 0.03125), Then(f, With("mul", 64))), 0.004);
    Check(Then(f, Added()), 0.004);
  }
}

// A value that is read on two ways, which join again.
TEST_F(Activations, InSeveralOperatorsAreOneKernel) {
  const Function gelu = [](Builder& b, const Value& x) {
    const Value e = b.Op("erf", {b.Op("div", {x, b.Number(1.4142135)})});
    return b.Op("mul", {b.Op("mul", {x, b.Op("add", {e, b.Number(1)})}), b.Number(0.5)});
  };
  const Function swish = [](Builder& b, const Value& x) {
    const Value gate = b.Op("clip", {b.Op("add", {x, b.Number(3)})}, {{"min", 0.0}, {"max", 6.0}});
    return b.Op("div", {b.Op("mul", {x, gate}), b.Number(6)});
  };
  const Function selected = [](Builder& b, const Value& x) {
    return b.Op("max", {b.Op("mul", {x, b.Number(0.25)}), x});
  };
  const Function twice = [](Builder& b, const Value& x) { return b.Op("add", {x, x}); };
  const Function crossed = [](Builder& b, const Value& x) {
    const Value s = b.Op("tanh", {x}), t = b.Op("add", {s, x});
    return b.Op("sub", {b.Op("mul", {t, s}), x});
  };
  for (const Function& f : {gelu, swish, selected, twice, crossed}) {
    Check(Then(With("mul", 0.0625), Then(f, With("mul", 8))), 0.004);
  }
}

// Behind a requantization, 256 numbers decide all that follows, so a table gives it. The product's
// kernel ends with these integers.
TEST_F(Activations, BehindARequantizationAreATable) {
  const Function swish = [](Builder& b, const Value& x) {
    const Value gate = b.Op("clip", {b.Op("add", {x, b.Number(3)})}, {{"min", 0.0}, {"max", 6.0}});
    return b.Op("div", {b.Op("mul", {x, gate}), b.Number(6)});
  };
  for (const Product& product : kProducts) {
    for (const bool to_floats : {false, true}) {
      Builder b(product, Values::kRandom, 7);
      const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.125)});
      const Value sum = b.Sum(x, b.Op("mul", {b.Weight(), b.Number(0.0625)}));
      const Value q = b.Quantized(sum, 3.7, 101, DType::kU8);
      const Value f =
          b.Op("mul", {b.Op("sub", {b.Cast(q, DType::kF32), b.Number(101)}), b.Number(0.0625)});
      Value y = swish(b, f);
      if (!to_floats) y = b.Quantized(y, 0.04, 3, DType::kU8);
      if (product.w.size() == 4) {  // which leaves images in the order of the product's result
        y = b.Op("max_pool2d", {y}, {{"kernel", Ints{2, 2}}});
      }
      const Graph graph = b.Build({y});
      ASSERT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
      EXPECT_EQ(ElementWiseKernelsOf(graph), 1) << PlanOf(graph);
      const std::vector<Tensor> inputs = InputsOf(graph, Values::kRandom, 3);
      auto executable = MakeCpuBackend()->Compile(graph, {});
      ASSERT_TRUE(executable.ok()) << executable.status();
      EXPECT_TRUE(absl::StrContains(NotesOf(**executable, inputs), "table;")) << PlanOf(graph);
      const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
      for (const int threads : {1, 2}) {
        const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, threads);
        ASSERT_EQ(actual.size(), expected.size());
        // As numbers: the maximum of -0 and 0 may be either.
        EXPECT_EQ(actual[0].ToDoubles(), expected[0].ToDoubles()) << PlanOf(graph);
      }
    }
  }
}

// Ways that do not join, or whose values others need.
TEST_F(Activations, WithSeveralResultsAreRight) {
  for (const bool joins : {false, true}) {
    for (const bool is_output : {false, true}) {
      if (!joins && !is_output) continue;
      Builder b(kProducts[0], Values::kRandom, 5);
      const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.125)});
      const Value sum = b.Sum(x, b.Op("mul", {b.Weight(), b.Number(0.0625)}));
      const Value a = b.Op("leaky_relu", {sum}, Slope(0.1f)), c = b.Op("abs", {sum});
      std::vector<Value> results = {
          b.Quantized(joins ? b.Op("add", {a, c}) : a, 3.7, 90, DType::kU8)};
      if (is_output) results.push_back(b.Quantized(c, 2.3, 0, DType::kU8));
      const Graph graph = b.Build(results);
      ASSERT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
      Compare(graph, Values::kRandom, 0);
    }
  }
}

// Bounds of the run may be NaN, and a division shows the sign of a 0.
TEST_F(Activations, WithNumbersOfTheRunAndZeros) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* bound : {"max", "min"}) {
    for (const double number : {-3.5, 0.0, -0.0, infinity, -infinity, std::nan("")}) {
      for (const bool inverts : {false, true}) {
        Builder b(kProducts[0], Values::kRandom, 6);
        const Value n = b.Floats("n");
        const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.125)});
        const Value sum = b.Sum(x, b.Op("mul", {b.Weight(), b.Number(-0.0625)}));
        Value y = b.Op(bound, {sum, n});
        if (inverts) y = b.Op("div", {b.Number(1), b.Op("mul", {y, b.Number(-0.5)})});
        const Graph graph = b.Build({b.Quantized(y, 3.7, 90, DType::kU8)});
        ASSERT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
        std::vector<Tensor> inputs = {*Tensor::FromDoubles({DType::kF32, {}}, {number}),
                                      *Tensor::Filled(graph.inputs()[1].type(), 0)};
        for (const bool is_zero : {true, false}) {
          if (!is_zero) inputs[1] = InputsOf(graph, Values::kRandom, 3)[1];
          const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
          const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, 1);
          ASSERT_EQ(actual.size(), 1u);
          EXPECT_EQ(actual[0].ToInts(), expected[0].ToInts()) << bound << " " << number;
        }
      }
    }
  }
}

// Step by step, the slope 0 makes NaN of infinities. The steps together do not overflow.
TEST_F(Activations, ASlopeOfZeroMakesNaNOfInfinities) {
  const Function large = Then(Then(With("min", 85), Of("exp")), With("mul", -0x1p36));
  const Function f = Then(Then(large, Of("leaky_relu", Slope(0))), With("mul", 0x1p-36));
  for (const Product& product : kProducts) {
    for (const Values values : {Values::kRandom, Values::kExtreme}) {
      Compare(GraphOf(product, f, DType::kU8, values), values, 0);
    }
  }
}

// A reader of the floats may divide by them.
TEST_F(Activations, FloatsHaveTheSignOfZeroOfTheDefinition) {
  const Function clip = Then(With("max", 0), With("min", 6));
  for (const Function& last :
       {Of("relu"), With("max", 0), With("min", 0), With("max", -0.0), clip, Of("tanh")}) {
    for (const Product& product : kProducts) {
      if (product.x == Shape{1, 1}) continue;  // a single product, without a sum, may be -0
      Builder b(product, Values::kRandom, 3);
      const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.125)});
      const Value w = b.Op("mul", {b.Weight(), b.Number(0.0625)});
      const Graph graph = b.Build({last(b, b.Op("neg", {b.Sum(x, w)}))});
      const std::vector<Tensor> inputs = {
          *Tensor::Filled(graph.inputs()[0].type(), static_cast<double>(product.zero))};
      const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
      const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, 1);
      EXPECT_TRUE(actual[0].SameBytes(expected[0])) << PlanOf(graph);
    }
  }
}

}  // namespace
}  // namespace lemma::integers_test
