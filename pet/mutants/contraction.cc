#include "pet/mutants/contraction.h"

#include <algorithm>

#include "graph/op_table.h"

namespace lemma::pet {
namespace {

bool OnlyAlgebra(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kApply && !Info(e.fn()).algebraic()) return false;
  if (e.kind() == ScalarExpr::Kind::kReduce && e.reduce() != ReduceKind::kSum) return false;
  return std::all_of(e.args().begin(), e.args().end(), OnlyAlgebra);
}

bool HasSum(const ScalarExpr& e) {
  return e.kind() == ScalarExpr::Kind::kReduce ||
         std::any_of(e.args().begin(), e.args().end(), HasSum);
}

bool HasProduct(const ScalarExpr& e, bool inside_sum) {
  inside_sum = inside_sum || e.kind() == ScalarExpr::Kind::kReduce;
  const bool product =
      inside_sum && e.kind() == ScalarExpr::Kind::kApply && e.fn() == ScalarFn::kMul;
  return product || std::any_of(e.args().begin(), e.args().end(),
                                [&](const ScalarExpr& arg) { return HasProduct(arg, inside_sum); });
}

bool IsAlgebra(const Definition& definition) {
  return std::all_of(definition.tensors.begin(), definition.tensors.end(),
                     [](const TensorExpr& tensor) { return OnlyAlgebra(tensor.body); });
}

bool IsSum(const Definition& definition) {
  return IsAlgebra(definition) &&
         std::any_of(definition.tensors.begin(), definition.tensors.end(),
                     [](const TensorExpr& tensor) { return HasSum(tensor.body); });
}

// Evaluates the operator's definition for operands of these ranks with all sizes 2.
bool SumsProducts(const OpDef& op, int first, int second) {
  auto attrs = CompleteAttrs(op, {});
  if (!attrs.ok()) return false;
  const std::vector<TensorType> types = {{DType::kF32, Shape(static_cast<size_t>(first), 2)},
                                         {DType::kF32, Shape(static_cast<size_t>(second), 2)}};
  auto definition = Define(op, types, *attrs);
  if (!definition.ok() || definition->outputs.size() != 1 || !IsSum(*definition)) return false;
  return std::any_of(definition->tensors.begin(), definition->tensors.end(),
                     [](const TensorExpr& tensor) { return HasProduct(tensor.body, false); });
}

}  // namespace

bool IsAlgebra(const Node& node) {
  auto definition = DefinitionOf(node);
  return definition.ok() && IsAlgebra(*definition);
}

bool IsSum(const Node& node) {
  auto definition = DefinitionOf(node);
  return definition.ok() && IsSum(*definition);
}

const std::vector<Contraction>& Contractions() {
  static const auto& all = *[] {
    auto* found = new std::vector<Contraction>;
    for (const OpDef* op : AllOps()) {
      if (op->min_inputs > 2 || op->max_inputs < 2) continue;
      for (int first = 2; first <= 4; ++first) {
        for (int second = 2; second <= 4; ++second) {
          if (SumsProducts(*op, first, second)) found->push_back({op, {first, second}});
        }
      }
    }
    return found;
  }();
  return all;
}

}  // namespace lemma::pet
