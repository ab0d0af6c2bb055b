#include "verifier/referee/values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/sizes/specialize.h"

namespace lemma::referee {
namespace {

constexpr int64_t kValueSamples = 32;

}  // namespace

absl::StatusOr<Graph> AtSizes(const Graph& graph, const DimValues& sizes) {
  if (!IsSymbolic(graph)) return graph;
  return Specialize(graph, sizes);
}

absl::StatusOr<std::vector<Tensor>> Evaluate(const Graph& graph, const std::vector<Value>& values,
                                             const Sample& sample, const Runner& runner) {
  if (values.empty()) return std::vector<Tensor>{};
  LEMMA_ASSIGN_OR_RETURN(const Graph at_sizes, AtSizes(WithValues(graph, values), sample.sizes));
  return runner(at_sizes, sample.inputs);
}

std::string LabelNear(const Graph& graph, const Value& value) {
  std::string label(graph.LabelOf(value));
  if (!label.empty()) return label;
  absl::flat_hash_map<const Node*, int> steps = {{&value.node(), 0}};
  int least = std::numeric_limits<int>::max();
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op() || steps.contains(node.get())) continue;
    int own = std::numeric_limits<int>::max();
    for (const Value& operand : node->inputs()) {
      auto it = steps.find(&operand.node());
      if (it != steps.end()) own = std::min(own, it->second + 1);
    }
    if (own >= least) continue;
    steps[node.get()] = own;
    for (int o = 0; o < node->num_outputs(); ++o) {
      const absl::string_view found = graph.LabelOf(Value(node, o));
      if (found.empty() || own >= least) continue;
      label = std::string(found);
      least = own;
    }
  }
  return label;
}

void AddTo(const Tensor& tensor, Sketch* sketch) {
  const int64_t size = tensor.size();
  for (int64_t i = 0; i < std::min(size, kValueSamples); ++i) {
    sketch->samples.push_back(
        tensor.AtDouble(size <= kValueSamples ? i : static_cast<int64_t>(Mix64(i) % size)));
  }
  for (int64_t i = 0; i < size; ++i) {
    const double x = tensor.AtDouble(i), magnitude = std::abs(x);
    if (magnitude > sketch->scale) sketch->scale = magnitude;
    sketch->sum += x;
    sketch->sum_of_magnitudes += magnitude;
    sketch->squares += x * x;
  }
}

double Distance(const Sketch& a, const Sketch& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.samples.size() != b.samples.size()) return kInfinity;
  const double scale = std::max(a.scale, b.scale);
  double distance = scale == 0 ? 0 : std::abs(a.scale - b.scale) / scale;
  if (!std::isfinite(scale)) distance = a.scale == b.scale ? 0 : kInfinity;
  for (size_t i = 0; i < a.samples.size(); ++i) {
    const double x = a.samples[i], y = b.samples[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double difference = std::abs(x - y) / scale;
    if (!(difference <= kAlikeDistance)) return kInfinity;
    distance = std::max(distance, difference);
  }
  return distance;
}

absl::StatusOr<Sketches> SketchValues(const Graph& graph, absl::Span<const Sample> samples,
                                      const Runner& runner, const Deadline& deadline) {
  std::vector<Value> values;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    for (int o = 0; o < node->num_outputs(); ++o) values.emplace_back(node, o);
  }
  Sketches sketches;
  // Some hundred values at a time, to bound memory. Each piece computes what it depends on again.
  constexpr int64_t kMaxBytes = int64_t{1} << 30;
  for (const Sample& sample : samples) {
    const Specializer sizes(sample.sizes);
    int64_t bytes = 0;
    for (const Value& value : values) {
      LEMMA_ASSIGN_OR_RETURN(const TensorType type, sizes.Of(value.type()));
      bytes += std::min(type.num_bytes(), kMaxBytes);
    }
    const int64_t pieces = bytes / kMaxBytes + 1;
    const size_t per_piece = values.size() / static_cast<size_t>(pieces) + 1;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      AddTo(sample.inputs[i], &sketches[graph.inputs()[i]]);
    }
    for (size_t begin = 0; begin < values.size(); begin += per_piece) {
      if (deadline.Passed()) return absl::DeadlineExceededError("the time is up");
      const size_t end = std::min(values.size(), begin + per_piece);
      const std::vector<Value> piece(values.begin() + static_cast<int64_t>(begin),
                                     values.begin() + static_cast<int64_t>(end));
      LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                             Evaluate(graph, piece, sample, runner));
      for (size_t i = 0; i < piece.size(); ++i) AddTo(results[i], &sketches[piece[i]]);
    }
  }
  return sketches;
}

}  // namespace lemma::referee
