// Builds graphs and checks every step.
#ifndef LEMMA_GRAPH_BUILDER_H_
#define LEMMA_GRAPH_BUILDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

// Applies operator `op` to `inputs`: fills in default attributes, checks types, infers output
// types. Returns one value per output. Errors are InvalidArgument and name the operator, the sizes
// and what would be accepted; Unimplemented for opaque element types.
absl::StatusOr<std::vector<Value>> ApplyOp(absl::string_view op, std::vector<Value> inputs,
                                           Attrs attrs = {});
// The same for an operator known to have one output.
absl::StatusOr<Value> Apply1(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {});

// Applies an opaque operator: an uninterpreted function of its whole inputs, without a definition.
// The caller gives the output types. `attrs` are the opaque operator's (domain, op_type, payload).
absl::StatusOr<std::vector<Value>> ApplyOpaque(std::vector<Value> inputs, Attrs attrs,
                                               std::vector<TensorType> output_types);

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) { graph_.name_ = std::move(name); }

  Value Input(std::string name, TensorType type);
  Value Weight(std::string name, TensorType type);  // values unknown
  Value Weight(std::string name, Tensor payload);   // values known
  Value Constant(Tensor payload);
  // Apply an operator of one output, and one of several, as Apply1 and ApplyOp do.
  absl::StatusOr<Value> Op(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {});
  absl::StatusOr<std::vector<Value>> Ops(absl::string_view op, std::vector<Value> inputs,
                                         Attrs attrs = {});
  // A label for people; the first one given to a value stays.
  void Label(const Value& value, std::string label);
  void Output(std::string name, Value value);

  // Fails on a duplicate input or output name, or a graph without outputs.
  absl::StatusOr<Graph> Build() &&;

 private:
  Graph graph_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_BUILDER_H_
