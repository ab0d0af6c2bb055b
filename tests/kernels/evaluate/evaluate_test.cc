#include "kernels/evaluate/evaluate.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Evaluate, Convolution) {
  ExpectEvaluatesAsNaively(Conv({2, 3, 7, 6}, {5, 3, 3, 3}, 1, 1, 1));
  ExpectEvaluatesAsNaively(Conv({1, 16, 9, 9}, {16, 16, 3, 3}, 2, 1, 1));
  ExpectEvaluatesAsNaively(Conv({2, 16, 5, 5}, {24, 16, 1, 1}, 1, 0, 1));
  ExpectEvaluatesAsNaively(Conv({1, 8, 6, 6}, {12, 4, 3, 3}, 2, 1, 2));
  ExpectEvaluatesAsNaively(Conv({1, 8, 6, 6}, {8, 1, 3, 3}, 1, 1, 8));
  ExpectEvaluatesAsNaively(Conv({1, 20, 12, 40}, {17, 20, 3, 3}, 1, 1, 1));
}

TEST(Evaluate, MatrixProduct) {
  ExpectEvaluatesAsNaively(Matmul(1, 1, 1));
  ExpectEvaluatesAsNaively(Matmul(3, 5, 4));
  ExpectEvaluatesAsNaively(Matmul(13, 300, 35));
  ExpectEvaluatesAsNaively(Matmul(1, 40, 50));
  ExpectEvaluatesAsNaively(Matmul(50, 40, 1));
  ExpectEvaluatesAsNaively(Matmul(3, 0, 4));
  ExpectEvaluatesAsNaively(Matmul(0, 2, 4));
}

TEST(Evaluate, BatchedProductOfTransposedOperand) {
  DefinitionBuilder b;
  TensorId q = b.Input({2, 3, 9, 5}), k = b.Input({2, 3, 17, 5});
  b.Output({2, 3, 9, 17}, [&](const Idx& o) {
    ScalarExpr dot = b.Sum({5}, [&](const Idx& r) {
      return Read(q, {o[0], o[1], o[2], r[0]}) * Read(k, {o[0], o[1], o[3], r[0]});
    });
    return dot * 0.5;
  });
  ExpectEvaluatesAsNaively(b.definition());
}

// Products within sums; the last product is read twice.
Definition ProductsInSums() {
  DefinitionBuilder b;
  TensorId x = b.Input({5, 700}), y = b.Input({5, 700}), z = b.Input({5, 700});
  TensorId s = b.Input({}), r = b.Input({5, 1});
  using E = ScalarExpr;
  auto output = [&](const std::function<E(E x, E y, E z, E s, E r)>& f) {
    b.Output({5, 700}, [&](const Idx& o) {
      return f(Read(x, o), Read(y, o), Read(z, o), Read(s, {}), Read(r, {o[0], IndexExpr(0)}));
    });
  };
  output([](E x, E y, E z, E, E) { return x * y + z; });
  output([](E x, E y, E z, E, E) { return z + x * y; });
  output([](E x, E y, E z, E, E) { return x * y - z; });
  output([](E x, E y, E z, E, E) { return z - x * y; });
  output([](E x, E, E z, E s, E) { return s * x + z; });
  output([](E x, E, E z, E s, E r) { return z - x * s * r; });
  output([](E x, E, E, E s, E r) { return s * r + x; });
  output([](E x, E y, E, E s, E) { return x * y - s; });
  output([](E x, E y, E z, E s, E) { return x * s + (y * z - x * x); });
  output([](E x, E y, E z, E, E) {
    E p = x * y;
    return (p + z) * (z - p);
  });
  return b.definition();
}

TEST(Evaluate, ProductsInSums) { ExpectEvaluatesAsNaively(ProductsInSums()); }

// Each product is rounded to a float before it is added, as if it were stored.
TEST(Evaluate, ProductsInSumsAreRounded) {
  DefinitionBuilder b;
  TensorId m = b.Input({3000}), g = b.Input({3000}), s = b.Input({});
  b.Output({3000}, [&](const Idx& o) { return Read(m, o) * Read(s, {}) + Read(g, o); });
  std::vector<float> x(3000), y(3000), expected(3000);
  const float factor = 0.9f;
  for (int i = 0; i < 3000; ++i) {
    x[i] = std::sqrt(static_cast<float>(i) + 2);
    y[i] = std::sqrt(static_cast<float>(i) + 3);
    const float product = x[i] * factor;
    expected[i] = product + y[i];
  }
  // The same in place.
  const DType f32 = DType::kF32;
  const absl::Status status = lemma::Run<float>(
      *CompileLoops(b.definition()),
      {{x.data(), f32, {1}}, {y.data(), f32, {1}}, {&factor, f32, {}}}, {{x.data(), f32, {1}}});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(x, expected);
}

Definition Softmax(int64_t rows, int64_t columns, bool last_axis) {
  DefinitionBuilder b;
  TensorId x = b.Input({rows, columns});
  auto at = [&](const IndexExpr& i, const IndexExpr& k) {
    return last_axis ? Idx{i, k} : Idx{k, i};
  };
  int64_t others = last_axis ? rows : columns, size = last_axis ? columns : rows;
  TensorId max = b.Local({others}, [&](const Idx& o) {
    return b.Reduce(ReduceKind::kMax, {size},
                    [&](const Idx& r) { return Read(x, at(o[0], r[0])); });
  });
  TensorId power = b.Local({rows, columns}, [&](const Idx& o) {
    return Apply(ScalarFn::kExp, Read(x, o) - Read(max, {last_axis ? o[0] : o[1]}));
  });
  b.Output({rows, columns}, [&](const Idx& o) {
    const IndexExpr& i = last_axis ? o[0] : o[1];
    return Read(power, o) / b.Sum({size}, [&](const Idx& r) { return Read(power, at(i, r[0])); });
  });
  return b.definition();
}

// sum(k where k <= m + 1) x[m,k] * y[k,n], where y has fewer rows than there are k.
Definition GuardedProduct() {
  DefinitionBuilder b;
  TensorId x = b.Input({10, 20}), y = b.Input({11, 30});
  b.Output({10, 30}, [&](const Idx& o) {
    IndexExpr k = IndexExpr::Var(b.NewVar());
    return ScalarExpr::Reduce(ReduceKind::kSum, {{k.var(), 20}}, Le(k, o[0] + 1),
                              Read(x, {o[0], k}) * Read(y, {k, o[1]}));
  });
  return b.definition();
}

TEST(Evaluate, GuardProtectsBothFactorsOfAProduct) { ExpectEvaluatesAsNaively(GuardedProduct()); }

TEST(Evaluate, TermsLeftOutByAGuardAreNotMultiplied) {
  Definition d = Matmul(12, 16, 20);
  const ScalarExpr& sum = d.tensors[0].body;
  IndexExpr k = IndexExpr::Var(sum.axes()[0].var);
  d.tensors[0].body = ScalarExpr::Reduce(
      ReduceKind::kSum, sum.axes(), Le(k, IndexExpr::Var(d.tensors[0].axes[0].var)), sum.args()[0]);
  std::vector<Dense<double>> inputs = RandomInputs<double>(d, 1);
  inputs[1].data[15 * 20 + 3] = kInf;  // k = 15: outside for every row
  auto result = RunDense<double>(d, inputs);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0].data, AllTensorsNaively<double>(d, inputs)[2].data);
}

TEST(Evaluate, SoftmaxWithLocals) {
  ExpectEvaluatesAsNaively(Softmax(3, 70, true));
  ExpectEvaluatesAsNaively(Softmax(20, 33, false));
}

TEST(Evaluate, NestedReductionsShareSubterms) {
  DefinitionBuilder b;
  TensorId x = b.Input({4, 37});
  b.Output({4, 37}, [&](const Idx& o) {
    ScalarExpr mean = b.Sum({37}, [&](const Idx& r) { return Read(x, {o[0], r[0]}); }) * (1.0 / 37);
    ScalarExpr variance = b.Sum({37}, [&](const Idx& r) {
      ScalarExpr d = Read(x, {o[0], r[0]}) - mean;
      return d * d;
    });
    return (Read(x, o) - mean) / Apply(ScalarFn::kSqrt, variance + 1e-5);
  });
  ExpectEvaluatesAsNaively(b.definition());
}

TEST(Evaluate, Concatenation) {
  for (int axis : {0, 1, 2}) {
    DefinitionBuilder b;
    std::vector<int64_t> dims[] = {{3, 4, 5}, {3, 4, 5}, {3, 4, 5}};
    Idx out = {3, 4, 5};
    for (int i = 0; i < 3; ++i) dims[i][axis] += i;
    out[axis] = dims[0][axis] + dims[1][axis] + dims[2][axis];
    for (auto& d : dims) b.Input(d);
    b.Output(out, [&](const Idx& o) {
      Idx second = o, third = o;
      int64_t first_end = dims[0][axis], second_end = first_end + dims[1][axis];
      second[axis] = o[axis] - first_end;
      third[axis] = o[axis] - second_end;
      ScalarExpr tail =
          ScalarExpr::Select(Lt(o[axis], second_end), Read(1, second), Read(2, third));
      return ScalarExpr::Select(Lt(o[axis], first_end), Read(0, o), tail);
    });
    ExpectEvaluatesAsNaively(b.definition());
  }
}

TEST(Evaluate, PaddingWithAConstantAndByReflection) {
  DefinitionBuilder b;
  TensorId x = b.Input({6, 5});
  b.Output({9, 11}, [&](const Idx& o) {
    IndexExpr i = o[0] - 1, j = o[1] - 4;
    return ScalarExpr::Select(InRange(i, 6) && InRange(j, 5), Read(x, {i, j}), -kInf);
  });
  b.Output({6, 9}, [&](const Idx& o) {
    IndexExpr j = Max(o[1] - 2, 2 - o[1]);
    return Read(x, {o[0], Min(j, 8 - j)});
  });
  ExpectEvaluatesAsNaively(b.definition());
}

TEST(Evaluate, ReshapeByDivisionAndRemainder) {
  DefinitionBuilder b;
  TensorId x = b.Input({4, 6, 5});
  b.Output({10, 12}, [&](const Idx& o) {
    IndexExpr flat = o[0] * 12 + o[1];
    return Read(x, {FloorDiv(flat, 30), Mod(FloorDiv(flat, 5), 6), Mod(flat, 5)});
  });
  // A reshape of a transposed view: nothing cancels.
  b.Output({8, 15}, [&](const Idx& o) {
    IndexExpr flat = o[0] * 15 + o[1];
    return Read(x, {Mod(FloorDiv(flat, 6), 4), Mod(flat, 6), FloorDiv(flat, 24)});
  });
  ExpectEvaluatesAsNaively(b.definition());
}

TEST(Evaluate, GatherOfRowsAndOfElements) {
  DefinitionBuilder b;
  TensorId table = b.Input({4, 19}), rows = b.Input({2, 7}, DType::kI64);
  b.Output({2, 7, 19}, [&](const Idx& o) {
    return Read(table, {Load(Read(rows, {o[0], o[1]})), o[2]});
  });
  b.Output({2, 19, 7}, [&](const Idx& o) {
    return Read(table, {o[0], Load(Read(rows, {o[0], o[2]}) * 2) + 1}) + Read(table, {0, o[1]});
  });
  // Negative indices count from the end.
  b.Output({7, 2}, [&](const Idx& o) {
    ScalarExpr i = Read(rows, {o[1], o[0]}) - 2;
    i = Apply(ScalarFn::kWhere, Apply(ScalarFn::kLess, i, 0), i + 4, i);
    return Read(table, {Load(i), 3});
  });
  ExpectEvaluatesAsNaively(b.definition());
}

TEST(Evaluate, DataDependentIndexIsChecked) {
  DefinitionBuilder b;
  TensorId table = b.Input({3, 2}), rows = b.Input({2}, DType::kI64);
  b.Output({2, 2}, [&](const Idx& o) { return Read(table, {Load(Read(rows, {o[0]})), o[1]}); });
  std::vector<Dense<double>> inputs = {{{3, 2}, {0, 1, 2, 3, 4, 5}}, {{2}, {1, 3}}};
  auto result = RunDense<double>(b.definition(), inputs);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(result.status().message(),
              HasSubstr("index 3 of dimension 0 of input 0 is outside [0, 3)"));
  inputs[1].data[1] = -1;
  EXPECT_TRUE(absl::IsOutOfRange(RunDense<double>(b.definition(), inputs).status()));
}

TEST(Evaluate, AffineReadOutsideIsReported) {
  DefinitionBuilder b;
  TensorId x = b.Input({4});
  b.Output({4}, [&](const Idx& o) { return Read(x, {o[0] + 1}); });
  auto result = RunDense<double>(b.definition(), RandomInputs<double>(b.definition(), 1));
  EXPECT_TRUE(absl::IsInternal(result.status()));
  EXPECT_THAT(result.status().message(), HasSubstr("index 4 of dimension 0 of input 0"));
}

TEST(Evaluate, MaxPoolWithGuard) {
  DefinitionBuilder b;
  TensorId x = b.Input({1, 3, 9, 8});
  b.Output({1, 3, 5, 4}, [&](const Idx& o) {
    VarId r = b.NewVar(), s = b.NewVar();
    IndexExpr row = o[2] * 2 + IndexExpr::Var(r) - 1, column = o[3] * 2 + IndexExpr::Var(s) - 1;
    return ScalarExpr::Reduce(ReduceKind::kMax, {{r, 3}, {s, 3}},
                              InRange(row, 9) && InRange(column, 8),
                              Read(x, {o[0], o[1], row, column}));
  });
  ExpectEvaluatesAsNaively(b.definition());
}

TEST(Evaluate, ConvolutionGradientWithStrideHasModuloGuards) {
  DefinitionBuilder b;
  TensorId dy = b.Input({1, 5, 4, 4}), w = b.Input({5, 6, 3, 3});
  b.Output({1, 6, 8, 8}, [&](const Idx& o) {
    return b.Sum({5, 3, 3}, [&](const Idx& r) {
      IndexExpr row = o[2] + 1 - r[1], column = o[3] + 1 - r[2];
      Guard hit = Eq(Mod(row, 2), 0) && Eq(Mod(column, 2), 0) && InRange(FloorDiv(row, 2), 4) &&
                  InRange(FloorDiv(column, 2), 4);
      return ReadWhere(hit, dy, {o[0], r[0], FloorDiv(row, 2), FloorDiv(column, 2)}) *
             Read(w, {r[0], o[1], r[1], r[2]});
    });
  });
  ExpectEvaluatesAsNaively(b.definition());
}

TEST(Evaluate, CumulativeSumWithDependentExtent) {
  for (bool along_lanes : {false, true}) {
    DefinitionBuilder b;
    TensorId x = b.Input({9, 13});
    b.Output({9, 13}, [&](const Idx& o) {
      return b.Sum({o[along_lanes ? 1 : 0] + 1}, [&](const Idx& r) {
        return along_lanes ? Read(x, {o[0], r[0]}) : Read(x, {r[0], o[1]});
      });
    });
    ExpectEvaluatesAsNaively(b.definition());
  }
}

TEST(Evaluate, ReductionsOverNothing) {
  DefinitionBuilder b;
  TensorId x = b.Input({0});
  for (ReduceKind kind :
       {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin}) {
    b.Output({}, [&](const Idx&) {
      return b.Reduce(kind, {0}, [&](const Idx& r) { return Read(x, {r[0]}); });
    });
  }
  auto result = RunDense<double>(b.definition(), {{{0}, {}}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT((*result)[0].data, ElementsAre(0));
  EXPECT_THAT((*result)[1].data, ElementsAre(1));
  EXPECT_THAT((*result)[2].data, ElementsAre(-kInf));
  EXPECT_THAT((*result)[3].data, ElementsAre(kInf));
  ExpectEvaluatesAsNaively(b.definition());
}

TEST(Evaluate, OutputsMayBeInputsOrRepeatedOrReadByLaterTensors) {
  DefinitionBuilder b;
  TensorId x = b.Input({5});
  TensorId y = b.Output({5}, [&](const Idx& o) { return Read(x, o) + 1; });
  b.Output({5}, [&](const Idx& o) { return Read(y, {4 - o[0]}) * ScalarExpr::Index(o[0]); });
  Definition d = b.definition();
  d.outputs.push_back(x);
  d.outputs.push_back(y);
  ExpectEvaluatesAsNaively(d);
}

TEST(Evaluate, StridesMayBeZeroOrNegative) {
  DefinitionBuilder b;
  TensorId x = b.Input({3, 4}), y = b.Input({3, 4});
  b.Output({3, 4}, [&](const Idx& o) { return Read(x, o) - Read(y, o); });
  LoopProgram program = *CompileLoops(b.definition());
  std::vector<double> a = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, c = {100, 200, 300};
  std::vector<double> out(24, -1);
  // x reversed in both dimensions, y a column repeated, output every second element, transposed.
  TensorView views[] = {{a.data() + 11, std::nullopt, {-4, -1}}, {c.data(), std::nullopt, {1, 0}}};
  MutableTensorView result[] = {{out.data(), std::nullopt, {2, 6}}};
  ASSERT_TRUE(lemma::Run<double>(program, views, result).ok());
  EXPECT_THAT(out, ElementsAre(-88, -1, -192, -1, -296, -1, -89, -1, -193, -1, -297, -1, -90, -1,
                               -194, -1, -298, -1, -91, -1, -195, -1, -299, -1));
}

TEST(Evaluate, OutputMayBeTheInput) {
  DefinitionBuilder b;
  TensorId x = b.Input({2000});
  b.Output({2000},
           [&](const Idx& o) { return Apply(ScalarFn::kMax, Read(x, o) + 1, 0) * Read(x, o); });
  LoopProgram program = *CompileLoops(b.definition());
  std::vector<float> data(2000, 2);
  TensorView view{data.data(), DType::kF32, {1}};
  MutableTensorView out{data.data(), DType::kF32, {1}};
  ASSERT_TRUE(lemma::Run<float>(program, {view}, {out}).ok());
  EXPECT_THAT(data, testing::Each(6.0f));
}

TEST(Evaluate, ThreadsDoNotChangeResults) {
  for (const Definition& d :
       {Conv({2, 24, 30, 30}, {32, 24, 3, 3}, 1, 1, 1), Softmax(300, 700, true),
        Softmax(300, 700, false), Matmul(200, 100, 300)}) {
    std::vector<Dense<float>> inputs = RandomInputs<float>(d, 3);
    for (float& x : inputs[0].data) x *= 0.1f;
    auto one = RunDense<float>(d, inputs, 1), many = RunDense<float>(d, inputs, 7);
    ASSERT_TRUE(one.ok() && many.ok());
    EXPECT_EQ((*one)[0].data, (*many)[0].data);
  }
}

TEST(Evaluate, CompileRefusesWhatIsOpenOrBroken) {
  auto message = [](const ScalarExpr& body, IndexExpr size = 3) {
    Definition d;
    d.inputs.push_back({DType::kF32, {3}});
    d.tensors.push_back({DType::kF32, {{0, size}}, body});
    d.outputs = {1};
    d.num_vars = 1;
    return std::string(CompileLoops(d).status().message());
  };
  IndexExpr i = IndexExpr::Var(0);
  EXPECT_THAT(message(Read(0, {i}), IndexExpr::Symbol("N")), HasSubstr("size N is open"));
  EXPECT_THAT(message(Read(0, {i + IndexExpr::Symbol("N")})), HasSubstr("symbol N has no value"));
  EXPECT_THAT(message(ScalarExpr::Param("alpha")), HasSubstr("parameter alpha has no value"));
  EXPECT_THAT(message(Read(0, {IndexExpr::Var(7)})), HasSubstr("i7 is not bound"));
  EXPECT_THAT(message(Read(0, {i, i})), HasSubstr("t0 of rank 1 at 2 indices"));
  EXPECT_THAT(message(Read(1, {i})), HasSubstr("reads t1, which does not come before it"));
}

TEST(Evaluate, IntegersRefuseRealFunctions) {
  for (const ScalarExpr& factor : {ScalarExpr(0.5), Apply(ScalarFn::kExp, ScalarExpr(1.0))}) {
    DefinitionBuilder b;
    TensorId x = b.Input({3}, DType::kI64);
    b.Output({3}, [&](const Idx& o) { return Read(x, o) * factor; });
    auto result = RunDense<int64_t>(b.definition(), {{{3}, {1, 2, 3}}});
    EXPECT_TRUE(absl::IsInvalidArgument(result.status()));
  }
}

TEST(Evaluate, IntegerArithmetic) {
  DefinitionBuilder b;
  TensorId x = b.Input({6}, DType::kI64), y = b.Input({6}, DType::kI64);
  for (ScalarFn fn : {ScalarFn::kDiv, ScalarFn::kMod, ScalarFn::kFmod, ScalarFn::kPow}) {
    b.Output({6}, [&](const Idx& o) { return Apply(fn, Read(x, o), Read(y, o)); });
  }
  auto result = RunDense<int64_t>(
      b.definition(), {{{6}, {7, -7, 7, 5, INT64_MIN, 3}}, {{6}, {2, 2, -2, 0, -1, 40}}});
  ASSERT_TRUE(result.ok());
  EXPECT_THAT((*result)[0].data, ElementsAre(3, -3, -3, 0, INT64_MIN, 0));
  EXPECT_THAT((*result)[1].data, ElementsAre(1, 1, -1, 0, 0, 3));
  EXPECT_THAT((*result)[2].data, ElementsAre(1, -1, 1, 0, 0, 3));
  EXPECT_EQ((*result)[3].data[5], 12157665459056928801u);
}

TEST(Evaluate, NumbersOfViewsAreChecked) {
  LoopProgram program = *CompileLoops(Matmul(2, 2, 2));
  EXPECT_EQ(lemma::Run<float>(program, {}, {}).message(), "0 inputs given, 2 expected");
  TensorView bad{nullptr, DType::kF32, {1}};
  EXPECT_EQ(lemma::Run<float>(program, {bad, bad}, {}).message(),
            "input 0 has 1 strides for rank 2");
}

}  // namespace
}  // namespace lemma
