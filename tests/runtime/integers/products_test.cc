// Products of quantized values on the CPU: which ones are computed on integers, and that they give
// what their definitions give.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/cpu/plan_claims.h"
#include "runtime/cpu/planner.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/runtime/integers/quantized_graphs.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma::integers_test {
namespace {

// All sums are exact in f32 or wrap as i32 does, so every result has one right value.
const Product kExact[] = {
    {{1, 16, 7, 5}, {20, 16, 3, 3}, Conv({1, 1}, {1, 1, 1, 1})},
    {{2, 3, 9, 8}, {9, 3, 3, 2}, Conv({2, 1}, {1, 0, 2, 1}), DType::kU8, 128},
    {{1, 3, 9, 8}, {33, 3, 3, 2}, Conv({1, 2}, {3, 2, 0, 1}, 1, {2, 2}), DType::kI8, -7},
    {{1, 6, 5, 5}, {32, 3, 2, 2}, Conv({1, 1}, {0, 1, 1, 0}, 2), DType::kU8, 255},
    {{1, 5, 6, 7}, {17, 5, 1, 1}, Conv({2, 3}, {0, 0, 0, 0}), DType::kI8, 127},
    {{1, 5, 6, 7}, {17, 5, 1, 1}, Conv({1, 1}, {1, 1, 1, 1}), DType::kU8, 3},
    {{2, 1, 1, 1}, {8, 1, 1, 1}, Conv({1, 1}, {0, 0, 0, 0}), DType::kU8, 9},
    {{1, 2, 3, 3}, {8, 2, 5, 5}, Conv({1, 1}, {2, 2, 2, 2}), DType::kU8, 200},
    {{1, 8, 4, 4}, {8, 1, 3, 3}, Conv({1, 1}, {1, 1, 1, 1}, 8), DType::kU8, 5, DType::kI32},
    {{1, 70, 4, 5}, {18, 70, 3, 3}, Conv({1, 1}, {1, 1, 1, 1}), DType::kU8, 77, DType::kI32},
    {{1, 40, 7, 6}, {40, 1, 3, 3}, Conv({2, 1}, {1, 1, 1, 1}, 40), DType::kU8, 128},
    {{2, 19, 5, 4}, {19, 1, 2, 2}, Conv({1, 1}, {0, 1, 1, 0}, 19, {2, 1}), DType::kI8, 5},
    {{1, 8, 5, 4}, {16, 1, 3, 3}, Conv({1, 1}, {1, 1, 1, 1}, 8), DType::kU8, 5, DType::kI32},
    {{1, 70, 6, 7}, {70, 1, 5, 5}, Conv({1, 1}, {2, 2, 2, 2}, 70), DType::kU8, 128},
    {{2, 130, 7, 5}, {130, 1, 3, 3}, Conv({2, 1}, {1, 1, 1, 1}, 130), DType::kI8, -4, DType::kI32},
    {{1, 32, 61, 60}, {48, 32, 1, 1}, Conv({1, 1}, {0, 0, 0, 0}), DType::kU8, 5},
    {{13, 37}, {37, 21}, {}, DType::kU8, 30},
    {{300, 64}, {64, 700}, {}, DType::kU8, 30},
    {{1, 1}, {1, 8}, {}, DType::kI8, 0},
    {{2, 3, 7, 250}, {250, 16}, {}, DType::kI8, -128},
    {{5, 3000}, {3000, 19}, {}, DType::kU8, 140, DType::kI32},
    {{1, 3}, {3, 1}, {}, DType::kU8, 140, DType::kI32},
    // What bytes do not hold: weights, and numbers in the place of pixels outside of the image.
    {{1, 6, 5, 5},
     {32, 6, 3, 3},
     Conv({1, 1}, {1, 1, 1, 1}),
     DType::kU8,
     7,
     DType::kI32,
     -255,
     255},
    {{5, 37}, {37, 21}, {}, DType::kI8, 7, DType::kI32, -129, 128},
    {{1, 6, 5, 5}, {32, 6, 3, 3}, Conv({1, 1}, {1, 1, 1, 1}), DType::kU8, -30, DType::kI32},
    {{1, 6, 5, 5}, {32, 6, 3, 3}, Conv({1, 1}, {0, 0, 2, 0}), DType::kI8, 200, DType::kI32},
    {{1, 6, 5, 5}, {32, 6, 3, 3}, Conv({1, 1}, {0, 0, 0, 0}), DType::kI8, 200, DType::kI32},
    {{5, 37}, {37, 21}, {}, DType::kU8, -30, DType::kI32},
};

class ExactProducts : public testing::TestWithParam<std::tuple<int, Values, int>> {
 protected:
  const Product& product() const { return kExact[std::get<0>(GetParam())]; }
  Values values() const { return std::get<1>(GetParam()); }

  // Both back ends give the same bytes.
  void ExpectSame(const Graph& graph) {
    ASSERT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
    ExpectStated(graph, graph.outputs()[0].dtype() == DType::kI32);
    const std::vector<Tensor> inputs = InputsOf(graph, values(), 3);
    const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
    const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, std::get<2>(GetParam()));
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(actual[i].type(), expected[i].type());
      EXPECT_EQ(actual[i].ToInts(), expected[i].ToInts()) << PlanOf(graph);
    }
  }
  void SetUp() override {
    if (!kernels::HasIntegerTiles()) GTEST_SKIP() << "this machine has no instructions for them";
  }
};

TEST_P(ExactProducts, GiveTheirSums) {
  Builder b(product(), values(), 1);
  const Value sum = b.Sum(b.Centered(b.Input()), b.Weight());
  ExpectSame(b.Build({b.Cast(sum, DType::kI32)}));
}

// A bias of i32, then one rounding, as QLinearConv has it.
TEST_P(ExactProducts, AreRequantized) {
  for (const DType to : {DType::kU8, DType::kI8}) {
    Builder b(product(), values(), 2);
    const Value sum = b.Sum(b.Centered(b.Input()), b.Weight());
    const int64_t channels = b.IsConv() ? product().w[0] : product().w[1];
    const Shape shape = b.IsConv() ? Shape{channels, 1, 1} : Shape{channels};
    const Value biased =
        b.Op("add", {b.Cast(sum, DType::kI32), b.Numbers(shape, -70000, 70000, DType::kI32)});
    const Value scaled =
        b.Op("mul", {b.Cast(biased, DType::kF32), b.PerChannel(1e-4, 9e-4, false)});
    ExpectSame(b.Build({b.Quantized(scaled, 1, to == DType::kU8 ? 101 : -3, to)}));
  }
}

// Scales are powers of two, so that floats round nothing before the last step.
TEST_P(ExactProducts, OfFloatsBetweenQuantizations) {
  if (product().sum != DType::kF32) return;
  Builder b(product(), values(), 3);
  const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.125)});
  const Value w = b.Op("mul", {b.Weight(), b.Number(0.0625)});
  const Value relu = b.Op("relu", {b.Sum(x, w)});
  const Value q = b.Quantized(relu, 4, 17, DType::kU8);
  // The integers are read again, as numbers, and added to others.
  const Value again =
      b.Op("mul", {b.Op("sub", {b.Cast(q, DType::kF32), b.Number(17)}), b.Number(0.25)});
  const Value added = b.Op("add", {again, b.Op("clip", {again}, {{"min", 1.0}, {"max", 9.0}})});
  ExpectSame(b.Build({b.Quantized(added, 0.5, 3, DType::kI8)}));
}

std::string NameOf(const testing::TestParamInfo<std::tuple<int, Values, int>>& info) {
  const auto& [product, values, threads] = info.param;
  return absl::StrCat(product, values == Values::kRandom ? "Random" : "Extreme", "Threads",
                      threads);
}

INSTANTIATE_TEST_SUITE_P(All, ExactProducts,
                         testing::Combine(testing::Range(0, static_cast<int>(std::size(kExact))),
                                          testing::Values(Values::kRandom, Values::kExtreme),
                                          testing::Values(1, 2)),
                         NameOf);

// The float results of quantized products, with scales that are no powers of two, are within the
// tolerance of the definitions.
TEST(Integers, GiveFloatsWithinTheTolerance) {
  for (const Product& product : kExact) {
    if (product.sum != DType::kF32) continue;
    Builder b(product, Values::kRandom, 4);
    const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.0371)});
    const Value w = b.Op("mul", {b.Weight(), b.PerChannel(0.001, 0.009, true)});
    const Value y = b.Op("add", {b.Sum(x, w), b.PerChannel(-1, 1, false)});
    const Graph graph = b.Build({b.Op("relu", {y})});
    ASSERT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
    const std::vector<Tensor> inputs = InputsOf(graph, Values::kRandom, 5);
    const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
    const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, 1);
    ASSERT_EQ(actual.size(), 1u);
    const Difference difference = Compare(actual[0], expected[0], RelativeTolerances(graph)[0]);
    EXPECT_TRUE(difference.within) << difference.ToString();
  }
}

// Scales whose product a float does not hold precisely, behind a factor that makes the result
// large.
TEST(Integers, TakeTinyAndLargeScales) {
  const Product product = {{4, 30}, {30, 16}, {}};
  for (const double x_scale : {1e-20, 1e19}) {  // sums of about 1e-38 and 1e34
    Builder b(product, Values::kRandom, 10);
    const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(x_scale)});
    const double w_scale = x_scale < 1 ? 3e-23 : 3e10;
    const Value w = b.Op("mul", {b.Weight(), b.Number(w_scale)});
    const double back = x_scale < 1 ? 1e36 : 1e-36;
    const Graph graph = b.Build({b.Op("mul", {b.Sum(x, w), b.Number(back)})});
    ASSERT_EQ(IsOnIntegers(graph), kernels::HasIntegerTiles()) << PlanOf(graph);
    const std::vector<Tensor> inputs = InputsOf(graph, Values::kRandom, 5);
    const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
    const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, 1);
    ASSERT_EQ(actual.size(), 1u);
    const Difference difference = Compare(actual[0], expected[0], RelativeTolerances(graph)[0]);
    EXPECT_TRUE(difference.within) << difference.ToString();
  }
}

// The conversion of a zero point is one of integers of 8 bits too, which readers may compute by
// themselves; a product reads its result.
TEST(Integers, HaveZeroPointsAndScalesOfTheRun) {
  for (const char* type : {"i32", "f32"}) {
    for (const char* other : {"", "t = add(q, a)"}) {
      const bool is_float = type == std::string("f32");
      const Graph graph = GraphWithWeights(
          absl::StrCat("graph g(x: u8[5,16], z: u8[], s: u8[], w: weight ", type, "[16,24] = fill ",
                       is_float ? "3.0" : "3", ") {\n", "a = cast(x) {dtype = \"", type,
                       "\"}\nzero = cast(z) {dtype = \"", type, "\"}\nq = sub(a, zero)\n",
                       is_float ? "scale = cast(s) {dtype = \"f32\"}\n" : "",
                       is_float ? "e = mul(q, scale)\n" : "", other, "\ny = matmul(",
                       is_float ? "e" : "q", ", w)\nreturn y", *other != '\0' ? ", t" : "", "\n}"));
      EXPECT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
      std::vector<int64_t> values;
      for (int64_t i = 0; i < 80; ++i) values.push_back(i * 37 % 256);
      std::vector<Tensor> inputs;
      for (const Value& v : graph.inputs()) {
        inputs.push_back(v.type().num_elements() == 80 ? *Tensor::FromInts(v.type(), values)
                                                       : *Tensor::Filled(v.type(), 55));
      }
      const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, 1);
      const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_EQ(actual[i].ToDoubles(), expected[i].ToDoubles()) << type << " " << other;
      }
    }
  }
}

// The weight and its scale are packed; other operands may have the same value. Weights above 64 K
// elements are not kept beside what was packed.
TEST(Integers, MayShareTheirWeightsAndScales) {
  for (const char* text : {
           // One scale for x and the weight.
           R"(graph g(x: u8[3,300], w: weight i8[300,256], s: weight f32[] = fill 0.5) {
             a = cast(x) {dtype = "f32"}  b = mul(a, s)
             c = cast(w) {dtype = "f32"}  d = mul(c, s)
             y = matmul(b, d)
             return y
           })",
           // One scale for the weight and the result.
           R"(graph g(x: u8[3,300], w: weight i8[300,256], s: weight f32[] = fill 0.25) {
             a = cast(x) {dtype = "f32"}
             c = cast(w) {dtype = "f32"}  d = mul(c, s)
             p = matmul(a, d)  y = mul(p, s)
             return y
           })",
           // The weight is added to the product.
           R"(graph g(x: u8[300,300], w: weight i8[300,300]) {
             a = cast(x) {dtype = "f32"}
             c = cast(w) {dtype = "f32"}
             p = matmul(a, c)  y = add(p, c)
             return y
           })",
       }) {
    const Graph graph = GraphWithWeights(text);
    EXPECT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
    ExpectCpuMatchesReference(graph, RandomInputs(graph));
  }
}

// Nothing to multiply, or a scale that is known only when the model runs.
TEST(Integers, OfNoElements) {
  for (const Product& product :
       {Product{{0, 4}, {4, 9}, {}}, Product{{3, 0}, {0, 9}, {}}, Product{{3, 4}, {4, 0}, {}}}) {
    Builder b(product, Values::kRandom, 11);
    const Graph graph = b.Build({b.Cast(b.Sum(b.Centered(b.Input()), b.Weight()), DType::kI32)});
    EXPECT_FALSE(IsOnIntegers(graph));
    const std::vector<Tensor> inputs = InputsOf(graph, Values::kRandom, 5);
    EXPECT_EQ(OutputsOf(graph, MakeCpuBackend().get(), inputs, 1)[0].ToInts(),
              OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1)[0].ToInts());
  }
}

// A residual network's block: only the 8-bit integers lie in memory between its products.
TEST(Integers, AloneLieInMemory) {
  if (!kernels::HasIntegerTiles()) GTEST_SKIP();
  const Product product = {{1, 16, 6, 6}, {16, 16, 3, 3}, Conv({1, 1}, {1, 1, 1, 1})};
  Builder b(product, Values::kRandom, 6);
  const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.5)});
  const Value w = b.Op("mul", {b.Weight(), b.Number(0.25)});
  const Value q = b.Quantized(b.Op("relu", {b.Sum(x, w)}), 64, 0, DType::kU8);
  const Value middle = b.Op("mul", {b.Centered(q), b.Number(64)});
  const Value r = b.Quantized(b.Sum(middle, w), 2048, 100, DType::kU8);
  const Value left =
      b.Op("mul", {b.Op("sub", {b.Cast(r, DType::kF32), b.Number(100)}), b.Number(2048)});
  const Value sum = b.Op("relu", {b.Op("add", {left, x})});
  const Graph graph = b.Build({b.Quantized(sum, 2048, 0, DType::kU8)});
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {1, true});
  ASSERT_TRUE(plan.ok()) << plan.status();
  int products = 0;
  for (const cpu::CpuStep& step : plan->steps) {
    products += step.spec->def->name == "integer product" ? 1 : 0;
    for (const auto& out : step.spec->outputs) EXPECT_EQ(out.type.dtype, DType::kU8);
  }
  EXPECT_EQ(products, 2) << plan->Describe();
}

// Weights that are no small integers, and sums that 32 bits may not hold, are computed on floats.
TEST(Integers, AreNotAssumed) {
  const Product product = {{4, 64}, {64, 16}, {}};
  for (const double odd : {1.0, 0.5, 256.0, -1e9, double{NAN}}) {
    Builder b(product, Values::kRandom, 7);
    std::vector<double> weight(64 * 16, -128);
    weight[777] = odd;
    const Value w = b.Op("mul", {b.Constant(weight), b.Number(0.25)});
    EXPECT_EQ(IsOnIntegers(b.Build({b.Sum(b.Centered(b.Input()), w)})), odd == 1) << odd;
  }
  const Product large = {{1, 70000}, {70000, 8}, {}};
  Builder b(large, Values::kExtreme, 8);
  EXPECT_FALSE(IsOnIntegers(b.Build({b.Sum(b.Centered(b.Input()), b.Weight())})));
}

int StepsOf(const Graph& graph) {
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {1, true});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? static_cast<int>(plan->steps.size()) : -1;
}

// All 256 numbers, several times, in a length that no vector divides.
std::vector<Tensor> AllBytes(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const Value& v : graph.inputs()) {
    std::vector<int64_t> all(v.type().num_elements());
    const int64_t low = v.dtype() == DType::kU8 ? 0 : -128;
    for (size_t i = 0; i < all.size(); ++i) all[i] = low + static_cast<int64_t>(i * 7 % 256);
    inputs.push_back(*Tensor::FromInts(v.type(), all));
  }
  return inputs;
}

void ExpectBytesOfReference(const Graph& graph) {
  const std::vector<Tensor> inputs = AllBytes(graph);
  const auto expected = OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1);
  for (const int threads : {1, 2}) {
    const auto actual = OutputsOf(graph, MakeCpuBackend().get(), inputs, threads);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t o = 0; o < actual.size(); ++o) {
      ASSERT_EQ(actual[o].type(), expected[o].type());
      if (IsFloat(actual[o].dtype())) {
        const Difference difference = Compare(actual[o], expected[o], RelativeTolerances(graph)[o]);
        EXPECT_TRUE(difference.within) << difference.ToString();
      } else {
        EXPECT_EQ(actual[o].ToInts(), expected[o].ToInts()) << PlanOf(graph);
      }
    }
  }
}

// Functions of one 8-bit number, also where floats are NaN or infinite.
TEST(Tables, HoldTheResultsForAllBytes) {
  for (const DType from : {DType::kU8, DType::kI8}) {
    for (const DType to : {DType::kU8, DType::kI8, DType::kF32}) {
      for (const char* function : {"sigmoid", "tanh", "log", "exp", "abs"}) {
        Builder b({{3, 7, 71}, {}, {}, from, 3}, Values::kRandom, 11);
        const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.75)});
        const Value f = b.Op(function, {x});
        ExpectBytesOfReference(b.Build(
            {to == DType::kF32 ? f : b.Quantized(f, 0.03125, to == DType::kU8 ? 9 : -9, to)}));
      }
    }
  }
}

// x * sigmoid(x), whose factor is quantized between: one table.
TEST(Tables, MergeGroupsThatOneNumberDecides) {
  for (const bool is_output : {false, true}) {
    Builder b({{5, 301}, {}, {}, DType::kU8, 100}, Values::kRandom, 12);
    const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.125)});
    const Value q = b.Quantized(b.Op("sigmoid", {x}), 0.00390625, 0, DType::kU8);
    const Value back = b.Op("mul", {b.Cast(q, DType::kF32), b.Number(0.00390625)});
    const Value y = b.Quantized(b.Op("mul", {x, back}), 0.125, 20, DType::kU8);
    const Graph graph = b.Build(is_output ? std::vector<Value>{y, q} : std::vector<Value>{y});
    EXPECT_EQ(StepsOf(graph), is_output ? 2 : 1) << PlanOf(graph);
    ExpectBytesOfReference(graph);
  }
}

// What one byte decides behind a product, such as a hard swish with a scale and a shift, is a
// table.
TEST(Tables, FollowAProduct) {
  if (!kernels::HasIntegerTiles()) GTEST_SKIP();
  for (const bool is_silu : {false, true}) {
    const Product product = {{1, 16, 6, 6}, {16, 16, 3, 3}, Conv({1, 1}, {1, 1, 1, 1})};
    Builder b(product, Values::kRandom, 17);
    const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.5)});
    const Value w = b.Op("mul", {b.Weight(), b.Number(0.25)});
    const Value q = b.Quantized(b.Sum(x, w), 64, 120, DType::kU8);
    const Value wide =
        b.Op("mul", {b.Op("sub", {b.Cast(q, DType::kF32), b.Number(120)}), b.Number(0.0625)});
    const Value y = b.Op("add", {b.Op("mul", {wide, b.Number(0.75)}), b.Number(0.5)});
    const Value gate = b.Op("clip", {b.Op("add", {y, b.Number(3)})}, {{"min", 0.0}, {"max", 6.0}});
    const Value swish = is_silu ? b.Op("mul", {y, b.Op("sigmoid", {y})})
                                : b.Op("div", {b.Op("mul", {y, gate}), b.Number(6)});
    const Graph graph = b.Build({b.Quantized(swish, 0.0371, 11, DType::kU8)});
    EXPECT_EQ(StepsOf(graph), 3) << PlanOf(graph);  // the third one copies the result
    const std::vector<Tensor> inputs = AllBytes(graph);
    EXPECT_EQ(OutputsOf(graph, MakeCpuBackend().get(), inputs, 1)[0].ToInts(),
              OutputsOf(graph, MakeReferenceBackend().get(), inputs, 1)[0].ToInts());
  }
}

// Two numbers decide: the middle result stays in memory.
TEST(Tables, DoNotMergeGroupsOfTwoNumbers) {
  Builder b({{5, 301}, {}, {}, DType::kU8, 100}, Values::kRandom, 13);
  const Value x = b.Op("mul", {b.Centered(b.Input("x")), b.Number(0.125)});
  const Value other = b.Op("mul", {b.Centered(b.Input("z")), b.Number(0.25)});
  const Value q = b.Quantized(b.Op("sigmoid", {x}), 0.00390625, 0, DType::kU8);
  const Value back = b.Op("mul", {b.Cast(q, DType::kF32), b.Number(0.00390625)});
  const Graph graph = b.Build({b.Quantized(b.Op("mul", {other, back}), 0.125, 20, DType::kU8)});
  EXPECT_EQ(StepsOf(graph), 2) << PlanOf(graph);
  ExpectBytesOfReference(graph);
}

// Products write their parts of a concatenation, whatever follows their sums.
TEST(Integers, AreWrittenIntoAConcatenation) {
  if (!kernels::HasIntegerTiles()) GTEST_SKIP();
  const Product product = {{1, 16, 6, 5}, {16, 16, 3, 3}, Conv({1, 1}, {1, 1, 1, 1})};
  for (const char* behind : {"clip", "min", "abs", "sigmoid", "relu"}) {
    Builder b(product, Values::kRandom, 18);
    const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.5)});
    std::vector<Value> parts;
    for (int i = 0; i < 2; ++i) {
      const Value w = b.Op("mul", {b.Weight(), b.Number(0.25)});
      const Value sum = b.Op("mul", {b.Sum(x, w), b.Number(0.0009765625)});
      const std::string op = behind;
      const Value y = op == "clip"  ? b.Op("clip", {sum}, {{"min", -1.58}, {"max", 6.2}})
                      : op == "min" ? b.Op("min", {sum, b.Number(3)})
                                    : b.Op(behind, {sum});
      parts.push_back(b.Quantized(y, 0.0371, 40, DType::kU8));
    }
    const Graph graph = b.Build({b.Op("concat", parts, {{"axis", int64_t{1}}})});
    ExpectBytesOfReference(graph);
    ASSERT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
  }
}

// A constant of the result's shape, such as an embedding of positions: it is row-major, the result
// of a convolution is not.
TEST(Integers, AreAddedToAConstant) {
  if (!kernels::HasIntegerTiles()) GTEST_SKIP();
  const Product conv = {{1, 16, 6, 5}, {16, 16, 3, 3}, Conv({1, 1}, {1, 1, 1, 1})};
  const Product matmul = {{30, 64}, {64, 16}, {}};
  for (const Product& product : {conv, matmul}) {
    for (const bool is_quantized : {false, true}) {
      Builder b(product, Values::kRandom, 19);
      const Value sum = b.Sum(b.Op("mul", {b.Centered(b.Input()), b.Number(0.5)}),
                              b.Op("mul", {b.Weight(), b.Number(0.25)}));
      Value constant = b.Cast(b.Numbers(sum.shape(), -120, 120, DType::kI8), DType::kF32);
      if (!is_quantized) constant = b.Numbers(sum.shape(), -120, 120, DType::kF32);
      const Value shift = b.Op("mul", {constant, b.Number(16)});
      const Graph graph =
          b.Build({b.Quantized(b.Op("add", {sum, shift}), 64, 120, DType::kU8), sum});
      ASSERT_TRUE(IsOnIntegers(graph)) << PlanOf(graph);
      ExpectBytesOfReference(graph);
      const Graph alone = [&] {
        Builder c(product, Values::kRandom, 19);
        const Value y = c.Sum(c.Op("mul", {c.Centered(c.Input()), c.Number(0.5)}),
                              c.Op("mul", {c.Weight(), c.Number(0.25)}));
        const Value added = c.Op("add", {y, c.Numbers(y.shape(), -1200, 1200, DType::kF32)});
        return c.Build({c.Quantized(added, 64, 120, DType::kU8)});
      }();
      ExpectBytesOfReference(alone);
    }
  }
}

// Parts of rows: their elements lie with gaps.
TEST(Integers, OfSlices) {
  for (const int64_t first : {0, 3, 20}) {
    Builder b({{1, 50, 6, 5}, {}, {}, DType::kU8, 100}, Values::kRandom, 16);
    const Value x = b.Input(), z = b.Input("z", {1, 30, 6, 5});
    const Value slice =
        b.Op("slice", {x}, {{"starts", Ints{0, first, 0, 0}}, {"sizes", Ints{1, 30, 6, 5}}});
    const Value part = b.Op("mul", {b.Centered(slice), b.Number(0.125)});
    const Value other = b.Op("mul", {b.Centered(z), b.Number(0.25)});
    ExpectBytesOfReference(b.Build({b.Quantized(part, 0.3, 7, DType::kI8), part,
                                    b.Quantized(b.Op("add", {part, other}), 0.5, 3, DType::kU8)}));
  }
}

// x * gate, where x is also stored as floats if `is_output`.
Graph Gated(const Shape& shape, const Shape& gate_shape, DType dtype, bool is_known,
            bool is_output) {
  Builder b({shape, {}, {}, dtype, 100}, Values::kRandom, 14);
  const Value x = b.Op("mul", {b.Centered(b.Input()), b.Number(0.125)});
  const Value gate =
      is_known ? b.Numbers(gate_shape, -128, 127, DType::kI8) : b.Input("gate", gate_shape);
  const Value gates = b.Op("mul", {b.Cast(gate, DType::kF32), b.Number(0.00390625)});
  const Value y = b.Quantized(b.Op("mul", {x, gates}), 0.125, 20, DType::kU8);
  return b.Build(is_output ? std::vector<Value>{y, x} : std::vector<Value>{y});
}

// A factor for each column, as a gate of channels has: known or computed from an input.
TEST(Integers, AreScaledByColumns) {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    for (const bool is_known : {true, false}) {
      for (const bool is_output : {true, false}) {
        for (const int64_t columns : {1, 8, 23, 96, 140}) {
          ExpectBytesOfReference(Gated({5, columns}, {columns}, dtype, is_known, is_output));
        }
        // Channels are not the last dimension, but the innermost one in memory.
        ExpectBytesOfReference(Gated({1, 40, 6, 5}, {1, 40, 1, 1}, dtype, is_known, is_output));
      }
    }
  }
}

}  // namespace
}  // namespace lemma::integers_test
