#include "verifier/prover/graph_sweep.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/work.h"
#include "graph/builder.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/loops/cost.h"
#include "verifier/prover/graph_claim.h"

namespace lemma::prover {
namespace {

constexpr double kMaxWork = 2e10;         // operations of one run of both graphs
constexpr int kMaxTogether = 24;          // operators in one proof
constexpr int kCandidates = 3;            // values of `a` tried for one of `b`
constexpr int kMaxFailures = 20;          // proofs that fail
constexpr size_t kSketch = 16;            // elements of a value that are compared
constexpr int64_t kWorkPerNode = 100000;  // keeps the interruption flag checked

using Column = std::vector<double>;
using Sketches = absl::flat_hash_map<Value, Column>;

// Runs graphs in double. Random inputs depend on the node, so equal nodes of both graphs get equal
// values.
class Sketcher {
 public:
  Sketcher(uint64_t seed, const absl::flat_hash_set<const Node*>* drawn_weights)
      : seed_(seed), drawn_weights_(*drawn_weights) {}

  // A few elements of each value; none if the value cannot be computed.
  Sketches Run(const Graph& graph) {
    Sketches sketches;
    absl::flat_hash_map<Value, int> users;
    for (const NodePtr& node : graph.nodes()) {
      for (const Value& operand : node->inputs()) ++users[operand];
    }
    absl::flat_hash_map<Value, Column> live;
    for (const NodePtr& node : graph.nodes()) {
      SpendWork(kWorkPerNode);
      std::vector<Column> columns = node->is_op() ? Compute(*node, live) : Leaf(*node);
      for (size_t o = 0; o < columns.size(); ++o) {
        const Value value(node, static_cast<int>(o));
        sketches[value] = Some(columns[o]);
        live[value] = std::move(columns[o]);
      }
      for (const Value& operand : node->inputs()) {
        if (--users[operand] == 0) live.erase(operand);
      }
    }
    return sketches;
  }

 private:
  std::vector<Column> Leaf(const Node& node) const {
    const bool drawn =
        node.kind() == Node::Kind::kInput || !node.has_payload() || drawn_weights_.count(&node) > 0;
    if (!drawn) return {node.payload().ToDoubles()};
    return {Drawn(node, 0)};
  }
  Column Drawn(const Node& node, int output) const {
    std::mt19937_64 random(HashCombine(HashCombine(seed_, node.hash()), output));
    const TensorType& type = node.type(output);
    Column column(type.num_elements());
    for (double& x : column) {
      x = static_cast<double>(random() >> 11) * 0x1p-53 * 4 - 2;
      if (!IsFloat(type.dtype)) x = static_cast<double>(random() % 2);
    }
    return column;
  }
  std::vector<Column> Compute(const Node& node,
                              const absl::flat_hash_map<Value, Column>& live) const {
    std::vector<Column> outputs;
    auto definition = DefinitionOf(node);
    if (!definition.ok()) {
      for (int o = 0; o < node.num_outputs(); ++o) outputs.push_back(Drawn(node, o));
      return outputs;
    }
    auto program = CompileLoops(*definition);
    if (!program.ok()) return {};
    std::vector<TensorView> views;
    for (const Value& operand : node.inputs()) {
      auto it = live.find(operand);
      if (it == live.end()) return {};
      views.push_back({it->second.data(), std::nullopt, DenseStrides(operand.shape())});
    }
    std::vector<MutableTensorView> targets;
    for (const TensorType& type : node.types()) outputs.emplace_back(type.num_elements());
    for (int o = 0; o < node.num_outputs(); ++o) {
      targets.push_back({outputs[o].data(), std::nullopt, DenseStrides(node.type(o).shape)});
    }
    if (!lemma::Run<double>(*program, views, targets).ok()) return {};
    return outputs;
  }
  static Column Some(const Column& column) {
    if (column.size() <= kSketch) return column;
    Column some;
    for (size_t i = 0; i < kSketch; ++i) some.push_back(column[Mix64(i) % column.size()]);
    return some;
  }
  const uint64_t seed_;
  const absl::flat_hash_set<const Node*>& drawn_weights_;
};

bool Alike(const Column& a, const Column& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= 1e-5 * (1e-3 + std::abs(a[i]) + std::abs(b[i])))) return false;
  }
  return a.size() == b.size();
}

double WorkOf(const Graph& graph) {
  double work = 0;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    auto definition = DefinitionOf(*node);
    if (!definition.ok()) continue;
    auto count = CountWork(*definition);
    if (count.ok()) work += count->flops;
  }
  return work;
}

class Sweeper {
 public:
  Sweeper(const Graph& a, const Graph& b, const ProverOptions& options)
      : a_(a), b_(b), options_(options) {}

  Swept Run() {
    absl::flat_hash_set<const Node*> weights;
    for (const NodePtr& node : a_.nodes()) nodes_of_a_.insert(node.get());
    for (const NodePtr& node : b_.nodes()) {
      const bool both = node->kind() == Node::Kind::kWeight && nodes_of_a_.count(node.get()) > 0;
      if (both) weights.insert(node.get());
    }
    Sketcher sketcher(options_.seed, &weights);
    in_a_ = sketcher.Run(a_);
    in_b_ = sketcher.Run(b_);
    proved_.contract = FloatContract::kBitExact;
    for (const NodePtr& node : b_.nodes()) Move(node);
    std::vector<Value> outputs;
    for (const Value& value : b_.outputs()) outputs.push_back(moved_.at(value));
    return {WithOutputs(b_, outputs), proved_};
  }

 private:
  static Graph WithOutputs(const Graph& graph, const std::vector<Value>& outputs) {
    GraphBuilder builder(graph.name());
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      builder.Input(graph.input_names()[i], graph.inputs()[i].type());
    }
    for (size_t o = 0; o < outputs.size(); ++o) builder.Output(absl::StrCat("y", o), outputs[o]);
    return *std::move(builder).Build();
  }

  void Move(const NodePtr& node) {
    NodePtr now = node;
    if (node->is_op()) {
      std::vector<Value> operands;
      for (const Value& operand : node->inputs()) operands.push_back(moved_.at(operand));
      now = Node::Apply(&node->op(), std::move(operands), node->attrs(), node->types());
    }
    for (int o = 0; o < node->num_outputs(); ++o) {
      const Value value(now, o);
      moved_[Value(node, o)] = value;
      if (now->is_op() && nodes_of_a_.count(now.get()) == 0) Merge(Value(node, o), value);
    }
  }

  // `value` of b; `now` is the same value over replaced operands.
  void Merge(const Value& value, const Value& now) {
    auto sketch = in_b_.find(value);
    if (!IsFloat(value.dtype()) || sketch == in_b_.end()) return;
    int tried = 0;
    for (const NodePtr& node : a_.nodes()) {
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value candidate(node, o);
        auto it = in_a_.find(candidate);
        if (it == in_a_.end() || candidate.type() != value.type() ||
            !Alike(it->second, sketch->second)) {
          continue;
        }
        if (failures_ >= kMaxFailures || ++tried > kCandidates) return;
        SpendWork(kWorkPerNode);
        if (!Prove(candidate, now)) continue;
        moved_[value] = candidate;
        return;
      }
    }
  }

  bool Prove(const Value& candidate, const Value& now) {
    const Graph a = WithOutputs(a_, {candidate}), b = WithOutputs(b_, {now});
    for (bool cut : {true, false}) {
      auto claim = MakeClaim(a, b, cut);
      if (!claim.ok() || claim->operators > kMaxTogether) break;
      const Verdict verdict = ProveClaim(*claim, options_);
      if (const auto* proved = std::get_if<Proved>(&verdict)) {
        Join(*proved, &proved_);
        return true;
      }
    }
    ++failures_;
    return false;
  }

  const Graph &a_, &b_;
  const ProverOptions& options_;
  absl::flat_hash_set<const Node*> nodes_of_a_;
  Sketches in_a_, in_b_;
  absl::flat_hash_map<Value, Value> moved_;
  Proved proved_;
  int failures_ = 0;
};

}  // namespace

void Join(const Proved& part, Proved* total) {
  total->contract = std::max(total->contract, part.contract);
  if (total->coverage.empty()) total->coverage = part.coverage;
  total->queries += part.queries;
  total->work += part.work;
  auto append = [](const auto& from, auto* to) { to->insert(to->end(), from.begin(), from.end()); };
  append(part.log.queries, &total->log.queries);
  append(part.log.steps, &total->log.steps);
}

std::optional<Swept> Sweep(const Graph& a, const Graph& b, const ProverOptions& options) {
  if (WorkOf(a) + WorkOf(b) > kMaxWork) return std::nullopt;
  return Sweeper(a, b, options).Run();
}

}  // namespace lemma::prover
