#include "verifier/referee/evidence/other_roundings.h"

#include <cmath>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "graph/tensor.h"
#include "verifier/referee/evidence/rewire.h"

namespace lemma::referee {
namespace {

// The spacing of numbers of this type, relative to their size.
double UnitOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    case DType::kF64:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

// The constant with another rounding: all elements are scaled by one factor near 1, and each by a
// factor of its own. A single number that looks exact (0.5, 2) stays.
std::optional<Tensor> Perturbed(const Tensor& tensor, bool up, std::mt19937_64* random) {
  if (!IsFloat(tensor.dtype()) || tensor.size() == 0) return std::nullopt;
  if (tensor.size() == 1 && std::floor(tensor.AtDouble(0) * 4096) == tensor.AtDouble(0) * 4096) {
    return std::nullopt;
  }
  std::uniform_real_distribution<double> draw(-1, 1);
  const double unit = 4 * UnitOf(tensor.dtype()), common = up ? unit : -unit;
  std::vector<double> values;
  values.reserve(static_cast<size_t>(tensor.size()));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    values.push_back(tensor.AtDouble(i) * (1 + common + unit * draw(*random)));
  }
  auto made = Tensor::FromDoubles(tensor.type(), values);
  if (!made.ok()) return std::nullopt;
  return *std::move(made);
}

}  // namespace

Graph WithOtherRoundings(const Graph& graph, uint64_t draw,
                         const absl::flat_hash_set<const Node*>* only) {
  std::mt19937_64 random(draw);
  ValueMap replaced;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->has_payload() || (only != nullptr && !only->contains(node.get()))) continue;
    const bool up = draw < 2 ? draw == 0 : random() % 2 == 0;
    if (auto tensor = Perturbed(node->payload(), up, &random)) {
      replaced[Value(node, 0)] = Value(Node::Constant(*std::move(tensor)), 0);
    }
  }
  const ValueMap moved = AfterReplacing(graph, replaced);
  std::vector<Value> outputs;
  for (const Value& output : graph.outputs()) outputs.push_back(moved.at(output));
  return WithValues(graph, outputs);
}

}  // namespace lemma::referee
