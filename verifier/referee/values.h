// Computes the values of a graph on given inputs, and sketches of them: a few numbers for each
// value. Two values with similar sketches may be equal. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_VALUES_H_
#define LEMMA_VERIFIER_REFEREE_VALUES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "verifier/referee/evidence/rewire.h"
#include "verifier/referee/referee.h"

namespace lemma::referee {

// The graph with these sizes in place of its symbolic dimensions; the graph itself if it has none.
// An error if it is not well-formed at these sizes.
absl::StatusOr<Graph> AtSizes(const Graph& graph, const DimValues& sizes);
// The tensors of `values`, values of `graph`, on the sample. Errors are those of AtSizes and
// `runner`.
absl::StatusOr<std::vector<Tensor>> Evaluate(const Graph& graph, const std::vector<Value>& values,
                                             const Sample& sample, const Runner& runner);

// The label of a value. A value may have none, for example inside an operator
// of ONNX that Lemma computes by several operators. Then the result is the
// label of the nearest value computed from it; "" if there is none.
std::string LabelNear(const Graph& graph, const Value& value);

// Some numbers about a value, from its tensors on one or more samples.
struct Sketch {
  std::vector<double> samples;  // up to 32 elements of each tensor, tensor after tensor
  double scale = 0;             // the largest magnitude of an element
  // Sums of x, |x| and x² over all elements x. They do not depend on the order of the elements.
  double sum = 0, sum_of_magnitudes = 0, squares = 0;
};
// Adds the numbers of one tensor to the sketch.
void AddTo(const Tensor& tensor, Sketch* sketch);
// The larger of two numbers: the difference of both scales, and the largest difference of two
// elements at the same position in Sketch::samples. Both are relative to the larger scale. Infinite
// if two elements differ by more than kAlikeDistance, or if the lengths of Sketch::samples differ.
double Distance(const Sketch& a, const Sketch& b);
// The largest distance at which two values are alike: they may be equal.
constexpr double kAlikeDistance = 1e-3;

using Sketches = absl::flat_hash_map<Value, Sketch>;
// The sketches of all inputs and of all results of operators. DeadlineExceeded if the deadline
// passes.
absl::StatusOr<Sketches> SketchValues(const Graph& graph, absl::Span<const Sample> samples,
                                      const Runner& runner, const Deadline& deadline);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_VALUES_H_
