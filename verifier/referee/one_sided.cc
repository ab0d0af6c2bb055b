#include "verifier/referee/one_sided.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::referee {
namespace {

bool HoldsLoad(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kLoad:
      return true;
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kSymbol:
    case IndexExpr::Kind::kVar:
      return false;
    default:
      return HoldsLoad(e.lhs()) || HoldsLoad(e.rhs());
  }
}

bool ReadsAtData(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kRead &&
      std::any_of(e.indices().begin(), e.indices().end(), HoldsLoad)) {
    return true;
  }
  return std::any_of(e.args().begin(), e.args().end(), ReadsAtData);
}

bool ReadsAtData(const Node& node) {
  if (!node.is_op()) return false;
  const auto definition = DefinitionOf(node);
  return definition.ok() &&
         std::any_of(definition->tensors.begin(), definition->tensors.end(),
                     [](const TensorExpr& tensor) { return ReadsAtData(tensor.body); });
}

std::vector<Value> PositionsOf(const Node& node) {
  std::vector<Value> positions;
  for (const Value& operand : node.inputs()) {
    if (!IsFloat(operand.dtype())) positions.push_back(operand);
  }
  return positions;
}

// Whether all positions and sizes are numbers: then an execution has shown that they are inside.
bool IsFixed(const Node& node) {
  const std::vector<Value> positions = PositionsOf(node);
  return !IsSymbolic(node.inputs()[0].shape()) &&
         std::all_of(positions.begin(), positions.end(),
                     [](const Value& v) { return v.node().has_payload(); });
}

absl::flat_hash_set<Value> ValuesOf(const Graph& graph) {
  absl::flat_hash_set<Value> values;
  for (const NodePtr& node : graph.nodes()) values.insert(Value(node, 0));
  return values;
}

// The casts of integers in `graph` that are not in `other`.
void Collect(const Graph& graph, const Graph& other, OneSidedConversions* found) {
  const absl::flat_hash_set<Value> known = ValuesOf(other);
  for (const NodePtr& node : graph.nodes()) {
    if (!node->IsOp("cast") || known.count(Value(node, 0)) > 0) continue;
    const DType from = node->inputs()[0].dtype(), to = node->type(0).dtype;
    if (IsFloat(from) || from == DType::kBool || !IsFloat(to)) continue;
    found->any = true;
    found->to_half |= SizeOf(to) < 4;
  }
}

}  // namespace

std::string ReadsElsewhere(const Region& region) {
  const absl::flat_hash_set<Value> known = ValuesOf(region.before);
  for (const NodePtr& node : region.after.nodes()) {
    if (known.count(Value(node, 0)) > 0 || !ReadsAtData(*node) || IsFixed(*node)) continue;
    const auto is_alike = [&](const NodePtr& other) {
      return other->is_op() && &other->op() == &node->op() &&
             other->inputs()[0].shape() == node->inputs()[0].shape() &&
             PositionsOf(*other) == PositionsOf(*node);
    };
    if (std::any_of(region.before.nodes().begin(), region.before.nodes().end(), is_alike)) continue;
    return absl::StrCat("the second model reads by ", node->op().name,
                        " at positions that may lie outside of a tensor, where the first one does "
                        "not read");
  }
  return "";
}

OneSidedConversions ConversionsOf(const Region& region) {
  OneSidedConversions found;
  Collect(region.before, region.after, &found);
  Collect(region.after, region.before, &found);
  return found;
}

}  // namespace lemma::referee
