#include "runtime/plan/compose_nodes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/expr/arithmetic.h"
#include "graph/expr/compose.h"

namespace lemma {
namespace {

absl::StatusOr<std::vector<Definition>> DefinitionsOf(absl::Span<const NodePtr> nodes) {
  std::vector<Definition> definitions;
  for (const NodePtr& node : nodes) {
    absl::StatusOr<Definition> definition = DefinitionOf(*node);
    if (!definition.ok()) return definition.status();
    definitions.push_back(*std::move(definition));
  }
  return definitions;
}

// The arithmetic of all definitions together.
Arithmetic ArithmeticFor(absl::Span<const Definition> definitions) {
  if (definitions.size() == 1) return lemma::ArithmeticFor(definitions[0]);
  Definition all;
  for (const Definition& d : definitions) {
    all.inputs.insert(all.inputs.end(), d.inputs.begin(), d.inputs.end());
    all.tensors.insert(all.tensors.end(), d.tensors.begin(), d.tensors.end());
  }
  return lemma::ArithmeticFor(all);
}

}  // namespace

Arithmetic ArithmeticOf(absl::Span<const NodePtr> nodes) {
  absl::StatusOr<std::vector<Definition>> definitions = DefinitionsOf(nodes);
  return definitions.ok() ? ArithmeticFor(*definitions) : Arithmetic::kDouble;
}

absl::StatusOr<Graph> GraphOfNodes(absl::Span<const NodePtr> nodes, const std::string& name,
                                   bool keeps_indices) {
  GraphBuilder builder(name);
  absl::flat_hash_map<Value, Value> now;
  const std::vector<Value> operands = OperandsOf(nodes);
  for (size_t i = 0; i < operands.size(); ++i) {
    now[operands[i]] = builder.Input(absl::StrCat("x", i), operands[i].type());
  }
  for (const NodePtr& node : nodes) {
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) inputs.push_back(now.at(v));
    auto outputs = builder.Ops(node->op().name, inputs, node->attrs());
    if (!outputs.ok()) return outputs.status();
    for (int k = 0; k < node->num_outputs(); ++k) now[Value(node, k)] = (*outputs)[k];
  }
  for (int k = 0; k < nodes.back()->num_outputs(); ++k) {
    builder.Output(absl::StrCat("y", k), now.at(Value(nodes.back(), k)));
  }
  for (size_t i = 0; keeps_indices && i < operands.size(); ++i) {
    if (!IsFloat(operands[i].dtype())) builder.Output(absl::StrCat("z", i), now.at(operands[i]));
  }
  return std::move(builder).Build();
}

std::vector<Value> OperandsOf(absl::Span<const NodePtr> nodes) {
  std::vector<Value> operands;
  for (const NodePtr& node : nodes) {
    for (const Value& v : node->inputs()) {
      const bool inside = std::find(nodes.begin(), nodes.end(), v.node_ptr()) != nodes.end();
      if (inside || std::find(operands.begin(), operands.end(), v) != operands.end()) continue;
      operands.push_back(v);
    }
  }
  return operands;
}

absl::StatusOr<Definition> ComposeNodes(absl::Span<const NodePtr> nodes,
                                        absl::Span<const Value> inputs) {
  absl::StatusOr<std::vector<Definition>> definitions = DefinitionsOf(nodes);
  if (!definitions.ok()) return definitions.status();
  const Arithmetic arithmetic = ArithmeticFor(*definitions);
  for (size_t n = 0; n + 1 < definitions->size(); ++n) {
    (*definitions)[n] = WithStoredOutputs(std::move((*definitions)[n]), arithmetic);
  }
  std::vector<ExprType> types;
  for (const Value& v : inputs) types.push_back(ToExprType(v.type()));
  std::vector<ComposeStep> steps;
  for (size_t n = 0; n < nodes.size(); ++n) {
    ComposeStep step{&(*definitions)[n], {}};
    for (const Value& v : nodes[n]->inputs()) {
      Source source{-1,
                    static_cast<int>(std::find(inputs.begin(), inputs.end(), v) - inputs.begin())};
      for (size_t from = 0; from < n; ++from) {
        if (nodes[from] == v.node_ptr()) source = {static_cast<int>(from), v.output()};
      }
      step.inputs.push_back(source);
    }
    steps.push_back(std::move(step));
  }
  std::vector<Source> outputs;
  outputs.reserve(nodes.back()->num_outputs());
  for (int k = 0; k < nodes.back()->num_outputs(); ++k) {
    outputs.push_back({static_cast<int>(nodes.size()) - 1, k});
  }
  return Chain(types, steps, outputs);
}

}  // namespace lemma
