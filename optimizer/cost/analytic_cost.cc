#include "optimizer/cost/analytic_cost.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "kernels/loops/cost.h"
#include "optimizer/folding/constant_folding.h"

namespace lemma::optimizer {
namespace {

int64_t InputBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Value& v : graph.inputs()) bytes += v.type().num_bytes();
  return bytes;
}

// Equal for equal applications, wherever they occur.
uint64_t SignatureHash(const Node& node) {
  uint64_t h = HashCombine(HashString(node.op().name), HashAttrs(node.attrs()));
  for (const Value& v : node.inputs()) h = HashCombine(h, v.type().Hash());
  return h;
}

class AnalyticCostModel : public CostModel {
 public:
  explicit AnalyticCostModel(const Roofline& machine) : machine_(machine) {}

  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    const Graph folded = AssumeFolded(graph);
    Cost total;
    for (const NodePtr& node : folded.nodes()) {
      if (node->is_op()) total += CostOf(*node);
    }
    return total.WithPeak(PeakLiveBytes(folded));
  }

  std::optional<Cost> CostOfOperator(const Node& node) override { return CostOf(node); }

  std::string Describe() const override { return "analytic (roofline)"; }

 private:
  Cost CostOf(const Node& node) {
    auto [it, inserted] = memo_.try_emplace(SignatureHash(node));
    if (inserted) it->second = Estimate(node);
    return it->second;
  }

  Cost Estimate(const Node& node) const {
    Work work;
    auto definition = DefinitionOf(node);
    auto counted = definition.ok() ? CountWork(*definition) : definition.status();
    if (counted.ok()) {
      work = *counted;
    } else {
      for (const Value& v : node.inputs()) work.bytes_read += v.type().num_bytes();
      for (const TensorType& type : node.types()) work.bytes_written += type.num_bytes();
    }
    return EstimateCost(machine_, work);
  }

  const Roofline machine_;
  absl::flat_hash_map<uint64_t, Cost> memo_;
};

}  // namespace

std::unique_ptr<CostModel> MakeAnalyticCostModel(const Roofline& machine) {
  return std::make_unique<AnalyticCostModel>(machine);
}

std::vector<int64_t> LiveBytes(const Graph& graph) {
  absl::flat_hash_map<Value, int> uses;
  for (const NodePtr& node : graph.nodes()) {
    for (const Value& v : node->inputs()) ++uses[v];
  }
  for (const Value& v : graph.outputs()) ++uses[v];
  int64_t live = InputBytes(graph);
  std::vector<int64_t> result;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    for (const TensorType& type : node->types()) live += type.num_bytes();
    result.push_back(live);
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (uses[Value(node, i)] == 0) live -= node->type(i).num_bytes();
    }
    for (const Value& v : node->inputs()) {
      const bool counted = v.node().is_op() || v.node().kind() == Node::Kind::kInput;
      if (--uses[v] == 0 && counted) live -= v.type().num_bytes();
    }
  }
  return result;
}

int64_t PeakLiveBytes(const Graph& graph) {
  const std::vector<int64_t> live = LiveBytes(graph);
  return live.empty() ? InputBytes(graph) : *std::max_element(live.begin(), live.end());
}

}  // namespace lemma::optimizer
