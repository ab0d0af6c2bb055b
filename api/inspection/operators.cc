// The operators and weights of a model.
#include "api/inspect.h"
#include "kernels/loops/cost.h"

namespace lemma::api {

std::map<std::string, OperatorTotals> OperatorsOf(const Graph& graph) {
  std::map<std::string, OperatorTotals> operators;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    OperatorTotals& totals = operators[node->op().name];
    ++totals.count;
    auto definition = DefinitionOf(*node);
    auto work = definition.ok() ? CountWork(*definition) : definition.status();
    if (!work.ok()) continue;
    totals.flops += work->flops;
    totals.bytes += work->bytes_read + work->bytes_written;
  }
  return operators;
}

int64_t WeightBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const NodePtr& node : graph.nodes()) {
    const bool is_weight =
        node->kind() == Node::Kind::kWeight || node->kind() == Node::Kind::kConstant;
    if (is_weight) bytes += node->type(0).num_bytes();
  }
  return bytes;
}

}  // namespace lemma::api
