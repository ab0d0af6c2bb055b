#include "optimizer/search/step_places.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/barrier.h"

namespace lemma::optimizer {
namespace {

constexpr size_t kMostPlaces = 200;

std::vector<int> FirstOf(const std::set<int>& places) {
  std::vector<int> first;
  for (int place : places) {
    if (first.size() == kMostPlaces) break;
    first.push_back(place);
  }
  return first;
}

// By node of `graph`: the node of `folded`, which is `graph` without its barriers and with
// constants in place of some nodes. Nodes that are constants in `folded` are left out.
absl::flat_hash_map<const Node*, const Node*> UnfoldedNodes(const Graph& graph,
                                                            const Graph& folded) {
  absl::flat_hash_map<const Node*, const Node*> found;
  std::vector<std::pair<const Node*, const Node*>> pending;
  for (size_t i = 0; i < std::min(graph.outputs().size(), folded.outputs().size()); ++i) {
    pending.emplace_back(&graph.outputs()[i].node(), &folded.outputs()[i].node());
  }
  while (!pending.empty()) {
    auto [from, to] = pending.back();
    pending.pop_back();
    while (IsBarrier(*from)) from = &from->inputs()[0].node();
    if (from->is_op() != to->is_op() || !found.emplace(from, to).second) continue;
    const size_t n = std::min(from->inputs().size(), to->inputs().size());
    for (size_t i = 0; i < n; ++i) {
      pending.emplace_back(&from->inputs()[i].node(), &to->inputs()[i].node());
    }
  }
  return found;
}

}  // namespace

PlaceKeeper::PlaceKeeper(const Graph& input)
    : input_nodes_(static_cast<int>(input.nodes().size())) {}

void PlaceKeeper::Step(absl::Span<const int> matched, absl::Span<const int> made) {
  steps_.push_back({{matched.begin(), matched.end()}, {made.begin(), made.end()}});
}

void PlaceKeeper::Forget() {
  steps_.emplace_back();
  first_known_ = steps_.size();
  knows_input_ = false;
}

StepPlaces PlaceKeeper::Finish(const std::vector<NodePtr>& nodes, const Graph& last,
                               const Graph& output) const {
  StepPlaces places;
  places.input_nodes = input_nodes_;
  places.output_nodes = static_cast<int>(output.nodes().size());
  places.steps.resize(steps_.size());
  absl::flat_hash_map<int, std::vector<int>> origin;  // by number of a node that a step made
  for (size_t i = first_known_; i < steps_.size() && knows_input_; ++i) {
    std::set<int> replaced;
    for (int number : steps_[i].matched) {
      if (auto it = origin.find(number); it != origin.end()) {
        replaced.insert(it->second.begin(), it->second.end());
      } else if (number < input_nodes_) {
        replaced.insert(number);
      }
    }
    places.steps[i].replaced = FirstOf(replaced);
    for (int number : steps_[i].made) {
      if (number >= input_nodes_) origin.emplace(number, places.steps[i].replaced);
    }
  }
  const absl::flat_hash_map<const Node*, const Node*> unfolded = UnfoldedNodes(last, output);
  absl::flat_hash_map<const Node*, int> position;
  for (size_t i = 0; i < output.nodes().size(); ++i) {
    position.emplace(output.nodes()[i].get(), static_cast<int>(i));
  }
  absl::flat_hash_map<int, size_t> replaced_by;  // by number: the first later step that matched it
  for (size_t i = steps_.size(); i-- > first_known_;) {
    std::set<int> made;
    for (int number : steps_[i].made) {
      const NodePtr node = static_cast<size_t>(number) < nodes.size() ? nodes[number] : nullptr;
      if (auto it = unfolded.find(node.get()); node != nullptr && it != unfolded.end()) {
        if (auto at = position.find(it->second); at != position.end()) made.insert(at->second);
      } else if (auto later = replaced_by.find(number); later != replaced_by.end()) {
        const std::vector<int>& survivors = places.steps[later->second].made;
        made.insert(survivors.begin(), survivors.end());
      }
    }
    places.steps[i].made = FirstOf(made);
    for (int number : steps_[i].matched) replaced_by[number] = i;
  }
  return places;
}

}  // namespace lemma::optimizer
