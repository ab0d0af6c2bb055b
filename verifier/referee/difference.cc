#include "verifier/referee/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "kernels/loops/cost.h"
#include "verifier/referee/narrow.h"
#include "verifier/referee/region.h"

namespace lemma::referee {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMaxOperatorsOfSide = 64;  // of one side of a pair

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

  // Values of one name, but different types, in the order of `after`; `w` is computed from those of
  // `after`.
  std::vector<std::pair<Value, Value>> PairsOfOtherTypes(const Value& w) const {
    absl::flat_hash_set<const Node*> used;
    std::vector<const Node*> stack = {&w.node()};
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      if (!used.insert(node).second) continue;
      for (const Value& operand : node->inputs()) stack.push_back(&operand.node());
    }
    std::vector<std::pair<Value, Value>> pairs;
    for (const NodePtr& node : after_.nodes()) {
      if (!used.contains(node.get())) continue;
      for (int o = 0; node->is_op() && o < node->num_outputs(); ++o) {
        const Value value(node, o);
        auto named = by_label_.find(after_.LabelOf(value));
        if (named == by_label_.end() || named->second.type() == value.type()) continue;
        pairs.emplace_back(named->second, value);
      }
    }
    return pairs;
  }

  std::optional<Region> Cut(const Value& u, const Value& w, int max_operators) const {
    CutOptions options;
    options.weights = CutOptions::Weights::kAll;
    options.max_operators = max_operators;
    return CutRegion(shared_, u, moved_.at(w), options);
  }

 private:
  void Move(const NodePtr& node) {
    const NodePtr now = WithOperands(node, moved_);
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

// The value that `copy` was made of. `whole` is a copy of `original`, with the same operands in the
// same order down to inputs; `copy` is one of the values that it is computed from, or itself.
// `original` if no such value is found.
Value OriginalOf(const Value& copy, const Value& whole, const Value& original) {
  std::vector<std::pair<Value, Value>> stack = {{whole, original}};
  absl::flat_hash_set<Value> seen;
  while (!stack.empty()) {
    const auto [value, of] = stack.back();
    stack.pop_back();
    const Node &node = value.node(), &origin = of.node();
    if (!seen.insert(value).second || !node.is_op() || !origin.is_op()) continue;
    if (&node == &copy.node()) return Value(of.node_ptr(), copy.output());
    for (size_t i = 0; i < node.inputs().size() && i < origin.inputs().size(); ++i) {
      stack.emplace_back(node.inputs()[i], origin.inputs()[i]);
    }
  }
  return original;
}

// A small pair whose sides have results of different types; there is nothing to compare.
std::optional<DifferentPair> OfOtherTypes(const Graph& before, const Region& region,
                                          const Sample& sample, const RefereeOptions& options) {
  auto a = AtSizes(region.before, sample.sizes), b = AtSizes(region.after, sample.sizes);
  if (!a.ok() || !b.ok() || a->outputs()[0].type() == b->outputs()[0].type()) return std::nullopt;
  auto values = Evaluate(before, ValuesOf(region.inputs), sample, options.run);
  if (!values.ok()) return std::nullopt;
  DifferentPair pair;
  pair.before = *std::move(a);
  pair.after = *std::move(b);
  pair.inputs = *std::move(values);
  pair.difference = kInfinity;
  if (OperatorsIn(pair) > kSmallPair) return std::nullopt;
  return pair;
}

// Both sides by definition, on values of the first graph; nullopt if that shows no difference.
std::optional<DifferentPair> Confirm(const Graph& before, const Region& region,
                                     const Sample& sample, const RefereeOptions& options) {
  auto a = AtSizes(region.before, sample.sizes), b = AtSizes(region.after, sample.sizes);
  if (!a.ok() || !b.ok() || WorkOf(*a) + WorkOf(*b) > kMaxWork) return std::nullopt;
  auto values = Evaluate(before, ValuesOf(region.inputs), sample, options.run);
  if (!values.ok()) return std::nullopt;
  auto x = options.definition(*a, *values);
  auto y = options.definition(*b, *values);
  if (!x.ok() || !y.ok()) return std::nullopt;
  const TensorDifference found = DifferenceOf((*x)[0], (*y)[0]);
  const double tolerance = options.tolerances(*a)[0] + options.tolerances(*b)[0];
  DifferentPair pair;
  pair.before = *std::move(a);
  pair.after = *std::move(b);
  pair.inputs = *std::move(values);
  pair.difference = found.largest;
  pair.explained = tolerance * found.scale;
  if (!(pair.difference > kFarBeyond * pair.explained)) return std::nullopt;
  return pair;
}

// The whole graphs by definition.
bool ConfirmWhole(const Graph& before, const Graph& after, size_t output, const Sample& sample,
                  double explained, const RefereeOptions& options) {
  auto x = Evaluate(before, {before.outputs()[output]}, sample, options.definition);
  auto y = Evaluate(after, {after.outputs()[output]}, sample, options.definition);
  return x.ok() && y.ok() && DifferenceOf((*x)[0], (*y)[0]).largest > kFarBeyond * explained;
}

// The output number `output` on a sample; nullopt if the graphs cannot be executed.
std::optional<Refutation> DifferenceAt(const Graph& before, const Graph& after, size_t output,
                                       size_t sample, const RefereeOptions& options) {
  const Sample& values = options.samples[sample];
  auto x = Evaluate(before, {before.outputs()[output]}, values, options.run);
  auto y = Evaluate(after, {after.outputs()[output]}, values, options.run);
  auto a = AtSizes(before, values.sizes), b = AtSizes(after, values.sizes);
  if (!x.ok() || !y.ok() || !a.ok() || !b.ok()) return std::nullopt;
  const TensorDifference found = DifferenceOf((*x)[0], (*y)[0]);
  Refutation refutation;
  refutation.sample = sample;
  refutation.output = before.output_names()[output];
  refutation.index = IndexOf(found.element, (*x)[0].shape());
  refutation.before = (*x)[0].AtDouble(found.element);
  refutation.after = (*y)[0].AtDouble(found.element);
  refutation.explained =
      found.scale * (options.tolerances(*a)[output] + options.tolerances(*b)[output]);
  return refutation;
}

struct FarOutput {
  size_t sample = 0, output = 0;
};

// An output that is far off on all samples of the same sizes that decide, or on all that do not,
// and the first of these samples.
std::optional<FarOutput> FindFarOutput(const Graph& before, const Graph& after,
                                       const RefereeOptions& options) {
  // By whether a sample decides, and its sizes: the first sample, and which outputs are far off.
  std::map<std::pair<bool, DimValues>, std::pair<size_t, std::vector<bool>>> far;
  for (size_t sample = 0; sample < options.samples.size(); ++sample) {
    auto outputs = CompareOutputs(before, after, sample, options);
    if (!outputs.ok()) return std::nullopt;
    auto& [first, is_far] =
        far.emplace(std::pair(options.samples[sample].decides, options.samples[sample].sizes),
                    std::pair(sample, std::vector<bool>(outputs->size(), true)))
            .first->second;
    for (size_t o = 0; o < outputs->size(); ++o) {
      if ((*outputs)[o].difference <= kFarBeyond * (*outputs)[o].explained) is_far[o] = false;
    }
  }
  for (const auto& [kind, found] : far) {
    const auto& [sample, is_far] = found;
    const auto output = std::find(is_far.begin(), is_far.end(), true);
    if (output != is_far.end())
      return FarOutput{sample, static_cast<size_t>(output - is_far.begin())};
  }
  return std::nullopt;
}

}  // namespace

int64_t OperatorsIn(const DifferentPair& pair) {
  int64_t operators = 0;
  for (const Graph* graph : {&pair.before, &pair.after}) {
    for (const NodePtr& node : graph->nodes()) operators += node->is_op() ? 1 : 0;
  }
  return operators;
}

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
  const Sample& values = options.samples[sample];
  LEMMA_ASSIGN_OR_RETURN(const Graph at_before, AtSizes(before, values.sizes));
  LEMMA_ASSIGN_OR_RETURN(const Graph at_after, AtSizes(after, values.sizes));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> x, options.run(at_before, values.inputs));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> y, options.run(at_after, values.inputs));
  const std::vector<double> a = options.tolerances(at_before), b = options.tolerances(at_after);
  std::vector<OutputComparison> result;
  for (size_t o = 0; o < x.size(); ++o) {
    const TensorDifference found = DifferenceOf(x[o], y[o]);
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
  const auto far = FindFarOutput(before, after, options);
  if (!far) return std::nullopt;
  const Sample& sample = options.samples[far->sample];
  auto refutation = DifferenceAt(before, after, far->output, far->sample, options);
  auto a = AtSizes(before, sample.sizes), b = AtSizes(after, sample.sizes);
  if (!refutation || !a.ok() || !b.ok()) return std::nullopt;
  // In f32, cancellation may move what is equal; in double it does not.
  const bool is_small = WorkOf(*a) + WorkOf(*b) <= kMaxWork;
  if (is_small &&
      !ConfirmWhole(before, after, far->output, sample, refutation->explained, options)) {
    return std::nullopt;
  }
  const FirstDifference first(before, after, in_before, in_after);
  auto keep = [&](const Value& u, const Value& w, DifferentPair pair) {
    pair.before_label = LabelNear(before, u);
    pair.after_label = LabelNear(after, w);
    pair.before_value = u;
    pair.after_value = w;
    refutation->pair = std::move(pair);
  };
  for (const auto& [u, w] : first.Pairs(far->output)) {
    const auto region = first.Cut(u, w, kMaxOperatorsOfSide);
    auto pair = region ? Confirm(before, *region, sample, options) : std::nullopt;
    if (!pair) continue;
    auto smaller = OperatorsIn(*pair) > kSmallPair ? Narrowed(*pair, options) : std::nullopt;
    if (smaller) {
      const Value inner_u = OriginalOf(smaller->before_value, pair->before.outputs()[0], u);
      const Value inner_w = OriginalOf(smaller->after_value, pair->after.outputs()[0], w);
      keep(inner_u, inner_w, *std::move(smaller));
    } else {
      keep(u, w, *std::move(pair));
    }
    break;
  }
  if (!is_small && !refutation->pair) return std::nullopt;
  const Value differs =
      refutation->pair ? refutation->pair->after_value : after.outputs()[far->output];
  for (const auto& [u, w] : first.PairsOfOtherTypes(differs)) {
    const auto region = first.Cut(u, w, kSmallPair);
    auto pair = region ? OfOtherTypes(before, *region, sample, options) : std::nullopt;
    if (!pair) continue;
    if (refutation->pair && OperatorsIn(*refutation->pair) <= OperatorsIn(*pair)) continue;
    keep(u, w, *std::move(pair));
    break;
  }
  return refutation;
}

}  // namespace lemma::referee
