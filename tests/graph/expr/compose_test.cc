#include "graph/expr/compose.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

using testing::HasSubstr;

// y[i] = exp(x[i]) over n elements, and its sum.
Definition ExpWithSum(int64_t n) {
  DefinitionBuilder b;
  TensorId x = b.Input({n});
  TensorId e = b.Output({n}, [&](const Idx& o) { return Apply(ScalarFn::kExp, Read(x, o)); });
  b.Output({},
           [&](const Idx&) { return b.Sum({n}, [&](const Idx& r) { return Read(e, {r[0]}); }); });
  return b.definition();
}

Definition Scale(int64_t n) {
  DefinitionBuilder b;
  TensorId x = b.Input({n}), scale = b.Input({});
  b.Output({n}, [&](const Idx& o) { return Read(x, o) / Read(scale, {}); });
  return b.definition();
}

// Evaluates naively; both number the same inputs.
void ExpectSameValues(const Definition& a, const Definition& b) {
  auto x = AllTensorsNaively<Field>(a, RandomInputs<Field>(a, 5));
  auto y = AllTensorsNaively<Field>(b, RandomInputs<Field>(b, 5));
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    EXPECT_EQ(x[a.outputs[i]].data, y[b.outputs[i]].data) << a.ToString() << b.ToString();
  }
}

TEST(Compose, ChainOfTwoIsTheSecondAfterTheFirst) {
  Definition exp = ExpWithSum(5), scale = Scale(5);
  Definition softmax = Chain(exp, scale, {0, 1}).value();
  DefinitionBuilder b;
  TensorId x = b.Input({5});
  auto e = [&](const IndexExpr& i) { return Apply(ScalarFn::kExp, Read(x, {i})); };
  b.Output({5}, [&](const Idx& o) {
    return e(o[0]) / b.Sum({5}, [&](const Idx& r) { return e(r[0]); });
  });
  EXPECT_EQ(softmax.tensors.size(), 3u);
  ExpectSameValues(softmax, b.definition());
  Definition inlined = Inline(softmax);
  EXPECT_EQ(inlined.tensors.size(), 1u);
  EXPECT_EQ(inlined.tensors[0].body.ToString(), "div(exp(t0[i2]), sum(i3 < 5, exp(t0[i3])))");
  ExpectSameValues(softmax, inlined);
  ExpectEvaluatesAsNaively(inlined);
}

TEST(Compose, UnfedInputsFollowTheProducers) {
  Definition d = Chain(ExpWithSum(5), Scale(5), {0, std::nullopt}).value();
  EXPECT_EQ(d.num_inputs(), 2);
  EXPECT_EQ(d.inputs[1].rank(), 0);
  EXPECT_EQ(d.tensors.size(), 2u);  // the sum, which nobody reads, is gone
}

TEST(Compose, GraphWithSharedInputsAndRepeatedOutputs) {
  Definition exp = ExpWithSum(4), scale = Scale(4);
  std::vector<ExprType> inputs = {exp.inputs[0]};
  std::vector<ComposeStep> steps = {{&exp, {{-1, 0}}}, {&scale, {{-1, 0}, {0, 1}}}};
  Definition d = Chain(inputs, steps, {{1, 0}, {0, 0}, {0, 0}, {-1, 0}}).value();
  EXPECT_EQ(d.outputs.size(), 4u);
  auto values = AllTensorsNaively<Field>(d, RandomInputs<Field>(d, 1));
  EXPECT_EQ(values[d.outputs[1]].data, values[d.outputs[2]].data);
  EXPECT_EQ(values[d.outputs[3]].data, values[0].data);
  ExpectEvaluatesAsNaively(Inline(d));
}

TEST(Compose, SaysWhichStepMadeATensor) {
  Definition exp = ExpWithSum(4), scale = Scale(4);
  std::vector<ExprType> inputs = {exp.inputs[0]};
  std::vector<ComposeStep> steps = {
      {&exp, {{-1, 0}}}, {&exp, {{0, 0}}}, {&scale, {{1, 0}, {0, 1}}}};
  std::vector<int> made_by;
  // Nothing reads the sum of the second step; a copy belongs to no step.
  ASSERT_TRUE(Chain(inputs, steps, {{2, 0}, {0, 0}, {0, 0}}, &made_by).ok());
  EXPECT_EQ(made_by, std::vector<int>({0, 0, 1, 2, 3}));
}

TEST(Compose, MistakesAreNamed) {
  Definition exp = ExpWithSum(4), scale = Scale(4);
  EXPECT_THAT(Chain(exp, scale, {0}).status().message(), HasSubstr("has 2 inputs, not 1"));
  EXPECT_THAT(Chain(exp, scale, {0, 7}).status().message(), HasSubstr("no output 7 of step 0"));
  EXPECT_THAT(Chain(exp, scale, {1, 1}).status().message(),
              HasSubstr("input 0 of step 1 has rank 1, not 0"));
}

TEST(Compose, InlineChoosesLocals) {
  Definition softmax = Chain(ExpWithSum(5), Scale(5), {0, 1}).value();
  Definition some = Inline(softmax, [](TensorId id) { return id == 1; });
  EXPECT_EQ(some.tensors.size(), 2u);
  ExpectSameValues(softmax, some);
}

TEST(Compose, InlinedReductionsBindTheirOwnVariables) {
  // A row sum that is read twice in one body and once under another sum.
  DefinitionBuilder b;
  TensorId x = b.Input({3, 4});
  TensorId total = b.Local({3}, [&](const Idx& o) {
    return b.Sum({4}, [&](const Idx& r) { return Read(x, {o[0], r[0]}); });
  });
  b.Output({3}, [&](const Idx& o) {
    ScalarExpr others =
        b.Sum({3}, [&](const Idx& r) { return Read(total, {r[0]}) * Read(total, {r[0]}); });
    return Read(total, {o[0]}) + others + Read(total, {2 - o[0]});
  });
  Definition inlined = Inline(b.definition());
  ExpectSameValues(b.definition(), inlined);
  ExpectEvaluatesAsNaively(inlined);
}

TEST(Compose, InliningDecidesGuards) {
  DefinitionBuilder b;
  TensorId x = b.Input({3}), y = b.Input({2});
  TensorId both = b.Local({5}, [&](const Idx& o) {
    return ScalarExpr::Select(Lt(o[0], 3), Read(x, o), Read(y, {o[0] - 3}));
  });
  b.Output({}, [&](const Idx&) { return Read(both, {1}) * Read(both, {4}); });
  EXPECT_EQ(Inline(b.definition()).tensors[0].body.ToString(), "mul(t0[1], t1[1])");
}

TEST(Compose, InliningReachesDataDependentIndices) {
  DefinitionBuilder b;
  TensorId x = b.Input({9}), i = b.Input({4}, DType::kI64);
  TensorId j = b.Local(
      {4}, [&](const Idx& o) { return Read(i, o) + 1; }, DType::kI64);
  b.Output({4}, [&](const Idx& o) { return Read(x, {Load(Read(j, o))}); });
  Definition inlined = Inline(b.definition());
  EXPECT_EQ(inlined.tensors[0].body.ToString(), "t0[[add(t1[i1], 1)]]");
  ExpectEvaluatesAsNaively(inlined);
}

TEST(Compose, BindSetsSymbolsAndParameters) {
  DefinitionBuilder b;
  IndexExpr n = IndexExpr::Symbol("N");
  b.Output({n}, [&](const Idx& o) {
    return ScalarExpr::Param("alpha") * ScalarExpr::Index(n - 1 - o[0]);
  });
  Definition bound = Bind(b.definition(), {{"N", 3}}, {{"alpha", 0.5}});
  EXPECT_EQ(bound.ToString(), "out t0[i0 < 3] = mul(0.5, (2 + (-1*i0)))\n");
}

TEST(Substitute, RenamesBoundVariablesAndKeepsSharing) {
  DefinitionBuilder b;
  ScalarExpr shared = Apply(ScalarFn::kExp, Read(0, {IndexExpr::Var(0)}));
  ScalarExpr e = ScalarExpr::Reduce(ReduceKind::kSum, {{1, 4}}, true, shared) + shared;
  ExprSubstitution s;
  int fresh = 10;
  s.fresh = &fresh;
  s.vars[0] = IndexExpr::Var(7) * 2;
  ScalarExpr result = Substitute(e, s);
  EXPECT_EQ(result.ToString(), "add(sum(i10 < 4, exp(t0[(2*i7)])), exp(t0[(2*i7)]))");
  EXPECT_EQ(result.args()[0].args()[0].node(), result.args()[1].node());
}

}  // namespace
}  // namespace lemma
