// Finds the expressions of an imported ONNX node in another graph. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_ORIGIN_BINDER_H_
#define LEMMA_GRAPH_ONNX_ORIGIN_BINDER_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "graph/onnx/origin/origin.h"

namespace lemma {

// Binds the inputs of an OriginNode to other values, so that the node's expressions become values
// of another graph. An input is free until it is bound.
class Binder {
 public:
  explicit Binder(const OriginNode& node);

  // Binds inputs so that `pattern`, an expression over the node's inputs, becomes `value`. False if
  // that is impossible; then the binder must not be used any more. The time is linear in the
  // expression's size.
  bool Match(const Value& pattern, const Value& value);
  // The value to which Match or Bind bound the input; empty while the input is free.
  Value Bound(const Value& input) const;
  // Binds a free input. False if the value cannot replace the input: for example, it has another
  // type, or the import looked up the input's elements (OriginNode::asked).
  bool Bind(const Value& input, const Value& value);
  // The expression `pattern` with bound inputs replaced. Free inputs stay.
  Value Apply(const Value& pattern);

  // The operators of the other graph that Match found, and the operators that Apply made, which may
  // be new. In no order; an operator may occur several times.
  std::vector<const Node*> Body() const;

 private:
  bool Accepts(const Value& input, const Value& value) const;

  absl::flat_hash_set<Value> inputs_, asked_;
  absl::flat_hash_map<Value, Value> bound_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_ORIGIN_BINDER_H_
