#include "pet/regions/field_values.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/expr/compose.h"
#include "graph/expr/substitute.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/loops/cost.h"
#include "rewrite/matching/match.h"

namespace lemma::pet {
namespace {

std::vector<Field> LeafValues(const Value& leaf, uint64_t seed) {
  const auto n = static_cast<size_t>(leaf.type().num_elements());
  const Node& node = leaf.node();
  if (n > 0 && node.kind() == Node::Kind::kConstant && IsUniform(node.payload())) {
    return std::vector<Field>(n, Field::FromDouble(node.payload().AtDouble(0)));
  }
  std::vector<Field> values;
  values.reserve(n);
  const uint64_t hash = HashCombine(seed, leaf.hash());
  for (size_t i = 0; i < n; ++i) {
    values.push_back(Field::FromRaw(HashCombine(hash, i) % Field::kPrime));
  }
  return values;
}

absl::Status RunNode(const Node& node, const std::vector<const std::vector<Field>*>& operands,
                     std::vector<std::vector<Field>>* results) {
  LEMMA_ASSIGN_OR_RETURN(const Definition definition, DefinitionOf(node));
  LEMMA_ASSIGN_OR_RETURN(const LoopProgram program, CompileLoops(definition));
  std::vector<TensorView> in;
  for (size_t i = 0; i < operands.size(); ++i) {
    in.push_back({operands[i]->data(), std::nullopt, DenseStrides(node.inputs()[i].shape())});
  }
  std::vector<MutableTensorView> out;
  for (int i = 0; i < node.num_outputs(); ++i) {
    results->emplace_back(static_cast<size_t>(node.type(i).num_elements()));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    out.push_back({(*results)[static_cast<size_t>(i)].data(), std::nullopt,
                   DenseStrides(node.type(i).shape)});
  }
  return Run<Field>(program, in, out);
}

}  // namespace

absl::StatusOr<double> OperationsOf(const Graph& graph) {
  double flops = 0;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    LEMMA_ASSIGN_OR_RETURN(const Definition definition, DefinitionOf(*node));
    LEMMA_ASSIGN_OR_RETURN(const Work work, CountWork(definition));
    flops += work.flops + work.bytes_written / 4;
  }
  return flops;
}

absl::StatusOr<std::vector<Field>> FieldValues(const Graph& graph, uint64_t seed) {
  absl::flat_hash_map<Value, std::vector<Field>> values;
  absl::flat_hash_map<Value, int> uses;
  for (const NodePtr& node : graph.nodes()) {
    for (const Value& v : node->inputs()) ++uses[v];
  }
  const Value& output = graph.outputs()[0];
  ++uses[output];
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) {
      const Value v(node, 0);
      if (uses[v] > 0) values[v] = LeafValues(v, seed);
      continue;
    }
    std::vector<const std::vector<Field>*> operands;
    for (const Value& v : node->inputs()) operands.push_back(&values.at(v));
    std::vector<std::vector<Field>> results;
    LEMMA_RETURN_IF_ERROR(RunNode(*node, operands, &results));
    for (int i = 0; i < node->num_outputs(); ++i) {
      values[Value(node, i)] = std::move(results[static_cast<size_t>(i)]);
    }
    for (const Value& v : node->inputs()) {
      if (--uses[v] == 0) values.erase(v);
    }
  }
  return std::move(values.at(output));
}

absl::StatusOr<FieldSampler> FieldSampler::Create(const Graph& graph, uint64_t seed) {
  FieldSampler sampler;
  std::vector<ExprType> inputs;
  std::vector<std::unique_ptr<Definition>> definitions;
  std::vector<ComposeStep> steps;
  absl::flat_hash_map<const Node*, int> number;  // of the leaf or of the step
  auto source = [&](const Value& v) {
    const int n = number.at(&v.node());
    return v.node().is_op() ? Source{n, v.output()} : Source{-1, n};
  };
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) {
      const Value leaf(node, 0);
      number[node.get()] = static_cast<int>(inputs.size());
      inputs.push_back(ToExprType(leaf.type()));
      sampler.leaves_.push_back(LeafValues(leaf, seed));
      sampler.shapes_.push_back(leaf.shape());
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(Definition definition, DefinitionOf(*node));
    definitions.push_back(std::make_unique<Definition>(std::move(definition)));
    ComposeStep step{definitions.back().get(), {}};
    for (const Value& v : node->inputs()) step.inputs.push_back(source(v));
    number[node.get()] = static_cast<int>(steps.size());
    steps.push_back(std::move(step));
  }
  LEMMA_ASSIGN_OR_RETURN(const Definition chain,
                         Chain(inputs, steps, {source(graph.outputs()[0])}));
  sampler.definition_ = Inline(chain);
  return sampler;
}

absl::StatusOr<std::vector<Field>> FieldSampler::Values(const Box& box) const {
  Definition definition = definition_;
  TensorExpr& tensor =
      definition.tensors[static_cast<size_t>(definition.outputs[0] - definition.num_inputs())];
  ExprSubstitution substitution;
  for (size_t d = 0; d < box.size(); ++d) {
    const VarId var = tensor.axes[d].var;
    substitution.vars[var] = IndexExpr(box[d].start) + IndexExpr(box[d].step) * IndexExpr::Var(var);
    tensor.axes[d].extent = box[d].count;
  }
  tensor.body = Substitute(tensor.body, substitution);
  auto program = CompileLoops(definition);
  if (!program.ok()) return absl::ResourceExhaustedError(program.status().message());
  std::vector<TensorView> in;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    in.push_back({leaves_[i].data(), std::nullopt, DenseStrides(shapes_[i])});
  }
  std::vector<Field> values(static_cast<size_t>(NumPositions(box)));
  Shape shape;
  for (const Range& r : box) shape.push_back(r.count);
  const std::vector<MutableTensorView> out = {{values.data(), std::nullopt, DenseStrides(shape)}};
  LEMMA_RETURN_IF_ERROR(Run<Field>(*program, in, out));
  return values;
}

}  // namespace lemma::pet
