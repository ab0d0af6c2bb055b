// Builds graphs; checks every operator application as it is added.
#ifndef LEMMA_GRAPH_BUILDER_H_
#define LEMMA_GRAPH_BUILDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

// Applies operator `op` to `inputs`: fills in default attributes, checks types, infers output
// types. Returns one value per output. InvalidArgument if there is no such operator, or if it does
// not accept the inputs or attributes; the message names the operator and what is accepted.
// Unimplemented for opaque element types, and for small floats unless the operator only moves or
// converts them. No value in `inputs` may be empty.
absl::StatusOr<std::vector<Value>> ApplyOp(absl::string_view op, std::vector<Value> inputs,
                                           Attrs attrs = {});
// The same for an operator with one output; InvalidArgument if it has another number of outputs.
absl::StatusOr<Value> Apply1(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {});

// Applies an opaque operator: an uninterpreted function of its whole inputs, without a definition.
// The caller gives the output types. `attrs` must be attributes of the operator `opaque` (domain,
// op_type, payload), otherwise InvalidArgument. No value in `inputs` may be empty.
absl::StatusOr<std::vector<Value>> ApplyOpaque(std::vector<Value> inputs, Attrs attrs,
                                               std::vector<TensorType> output_types);

// Collects the inputs and outputs of one graph. The graph's nodes are its inputs and all nodes that
// an output depends on.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) { graph_.name_ = std::move(name); }

  // Adds the next input. The name of an input or a weight is also its label.
  Value Input(std::string name, TensorType type);
  Value Weight(std::string name, TensorType type);  // values unknown
  Value Weight(std::string name, Tensor payload);   // values known
  Value Constant(Tensor payload);
  // Op applies an operator as Apply1 does. Ops applies it as ApplyOp does.
  absl::StatusOr<Value> Op(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {});
  absl::StatusOr<std::vector<Value>> Ops(absl::string_view op, std::vector<Value> inputs,
                                         Attrs attrs = {});
  // Gives `value` a label for people, unless it already has one.
  void Label(const Value& value, std::string label);
  // Adds the next output. `name` becomes the label of `value`, unless `value` already has one.
  void Output(std::string name, Value value);

  // Returns the graph. Call Build once, at the end. InvalidArgument if two inputs or two outputs
  // have the same name, or if there is no output.
  absl::StatusOr<Graph> Build() &&;

 private:
  Graph graph_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_BUILDER_H_
