// Values of two graphs on the same inputs, to find those that may be equal. Internal to the
// referee.
#ifndef LEMMA_VERIFIER_REFEREE_VALUES_H_
#define LEMMA_VERIFIER_REFEREE_VALUES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "verifier/referee/referee.h"

namespace lemma::referee {

// The graph at these sizes of its symbolic dimensions, if it has any.
absl::StatusOr<Graph> AtSizes(const Graph& graph, const DimValues& sizes);
// The tensors of `values`, which are values of `graph`.
absl::StatusOr<std::vector<Tensor>> Evaluate(const Graph& graph, const std::vector<Value>& values,
                                             const Sample& sample, const Runner& runner);

// Some elements of a value on each input, the largest of all, and what does not depend on their
// order.
struct Sketch {
  std::vector<double> samples;
  double scale = 0;
  double sum = 0, sum_of_sizes = 0, squares = 0;
};
void AddTo(const Tensor& tensor, Sketch* sketch);
// How far the samples are apart, relative to the scale; infinite if they cannot be compared.
double Distance(const Sketch& a, const Sketch& b);
// The distance up to which values may be equal.
constexpr double kAlikeDistance = 1e-3;

using Sketches = absl::flat_hash_map<Value, Sketch>;
// Of all inputs and results of operators, on one or more samples.
absl::StatusOr<Sketches> SketchValues(const Graph& graph, absl::Span<const Sample> samples,
                                      const Runner& runner, const Deadline& deadline);

using ValueMap = absl::flat_hash_map<Value, Value>;
// The node over the values that its operands have moved to.
NodePtr OverMoved(const NodePtr& node, const ValueMap& moved);
// For each value of `graph`: the value in its place if some values are replaced.
ValueMap AfterReplacing(const Graph& graph, const ValueMap& replaced);

// The graph with other outputs: the inputs, and what `values` depend on.
Graph WithValues(const Graph& graph, const std::vector<Value>& values);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_VALUES_H_
