#include "kernels/loops/loop_merge.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/loops/leaf_table.h"

namespace lemma {
namespace loops {
namespace {

// Visits every polynomial of `nest`, except those of unused terms: terms are reached through their
// users.
template <class Visit>
void ForEachAffine(Nest* nest, Visit visit) {
  std::vector<bool> seen(nest->leaves.size(), false);
  std::function<void(Affine&)> reach = [&](Affine& p) {
    for (const auto& [t, c] : p.terms) {
      if (seen[t]) continue;
      seen[t] = true;
      reach(nest->leaves[t].a);
      reach(nest->leaves[t].b);
    }
    visit(p);
  };
  reach(nest->out);
  for (Node& node : nest->nodes) {
    reach(node.index);
    for (Check& check : node.checks) reach(check.index);
    for (auto& axis : node.axes) reach(axis.second);
  }
  for (Cond& cond : nest->conds) reach(cond.affine);
}

// Merges `outer` into `inner` if they are always used together.
bool TryMerge(Nest* nest, int outer, int inner) {
  int64_t extent = nest->vars[inner].extent;
  bool same = true;
  ForEachAffine(nest, [&](Affine& p) {
    if (p.CoefficientOf(outer) != extent * p.CoefficientOf(inner)) same = false;
  });
  if (!same) return false;
  ForEachAffine(nest, [&](Affine& p) {
    auto is_outer = [outer](const auto& term) { return term.first == outer; };
    p.terms.erase(std::remove_if(p.terms.begin(), p.terms.end(), is_outer), p.terms.end());
  });
  nest->vars[inner].extent *= nest->vars[outer].extent;
  nest->leaves[inner].bounds.hi = nest->vars[inner].extent - 1;
  return true;
}

void CollectConds(const Nest& nest, int cond, std::vector<bool>* used) {
  if (cond < 0 || (*used)[cond]) return;
  (*used)[cond] = true;
  CollectConds(nest, nest.conds[cond].left, used);
  CollectConds(nest, nest.conds[cond].right, used);
}

struct Usage {
  std::vector<bool> nodes, terms, conds;
};

// Marks everything that node `n` needs.
void CollectNode(const Nest& nest, int n, Usage* used);

void CollectAffine(const Nest& nest, const Affine& p, Usage* used) {
  for (const auto& [t, c] : p.terms) {
    if (used->terms[t]) continue;
    used->terms[t] = true;
    CollectAffine(nest, nest.leaves[t].a, used);
    CollectAffine(nest, nest.leaves[t].b, used);
    if (nest.leaves[t].load >= 0) CollectNode(nest, nest.leaves[t].load, used);
  }
}

void CollectNode(const Nest& nest, int n, Usage* used) {
  if (used->nodes[n]) return;
  used->nodes[n] = true;
  const Node& node = nest.nodes[n];
  for (int arg : node.args) CollectNode(nest, arg, used);
  CollectAffine(nest, node.index, used);
  for (const Check& check : node.checks) CollectAffine(nest, check.index, used);
  for (const auto& axis : node.axes) CollectAffine(nest, axis.second, used);
  std::vector<bool> conds(nest.conds.size(), false);
  CollectConds(nest, node.guard, &conds);
  for (size_t c = 0; c < conds.size(); ++c) {
    if (!conds[c]) continue;
    used->conds[c] = true;
    CollectAffine(nest, nest.conds[c].affine, used);
  }
}

}  // namespace

void Compact(Nest* nest) {
  Usage used{std::vector<bool>(nest->nodes.size()), std::vector<bool>(nest->leaves.size()),
             std::vector<bool>(nest->conds.size())};
  used.conds[kCondFalse] = used.conds[kCondTrue] = true;
  CollectNode(*nest, nest->root, &used);
  CollectAffine(*nest, nest->out, &used);
  std::vector<int> moved(nest->nodes.size(), -1), moved_cond(nest->conds.size(), -1);
  std::vector<Node> nodes;
  std::vector<Cond> conds;
  for (size_t c = 0; c < nest->conds.size(); ++c) {
    if (!used.conds[c]) continue;
    Cond cond = std::move(nest->conds[c]);
    if (cond.left >= 0) cond.left = moved_cond[cond.left];
    if (cond.right >= 0) cond.right = moved_cond[cond.right];
    moved_cond[c] = static_cast<int>(conds.size());
    conds.push_back(std::move(cond));
  }
  for (size_t n = 0; n < nest->nodes.size(); ++n) {
    if (!used.nodes[n]) continue;
    Node node = std::move(nest->nodes[n]);
    for (int& arg : node.args) arg = moved[arg];
    node.guard = moved_cond[node.guard];
    moved[n] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(node));
  }
  for (size_t t = 0; t < nest->leaves.size(); ++t) {
    IndexLeaf& leaf = nest->leaves[t];
    if (leaf.load >= 0) leaf.load = used.terms[t] ? moved[leaf.load] : -1;
  }
  nest->nodes = std::move(nodes);
  nest->conds = std::move(conds);
  nest->root = moved[nest->root];
  RecomputeDeps(nest);
}

void RecomputeDeps(Nest* nest) {
  auto deps_of = [nest](const Affine& p) {
    Vars deps;
    for (const auto& term : p.terms) deps |= nest->leaves[term.first].deps;
    return deps;
  };
  // Terms come before the nodes that use them, except that a load uses a node. Each round settles
  // one level of loads.
  int rounds = 1;
  for (const IndexLeaf& leaf : nest->leaves) rounds += leaf.load >= 0 ? 1 : 0;
  for (int round = 0; round < rounds; ++round) {
    for (IndexLeaf& leaf : nest->leaves) {
      if (leaf.kind == IndexLeaf::Kind::kVar) continue;
      leaf.deps = deps_of(leaf.a) | deps_of(leaf.b);
      if (leaf.load >= 0) leaf.deps |= nest->nodes[leaf.load].deps;
    }
    for (Cond& cond : nest->conds) {
      cond.deps = deps_of(cond.affine);
      if (cond.left >= 0) cond.deps |= nest->conds[cond.left].deps;
      if (cond.right >= 0) cond.deps |= nest->conds[cond.right].deps;
    }
    for (Node& node : nest->nodes) {
      node.deps = deps_of(node.index);
      for (const Check& check : node.checks) node.deps |= deps_of(check.index);
      for (int arg : node.args) node.deps |= nest->nodes[arg].deps;
      node.deps |= nest->conds[node.guard].deps;
      for (auto axis = node.axes.rbegin(); axis != node.axes.rend(); ++axis) {
        node.deps.reset(axis->first);
        node.deps |= deps_of(axis->second);
      }
    }
  }
  for (Node& node : nest->nodes) node.uses = 0;
  for (Node& node : nest->nodes) {
    for (int arg : node.args) ++nest->nodes[arg].uses;
    node.dep_list.clear();
    for (size_t v = 0; v < nest->vars.size(); ++v) {
      if (node.deps.test(v)) node.dep_list.push_back(static_cast<int>(v));
    }
  }
  for (const IndexLeaf& leaf : nest->leaves) {
    if (leaf.load >= 0) ++nest->nodes[leaf.load].uses;
  }
  ++nest->nodes[nest->root].uses;
}

void MergeAxes(Nest* nest, std::vector<int>* axes) {
  for (size_t i = 0; i + 1 < axes->size();) {
    if (TryMerge(nest, (*axes)[i], (*axes)[i + 1])) {
      axes->erase(axes->begin() + i);
      i = i == 0 ? 0 : i - 1;
    } else {
      ++i;
    }
  }
  RecomputeDeps(nest);
}

void MergeReductionAxes(Nest* nest) {
  for (Node& node : nest->nodes) {
    for (size_t i = 0; i + 1 < node.axes.size();) {
      bool constant = node.axes[i].second.is_const() && node.axes[i + 1].second.is_const();
      if (constant && TryMerge(nest, node.axes[i].first, node.axes[i + 1].first)) {
        node.axes[i + 1].second = Affine::Of(nest->vars[node.axes[i + 1].first].extent);
        node.axes.erase(node.axes.begin() + i);
        i = i == 0 ? 0 : i - 1;
      } else {
        ++i;
      }
    }
  }
  RecomputeDeps(nest);
}

}  // namespace loops
}  // namespace lemma
