#include "optimizer/realize.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace lemma {
namespace {

// The applications that a selection comes from.
class Sources {
 public:
  Sources(const EGraph& egraph, const Selection& selection) : egraph_(egraph) {
    for (int n = 0; n < egraph.num_originals(); ++n) {
      for (int k = 0; k < egraph.Head(n).num_outputs(); ++k) ++originals_[egraph.ClassOf({n, k})];
    }
    for (size_t i = 0; i < egraph.applications().size(); ++i) {
      for (const auto& [from, to] : egraph.applications()[i].site->edit.replaced) {
        const int c = egraph.ClassOf(from);
        auto it = originals_.find(c);
        if (it != originals_.end() && it->second > 1) unions_[c].push_back(static_cast<int>(i));
      }
    }
    for (const ValueRef& v : selection.provider) {
      if (v.node >= 0) NeedNode(v.node);
    }
  }

  std::set<int> Take() { return std::move(needed_); }

 private:
  void NeedNode(int node) {
    std::vector<int> pending = {egraph_.LiveNode(node)};
    auto need = [&](int number) {
      if (!needed_.insert(number).second) return;
      for (int source : egraph_.applications()[number].site->match.nodes) {
        pending.push_back(egraph_.LiveNode(source));
      }
    };
    while (!pending.empty()) {
      const int next = pending.back();
      pending.pop_back();
      if (egraph_.Creator(next) >= 0) need(egraph_.Creator(next));
      // Values of the input that turned out equal: what says so. Rules that add nodes have their
      // say if the nodes are needed.
      for (int k = 0; k < egraph_.Head(next).num_outputs(); ++k) {
        auto unions = unions_.find(egraph_.ClassOf({next, k}));
        if (unions == unions_.end()) continue;
        for (int number : unions->second) {
          if (AddsNothing(number)) need(number);
        }
      }
    }
  }

  bool AddsNothing(int number) const {
    const auto& made = egraph_.applications()[number].made;
    return std::none_of(made.begin(), made.end(),
                        [&](int node) { return egraph_.Creator(node) == number; });
  }

  const EGraph& egraph_;
  absl::flat_hash_map<int, int> originals_;            // by class
  absl::flat_hash_map<int, std::vector<int>> unions_;  // by class: applications
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
      const std::vector<std::pair<int, SitePtr>> ready = Ready();
      if (ready.empty()) break;
      const auto& [number, site] = Choose(ready);
      needed_.erase(number);
      std::vector<int> made;
      if (!work_.Commit(site, &made)) continue;
      const Application& application = egraph_.applications()[number];
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

  // The operands too: a commutative operator's can be taken in either order.
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

  // Needed applications whose match is in the graph as it is.
  std::vector<std::pair<int, SitePtr>> Ready() const {
    std::vector<std::pair<int, SitePtr>> ready;
    for (int number : needed_) {
      SitePtr site = Find(*egraph_.applications()[number].site);
      if (site != nullptr) ready.emplace_back(number, std::move(site));
    }
    return ready;
  }

  SitePtr Find(const Site& wanted) const {
    const int root = wanted.rule->rule().source.outputs[0].node;
    auto candidates = nodes_.find(egraph_.LiveNode(wanted.match.nodes[root]));
    if (candidates == nodes_.end()) return nullptr;
    SitePtr found;
    for (int node : candidates->second) {
      if (!work_.graph().IsLive(node)) continue;
      wanted.rule->matcher.ForEachAt(work_.graph(), root, node, [&](const Binding& match) {
        if (!Means(match, wanted.match)) return true;
        if (!work_.matches().IsApplicable({wanted.rule, match, {}})) return true;
        found = SiteOf(*wanted.rule, work_.graph(), match);
        return found == nullptr;
      });
      if (found != nullptr) break;
    }
    return found;
  }

  // One that takes away what the fewest others match; among them the first.
  const std::pair<int, SitePtr>& Choose(const std::vector<std::pair<int, SitePtr>>& ready) const {
    auto takes_away = [&](const std::pair<int, SitePtr>& chosen) {
      const Substitution& rule = chosen.second->rule->rule();
      int count = 0;
      for (const PatternValue& output : rule.source.outputs) {
        const int replaced = chosen.second->match.nodes[output.node];
        for (int other : needed_) {
          if (other == chosen.first) continue;
          const auto& nodes = egraph_.applications()[other].site->match.nodes;
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
  absl::flat_hash_map<int, int> meaning_;             // by node of the graph: of the e-graph
  absl::flat_hash_map<int, std::vector<int>> nodes_;  // and back
};

}  // namespace

int Realize(const EGraph& egraph, const Selection& selection, Workspace* work) {
  return Realizer(egraph, Sources(egraph, selection).Take(), work).Do();
}

}  // namespace lemma
