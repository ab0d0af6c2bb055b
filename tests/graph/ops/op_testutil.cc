#include "tests/graph/ops/op_testutil.h"

#include "graph/op_table.h"
#include "gtest/gtest.h"
#include "tests/kernels/evaluate/naive_evaluator.h"

namespace lemma {

double Arg::At(const std::vector<int64_t>& index) const {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset = offset * type.shape[i] + index[i];
  return values.at(offset);
}

double Arg::AtOr0(const std::vector<int64_t>& index) const {
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= type.shape[i]) return 0;
  }
  return At(index);
}

Arg SomeNumbers(Shape shape, int seed) {
  std::vector<double> values(NumElements(shape));
  uint32_t state = 12345u * static_cast<uint32_t>(seed);
  for (double& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<int>(state >> 24) % 19 - 9;
  }
  return Arg(std::move(shape), std::move(values));
}

absl::StatusOr<Outputs> Eval(absl::string_view op, const std::vector<Arg>& args, Attrs attrs) {
  const OpDef* def = FindOp(op);
  if (def == nullptr) return absl::InvalidArgumentError(absl::StrCat("no operator ", op));
  auto complete = CompleteAttrs(*def, std::move(attrs));
  if (!complete.ok()) return complete.status();
  std::vector<TensorType> types;
  std::vector<std::vector<double>> values;
  for (const Arg& arg : args) {
    types.push_back(arg.type);
    values.push_back(arg.values);
  }
  Outputs outputs;
  auto output_types = InferTypes(*def, types, *complete);
  if (!output_types.ok()) return output_types.status();
  outputs.types = *output_types;
  auto definition = Define(*def, types, *complete);
  if (!definition.ok()) return definition.status();
  auto result = OutputsNaively(*definition, values);
  if (!result.ok()) return result.status();
  outputs.values = *result;
  return outputs;
}

std::vector<double> Eval1(absl::string_view op, const std::vector<Arg>& args, Attrs attrs) {
  auto outputs = Eval(op, args, std::move(attrs));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->values[0] : std::vector<double>();
}

std::string TypeOf(absl::string_view op, const std::vector<TensorType>& inputs, Attrs attrs,
                   int i) {
  const OpDef* def = FindOp(op);
  if (def == nullptr) return absl::StrCat("no operator ", op);
  auto complete = CompleteAttrs(*def, std::move(attrs));
  if (!complete.ok()) return std::string(complete.status().message());
  auto types = InferTypes(*def, inputs, *complete);
  if (!types.ok()) return std::string(types.status().message());
  return (*types)[i].ToString();
}

Idx Symbols(const std::vector<std::string>& names) {
  Idx result;
  for (const std::string& name : names) {
    bool number = name.find_first_not_of("0123456789") == std::string::npos;
    result.push_back(number ? IndexExpr(std::stoll(name)) : IndexExpr::Symbol(name));
  }
  return result;
}

std::vector<std::string> Requirements(absl::string_view op,
                                      const std::vector<std::vector<std::string>>& dims,
                                      ExprAttrs attrs) {
  const OpDef* def = FindOp(op);
  EXPECT_NE(def, nullptr) << op;
  if (def == nullptr) return {};
  auto complete = CompleteExprAttrs(*def, std::move(attrs));
  EXPECT_TRUE(complete.ok()) << complete.status();
  if (!complete.ok()) return {};
  std::vector<ExprType> types;
  for (const auto& d : dims) types.push_back({DType::kF32, Symbols(d)});
  auto meaning = Define(*def, types, *complete);
  EXPECT_TRUE(meaning.ok()) << meaning.status();
  if (!meaning.ok()) return {};
  std::vector<std::string> result;
  for (const Guard& guard : meaning->requirements) result.push_back(guard.ToString());
  return result;
}

}  // namespace lemma
