#include "optimizer/memory/rematerialized_graph.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "graph/barrier.h"
#include "graph/builder.h"

namespace lemma::optimizer {
namespace {

class CopyBuilder {
 public:
  CopyBuilder(const Graph& graph, const absl::flat_hash_map<const Node*, int>& position,
              const std::vector<bool>& is_static, absl::Span<const Recomputation> list)
      : graph_(graph), position_(position), is_static_(is_static), list_(list) {
    is_copied_.resize(graph.nodes().size());
    first_.resize(graph.nodes().size());
    for (size_t k = 0; k < list.size(); ++k) {
      for (const auto& [node, reader] : list[k].late) {
        is_copied_[node] = true;
        late_[{node, reader.node, reader.number}] = static_cast<int>(k) + 1;
      }
    }
  }

  std::optional<Graph> Run() {
    GraphBuilder builder(graph_.name());
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      builder.Input(graph_.input_names()[i], graph_.inputs()[i].type());
    }
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const NodePtr node = Make({static_cast<int>(n), 0});
      if (node == nullptr) return std::nullopt;
      for (int k = 0; k < node->num_outputs(); ++k) {
        const absl::string_view label = graph_.LabelOf(Value(graph_.nodes()[n], k));
        if (!label.empty()) builder.Label(Value(node, k), std::string(label));
      }
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value& v = graph_.outputs()[i];
      builder.Output(graph_.output_names()[i],
                     Value(first_[position_.at(&v.node())].node, v.output()));
    }
    auto graph = std::move(builder).Build();
    if (!graph.ok()) return std::nullopt;
    return *std::move(graph);
  }

  // Copies that turned out to be one node get the least of their numbers.
  absl::flat_hash_map<const Node*, Copy> Origins() const {
    absl::flat_hash_map<const Node*, Copy> origins;
    for (size_t n = 0; n < first_.size(); ++n) {
      origins[first_[n].node.get()] = {static_cast<int>(n), 0};
    }
    for (const auto& [at, made] : again_) {
      const Copy copy{at.first, at.second};
      const auto [origin, fresh] = origins.try_emplace(made.node.get(), copy);
      if (!fresh) origin->second = std::min(origin->second, copy);
    }
    return origins;
  }

 private:
  struct Made {
    bool open = false;
    NodePtr node;
  };

  bool Has(const Copy& copy) const {
    return copy.number == 0 || list_[copy.number - 1].nodes.count(copy.node) > 0;
  }

  // The copy of operand `node` that `reader` reads.
  Copy SourceOf(int node, const Copy& reader) const {
    if (is_copied_[node]) {
      auto late = late_.find({node, reader.node, reader.number});
      if (late != late_.end() && Has({node, late->second})) return {node, late->second};
    }
    if (reader.number == 0) return {node, 0};
    if (Has({node, reader.number})) return {node, reader.number};
    const std::map<int, int>& operands = list_[reader.number - 1].operands;
    auto named = operands.find(node);
    if (named != operands.end() && Has({node, named->second})) return {node, named->second};
    return {node, 0};
  }

  // Returns nullptr if the copy would have to wait for itself.
  NodePtr Make(const Copy& copy) {
    {
      Made& made = At(copy);
      if (made.node != nullptr || made.open) return made.node;
      made.open = true;
    }
    const NodePtr& node = graph_.nodes()[copy.node];
    NodePtr result = node;
    if (IsFetched(copy)) {
      result = Fetch(copy);
      if (result == nullptr) return nullptr;
    } else if (node->is_op()) {
      std::vector<Value> inputs;
      for (const Value& v : node->inputs()) {
        const Copy source = SourceOf(position_.at(&v.node()), copy);
        const NodePtr operand = Make(source);
        if (operand == nullptr) return nullptr;
        inputs.emplace_back(operand, v.output());
        const bool free = source.number == copy.number || is_static_[source.node];
        if (copy.number == 0 || free) continue;
        const NodePtr after = TokenOf(copy);
        if (after == nullptr) return nullptr;
        inputs.back() = Barrier(inputs.back(), Value(after, 0));
      }
      result = Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types());
    }
    At(copy).node = result;
    return result;
  }

  NodePtr TokenOf(const Copy& copy) {
    const Copy& token = list_[copy.number - 1].token;
    return Make(Has(token) ? token : Copy{token.node, 0});
  }

  bool IsFetched(const Copy& copy) const {
    return copy.number > 0 && list_[copy.number - 1].fetched == copy.node;
  }

  // A value that is fetched twice is offloaded once.
  NodePtr Fetch(const Copy& copy) {
    const std::map<int, int>& operands = list_[copy.number - 1].operands;
    const auto named = operands.find(copy.node);
    Copy source{copy.node, named == operands.end() ? 0 : named->second};
    if (!Has(source)) source.number = 0;
    const NodePtr kept = Make(source);
    const NodePtr after = TokenOf(copy);
    if (kept == nullptr || after == nullptr) return nullptr;
    auto [offloaded, fresh] = offloaded_.try_emplace({source.node, source.number});
    if (fresh) offloaded->second = Offload(Value(kept, 0)).node_ptr();
    return Barrier(Value(offloaded->second, 0), Value(after, 0)).node_ptr();
  }

  Made& At(const Copy& copy) {
    return copy.number == 0 ? first_[copy.node] : again_[{copy.node, copy.number}];
  }

  const Graph& graph_;
  const absl::flat_hash_map<const Node*, int>& position_;
  const std::vector<bool>& is_static_;
  const absl::Span<const Recomputation> list_;
  std::vector<bool> is_copied_;
  absl::flat_hash_map<std::tuple<int, int, int>, int> late_;  // node, reader -> number
  std::vector<Made> first_;
  absl::flat_hash_map<std::pair<int, int>, Made> again_;  // node, number
  absl::flat_hash_map<std::pair<int, int>, NodePtr> offloaded_;
};

// Makes readers of copies with number `from` read those with number `to`.
void Rename(int from, int to, Recomputation* unit) {
  std::set<std::pair<int, Copy>> late;
  for (const auto& [node, reader] : unit->late) {
    late.insert({node, {reader.node, reader.number == from ? to : reader.number}});
  }
  unit->late = std::move(late);
  for (auto& [node, number] : unit->operands) {
    if (number == from) number = to;
  }
  if (unit->token.number == from) unit->token.number = to;
}

}  // namespace

std::optional<RematerializedGraph> WithCopies(const Graph& graph,
                                              const absl::flat_hash_map<const Node*, int>& position,
                                              const std::vector<bool>& is_static,
                                              absl::Span<const Recomputation> list) {
  CopyBuilder builder(graph, position, is_static, list);
  auto copied = builder.Run();
  if (!copied) return std::nullopt;
  return RematerializedGraph{*std::move(copied), builder.Origins()};
}

std::vector<Recomputation> Joined(std::vector<Recomputation> list, const Recomputation& added,
                                  const std::set<int>& also) {
  Recomputation all = added;
  std::set<std::pair<int, Copy>> taken;  // by recomputations that stay and have higher numbers
  std::vector<int> joined;
  for (int number = static_cast<int>(list.size()); number > 0; --number) {
    Recomputation& unit = list[number - 1];
    const bool shares = std::any_of(unit.nodes.begin(), unit.nodes.end(),
                                    [&](int n) { return added.nodes.count(n) > 0; });
    if (unit.fetched >= 0 || (!shares && also.count(number) == 0)) {
      taken.insert(unit.late.begin(), unit.late.end());
      continue;
    }
    all.nodes.insert(unit.nodes.begin(), unit.nodes.end());
    all.operands.insert(unit.operands.begin(), unit.operands.end());
    std::set_difference(unit.late.begin(), unit.late.end(), taken.begin(), taken.end(),
                        std::inserter(all.late, all.late.end()));
    unit = Recomputation();
    joined.push_back(number);
  }
  list.push_back(std::move(all));
  for (Recomputation& unit : list) {
    for (int number : joined) Rename(number, static_cast<int>(list.size()), &unit);
  }
  return list;
}

}  // namespace lemma::optimizer
