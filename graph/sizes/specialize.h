// Replaces the symbolic sizes of a graph by numbers.
#ifndef LEMMA_GRAPH_SIZES_SPECIALIZE_H_
#define LEMMA_GRAPH_SIZES_SPECIALIZE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {

// Whether a size of an output of the node, or an attribute, is symbolic. For a graph: whether one
// of its nodes is symbolic.
bool IsSymbolic(const Node& node);
bool IsSymbolic(const Graph& graph);

// The symbolic dimensions of a graph, by name, and their ranges. Result sizes are among them.
std::map<std::string, SizeRange> DimsOf(const Graph& graph);
// The symbolic dimensions that are not result sizes.
std::map<std::string, SizeRange> InputDimsOf(const Graph& graph);
// The entries of `sizes` for the dimensions of InputDimsOf(graph).
DimValues InputSizes(const Graph& graph, const DimValues& sizes);

// The same graph for the given values of its symbolic dimensions. A result size without a value
// stays symbolic. InvalidArgument if another dimension has no value, if a value is outside the
// range of its dimension, or if an operator does not take these sizes.
absl::StatusOr<Graph> Specialize(const Graph& graph, const DimValues& values);

// The values of symbolic dimensions at which the graph's inputs have the types `types`, one type
// for each input, in order. InvalidArgument, with the input and its type, if there are no such
// values, or if a dimension is not by itself the size of an axis: an axis of size `2*seq` does not
// give `seq`.
absl::StatusOr<DimValues> BindDims(const Graph& graph, absl::Span<const TensorType> types);

// Specializes many graphs that share nodes: each node is specialized once, and the result is kept
// as long as the Specializer. Errors as in Specialize. Not thread-safe.
class Specializer {
 public:
  explicit Specializer(DimValues values) : values_(std::move(values)) {}

  const DimValues& values() const { return values_; }
  absl::StatusOr<NodePtr> Of(const NodePtr& node);
  absl::StatusOr<Graph> Of(const Graph& graph);
  // The operator `node` at the specialized sizes, applied to graph inputs 0, 1, … in place of its
  // operands.
  absl::StatusOr<NodePtr> Alone(const Node& node);
  absl::StatusOr<TensorType> Of(const TensorType& type) const;

 private:
  absl::StatusOr<NodePtr> Make(const Node& node);
  absl::StatusOr<NodePtr> Apply(const Node& node, std::vector<Value> inputs);

  DimValues values_;
  absl::flat_hash_map<NodePtr, NodePtr> known_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_SPECIALIZE_H_
