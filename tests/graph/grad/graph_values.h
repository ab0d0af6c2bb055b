// Evaluates a graph node by node in a given type of numbers, Number: double or Field.
#ifndef LEMMA_TESTS_GRAPH_GRAD_GRAPH_VALUES_H_
#define LEMMA_TESTS_GRAPH_GRAD_GRAPH_VALUES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma {

// The elements of one tensor, row-major: in `numbers` if they are floats, in `integers` if they are
// integers or bools.
template <class Number>
struct TensorValues {
  std::vector<Number> numbers;
  std::vector<int64_t> integers;

  // A view of these elements as a tensor of type `type`. This struct must outlive the view.
  TensorView View(const TensorType& type) const {
    const bool is_float = IsFloat(type.dtype);
    TensorView view;
    view.data = is_float ? static_cast<const void*>(numbers.data()) : integers.data();
    if (!is_float) view.storage = DType::kI64;
    view.strides = DenseStrides(type.shape);
    return view;
  }
};

// Sets *number to `value`.
inline void FromDouble(double value, double* number) { *number = value; }
inline void FromDouble(double value, Field* number) { *number = Field::FromDouble(value); }

// The node's definition, compiled to a loop nest. Each node is compiled once; the node and the
// result are kept until the process ends. Not thread-safe.
inline absl::StatusOr<LoopProgram> LoopsOf(const NodePtr& node) {
  static auto* programs = new absl::flat_hash_map<NodePtr, LoopProgram>;
  auto it = programs->find(node);
  if (it != programs->end()) return it->second;
  auto definition = DefinitionOf(*node);
  if (!definition.ok()) return definition.status();
  auto program = CompileLoops(*definition);
  if (program.ok()) programs->emplace(node, *program);
  return program;
}

// The outputs of `graph` for `inputs`, both in the graph's order. Weights must have values. It is
// an error if an operator has no definition that can be executed.
template <class Number>
absl::StatusOr<std::vector<TensorValues<Number>>> GraphValues(
    const Graph& graph, const std::vector<TensorValues<Number>>& inputs) {
  absl::flat_hash_map<Value, TensorValues<Number>> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (const NodePtr& node : graph.nodes()) {
    if (node->has_payload()) {
      TensorValues<Number>& constant = values[Value(node, 0)];
      for (double v : node->payload().ToDoubles()) {
        FromDouble(v, &constant.numbers.emplace_back());
        constant.integers.push_back(static_cast<int64_t>(v));
      }
    }
    if (!node->is_op()) continue;
    auto program = LoopsOf(node);
    if (!program.ok()) return program.status();
    std::vector<TensorView> views;
    for (const Value& input : node->inputs()) views.push_back(values[input].View(input.type()));
    std::vector<TensorValues<Number>> results(node->num_outputs());
    std::vector<MutableTensorView> places;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const size_t count = static_cast<size_t>(node->type(i).num_elements());
      results[i].numbers.resize(count);
      results[i].integers.resize(count);
      const TensorView view = results[i].View(node->type(i));
      places.push_back({const_cast<void*>(view.data), view.storage, view.strides});
    }
    if (absl::Status s = Run<Number>(*program, views, places); !s.ok()) return s;
    for (int i = 0; i < node->num_outputs(); ++i) values[Value(node, i)] = std::move(results[i]);
  }
  std::vector<TensorValues<Number>> outputs;
  for (const Value& output : graph.outputs()) outputs.push_back(values[output]);
  return outputs;
}

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_GRAD_GRAPH_VALUES_H_
