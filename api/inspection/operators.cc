// Lists all operators, and the operators and weights of a model.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/inspect.h"
#include "base/flags.h"
#include "graph/op_reference.h"
#include "graph/op_table.h"
#include "kernels/loops/cost.h"

namespace lemma::api {

std::vector<OperatorEntry> ListOperators() {
  std::vector<OperatorEntry> entries;
  for (const OperatorGroup& group : OperatorGroups()) {
    for (const OpDef* op : group.operators) {
      entries.push_back({OperatorSignature(*op), group.name});
    }
  }
  for (const OpDef* op : DefinedOps()) entries.push_back({OperatorSignature(*op), op->group});
  return entries;
}

absl::StatusOr<std::string> OperatorPage(const std::string& name) {
  if (const OpDef* op = FindOp(name)) return OperatorSection(*op);
  std::vector<std::string> names;
  for (const OpDef* op : AllOps()) names.push_back(op->name);
  for (const OpDef* op : DefinedOps()) names.push_back(op->name);
  const std::string lower = absl::AsciiStrToLower(name);
  std::string nearest = Nearest(lower, names);
  // ONNX's Conv is conv2d.
  for (const std::string& other : names) {
    if (nearest.empty() && absl::StartsWith(other, lower)) nearest = other;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no operator ", name,
                   nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
}

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
