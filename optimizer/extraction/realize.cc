#include "optimizer/extraction/realize.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace lemma::optimizer {
namespace {

// Collects the applications that lead from the input to a selection. An application lets values
// replace others of their class, so applications form paths from present values to selected ones.
// The nodes that it matches are in the input or made by earlier applications, as in the e-graph, so
// no application waits for itself.
class Sources {
 public:
  Sources(const EGraph& egraph, const Selection& selection)
      : egraph_(egraph), there_(egraph.num_values()) {
    for (int n = 0; n < egraph.num_originals(); ++n) Has(n, -1);
    for (size_t i = 0; i < egraph.applied_matches().size(); ++i) {
      const AppliedMatch& application = egraph.applied_matches()[i];
      for (const auto& [from, to] : application.matched->edit.replaced) {
        const ValueRef now = to.node >= 0 ? to : ValueRef{application.made[~to.node], to.output};
        steps_[KeyOf(from)].push_back({KeyOf(now), static_cast<int>(i)});
      }
    }
    std::vector<size_t> followed(selection.provider.size());  // by class: values handled so far
    for (bool more = true; more;) {
      more = false;
      for (size_t c = 0; c < selection.provider.size(); ++c) {
        if (selection.provider[c].node < 0) continue;
        for (; followed[c] < there_[c].size(); ++followed[c]) {
          more = true;
          Join(there_[c][followed[c]].value, KeyOf(selection.provider[c]));
        }
      }
      if (more) continue;
      // No path leads there: use the application that created the value.
      for (const ValueRef& v : selection.provider) {
        if (v.node < 0 || IsThere(KeyOf(v), kAll)) continue;
        Need(egraph_.Creator(v.node));
        more = true;
      }
    }
  }

  std::set<int> Take() { return std::move(needed_); }

 private:
  static constexpr int kAll = std::numeric_limits<int>::max();
  using Key = std::pair<int, int>;  // a live node, its output
  struct There {
    Key value;
    int since = -1;  // the application that makes it
  };
  struct Step {
    Key to;
    int application = 0;
  };

  Key KeyOf(ValueRef v) const { return {egraph_.LiveNode(v.node), v.output}; }
  std::vector<There>& ThereOf(Key v) { return there_[egraph_.ClassOf({v.first, v.second})]; }

  // Records that the node is present after application `since`.
  void Has(int node, int since) {
    for (int k = 0; k < egraph_.Head(node).num_outputs(); ++k) {
      const Key v = KeyOf({node, k});
      auto& there = ThereOf(v);
      auto it = std::find_if(there.begin(), there.end(),
                             [&](const There& other) { return other.value == v; });
      if (it == there.end()) {
        there.push_back({v, since});
      } else {
        it->since = std::min(it->since, since);
      }
    }
  }
  bool IsThere(Key v, int before) {
    const auto& there = ThereOf(v);
    return std::any_of(there.begin(), there.end(), [&](const There& other) {
      return other.value == v && other.since < before;
    });
  }

  // By value that can replace `from` before application `before`: the previous value and
  // application.
  absl::flat_hash_map<Key, Step> WaysFrom(Key from, int before, std::vector<Key>* in_order) const {
    absl::flat_hash_map<Key, Step> reached = {{from, {from, -1}}};
    *in_order = {from};
    for (size_t i = 0; i < in_order->size(); ++i) {
      const Key at = (*in_order)[i];
      auto steps = steps_.find(at);
      if (steps == steps_.end()) continue;
      for (const Step& step : steps->second) {
        if (step.application >= before) continue;
        if (reached.try_emplace(step.to, Step{at, step.application}).second) {
          in_order->push_back(step.to);
        }
      }
    }
    return reached;
  }

  void NeedWay(const absl::flat_hash_map<Key, Step>& reached, Key from, Key to) {
    for (Key at = to; at != from; at = reached.at(at).to) Need(reached.at(at).application);
  }

  // Needs the applications on the shortest path that are earlier than `before`. Returns whether
  // there is a path.
  bool Follow(Key from, Key to, int before) {
    std::vector<Key> in_order;
    const auto reached = WaysFrom(from, before, &in_order);
    if (!reached.contains(to)) return false;
    NeedWay(reached, from, to);
    return true;
  }

  // Merges the two values into one: `to` if possible, else the nearest one that can replace both.
  void Join(Key from, Key to) {
    if (Follow(from, to, kAll) || !IsThere(to, kAll)) return;
    std::vector<Key> in_order;
    const auto ways = WaysFrom(from, kAll, &in_order), others = WaysFrom(to, kAll, &in_order);
    for (const Key& meeting : in_order) {
      if (!ways.contains(meeting)) continue;
      NeedWay(ways, from, meeting);
      NeedWay(others, to, meeting);
      return;
    }
  }

  void Need(int application) {
    if (!needed_.insert(application).second) return;
    const AppliedMatch& needed = egraph_.applied_matches()[application];
    for (int node : needed.matched->match.nodes) {
      const Key source = KeyOf({node, 0});
      if (IsThere(source, application)) continue;
      const std::vector<There> there = ThereOf(source);
      if (std::none_of(there.begin(), there.end(), [&](const There& v) {
            return v.since < application && Follow(v.value, source, application);
          })) {
        Need(egraph_.Creator(source.first));
      }
    }
    for (int node : needed.made) Has(node, application);
  }

  const EGraph& egraph_;
  std::vector<std::vector<There>> there_;              // by class
  absl::flat_hash_map<Key, std::vector<Step>> steps_;  // replacements of a value
  std::set<int> needed_;
};

class Realizer {
 public:
  Realizer(const EGraph& egraph, std::set<int> needed, Workspace* work)
      : egraph_(egraph), needed_(std::move(needed)), work_(*work) {
    for (int n = 0; n < egraph.num_originals(); ++n) Note(n, n);
  }

  int Do() {
    while (!needed_.empty()) {
      const std::vector<std::pair<int, MatchedEditPtr>> ready = Ready();
      if (ready.empty()) break;
      const auto& [number, matched] = Choose(ready);
      needed_.erase(number);
      std::vector<int> made;
      if (!work_.Commit(matched, &made)) continue;
      const AppliedMatch& application = egraph_.applied_matches()[number];
      for (size_t i = 0; i < made.size(); ++i) Note(made[i], application.made[i]);
    }
    return static_cast<int>(needed_.size());
  }

 private:
  void Note(int node, int in_egraph) {
    const int live = egraph_.LiveNode(in_egraph);
    meaning_[node] = live;
    std::vector<int>& nodes = nodes_[live];
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }

  bool Means(int node, int in_egraph) const {
    auto it = meaning_.find(node);
    return it != meaning_.end() && it->second == egraph_.LiveNode(in_egraph);
  }

  // Compares operands too: a commutative operator's operands can match in either order.
  bool Means(const Binding& match, const Binding& in_egraph) const {
    for (size_t i = 0; i < match.nodes.size(); ++i) {
      if (!Means(match.nodes[i], in_egraph.nodes[i])) return false;
    }
    for (size_t i = 0; i < match.vars.size(); ++i) {
      auto it = meaning_.find(match.vars[i].node);
      if (it == meaning_.end()) return false;
      const ValueRef meant{it->second, match.vars[i].output};
      if (egraph_.ClassOf(meant) != egraph_.ClassOf(in_egraph.vars[i])) return false;
    }
    return true;
  }

  // The needed applications whose match is in the current graph.
  std::vector<std::pair<int, MatchedEditPtr>> Ready() const {
    std::vector<std::pair<int, MatchedEditPtr>> ready;
    for (int number : needed_) {
      MatchedEditPtr matched = Find(*egraph_.applied_matches()[number].matched);
      if (matched != nullptr) ready.emplace_back(number, std::move(matched));
    }
    return ready;
  }

  MatchedEditPtr Find(const MatchedEdit& wanted) const {
    const int root = wanted.rule->rule().source.outputs[0].node;
    auto candidates = nodes_.find(egraph_.LiveNode(wanted.match.nodes[root]));
    if (candidates == nodes_.end()) return nullptr;
    MatchedEditPtr found;
    for (int node : candidates->second) {
      if (!work_.graph().IsLive(node)) continue;
      wanted.rule->matcher.ForEachAt(work_.graph(), root, node, [&](const Binding& match) {
        if (!Means(match, wanted.match)) return true;
        if (!work_.matches().IsApplicable({wanted.rule, match, {}})) return true;
        found = MatchedEditOf(*wanted.rule, work_.graph(), match);
        return found == nullptr;
      });
      if (found != nullptr) break;
    }
    return found;
  }

  // Chooses the application that destroys the fewest other matches; of several, the first.
  const std::pair<int, MatchedEditPtr>& Choose(
      const std::vector<std::pair<int, MatchedEditPtr>>& ready) const {
    auto takes_away = [&](const std::pair<int, MatchedEditPtr>& chosen) {
      const Substitution& rule = chosen.second->rule->rule();
      int count = 0;
      for (const PatternValue& output : rule.source.outputs) {
        const int replaced = chosen.second->match.nodes[output.node];
        for (int other : needed_) {
          if (other == chosen.first) continue;
          const auto& nodes = egraph_.applied_matches()[other].matched->match.nodes;
          count += std::any_of(nodes.begin(), nodes.end(),
                               [&](int node) { return Means(replaced, node); });
        }
      }
      return count;
    };
    auto best = ready.begin();
    int least = takes_away(*best);
    for (auto it = ready.begin() + 1; it != ready.end() && least > 0; ++it) {
      const int count = takes_away(*it);
      if (count < least) {
        least = count;
        best = it;
      }
    }
    return *best;
  }

  const EGraph& egraph_;
  std::set<int> needed_;
  Workspace& work_;
  absl::flat_hash_map<int, int> meaning_;  // by node of the graph: its node in the e-graph
  absl::flat_hash_map<int, std::vector<int>> nodes_;  // the inverse
};

}  // namespace

int Realize(const EGraph& egraph, const Selection& selection, Workspace* work) {
  return Realizer(egraph, Sources(egraph, selection).Take(), work).Do();
}

}  // namespace lemma::optimizer
