// The float contract of a certificate, from its rules and from the folded values.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/expr/arithmetic.h"
#include "rewrite/rules/certificate.h"

namespace lemma {
namespace {

bool OnlyMoves(const ScalarExpr& e) {
  const bool here = e.kind() == ScalarExpr::Kind::kRead || e.kind() == ScalarExpr::Kind::kSelect ||
                    e.kind() == ScalarExpr::Kind::kConst;
  return here && std::all_of(e.args().begin(), e.args().end(), OnlyMoves);
}

// Whether computing the node in double or exactly, and then rounding, gives the node's own bits.
bool KeepsBits(const Node& node) {
  std::vector<TensorType> types = node.input_types();
  types.insert(types.end(), node.types().begin(), node.types().end());
  if (std::none_of(types.begin(), types.end(),
                   [](const TensorType& type) { return IsFloat(type.dtype); })) {
    return true;
  }
  // Beside the one type that is moved, there may be integers as positions.
  for (const TensorType& type : types) {
    if (IsFloat(type.dtype) && type.dtype != node.type(0).dtype) return false;
  }
  auto definition = DefinitionOf(node);
  return definition.ok() &&
         std::all_of(definition->tensors.begin(), definition->tensors.end(),
                     [](const TensorExpr& tensor) { return OnlyMoves(tensor.body); });
}

bool ReadsFloats(const Definition& d, const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kRead) return IsFloat(d.TypeOf(e.tensor()).dtype);
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return ReadsFloats(d, arg); });
}

// Whether the value is discontinuous in a float.
bool IsDiscontinuousIn(const Definition& d, const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kApply) {
    const bool where = e.fn() == ScalarFn::kWhere;
    if ((where || Info(e.fn()).discontinuous()) && ReadsFloats(d, where ? e.args()[0] : e))
      return true;
  }
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return IsDiscontinuousIn(d, arg); });
}

// Whether the node compares floats or makes integers of them.
bool IsDiscontinuous(const Node& node) {
  auto definition = DefinitionOf(node);
  if (!definition.ok()) return true;
  const Definition& d = *definition;
  return std::any_of(d.tensors.begin(), d.tensors.end(), [&](const TensorExpr& tensor) {
    return (!IsFloat(tensor.dtype) && ReadsFloats(d, tensor.body)) ||
           IsDiscontinuousIn(d, tensor.body);
  });
}

// The operators that compute the values, operands first.
std::vector<const Node*> OperatorsOf(const std::vector<Value>& values) {
  std::vector<const Node*> order;
  absl::flat_hash_set<const Node*> seen;
  std::vector<std::pair<const Node*, size_t>> stack;
  auto enter = [&](const Value& v) {
    if (v.node().is_op() && seen.insert(&v.node()).second) stack.emplace_back(&v.node(), 0);
  };
  for (const Value& root : values) {
    enter(root);
    while (!stack.empty()) {
      const Node* node = stack.back().first;
      if (stack.back().second < node->inputs().size()) {
        enter(node->inputs()[stack.back().second++]);
      } else {
        order.push_back(node);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace

FloatContract ContractOf(const std::vector<Substitution>& rules, const std::vector<Value>& folded) {
  FloatContract contract = FloatContract::kBitExact;
  for (const Substitution& rule : rules) contract = std::max(contract, rule.contract);
  absl::flat_hash_set<const Node*> unrounded;
  for (const Node* node : OperatorsOf(folded)) {
    const bool reads = std::any_of(node->inputs().begin(), node->inputs().end(),
                                   [&](const Value& v) { return unrounded.contains(&v.node()); });
    if (reads && IsDiscontinuous(*node)) return FloatContract::kRealOnly;
    if (!reads && KeepsBits(*node)) continue;
    unrounded.insert(node);
    contract = std::max(contract, FloatContract::kReassociates);
  }
  return contract;
}

}  // namespace lemma
