#include "verifier/referee/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/loops/cost.h"
#include "verifier/referee/region.h"

namespace lemma::referee {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
std::vector<int64_t> IndexOf(int64_t element, const Shape& shape) {
  std::vector<int64_t> index;
  for (int64_t stride : RowMajorStrides(shape)) {
    index.push_back(element / stride);
    element %= stride;
  }
  return index;
}

// Finds the pair of values that differs first.
class FirstDifference {
 public:
  FirstDifference(const Graph& before, const Graph& after, const Sketches& in_before,
                  const Sketches& in_after)
      : before_(before), after_(after), in_before_(in_before), in_after_(in_after) {
    for (const NodePtr& node : before_.nodes()) {
      shared_.insert(node.get());
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value value(node, o);
        if (in_before_.count(value) > 0) by_type_[value.type().Hash()].push_back(value);
        const absl::string_view label = before_.LabelOf(value);
        if (!label.empty()) by_label_.emplace(label, value);
      }
    }
    for (const NodePtr& node : after_.nodes()) Move(node);
  }

  // Pairs that differ, in the order of `after`, the most likely ones first: values of one name,
  // then the output.
  std::vector<std::pair<Value, Value>> Pairs(size_t output) const {
    std::vector<std::pair<Value, Value>> pairs;
    for (const NodePtr& node : after_.nodes()) {
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value value(node, o);
        if (!node->is_op() || agreeing_.count(value) > 0) continue;
        auto named = by_label_.find(after_.LabelOf(value));
        if (named == by_label_.end() || named->second.type() != value.type()) continue;
        pairs.emplace_back(named->second, value);
      }
    }
    pairs.emplace_back(before_.outputs()[output], after_.outputs()[output]);
    return pairs;
  }

  std::optional<Region> Cut(const Value& u, const Value& w) const {
    CutOptions options;
    options.keep_weights = true;
    options.max_operators = 64;
    return CutRegion(shared_, u, moved_.at(w), options);
  }

 private:
  void Move(const NodePtr& node) {
    const NodePtr now = OverMoved(node, moved_);
    for (int o = 0; o < node->num_outputs(); ++o) {
      const Value value(node, o);
      moved_[value] = Value(now, o);
      if (const auto like = Agreeing(value)) {
        agreeing_.insert(value);
        if (node->is_op()) moved_[value] = *like;
      }
    }
  }

  std::optional<Value> Agreeing(const Value& value) const {
    auto sketch = in_after_.find(value);
    auto of_type = by_type_.find(value.type().Hash());
    if (sketch == in_after_.end() || of_type == by_type_.end()) return std::nullopt;
    std::optional<Value> nearest;
    double least = kAlikeDistance;
    for (const Value& candidate : of_type->second) {
      if (candidate.type() != value.type()) continue;
      const double distance = Distance(in_before_.at(candidate), sketch->second);
      if (distance > least || (nearest && distance == least)) continue;
      least = distance;
      nearest = candidate;
    }
    return nearest;
  }

  const Graph &before_, &after_;
  const Sketches &in_before_, &in_after_;
  absl::flat_hash_set<const Node*> shared_;
  absl::flat_hash_map<uint64_t, std::vector<Value>> by_type_;
  absl::flat_hash_map<std::string, Value> by_label_;
  absl::flat_hash_map<Value, Value> moved_;
  absl::flat_hash_set<Value> agreeing_;
};

// Both sides by definition, on values of the first graph; nullopt if that shows no difference.
std::optional<DifferentPair> Confirm(const Graph& before, const Region& region,
                                     const std::vector<Tensor>& inputs,
                                     const RefereeOptions& options) {
  if (WorkOf(region.before) + WorkOf(region.after) > kMaxWork) return std::nullopt;
  auto values = Evaluate(before, region.stands, inputs, options.run);
  if (!values.ok()) return std::nullopt;
  auto x = options.definition(region.before, *values);
  auto y = options.definition(region.after, *values);
  if (!x.ok() || !y.ok()) return std::nullopt;
  const TensorDifference found = DifferenceOf((*x)[0], (*y)[0]);
  const double tolerance =
      options.tolerances(region.before)[0] + options.tolerances(region.after)[0];
  DifferentPair pair;
  pair.before = region.before;
  pair.after = region.after;
  pair.inputs = *std::move(values);
  pair.difference = found.largest;
  pair.explained = tolerance * found.scale;
  if (!(pair.difference > kFarBeyond * pair.explained)) return std::nullopt;
  return pair;
}

// The whole graphs by definition.
bool ConfirmWhole(const Graph& before, const Graph& after, size_t output, size_t sample,
                  double explained, const RefereeOptions& options) {
  auto x =
      options.definition(WithValues(before, {before.outputs()[output]}), options.inputs[sample]);
  auto y = options.definition(WithValues(after, {after.outputs()[output]}), options.inputs[sample]);
  return x.ok() && y.ok() && DifferenceOf((*x)[0], (*y)[0]).largest > kFarBeyond * explained;
}

// The output number `output` on inputs; nullopt if the graphs cannot be executed.
std::optional<Refutation> DifferenceAt(const Graph& before, const Graph& after, size_t output,
                                       size_t sample, const RefereeOptions& options) {
  const std::vector<Tensor>& inputs = options.inputs[sample];
  auto x = options.run(WithValues(before, {before.outputs()[output]}), inputs);
  auto y = options.run(WithValues(after, {after.outputs()[output]}), inputs);
  if (!x.ok() || !y.ok()) return std::nullopt;
  const TensorDifference found = DifferenceOf((*x)[0], (*y)[0]);
  Refutation refutation;
  refutation.sample = sample;
  refutation.output = before.output_names()[output];
  refutation.index = IndexOf(found.element, (*x)[0].shape());
  refutation.before = (*x)[0].AtDouble(found.element);
  refutation.after = (*y)[0].AtDouble(found.element);
  refutation.explained =
      found.scale * (options.tolerances(before)[output] + options.tolerances(after)[output]);
  return refutation;
}

}  // namespace

double WorkOf(const Graph& graph) {
  double work = 0;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    auto definition = DefinitionOf(*node);
    if (!definition.ok()) return kInfinity;
    auto count = CountWork(*definition);
    if (!count.ok()) return kInfinity;
    work += count->flops;
  }
  return work;
}

TensorDifference DifferenceOf(const Tensor& before, const Tensor& after) {
  TensorDifference result;
  for (int64_t i = 0; i < before.size(); ++i) {
    const double x = before.AtDouble(i), y = after.AtDouble(i);
    for (double z : {x, y}) {
      if (std::isfinite(z)) result.scale = std::max(result.scale, std::abs(z));
    }
    if (x == y || (std::isnan(x) && !std::isfinite(y)) || (std::isnan(y) && !std::isfinite(x))) {
      continue;  // no real numbers: which of them comes out depends on the order of operations
    }
    double difference = std::abs(x - y);
    if (std::isnan(difference)) difference = kInfinity;
    if (difference > result.largest) {
      result.largest = difference;
      result.element = i;
    }
  }
  return result;
}

absl::StatusOr<std::vector<OutputComparison>> CompareOutputs(const Graph& before,
                                                             const Graph& after, size_t sample,
                                                             const RefereeOptions& options) {
  auto x = options.run(before, options.inputs[sample]);
  if (!x.ok()) return x.status();
  auto y = options.run(after, options.inputs[sample]);
  if (!y.ok()) return y.status();
  const std::vector<double> a = options.tolerances(before), b = options.tolerances(after);
  std::vector<OutputComparison> result;
  for (size_t o = 0; o < x->size(); ++o) {
    const TensorDifference found = DifferenceOf((*x)[o], (*y)[o]);
    result.push_back(
        {before.output_names()[o], found.largest, found.scale, (a[o] + b[o]) * found.scale});
  }
  return result;
}

std::optional<Refutation> WorstOutput(const Graph& before, const Graph& after, size_t sample,
                                      const RefereeOptions& options) {
  auto outputs = CompareOutputs(before, after, sample, options);
  if (!outputs.ok() || outputs->empty()) return std::nullopt;
  auto ratio = [](const OutputComparison& o) { return o.difference / (o.explained + 1e-300); };
  const auto worst = std::max_element(
      outputs->begin(), outputs->end(),
      [&](const OutputComparison& a, const OutputComparison& b) { return ratio(a) < ratio(b); });
  return DifferenceAt(before, after, static_cast<size_t>(worst - outputs->begin()), sample,
                      options);
}

std::optional<Refutation> FindRefutation(const Graph& before, const Graph& after,
                                         const Sketches& in_before, const Sketches& in_after,
                                         const RefereeOptions& options) {
  // The output that is furthest off on every sample.
  std::optional<size_t> worst;
  for (size_t sample = 0; sample < options.inputs.size(); ++sample) {
    auto outputs = CompareOutputs(before, after, sample, options);
    if (!outputs.ok()) return std::nullopt;
    auto is_far = [&](size_t o) {
      return (*outputs)[o].difference > kFarBeyond * (*outputs)[o].explained;
    };
    for (size_t o = 0; o < outputs->size() && !worst; ++o) {
      if (is_far(o)) worst = o;
    }
    if (!worst || !is_far(*worst)) return std::nullopt;
  }
  if (!worst) return std::nullopt;
  const std::vector<Tensor>& inputs = options.inputs[0];
  auto refutation = DifferenceAt(before, after, *worst, 0, options);
  if (!refutation) return std::nullopt;
  // In f32, cancellation may move what is equal; in double it does not.
  const bool is_small = WorkOf(before) + WorkOf(after) <= kMaxWork;
  if (is_small && !ConfirmWhole(before, after, *worst, 0, refutation->explained, options)) {
    return std::nullopt;
  }
  const FirstDifference first(before, after, in_before, in_after);
  for (const auto& [u, w] : first.Pairs(*worst)) {
    const auto region = first.Cut(u, w);
    if (!region) continue;
    if (auto pair = Confirm(before, *region, inputs, options)) {
      pair->before_label = std::string(before.LabelOf(u));
      pair->after_label = std::string(after.LabelOf(w));
      refutation->pair = *std::move(pair);
      return refutation;
    }
  }
  if (!is_small) return std::nullopt;
  return refutation;
}

}  // namespace lemma::referee
