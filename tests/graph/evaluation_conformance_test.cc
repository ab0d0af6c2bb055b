// Execution, fingerprints and facts derived from definitions, for every operator of the table.
#include <cmath>

#include "graph/examples/op_examples.h"
#include "graph/op_table.h"
#include "gtest/gtest.h"
#include "kernels/evaluate/evaluate.h"
#include "tests/kernels/evaluate/naive_evaluator.h"

namespace lemma {
namespace {

using Values = std::vector<std::vector<double>>;

template <class Number>
Number FromDouble(double v) {
  return static_cast<Number>(v);
}
template <>
Field FromDouble<Field>(double v) {
  return Field::FromDouble(v);
}

// All outputs of `definition`, computed in Number. Inputs of integer and truth type are stored as
// such, others as Numbers.
template <class Number>
absl::StatusOr<std::vector<std::vector<Number>>> Evaluate(const Definition& definition,
                                                          const Values& inputs) {
  auto program = CompileLoops(definition);
  if (!program.ok()) return program.status();
  std::vector<std::vector<Number>> numbers(inputs.size()), outputs(program->outputs().size());
  std::vector<std::vector<int64_t>> integers(inputs.size());
  std::vector<TensorView> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& tensor = program->inputs()[i];
    TensorView view;
    view.strides = DenseStrides(tensor.dims);
    if (IsFloat(tensor.dtype)) {
      for (double v : inputs[i]) numbers[i].push_back(FromDouble<Number>(v));
      view.data = numbers[i].data();
    } else {
      integers[i].assign(inputs[i].begin(), inputs[i].end());
      view.data = integers[i].data();
      view.storage = DType::kI64;
    }
    views.push_back(view);
  }
  std::vector<MutableTensorView> out_views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& tensor = program->outputs()[i];
    outputs[i].resize(static_cast<size_t>(NumElements(tensor.dims)));
    out_views.push_back({outputs[i].data(), std::nullopt, DenseStrides(tensor.dims)});
  }
  if (auto status = Run<Number>(*program, views, out_views); !status.ok()) return status;
  return outputs;
}

class Evaluation : public testing::TestWithParam<OpExample> {
 protected:
  const OpExample& example() const { return GetParam(); }

  Definition Defined() const {
    auto definition = Define(*example().op, example().inputs, example().attrs);
    EXPECT_TRUE(definition.ok()) << definition.status();
    return definition.ok() ? *definition : Definition();
  }
  // The example's values, floats rounded up to whole numbers 1, 2 and 3.
  Values WholeValues() const {
    Values values = ExampleValues(example());
    for (size_t i = 0; i < values.size(); ++i) {
      for (double& v : values[i]) v = v > 0 && v < 1 ? std::ceil(3 * v) : v;
    }
    return values;
  }
};

TEST_P(Evaluation, LoopsComputeTheDefinition) {
  const Definition definition = Defined();
  auto loops = Evaluate<double>(definition, ExampleValues(example()));
  auto walked = OutputsNaively(definition, ExampleValues(example()));
  ASSERT_TRUE(loops.ok()) << loops.status() << "\n" << definition.ToString();
  ASSERT_TRUE(walked.ok()) << walked.status();
  ASSERT_EQ(loops->size(), walked->size());
  for (size_t i = 0; i < loops->size(); ++i) {
    ASSERT_EQ((*loops)[i].size(), (*walked)[i].size());
    for (size_t j = 0; j < (*loops)[i].size(); ++j) {
      const double got = (*loops)[i][j], want = (*walked)[i][j];
      if (std::isnan(want) && std::isnan(got)) continue;
      EXPECT_NEAR(got, want, 1e-12 * (1 + std::fabs(want))) << "output " << i << " element " << j;
    }
  }
}

// Whether `e` computes the same on whole numbers in every field that is large enough.
bool ExactOnIntegers(const ScalarExpr& e) {
  static constexpr ScalarFn kExact[] = {
      ScalarFn::kAdd,   ScalarFn::kSub,   ScalarFn::kMul,   ScalarFn::kNeg,   ScalarFn::kMin,
      ScalarFn::kMax,   ScalarFn::kAbs,   ScalarFn::kSign,  ScalarFn::kMod,   ScalarFn::kFmod,
      ScalarFn::kLess,  ScalarFn::kEqual, ScalarFn::kAnd,   ScalarFn::kOr,    ScalarFn::kNot,
      ScalarFn::kFloor, ScalarFn::kCeil,  ScalarFn::kRound, ScalarFn::kTrunc, ScalarFn::kWhere};
  if (e.kind() == ScalarExpr::Kind::kConst) return e.value() == std::floor(e.value());
  if (e.kind() == ScalarExpr::Kind::kApply &&
      std::find(std::begin(kExact), std::end(kExact), e.fn()) == std::end(kExact)) {
    return false;
  }
  for (const ScalarExpr& arg : e.args()) {
    if (!ExactOnIntegers(arg)) return false;
  }
  return true;
}

TEST_P(Evaluation, FieldAgreesOnWholeNumbers) {
  const Definition definition = Defined();
  for (const TensorExpr& tensor : definition.tensors) {
    if (!ExactOnIntegers(tensor.body)) return;
  }
  auto in_field = Evaluate<Field>(definition, WholeValues());
  auto in_double = OutputsNaively(definition, WholeValues());
  ASSERT_TRUE(in_field.ok()) << in_field.status();
  ASSERT_TRUE(in_double.ok()) << in_double.status();
  for (size_t i = 0; i < in_field->size(); ++i) {
    for (size_t j = 0; j < (*in_field)[i].size(); ++j) {
      EXPECT_EQ((*in_field)[i][j].ToString(), Field::FromDouble((*in_double)[i][j]).ToString());
    }
  }
}

TEST_P(Evaluation, IntegersAreExact) {
  const Definition definition = Defined();
  auto is_whole = [](DType dtype) { return !IsFloat(dtype); };
  for (const TensorType& type : example().inputs) {
    if (!is_whole(type.dtype)) return;
  }
  for (TensorId id : definition.outputs) {
    if (!is_whole(definition.TypeOf(id).dtype)) return;
  }
  auto exact = Evaluate<int64_t>(definition, ExampleValues(example()));
  auto in_double = OutputsNaively(definition, ExampleValues(example()));
  ASSERT_TRUE(exact.ok()) << exact.status();
  ASSERT_TRUE(in_double.ok()) << in_double.status();
  for (size_t i = 0; i < exact->size(); ++i) {
    for (size_t j = 0; j < (*exact)[i].size(); ++j) {
      EXPECT_EQ((*exact)[i][j], static_cast<int64_t>((*in_double)[i][j]));
    }
  }
}

// f(a, b) = f(b, a) at pseudo-random field elements, if the table says that f commutes.
TEST_P(Evaluation, CommutesIfItSaysSo) {
  const bool swappable = example().inputs.size() >= 2 && example().inputs[0] == example().inputs[1];
  if (!swappable) return;
  Values values = ExampleValues(example());
  for (size_t i = 0; i < values.size(); ++i) {
    for (double& v : values[i]) v = IsFloat(example().inputs[i].dtype) ? v * (3.0 + i) : v;
  }
  auto one_way = Evaluate<Field>(Defined(), values);
  std::swap(values[0], values[1]);
  auto other_way = Evaluate<Field>(Defined(), values);
  ASSERT_TRUE(one_way.ok()) << one_way.status();
  ASSERT_TRUE(other_way.ok()) << other_way.status();
  if (example().op->commutative) {
    EXPECT_EQ(*one_way, *other_way);
  } else if (IsFloat(example().inputs[0].dtype) && !(*one_way)[0].empty()) {
    EXPECT_NE(*one_way, *other_way) << "commutes, and does not say so";
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Evaluation, testing::ValuesIn(AllExamples()),
                         [](const testing::TestParamInfo<OpExample>& info) {
                           return absl::StrCat(info.param.op->name, "_", info.index);
                         });

}  // namespace
}  // namespace lemma
