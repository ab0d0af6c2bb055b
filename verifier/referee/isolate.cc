#include "verifier/referee/isolate.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "rewrite/matching/apply.h"
#include "rewrite/matching/match.h"
#include "verifier/referee/constants.h"
#include "verifier/referee/measure.h"
#include "verifier/referee/values.h"

namespace lemma::referee {
namespace {

constexpr size_t kMaxPairs = 16;  // tried before the search gives up
constexpr int kMaxChain = 3;      // operators between a value and the one that it may stand for
constexpr int kMaxOperators = 64;
constexpr double kDouble = 1e-12;  // equal values in double differ by less, relative to the largest
constexpr double kVisible = 1e-3;  // a part of the largest element that f32 does not lose

// The result of the first side, moved towards that of the second one `factor` times as far as that
// is. Elements that hardly differ stay as they are.
absl::StatusOr<Tensor> Moved(const RegionDifference& measured, double factor) {
  std::vector<double> values;
  for (int64_t i = 0; i < measured.before.size(); ++i) {
    const double x = measured.before.AtDouble(i), y = measured.after.AtDouble(i);
    const double difference = y - x;
    if (!std::isfinite(difference)) {
      values.push_back(factor > 0 ? y : x);
    } else {
      const bool counts = std::abs(difference) >= 0.01 * measured.found.largest;
      values.push_back(counts ? x + difference * factor : x);
    }
  }
  return Tensor::FromDoubles(measured.before.type(), values);
}

// Whether the elements of `value` that differ change an output. A difference below this part of the
// largest element is magnified to it.
bool OutputsDependOn(const Graph& graph, const Value& value, const RegionDifference& measured,
                     double part, absl::Span<const Tensor> inputs, const Runner& run) {
  const double factor = std::max(1.0, part * measured.found.scale / measured.found.largest);
  auto right = Moved(measured, 0), wrong = Moved(measured, factor);
  if (!right.ok() || !wrong.ok()) return false;
  const Value input(Node::Input(static_cast<int>(graph.inputs().size()), value.type()), 0);
  const ValueMap moved = AfterReplacing(graph, {{value, input}});
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(absl::StrCat("input ", i), graph.inputs()[i].type());
  }
  builder.Input("value", value.type());
  for (size_t o = 0; o < graph.outputs().size(); ++o) {
    builder.Output(absl::StrCat("output ", o), moved.at(graph.outputs()[o]));
  }
  auto built = std::move(builder).Build();
  if (!built.ok()) return false;
  std::vector<Tensor> values(inputs.begin(), inputs.end());
  values.push_back(*right);
  auto x = run(*built, values);
  values.back() = *wrong;
  auto y = run(*built, values);
  if (!x.ok() || !y.ok()) return false;
  for (size_t o = 0; o < x->size(); ++o) {
    if (DifferenceOf((*x)[o], (*y)[o]).largest > 0) return true;  // 0 and -0 are one number
  }
  return false;
}

class Isolator {
 public:
  explicit Isolator(const Comparison& comparison) : c_(comparison), index_(comparison.after) {
    for (const NodePtr& node : c_.before.nodes()) {
      shared_.insert(node.get());
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value value(node, o);
        const absl::string_view label = c_.before.LabelOf(value);
        if (!label.empty()) by_label_.emplace(label, value);
      }
      if (!node->is_op()) continue;
      absl::flat_hash_set<Value> operands(node->inputs().begin(), node->inputs().end());
      for (const Value& operand : operands) users_[operand].push_back(node);
    }
  }

  std::optional<OnlyPlace> FindPlace() const {
    std::optional<OnlyPlace> open;
    for (const auto& [u, w] : Pairs()) {
      if (c_.options.deadline.Passed()) break;
      auto graph = Replace(index_, {{w, u}});
      if (!graph.ok() || !c_.sweep(*graph).AllCovered()) continue;
      auto place = PlaceOf(u, w, c_.swept.moved.at(w));
      if (!place) continue;
      Measure(false, &*place);
      if (place->difference) return place;
      if (!open) open = std::move(place);
    }
    return open;
  }

  std::optional<OnlyPlace> FindWeights(const std::vector<UnrelatedWeight>& weights) const {
    ValueMap formulas;
    std::vector<std::pair<Value, Value>> replaced;
    for (const UnrelatedWeight& weight : weights) {
      formulas[weight.after] = weight.nearest;
      replaced.emplace_back(weight.after, weight.nearest);
    }
    auto graph = Replace(index_, replaced);
    if (!graph.ok()) return std::nullopt;
    const SweepResult swept = c_.sweep(*graph);
    if (!swept.AllCovered()) return std::nullopt;
    // Values of `after` that do not depend on the weights are those of `before`.
    const ValueMap with_formulas = AfterReplacing(c_.after, formulas);
    std::optional<OnlyPlace> open;
    ValueMap moved;
    absl::flat_hash_set<const Node*> dependent;
    const auto constant = ConstantNodes(c_.after);
    for (const NodePtr& node : c_.after.nodes()) {
      bool depends = formulas.count(Value(node, 0)) > 0;
      for (const Value& operand : node->inputs()) depends |= dependent.count(&operand.node()) > 0;
      if (depends) dependent.insert(node.get());
      const NodePtr now = OverMoved(node, moved);
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value value(node, o);
        // Values that only the weights themselves were computed from are gone.
        auto right = swept.moved.find(with_formulas.at(value));
        const bool is_gone = right == swept.moved.end();
        moved[value] = depends || is_gone ? Value(now, o) : right->second;
        if (!depends || is_gone || constant.count(node.get()) > 0) continue;
        if (shared_.count(&right->second.node()) == 0) continue;
        auto place = PlaceOf(right->second, value, moved.at(value));
        if (!place) continue;
        place->reason = "the weight does not matter on the inputs tried";
        Measure(true, &*place);
        if (place->difference) return place;
        if (!open) open = std::move(place);
      }
    }
    return open;
  }

 private:
  // Pairs to try, in the order of `after`: first those that agree on random inputs, then values of
  // one name, then values of one type that are computed from the same operands.
  std::vector<std::pair<Value, Value>> Pairs() const {
    ValueMap alike;
    for (const Unproved& unproved : c_.swept.unproved) {
      alike.emplace(unproved.after, unproved.before);
    }
    std::vector<std::pair<Value, Value>> pairs;
    absl::flat_hash_set<std::pair<Value, Value>> seen;
    auto add = [&](const Value& u, const Value& w) {
      if (pairs.size() < kMaxPairs && u.type() == w.type() && seen.insert({u, w}).second) {
        pairs.emplace_back(u, w);
      }
    };
    for (const NodePtr& node : c_.after.nodes()) {
      if (!node->is_op() || shared_.count(node.get()) > 0) continue;
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value w(node, o);
        const Value now = c_.swept.moved.at(w);
        if (shared_.count(&now.node()) > 0) continue;  // proved
        if (auto it = alike.find(w); it != alike.end()) add(it->second, w);
        if (auto it = by_label_.find(c_.after.LabelOf(w)); it != by_label_.end())
          add(it->second, w);
        for (const Value& u : OfSameOperands(now)) add(u, w);
      }
    }
    for (size_t o = 0; o < c_.after.outputs().size(); ++o) {
      if (!c_.swept.covered[o]) pairs.emplace_back(c_.before.outputs()[o], c_.after.outputs()[o]);
    }
    return pairs;
  }

  // Values of `before` that the operator of `now` computes from an operand of it, and values of
  // this type that are computed from nothing else of this kind, such as its normalization.
  std::vector<Value> OfSameOperands(const Value& now) const {
    std::vector<Value> found;
    for (const Value& operand : now.node().inputs()) {
      auto it = users_.find(operand);
      if (it == users_.end() || !operand.node().is_op()) continue;
      for (const NodePtr& user : it->second) {
        if (&user->op() != &now.node().op() || user->types() != now.node().types()) continue;
        Value value(user, now.output());
        for (int step = 0; step < kMaxChain && value.type() == now.type(); ++step) {
          found.push_back(value);
          auto next = users_.find(value);
          if (next == users_.end() || next->second.size() != 1) break;
          value = Value(next->second[0], 0);
        }
      }
    }
    return found;
  }

  std::optional<OnlyPlace> PlaceOf(const Value& u, const Value& w, const Value& now) const {
    CutOptions cut;
    cut.keep_weights = true;
    cut.max_operators = kMaxOperators;
    auto region = CutRegion(shared_, u, now, cut);
    if (!region) return std::nullopt;
    OnlyPlace place;
    place.before = u;
    place.after = w;
    place.region = *std::move(region);
    for (const Unproved& unproved : c_.swept.unproved) {
      if (unproved.after == w && unproved.before == u) place.reason = unproved.reason;
    }
    return place;
  }

  // Sets place->difference if the sides differ by more than rounding explains and that changes an
  // output. `by_weights`: the sides are known to differ by weights beyond rounding, so any
  // difference counts.
  void Measure(bool by_weights, OnlyPlace* place) const {
    const Region& region = place->region;
    for (size_t sample = 0; sample < c_.options.inputs.size(); ++sample) {
      if (c_.options.deadline.Passed()) return;
      auto measured = MeasureRegion(c_.before, region, sample, c_.options);
      if (!measured.ok()) return;
      const TensorDifference& found = measured->found;
      const double least = by_weights ? kDouble * found.scale : measured->explained;
      if (!(found.largest > least)) continue;
      if (!OutputsDependOn(c_.after, place->after, *measured, by_weights ? kVisible : 0,
                           c_.options.inputs[sample], c_.options.run)) {
        continue;
      }
      DifferentPair pair;
      pair.difference = found.largest;
      pair.explained = measured->explained;
      pair.before_label = std::string(c_.before.LabelOf(place->before));
      pair.after_label = std::string(c_.after.LabelOf(place->after));
      pair.before = region.before;
      pair.after = region.after;
      pair.inputs = std::move(measured->inputs);
      place->difference = std::move(pair);
      place->sample = sample;
      return;
    }
  }

  const Comparison& c_;
  const MatchIndex index_;
  absl::flat_hash_set<const Node*> shared_;
  absl::flat_hash_map<std::string, Value> by_label_;
  absl::flat_hash_map<Value, std::vector<NodePtr>> users_;
};

}  // namespace

std::optional<OnlyPlace> FindOnlyPlace(const Comparison& comparison) {
  return Isolator(comparison).FindPlace();
}

std::optional<OnlyPlace> FindWrongWeights(const Comparison& comparison,
                                          const std::vector<UnrelatedWeight>& weights) {
  return Isolator(comparison).FindWeights(weights);
}

}  // namespace lemma::referee
