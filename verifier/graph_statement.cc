// Two graphs as a statement at their shapes.
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/expr/compose.h"
#include "graph/ops/status_macros.h"
#include "verifier/prover.h"

namespace lemma {
namespace {

// What both graphs read: inputs by position, weights by name, constants by content.
class Inputs {
 public:
  std::vector<ExprType> types;

  int Find(const Node& node) {
    std::string key;
    if (node.kind() == Node::Kind::kInput) key = absl::StrCat("input ", node.input_index());
    if (node.kind() == Node::Kind::kWeight) key = absl::StrCat("weight ", node.name());
    if (node.kind() == Node::Kind::kConstant) {
      for (const auto& [index, payload] : constants_) {
        if (payload.SameBytes(node.payload())) return index;
      }
      constants_.emplace_back(static_cast<int>(types.size()), node.payload());
      key = absl::StrCat("constant ", constants_.size());
    }
    absl::StrAppend(&key, " ", node.type(0).ToString());
    auto [it, added] = index_.emplace(key, static_cast<int>(types.size()));
    if (added) types.push_back(ToExprType(node.type(0)));
    return it->second;
  }

 private:
  std::map<std::string, int> index_;
  std::vector<std::pair<int, Tensor>> constants_;
};

// A constant all of whose elements are one value that a double holds exactly.
std::optional<Definition> Uniform(const Node& node) {
  const Tensor& payload = node.payload();
  if (payload.size() == 0) return std::nullopt;
  const double first = payload.AtDouble(0);
  if (!(first > -9007199254740992.0 && first < 9007199254740992.0)) return std::nullopt;
  for (int64_t i = 1; i < payload.size(); ++i) {
    if (payload.AtDouble(i) != first) return std::nullopt;
  }
  Definition definition;
  TensorExpr tensor;
  tensor.dtype = payload.dtype();
  for (int64_t dim : payload.shape()) tensor.axes.push_back({definition.num_vars++, dim});
  tensor.body = ScalarExpr(first);
  definition.tensors.push_back(std::move(tensor));
  definition.outputs = {0};
  return definition;
}

absl::StatusOr<Definition> DefinitionOfGraph(const Graph& graph, Inputs* inputs,
                                             const std::vector<ExprType>& types) {
  std::vector<Definition> definitions;
  definitions.reserve(graph.nodes().size());
  std::vector<ComposeStep> steps;
  absl::flat_hash_map<const Node*, Source> where;
  for (const NodePtr& node : graph.nodes()) {
    ComposeStep step;
    if (!node->is_op()) {
      if (node->kind() == Node::Kind::kConstant) {
        if (auto uniform = Uniform(*node)) {
          definitions.push_back(*std::move(uniform));
          where[node.get()] = {static_cast<int>(steps.size()), 0};
          step.definition = &definitions.back();
          steps.push_back(std::move(step));
          continue;
        }
      }
      where[node.get()] = {-1, inputs->Find(*node)};
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(Definition definition, DefinitionOf(*node));
    definitions.push_back(std::move(definition));
    for (const Value& value : node->inputs()) {
      Source source = where.at(&value.node());
      if (source.step >= 0) source.index = value.output();
      step.inputs.push_back(source);
    }
    step.definition = &definitions.back();
    where[node.get()] = {static_cast<int>(steps.size()), 0};
    steps.push_back(std::move(step));
  }
  std::vector<Source> outputs;
  for (const Value& value : graph.outputs()) {
    Source source = where.at(&value.node());
    if (source.step >= 0) source.index = value.output();
    outputs.push_back(source);
  }
  return Chain(types, steps, outputs);
}

}  // namespace

Verdict ProveGraphs(const Graph& a, const Graph& b, const ProverOptions& options) {
  if (a.inputs().size() != b.inputs().size()) {
    return Unknown{"the graphs have different numbers of inputs"};
  }
  Inputs inputs;
  for (const Graph* graph : {&a, &b}) {
    for (const NodePtr& node : graph->nodes()) {
      if (node->is_op()) continue;
      if (node->kind() == Node::Kind::kConstant && Uniform(*node)) continue;
      inputs.Find(*node);
    }
  }
  Statement statement;
  statement.name = absl::StrCat(a.name(), " = ", b.name());
  const std::vector<ExprType> types = inputs.types;
  auto source = DefinitionOfGraph(a, &inputs, types), target = DefinitionOfGraph(b, &inputs, types);
  for (const auto* side : {&source, &target}) {
    if (!side->ok()) return Unknown{std::string(side->status().message())};
  }
  statement.source = *std::move(source);
  statement.target = *std::move(target);
  return Prove(statement, options);
}

}  // namespace lemma
