#include "verifier/referee/isolate.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "rewrite/matching/apply.h"
#include "rewrite/matching/match.h"
#include "verifier/referee/evidence/constants.h"
#include "verifier/referee/evidence/other_roundings.h"
#include "verifier/referee/measure.h"
#include "verifier/referee/values.h"

namespace lemma::referee {
namespace {

constexpr size_t kMaxPairs = 16;    // tried before the search gives up
constexpr int kMaxChain = 3;        // operators between a value and the one that it may stand for
constexpr size_t kMaxBetween = 16;  // values between a value and values of the first graph
constexpr int kMaxOperators = 64;
constexpr double kIsolatedInDouble =
    1e-11;  // equal values in double differ by less, relative to the largest
constexpr double kMaxWorkOfModel = 1e11;  // operations of an execution by definition
// Faults of weights are this many times as far off as rounding explains.
constexpr double kFarOutside = 4;
constexpr uint64_t kRoundings = 4;  // other roundings that are tried

struct OutputDifference {
  double largest = 0, scale = 0;
};

// How far the float outputs of two graphs over the same inputs are apart, by definition. Their
// difference is a part of the executed graph, so that it is taken in double.
std::optional<OutputDifference> DifferenceOfOutputs(const Graph& a, const Graph& b,
                                                    const Sample& sample,
                                                    const Runner& definition) {
  std::vector<Value> values;
  for (size_t o = 0; o < a.outputs().size(); ++o) {
    const Value &x = a.outputs()[o], &y = b.outputs()[o];
    if (!IsFloat(x.dtype()) || x == y) continue;
    auto difference = Apply1("sub", {x, y});
    if (!difference.ok()) return std::nullopt;
    values.push_back(*difference);
    values.push_back(x);
  }
  if (values.empty()) return std::nullopt;
  auto joined = AtSizes(WithValues(a, values), sample.sizes);
  if (!joined.ok() || WorkOf(*joined) > kMaxWorkOfModel) return std::nullopt;
  auto results = definition(*joined, sample.inputs);
  if (!results.ok()) return std::nullopt;
  OutputDifference found;
  for (size_t i = 0; i < results->size(); i += 2) {
    const Tensor &difference = (*results)[i], &x = (*results)[i + 1];
    for (int64_t e = 0; e < x.size(); ++e) {
      if (!std::isfinite(difference.AtDouble(e))) continue;
      found.largest = std::max(found.largest, std::abs(difference.AtDouble(e)));
      found.scale = std::max(found.scale, std::abs(x.AtDouble(e)));
    }
  }
  return found;
}

// The weight with its strange elements moved by two units in the last place, up or down.
std::optional<Value> WithOtherRounding(const UnrelatedWeight& weight, uint64_t seed) {
  const auto exact = ConstantEvaluator().Of(weight.after);
  if (exact == nullptr || weight.after.dtype() != DType::kF32) return std::nullopt;
  std::vector<double> values = exact->value;
  std::mt19937_64 random(seed);
  for (int64_t e : weight.elements) {
    const float towards = random() % 2 == 0 ? -INFINITY : INFINITY;
    values[e] = std::nextafter(std::nextafter(static_cast<float>(values[e]), towards), towards);
  }
  auto tensor = Tensor::FromDoubles(weight.after.type(), values);
  if (!tensor.ok()) return std::nullopt;
  return Value(Node::Constant(*std::move(tensor)), 0);
}

class Isolator {
 public:
  explicit Isolator(const SweptGraphs& graphs) : c_(graphs), index_(graphs.after) {
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
      Measure(*graph, &*place);
      if (place->difference) return place;
      if (!open) open = std::move(place);
    }
    return open;
  }

  std::optional<OnlyPlace> FindPlaces() const {
    if (c_.swept.assumed.empty() || !c_.swept.AllCovered()) return std::nullopt;
    std::vector<OnlyPlace> places;
    absl::flat_hash_set<const Node*> constants = Numbers();
    for (const Assumed& assumed : c_.swept.assumed) {
      auto place = PlaceOf(assumed.before, assumed.after, assumed.now);
      if (!place) return std::nullopt;
      AddConstants(assumed.before, place->region, &constants);
      AddConstants(assumed.now, place->region, &constants);
      places.push_back(*std::move(place));
    }
    for (size_t sample = 0; sample < c_.options.samples.size(); ++sample) {
      if (!OutputsDiffer(sample, constants)) continue;
      for (size_t i = places.size(); i-- > 0;) {
        if (c_.options.deadline.Passed()) return std::nullopt;
        auto measured = MeasureRegion(c_.before, places[i].region, sample, c_.options);
        if (!measured.ok() || !(measured->found.largest > measured->explained)) break;
        if (i == 0) SetDifference(*std::move(measured), sample, &places[0]);
      }
      if (places[0].difference) break;
    }
    return places[0];
  }

  std::optional<OnlyPlace> FindWeights(const std::vector<UnrelatedWeight>& weights) const {
    ValueMap formulas;
    std::vector<std::pair<Value, Value>> replaced;
    absl::flat_hash_set<const Node*> changed;
    double farthest = 0;
    for (const UnrelatedWeight& weight : weights) {
      formulas[weight.after] = weight.nearest;
      replaced.emplace_back(weight.after, weight.nearest);
      changed.insert(&weight.after.node());
      farthest = std::max(farthest, weight.farthest);
    }
    auto graph = Replace(index_, replaced);
    if (!graph.ok()) return std::nullopt;
    auto place = FirstBehind(changed, AfterReplacing(c_.after, formulas), c_.sweep(*graph));
    if (!place) return std::nullopt;
    place->reason =
        "a weight has elements that no evaluation in f32 gives, but the outputs do not differ by "
        "more than its rounding explains";
    if (farthest <= kFarOutside) return place;
    std::vector<Graph> others;
    for (uint64_t seed = 1; seed <= kRoundings; ++seed) {
      ValueMap rounded;
      for (const UnrelatedWeight& weight : weights) {
        auto other = WithOtherRounding(weight, seed);
        if (!other) return place;
        rounded[weight.after] = *other;
      }
      others.push_back(WithOutputs(AfterReplacing(c_.after, rounded)));
    }
    MeasureBehind(others, *graph, &*place);
    return place;
  }

  std::optional<OnlyPlace> FindNumber(const ChangedNumber& number) const {
    const ValueMap right = WithNumber(c_.after, number, number.expected);
    const Graph graph = WithOutputs(right);
    auto place = FirstBehind(number.users, right, c_.sweep(graph));
    if (!place) return std::nullopt;
    place->reason = absl::StrCat(number.attr, " = ", number.value, " is not ", number.expected,
                                 ", but the outputs do not differ by more than rounding explains");
    std::vector<Graph> others;
    for (const float towards : {-INFINITY, INFINITY}) {
      const auto x = static_cast<float>(number.value);
      others.push_back(WithOutputs(
          WithNumber(c_.after, number, std::nextafter(std::nextafter(x, towards), towards))));
    }
    MeasureBehind(others, graph, &*place);
    return place;
  }

 private:
  // Pairs to try, in the order of `after`: first those that agree on random inputs, then values of
  // one name, then values of one type that are computed from an operand of both.
  std::vector<std::pair<Value, Value>> Pairs() const {
    ValueMap alike;
    for (const OpenPair& unproved : c_.swept.unproved) {
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

  // Values of `before`, of the type of `now`, that are computed from an operand of `now`, first by
  // its operator, then by others; and values of this type that are computed from these, such as
  // their normalization. If an operand is no value of `before`, its operands stand for it.
  std::vector<Value> OfSameOperands(const Value& now) const {
    std::vector<Value> found;
    const std::vector<Value> operands = SharedOperands(now);
    for (const bool same_operator : {true, false}) {
      for (const Value& operand : operands) {
        auto it = users_.find(operand);
        if (it == users_.end() || operand.node().has_payload()) continue;
        for (const NodePtr& user : it->second) {
          if ((&user->op() == &now.node().op()) != same_operator) continue;
          const int output = std::min(now.output(), user->num_outputs() - 1);
          AddChain(Value(user, output), now.type(), &found);
        }
      }
    }
    return found;
  }

  // The values of `before` that `now` is computed from by a few operators.
  std::vector<Value> SharedOperands(const Value& now) const {
    std::vector<Value> found, next(now.node().inputs().begin(), now.node().inputs().end());
    for (size_t i = 0; i < next.size() && i < kMaxBetween; ++i) {
      const Value operand = next[i];
      if (shared_.contains(&operand.node())) {
        found.push_back(operand);
      } else {
        next.insert(next.end(), operand.node().inputs().begin(), operand.node().inputs().end());
      }
    }
    return found;
  }

  // Adds values of the type: the value itself, and values that are computed from it step by step
  // while nothing else is.
  void AddChain(Value value, const TensorType& type, std::vector<Value>* found) const {
    for (int step = 0; step < kMaxChain; ++step) {
      if (value.type() == type) found->push_back(value);
      auto next = users_.find(value);
      if (next == users_.end() || next->second.size() != 1) break;
      value = Value(next->second[0], 0);
    }
  }

  std::optional<OnlyPlace> PlaceOf(const Value& u, const Value& w, const Value& now) const {
    CutOptions cut;
    cut.weights = CutOptions::Weights::kAll;
    cut.max_operators = kMaxOperators;
    auto region = CutRegion(shared_, u, now, cut);
    if (!region) return std::nullopt;
    OnlyPlace place;
    place.before = u;
    place.after = w;
    place.region = *std::move(region);
    for (const OpenPair& unproved : c_.swept.unproved) {
      if (unproved.after == w && unproved.before == u) place.reason = unproved.reason;
    }
    return place;
  }

  // Sets place->difference if the sides differ by more than rounding explains, and the outputs by
  // more than other roundings of the sides' constants and of numbers explain. This is needed: with
  // y = relu(x), the values x and relu(x) may differ much, but not the outputs. `right`: the second
  // graph with the first side in the place of the second one.
  void Measure(const Graph& right, OnlyPlace* place) const {
    absl::flat_hash_set<const Node*> constants = Numbers();
    AddConstants(place->before, place->region, &constants);
    AddConstants(c_.swept.moved.at(place->after), place->region, &constants);
    for (size_t sample = 0; sample < c_.options.samples.size(); ++sample) {
      if (c_.options.deadline.Passed()) return;
      const Sample& values = c_.options.samples[sample];
      auto measured = MeasureRegion(c_.before, place->region, sample, c_.options);
      if (!measured.ok()) return;
      if (!(measured->found.largest > measured->explained)) continue;
      const auto outputs = DifferenceOfOutputs(c_.after, right, values, c_.options.definition);
      if (!outputs || !(outputs->largest > kIsolatedInDouble * outputs->scale)) continue;
      if (!IsFarFromRounding(*outputs, {&c_.after, &right}, values, constants)) continue;
      SetDifference(*std::move(measured), sample, place);
      return;
    }
  }

  // Single numbers of both graphs: proofs take some for equal that rounding made different.
  absl::flat_hash_set<const Node*> Numbers() const {
    absl::flat_hash_set<const Node*> numbers;
    for (const Graph* graph : {&c_.before, &c_.after}) {
      for (const NodePtr& node : graph->nodes()) {
        if (node->has_payload() && node->payload().size() == 1) numbers.insert(node.get());
      }
    }
    return numbers;
  }

  // Adds the constants and weights that `value`, a side of the region, is computed from.
  static void AddConstants(const Value& value, const Region& region,
                           absl::flat_hash_set<const Node*>* constants) {
    absl::flat_hash_set<Value> seen;
    for (const Cut& cut : region.inputs) seen.insert(cut.value);
    std::vector<Value> stack = {value};
    while (!stack.empty()) {
      const Value next = stack.back();
      stack.pop_back();
      if (!seen.insert(next).second) continue;
      if (next.node().has_payload()) constants->insert(&next.node());
      stack.insert(stack.end(), next.node().inputs().begin(), next.node().inputs().end());
    }
  }

  // Whether `outputs` differ by more than other roundings of `constants` explain.
  bool IsFarFromRounding(const OutputDifference& outputs,
                         std::initializer_list<const Graph*> graphs, const Sample& sample,
                         const absl::flat_hash_set<const Node*>& constants) const {
    if (constants.empty()) return true;
    for (const Graph* graph : graphs) {
      for (uint64_t draw = 0; draw < kRoundings; ++draw) {
        if (c_.options.deadline.Passed()) return false;
        const Graph other = WithOtherRoundings(*graph, draw, &constants);
        if (other.outputs() == graph->outputs()) continue;
        const auto response = DifferenceOfOutputs(*graph, other, sample, c_.options.definition);
        if (!response || !(outputs.largest > kFarOutside * response->largest)) return false;
      }
    }
    return true;
  }

  // Whether the outputs differ by more than other roundings of `constants` explain.
  bool OutputsDiffer(size_t number, const absl::flat_hash_set<const Node*>& constants) const {
    const Sample& sample = c_.options.samples[number];
    const auto outputs = DifferenceOfOutputs(c_.before, c_.after, sample, c_.options.definition);
    if (!outputs || !(outputs->largest > kIsolatedInDouble * outputs->scale)) return false;
    return IsFarFromRounding(*outputs, {&c_.before, &c_.after}, sample, constants);
  }

  // The second graph with other values in the place of its values.
  Graph WithOutputs(const ValueMap& values) const {
    std::vector<Value> outputs;
    for (const Value& output : c_.after.outputs()) outputs.push_back(values.at(output));
    return WithValues(c_.after, outputs);
  }

  // The first value of the second graph that is computed by one of the nodes `changed`, or from
  // their values, and is not constant. `right`: for each value of the second graph, the one that it
  // should be; `swept`: the sweep of a graph of these. nullopt unless all is proved in that graph.
  std::optional<OnlyPlace> FirstBehind(const absl::flat_hash_set<const Node*>& changed,
                                       const ValueMap& right, const SweepResult& swept) const {
    if (!swept.AllCovered()) return std::nullopt;
    // Values that do not depend on the changed nodes are those of the first graph.
    ValueMap moved;
    absl::flat_hash_set<const Node*> dependent;
    const auto constant = ConstantNodes(c_.after.nodes());
    for (const NodePtr& node : c_.after.nodes()) {
      bool depends = changed.contains(node.get());
      for (const Value& operand : node->inputs()) depends |= dependent.contains(&operand.node());
      if (depends) dependent.insert(node.get());
      const NodePtr now = WithOperands(node, moved);
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value value(node, o);
        // Values that only the weights themselves were computed from are gone.
        auto proved = swept.moved.find(right.at(value));
        const bool is_gone = proved == swept.moved.end();
        moved[value] = depends || is_gone ? Value(now, o) : proved->second;
        if (!depends || is_gone || constant.contains(node.get())) continue;
        if (!shared_.contains(&proved->second.node())) continue;
        if (auto place = PlaceOf(proved->second, value, moved.at(value))) return place;
      }
    }
    return std::nullopt;
  }

  // Sets place->difference if, on a sample, the outputs of the second graph differ from those of
  // the graph `right` by much more than from those of the graphs `others`, in which what is strange
  // is rounded otherwise. So weights that make good for each other, or for which something later
  // makes good, are not taken for faults.
  void MeasureBehind(const std::vector<Graph>& others, const Graph& right, OnlyPlace* place) const {
    for (size_t sample = 0; sample < c_.options.samples.size(); ++sample) {
      if (c_.options.deadline.Passed()) return;
      const Sample& values = c_.options.samples[sample];
      const auto outputs = DifferenceOfOutputs(c_.after, right, values, c_.options.definition);
      if (!outputs || !(outputs->largest > kIsolatedInDouble * outputs->scale)) continue;
      double explained = 0;
      for (const Graph& other : others) {
        const auto response = DifferenceOfOutputs(c_.after, other, values, c_.options.definition);
        if (!response) return;
        explained = std::max(explained, response->largest);
      }
      if (!(outputs->largest > kFarOutside * explained)) continue;
      auto measured = MeasureRegion(c_.before, place->region, sample, c_.options);
      if (!measured.ok()) return;
      SetDifference(*std::move(measured), sample, place);
      return;
    }
  }

  void SetDifference(RegionDifference measured, size_t sample, OnlyPlace* place) const {
    DifferentPair pair;
    pair.difference = measured.found.largest;
    pair.explained = measured.explained;
    pair.before_label = LabelNear(c_.before, place->before);
    pair.after_label = LabelNear(c_.after, place->after);
    pair.before = std::move(measured.before_side);
    pair.after = std::move(measured.after_side);
    pair.inputs = std::move(measured.inputs);
    pair.before_value = place->before;
    pair.after_value = place->after;
    place->difference = std::move(pair);
    place->sample = sample;
  }

  const SweptGraphs& c_;
  const MatchIndex index_;
  absl::flat_hash_set<const Node*> shared_;
  absl::flat_hash_map<std::string, Value> by_label_;
  absl::flat_hash_map<Value, std::vector<NodePtr>> users_;
};

}  // namespace

std::optional<OnlyPlace> FindOnlyPlace(const SweptGraphs& graphs) {
  return Isolator(graphs).FindPlace();
}

std::optional<OnlyPlace> FindPlaces(const SweptGraphs& graphs) {
  return Isolator(graphs).FindPlaces();
}

std::optional<OnlyPlace> FindWrongWeights(const SweptGraphs& graphs,
                                          const std::vector<UnrelatedWeight>& weights) {
  return Isolator(graphs).FindWeights(weights);
}

std::optional<OnlyPlace> FindWrongNumber(const SweptGraphs& graphs, const ChangedNumber& number) {
  return Isolator(graphs).FindNumber(number);
}

}  // namespace lemma::referee
