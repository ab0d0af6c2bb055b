#include "verifier/referee/evidence/constants.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/work.h"
#include "graph/sizes/specialize.h"
#include "kernels/evaluate/evaluate.h"
#include "verifier/referee/evidence/error_bounds.h"

namespace lemma::referee {
namespace {

constexpr int64_t kMaxKept = 1 << 16;  // elements of a value that is kept
constexpr int64_t kWorkPerNode = 10000;

// `types`: of tensors. Whether the elements are constants or elements of tensors of the same type.
bool Moves(const ScalarExpr& e, DType dtype, const std::vector<DType>& types) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kRead:
      return types[e.tensor()] == dtype;
    case ScalarExpr::Kind::kConst:
      return true;
    case ScalarExpr::Kind::kSelect:
      return Moves(e.args()[0], dtype, types) && Moves(e.args()[1], dtype, types);
    default:
      return false;
  }
}

using Shared = std::shared_ptr<const BoundedTensor>;

Shared Leaf(const Node& node) {
  auto tensor = std::make_shared<BoundedTensor>();
  tensor->value = node.payload().ToDoubles();
  if (!IsFloat(node.type(0).dtype)) {
    for (const double x : tensor->value) {
      if (std::abs(x) >= 0x1p53) return nullptr;
    }
  }
  return tensor;
}

}  // namespace

bool OnlyMoves(const Node& node) {
  if (!node.is_op()) return false;
  auto definition = DefinitionOf(node);
  if (!definition.ok()) return false;
  std::vector<DType> types;
  for (const Value& operand : node.inputs()) types.push_back(operand.dtype());
  for (const TensorExpr& tensor : definition->tensors) types.push_back(tensor.dtype);
  for (const TensorExpr& tensor : definition->tensors) {
    if (!Moves(tensor.body, tensor.dtype, types)) return false;
  }
  return true;
}

absl::flat_hash_set<const Node*> ConstantNodes(const std::vector<NodePtr>& nodes) {
  absl::flat_hash_set<const Node*> constants;
  for (const NodePtr& node : nodes) {
    bool constant = node->has_payload();
    if (node->is_op() && !node->inputs().empty() && !IsSymbolic(*node) &&
        DefinitionOf(*node).ok()) {
      constant = std::all_of(node->inputs().begin(), node->inputs().end(),
                             [&](const Value& v) { return constants.count(&v.node()) > 0; });
    }
    if (constant) constants.insert(node.get());
  }
  return constants;
}

Shared ConstantEvaluator::Of(const Value& value) {
  if (auto it = kept_.find(value); it != kept_.end()) return it->second;
  const Node& node = value.node();
  if (!node.is_op()) return node.has_payload() ? Leaf(node) : nullptr;
  std::vector<Shared> outputs = Compute(node);
  if (outputs.empty()) return nullptr;
  for (int o = 0; o < node.num_outputs(); ++o) {
    if (outputs[o]->value.size() > kMaxKept) continue;
    kept_[Value(value.node_ptr(), o)] = outputs[o];
    alive_.push_back(value.node_ptr());
  }
  return outputs[value.output()];
}

std::vector<Shared> ConstantEvaluator::Compute(const Node& node) {
  SpendWork(kWorkPerNode);
  for (const TensorType& type : node.types()) SpendWork(type.num_elements());
  std::vector<Shared> operands;
  bool exact = OnlyMoves(node);
  for (const Value& operand : node.inputs()) {
    operands.push_back(Of(operand));
    if (operands.back() == nullptr) return {};
    if (!IsFloat(operand.dtype()) && !operands.back()->exact()) return {};
    exact &= operands.back()->exact();
  }
  auto definition = DefinitionOf(node);
  if (!definition.ok()) return {};
  if (!exact) definition = BoundedDefinition(*definition);
  auto program = definition.ok() ? CompileLoops(*definition) : definition.status();
  if (!program.ok()) return {};
  std::vector<std::vector<double>> derived;  // magnitudes and roundings of exact operands
  derived.reserve(2 * operands.size());
  std::vector<TensorView> in;
  for (size_t i = 0; i < operands.size(); ++i) {
    const BoundedTensor& tensor = *operands[i];
    const std::vector<int64_t> strides = DenseStrides(node.inputs()[i].shape());
    auto add = [&](const std::vector<double>& data) {
      in.push_back({data.data(), std::nullopt, strides});
    };
    add(tensor.value);
    if (exact) continue;
    if (tensor.exact()) {
      derived.emplace_back(tensor.value);
      for (double& x : derived.back()) x = std::abs(x);
      add(derived.back());
      derived.emplace_back(tensor.value.size(), 0.0);
      add(derived.back());
    } else {
      add(tensor.magnitude);
      add(tensor.roundings);
    }
  }
  std::vector<Shared> results;
  std::vector<MutableTensorView> out;
  for (const TensorType& type : node.types()) {
    auto tensor = std::make_shared<BoundedTensor>();
    auto add = [&](std::vector<double>* data) {
      data->resize(static_cast<size_t>(type.num_elements()));
      out.push_back({data->data(), std::nullopt, DenseStrides(type.shape)});
    };
    add(&tensor->value);
    if (!exact) add(&tensor->magnitude);
    if (!exact) add(&tensor->roundings);
    results.push_back(std::move(tensor));
  }
  if (!Run<double>(*program, in, out).ok()) return {};
  return results;
}

}  // namespace lemma::referee
