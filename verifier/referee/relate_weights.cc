#include "verifier/referee/relate_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "graph/builder.h"
#include "rewrite/matching/apply.h"
#include "verifier/referee/evidence/constants.h"
#include "verifier/referee/layouts.h"

namespace lemma::referee {
namespace {

using Shared = std::shared_ptr<const BoundedTensor>;

constexpr int64_t kWeightSamples = 48;
constexpr double kAlike = 1e-2;  // of samples, relative to the largest: a constant worth comparing
constexpr double kMost = 0.75;   // the part of the samples that must be alike: a few may be wrong
constexpr double kLast = 1e9;    // the distance of a weight of the same name that is not alike
constexpr int64_t kMaxComputed = 1 << 16;
constexpr int kMaxCompared = 6;  // constants compared with one, element by element

struct Candidate {
  Value value;
  std::vector<double> samples;
  double largest = 0;  // absolute value of an element
};

double LargestOf(const std::vector<double>& data) {
  double largest = 0;
  for (double x : data) largest = std::max(largest, std::abs(x));
  return largest;
}

// The element that is the sample of this number.
size_t SampleAt(int64_t number, size_t size) {
  return static_cast<int64_t>(size) <= kWeightSamples ? static_cast<size_t>(number)
                                                      : Mix64(number) % size;
}

std::vector<double> SamplesOf(const std::vector<double>& data) {
  std::vector<double> samples;
  const int64_t count = std::min(kWeightSamples, static_cast<int64_t>(data.size()));
  for (int64_t i = 0; i < count; ++i) samples.push_back(data[SampleAt(i, data.size())]);
  return samples;
}

// The difference of most samples, relative to the largest one. Common zeros do not count.
double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  double largest = 1e-30;
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0 && b[i] == 0) continue;
    largest = std::max(largest, std::abs(a[i]));
    const double difference = std::abs(a[i] - b[i]);
    differences.push_back(std::isnan(difference) ? INFINITY : difference);
  }
  if (differences.empty()) return 0;
  const auto most = static_cast<int64_t>(kMost * static_cast<double>(differences.size() - 1));
  std::nth_element(differences.begin(), differences.begin() + most, differences.end());
  return differences[most] / largest;
}

class Relater {
 public:
  Relater(const Graph& after, bool numbers, const Deadline& deadline)
      : after_(after), numbers_(numbers), deadline_(deadline) {}

  RelatedWeights Run(const Graph& before, const Folds& folds) {
    std::vector<NodePtr> nodes = before.nodes();
    nodes.insert(nodes.end(), folds.graph.nodes().begin(), folds.graph.nodes().end());
    absl::flat_hash_set<const Node*> listed;
    for (const NodePtr& node : nodes) listed.insert(node.get());
    for (const Value& value : folds.formulas) List(value.node_ptr(), &listed, &nodes);
    known_ = ConstantNodes(nodes);
    absl::flat_hash_set<const Node*> added;
    for (const NodePtr& node : nodes) {
      if (known_.count(node.get()) > 0 && added.insert(node.get()).second) {
        constants_.push_back(node);
      }
    }
    for (const NodePtr& node : before.nodes()) FindNumbers(*node);
    const std::vector<Value> wanted = Wanted();
    AddCandidates(wanted);
    std::vector<std::pair<Value, Value>> replaced;
    for (const Value& value : wanted) {
      if (deadline_.Passed()) break;
      if (auto relation = Relate(value)) {
        replaced.emplace_back(value, relation->before);
        result_.relations.push_back(*relation);
      }
    }
    const MatchIndex index(after_);
    auto graph = Replace(index, replaced);
    result_.graph = graph.ok() ? *std::move(graph) : after_;
    if (!graph.ok()) result_.relations.clear();
    return std::move(result_);
  }

 private:
  // Appends the node after the nodes that it is computed from.
  static void List(const NodePtr& node, absl::flat_hash_set<const Node*>* listed,
                   std::vector<NodePtr>* nodes) {
    if (!listed->insert(node.get()).second) return;
    for (const Value& operand : node->inputs()) List(operand.node_ptr(), listed, nodes);
    nodes->push_back(node);
  }

  // The numbers of the graph by which a tool may have multiplied a weight: those of constants and
  // attributes, and their reciprocals. A weight times another number is no weight of the graph.
  void FindNumbers(const Node& node) {
    auto add = [&](double x) {
      if (std::isnan(x)) return;
      for (double y : {x, -x, 1 / x, -1 / x}) numbers_of_before_.insert(static_cast<float>(y));
    };
    for (const auto& [name, attr] : node.attrs()) {
      if (auto* x = std::get_if<double>(&attr)) add(*x);
    }
    const bool is_number =
        node.has_payload() && IsFloat(node.type(0).dtype) && node.type(0).num_elements() == 1;
    if (is_number) add(node.payload().AtDouble(0));
  }

  // Of the sizes that are wanted.
  void AddCandidates(const std::vector<Value>& wanted) {
    for (const Value& value : wanted) {
      by_size_[{value.dtype(), value.type().num_elements()}];
      for (int64_t size : value.shape()) by_size_[{value.dtype(), size}];  // factors along an axis
    }
    for (const NodePtr& node : constants_) {
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value value(node, o);
        auto found = by_size_.find({value.dtype(), value.type().num_elements()});
        if (deadline_.Passed() || found == by_size_.end()) continue;
        const Shared tensor = evaluator_.Of(value);
        if (tensor != nullptr) {
          found->second.push_back({value, SamplesOf(tensor->value), LargestOf(tensor->value)});
        }
      }
    }
  }

  // The exact constants of `after` that something else reads, except those of `before`.
  std::vector<Value> Wanted() const {
    const auto constants = ConstantNodes(after_.nodes());
    absl::flat_hash_set<const Node*> exact;
    for (const NodePtr& node : after_.nodes()) {
      const bool moves = node->is_op() && OnlyMoves(*node) &&
                         std::all_of(node->inputs().begin(), node->inputs().end(),
                                     [&](const Value& v) { return exact.count(&v.node()) > 0; });
      if (constants.count(node.get()) > 0 && (!node->is_op() || moves)) exact.insert(node.get());
    }
    std::vector<Value> wanted;
    absl::flat_hash_set<Value> seen;
    auto read = [&](const Value& v) {
      if (exact.count(&v.node()) == 0 || known_.count(&v.node()) > 0) return;
      if (IsFloat(v.dtype()) && v.type().num_elements() > 0 && seen.insert(v).second) {
        wanted.push_back(v);
      }
    };
    for (const NodePtr& node : after_.nodes()) {
      if (exact.count(node.get()) > 0) continue;
      for (const Value& operand : node->inputs()) read(operand);
    }
    for (const Value& output : after_.outputs()) read(output);
    return wanted;
  }

  std::optional<WeightRelation> Relate(const Value& value) {
    if (value.type().num_elements() == 1 && !numbers_) return std::nullopt;
    const Shared tensor = evaluator_.Of(value);
    if (tensor == nullptr) return std::nullopt;
    std::optional<UnrelatedWeight> nearest;
    auto found = by_size_.find({value.dtype(), value.type().num_elements()});
    if (found == by_size_.end()) return std::nullopt;
    for (const Candidate& candidate : Nearest(found->second, value, *tensor)) {
      const Shared other = evaluator_.Of(candidate.value);
      const WeightComparison all = CompareWeights(value, tensor->value, candidate.value, *other);
      if (all.related()) return all.relation;
      if (!all.bounded) continue;
      if (!nearest || all.unrelated.outside < nearest->outside) nearest = all.unrelated;
    }
    if (value.type().num_elements() > 1 && value.dtype() == DType::kF32) {
      if (auto relation = RelateMultiple(value, *tensor, found->second)) return relation;
      if (auto relation = RelateScaled(value, *tensor, found->second)) return relation;
    }
    if (nearest && value.type().num_elements() > 1) result_.unrelated.push_back(*nearest);
    return std::nullopt;
  }

  // A weight times a number of the graph that was moved into it; possibly transposed.
  std::optional<WeightRelation> RelateMultiple(const Value& value, const BoundedTensor& tensor,
                                               const std::vector<Candidate>& candidates) {
    const double largest = LargestOf(tensor.value);
    int compared = 0;
    for (const Candidate& candidate : candidates) {
      if (!candidate.value.node().has_payload()) continue;
      for (const double ratio : {largest / candidate.largest, -largest / candidate.largest}) {
        if (!std::isfinite(ratio) || ratio == 0 || ratio == 1) continue;
        std::vector<double> samples = SamplesOf(tensor.value);
        for (double& x : samples) x /= ratio;
        for (const Value& moved : InOrders(candidate, value, samples)) {
          if (++compared > kMaxCompared) return std::nullopt;
          if (auto relation = RelateMultiple(value, tensor, moved)) return relation;
        }
      }
    }
    return std::nullopt;
  }

  // The candidate in the orders of dimensions in which it has these samples.
  std::vector<Value> InOrders(const Candidate& candidate, const Value& like,
                              const std::vector<double>& samples) const {
    std::vector<Value> moved;
    if (Distance(samples, candidate.samples) <= kAlike) moved.push_back(As(candidate.value, like));
    for (const auto& order : OrdersBetween(candidate.value.shape(), like.shape())) {
      if (!IsAlike(candidate.value, order, like.shape(), samples)) continue;
      auto transposed = Apply1("transpose", {candidate.value}, {{"perm", order}});
      if (transposed.ok()) moved.push_back(*transposed);
    }
    return moved;
  }

  std::optional<WeightRelation> RelateMultiple(const Value& value, const BoundedTensor& tensor,
                                               const Value& weight) {
    const Shared whole = weight ? evaluator_.Of(weight) : nullptr;
    if (whole == nullptr) return std::nullopt;
    const auto largest =
        std::max_element(tensor.value.begin(), tensor.value.end(),
                         [](double a, double b) { return std::abs(a) < std::abs(b); });
    for (const float factor :
         FactorsNear(*largest / whole->value[largest - tensor.value.begin()])) {
      auto number = Tensor::FromDoubles({DType::kF32, {}}, {factor});
      if (!number.ok()) continue;
      auto product = Apply1("mul", {weight, Value(Node::Constant(*std::move(number)), 0)});
      const Shared computed = product.ok() ? evaluator_.Of(*product) : nullptr;
      if (computed == nullptr) continue;
      const WeightComparison all = CompareWeights(value, tensor.value, *product, *computed);
      if (all.related()) return all.relation;
    }
    return std::nullopt;
  }

  // A weight times, or divided by, another one along one of its dimensions.
  std::optional<WeightRelation> RelateScaled(const Value& value, const BoundedTensor& tensor,
                                             const std::vector<Candidate>& candidates) {
    int compared = 0;
    for (const Candidate& candidate : candidates) {
      if (!candidate.value.node().has_payload() || candidate.value.type() != value.type()) continue;
      const Shared weight = evaluator_.Of(candidate.value);
      for (size_t axis = 0; axis < value.shape().size(); ++axis) {
        const std::vector<double> factors = FactorsAlong(axis, value.shape(), tensor, *weight);
        if (factors.empty()) continue;
        for (const Candidate& other : by_size_[{value.dtype(), value.shape()[axis]}]) {
          for (const char* op : {"mul", "div"}) {
            std::vector<double> samples = SamplesOf(factors);
            if (op[0] == 'd') {
              for (double& x : samples) x = 1 / x;
            }
            if (Distance(samples, other.samples) > kAlike || ++compared > kMaxCompared) continue;
            Shape shape(value.shape().size(), 1);
            shape[axis] = value.shape()[axis];
            auto vector = Apply1("reshape", {other.value}, {{"shape", shape}});
            auto product = vector.ok() ? Apply1(op, {candidate.value, *vector}) : vector;
            const Shared computed = product.ok() ? evaluator_.Of(*product) : nullptr;
            if (computed == nullptr) continue;
            const WeightComparison all = CompareWeights(value, tensor.value, *product, *computed);
            if (all.related()) return all.relation;
          }
        }
      }
    }
    return std::nullopt;
  }

  // The factors by which the slices of `weight` along an axis have to be multiplied to become those
  // of `tensor`, from their largest elements; empty unless there are several and most others agree.
  static std::vector<double> FactorsAlong(size_t axis, const Shape& shape,
                                          const BoundedTensor& tensor,
                                          const BoundedTensor& weight) {
    const int64_t stride = RowMajorStrides(shape)[axis], count = shape[axis];
    if (count < 2) return {};
    std::vector<double> factors(static_cast<size_t>(count), 0),
        largest(static_cast<size_t>(count), 0);
    auto slice = [&](size_t i) { return static_cast<int64_t>(i) / stride % count; };
    for (size_t i = 0; i < weight.value.size(); ++i) {
      if (std::abs(weight.value[i]) <= largest[slice(i)]) continue;
      largest[slice(i)] = std::abs(weight.value[i]);
      factors[slice(i)] = tensor.value[i] / weight.value[i];
    }
    std::vector<double> scaled = SamplesOf(weight.value);
    for (int64_t s = 0; s < static_cast<int64_t>(scaled.size()); ++s) {
      scaled[s] *= factors[slice(SampleAt(s, weight.value.size()))];
    }
    if (Distance(SamplesOf(tensor.value), scaled) > kAlike) return {};
    return factors;
  }

  // The numbers of the graph of which rounded products may have this ratio.
  std::vector<float> FactorsNear(double ratio) const {
    auto least = std::nextafter(std::nextafter(static_cast<float>(ratio), -INFINITY), -INFINITY);
    auto most = std::nextafter(std::nextafter(static_cast<float>(ratio), INFINITY), INFINITY);
    return {numbers_of_before_.lower_bound(least), numbers_of_before_.upper_bound(most)};
  }

  // The candidates whose samples are like the value's, as values of its type: nearest first.
  std::vector<Candidate> Nearest(const std::vector<Candidate>& candidates, const Value& value,
                                 const BoundedTensor& tensor) const {
    std::vector<std::pair<double, Candidate>> near;
    const std::vector<double> samples = SamplesOf(tensor.value);
    for (const Candidate& candidate : candidates) {
      double distance = Distance(samples, candidate.samples);
      const Node &x = candidate.value.node(), &y = value.node();
      const bool one_name =
          x.kind() == Node::Kind::kWeight && y.kind() == x.kind() && x.name() == y.name();
      if (distance <= kAlike) {
        if (one_name && distance == 0) distance = -1;
        near.emplace_back(distance, Candidate{As(candidate.value, value), {}, 0});
        continue;
      }
      // A weight of the same name is worth comparing whatever its values are, after all others.
      if (one_name && x.type(0) == y.type(0)) near.emplace_back(kLast, candidate);
      for (const auto& order : OrdersBetween(candidate.value.shape(), value.shape())) {
        if (!IsAlike(candidate.value, order, value.shape(), samples)) continue;
        auto moved = Apply1("transpose", {candidate.value}, {{"perm", order}});
        if (moved.ok()) near.emplace_back(0, Candidate{*moved, {}, 0});
      }
    }
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (near.size() > kMaxCompared) near.resize(kMaxCompared);
    std::vector<Candidate> result;
    for (auto& [distance, candidate] : near) {
      if (candidate.value) result.push_back(std::move(candidate));
    }
    return result;
  }

  static Value As(const Value& value, const Value& like) {
    if (value.type() == like.type()) return value;
    auto reshaped = Apply1("reshape", {value}, {{"shape", like.shape()}});
    return reshaped.ok() ? *reshaped : Value();
  }
  // Compares samples of `from` with its dimensions in this order, which give `shape`. False for
  // large computed values, which are not kept.
  bool IsAlike(const Value& from, const std::vector<int64_t>& order, const Shape& shape,
               const std::vector<double>& samples) const {
    const bool is_leaf = from.node().has_payload();
    if (!is_leaf && from.type().num_elements() > kMaxComputed) return false;
    const Shared tensor = is_leaf ? nullptr : evaluator_.Of(from);
    const std::vector<int64_t> strides = RowMajorStrides(from.shape());
    const int64_t size = from.type().num_elements();
    std::vector<double> moved;
    for (int64_t i = 0; i < std::min(size, kWeightSamples); ++i) {
      auto rest = static_cast<int64_t>(SampleAt(i, static_cast<size_t>(size)));
      int64_t at = 0;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
        at += rest % shape[d] * strides[order[d]];
      }
      moved.push_back(is_leaf ? from.node().payload().AtDouble(at) : tensor->value[at]);
    }
    return Distance(samples, moved) <= kAlike;
  }

  const Graph& after_;
  const bool numbers_;
  const Deadline& deadline_;
  mutable ConstantEvaluator evaluator_;
  absl::flat_hash_set<const Node*> known_;  // constants of the other graph
  std::vector<NodePtr> constants_;          // the same, operands before users
  std::set<float> numbers_of_before_ = {-1};
  std::map<std::pair<DType, int64_t>, std::vector<Candidate>> by_size_;
  RelatedWeights result_;
};

}  // namespace

RelatedWeights RelateWeights(const Graph& before, const Folds& folds, const Graph& after,
                             bool numbers, const Deadline& deadline) {
  return Relater(after, numbers, deadline).Run(before, folds);
}

}  // namespace lemma::referee
