#include "verifier/referee/evidence/one_sided.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::referee {
namespace {

void CollectReads(const ScalarExpr& e, std::set<TensorId>* tensors) {
  if (e.kind() == ScalarExpr::Kind::kRead) tensors->insert(e.tensor());
  for (const ScalarExpr& arg : e.args()) CollectReads(arg, tensors);
}

// The tensors whose elements are part of the index.
void CollectLoads(const IndexExpr& e, std::set<TensorId>* tensors) {
  switch (e.kind()) {
    case IndexExpr::Kind::kLoad:
      CollectReads(ScalarExpr(e.load()), tensors);
      break;
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kSymbol:
    case IndexExpr::Kind::kVar:
      break;
    default:
      CollectLoads(e.lhs(), tensors);
      CollectLoads(e.rhs(), tensors);
  }
}

void CollectPositions(const ScalarExpr& e, std::set<TensorId>* tensors) {
  if (e.kind() == ScalarExpr::Kind::kRead) {
    for (const IndexExpr& index : e.indices()) CollectLoads(index, tensors);
  }
  for (const ScalarExpr& arg : e.args()) CollectPositions(arg, tensors);
}

// The operands whose elements say where the operator reads.
std::vector<Value> PositionsOf(const Node& node) {
  if (!node.is_op()) return {};
  const auto definition = DefinitionOf(node);
  if (!definition.ok()) return {};
  std::set<TensorId> tensors;
  for (const TensorExpr& tensor : definition->tensors) CollectPositions(tensor.body, &tensors);
  std::vector<Value> positions;
  for (const TensorId id : tensors) {
    // A computed position depends on any of the operands.
    if (id >= static_cast<TensorId>(node.inputs().size())) {
      return {node.inputs().begin(), node.inputs().end()};
    }
    positions.push_back(node.inputs()[id]);
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

absl::flat_hash_set<Value> ValuesIn(const Graph& graph) {
  absl::flat_hash_set<Value> values;
  for (const NodePtr& node : graph.nodes()) values.insert(Value(node, 0));
  return values;
}

// Whether the operator makes floats of the values of an operand of integers.
bool ConvertsIntegers(const Node& node) {
  if (!node.is_op() || !IsFloat(node.type(0).dtype)) return false;
  const auto definition = DefinitionOf(node);
  if (!definition.ok()) return false;
  std::set<TensorId> read;
  for (const TensorExpr& tensor : definition->tensors) CollectReads(tensor.body, &read);
  return std::any_of(read.begin(), read.end(), [&](TensorId id) {
    if (id >= static_cast<TensorId>(node.inputs().size())) return false;
    const DType dtype = node.inputs()[id].dtype();
    return !IsFloat(dtype) && dtype != DType::kBool;
  });
}

// The conversions of integers in `graph` that are not in `other`.
void Collect(const Graph& graph, const Graph& other, OneSidedConversions* found) {
  const absl::flat_hash_set<Value> known = ValuesIn(other);
  for (const NodePtr& node : graph.nodes()) {
    if (known.count(Value(node, 0)) > 0 || !ConvertsIntegers(*node)) continue;
    found->any = true;
    found->to_half |= SizeOf(node->type(0).dtype) < 4;
  }
}

}  // namespace

bool ReadsByData(const Node& node) { return !PositionsOf(node).empty(); }

std::string ReadsElsewhere(const RegionClaim& region) {
  const absl::flat_hash_set<Value> known = ValuesIn(region.before);
  for (const NodePtr& node : region.after.nodes()) {
    if (known.count(Value(node, 0)) > 0 || PositionsOf(*node).empty() || IsFixed(*node)) continue;
    const auto is_alike = [&](const NodePtr& other) {
      return other->is_op() && &other->op() == &node->op() &&
             SameAttrs(other->attrs(), node->attrs()) &&
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

OneSidedConversions ConversionsOf(const RegionClaim& region) {
  OneSidedConversions found;
  Collect(region.before, region.after, &found);
  Collect(region.after, region.before, &found);
  return found;
}

}  // namespace lemma::referee
