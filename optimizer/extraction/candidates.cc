#include "optimizer/extraction/candidates.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "optimizer/cost/cost.h"
#include "rewrite/matching/topological_order.h"

namespace lemma::optimizer {
namespace {

// Tracks which class is computed from which, for outputs that are admitted one by one.
class ClassOrder {
 public:
  explicit ClassOrder(const EGraph& egraph)
      : egraph_(egraph),
        rank_(egraph.num_values()),
        below_(egraph.num_values()),
        above_(egraph.num_values()) {}

  // Returns false, and leaves the output out, if its class would be computed from itself.
  bool Admit(ValueRef v) {
    const std::vector<int> operands = OperandClasses(egraph_, v.node);
    const int made = egraph_.ClassOf(v);
    if (Reaches(operands, made)) return false;
    for (int operand : operands) {
      below_[made].push_back(operand);
      above_[operand].push_back(made);
      MaintainTopologicalOrder(
          made, rank_[operand] + 1, [&](int c) { return rank_[c]; },
          [&](int c, int64_t rank) { rank_[c] = rank; },
          [&](int c, const auto& visit) {
            for (int user : above_[c]) visit(user);
          });
    }
    return true;
  }

  int64_t RankOf(int c) const { return rank_[c]; }  // above the classes that it is computed from

 private:
  bool Reaches(std::vector<int> pending, int wanted) const {
    absl::flat_hash_set<int> seen;
    while (!pending.empty()) {
      const int c = pending.back();
      pending.pop_back();
      if (c == wanted) return true;
      if (rank_[c] <= rank_[wanted] || !seen.insert(c).second) continue;
      pending.insert(pending.end(), below_[c].begin(), below_[c].end());
    }
    return false;
  }

  const EGraph& egraph_;
  std::vector<int64_t> rank_;  // by class
  std::vector<std::vector<int>> below_, above_;
};

// Keeps only what the outputs depend on. `runnable`: the nodes that can run, operands first.
void Keep(const EGraph& egraph, const ClassOrder& order, const std::vector<int>& runnable,
          Candidates* candidates) {
  std::vector<bool> needed(candidates->of_class.size()), used(egraph.num_nodes());
  std::vector<int> pending;
  for (const ValueRef& v : egraph.outputs()) pending.push_back(egraph.ClassOf(v));
  while (!pending.empty()) {
    const int c = pending.back();
    pending.pop_back();
    if (needed[c]) continue;
    needed[c] = true;
    candidates->classes.push_back(c);
    for (const ValueRef& v : candidates->of_class[c]) {
      used[v.node] = true;
      for (int operand : OperandClasses(egraph, v.node)) pending.push_back(operand);
    }
  }
  std::vector<int>& classes = candidates->classes;
  std::sort(classes.begin(), classes.end(), [&](int a, int b) {
    return order.RankOf(a) != order.RankOf(b) ? order.RankOf(a) < order.RankOf(b) : a < b;
  });
  for (size_t c = 0; c < needed.size(); ++c) {
    if (!needed[c]) candidates->of_class[c].clear();
  }
  for (int n : runnable) {
    if (used[n]) candidates->nodes.push_back(n);
  }
}

}  // namespace

std::vector<int> OperandClasses(const EGraph& egraph, int node) {
  std::vector<int> classes;
  for (const ValueRef& v : egraph.Operands(node)) classes.push_back(egraph.ClassOf(v));
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

Candidates::Candidates(const EGraph& egraph, const std::vector<int64_t>& price)
    : made_by(egraph.num_nodes()), of_class(egraph.num_values()) {
  ClassOrder order(egraph);
  std::vector<bool> has_provider(egraph.num_values());
  for (int n = 0; n < egraph.num_nodes(); ++n) {
    if (!egraph.IsLive(n) || price[n] == Cost::kInfinite) continue;
    for (int k = 0; k < egraph.Head(n).num_outputs(); ++k) {
      if (order.Admit({n, k})) {
        made_by[n].push_back({n, k});
      } else {
        ++num_left_out;
      }
    }
  }
  // Bottom up, because a node that cannot run excludes the nodes that need it.
  std::vector<int> sorted;
  for (int n = 0; n < egraph.num_nodes(); ++n) {
    if (!made_by[n].empty()) sorted.push_back(n);
  }
  auto rank = [&](int n) {
    int64_t above = 0;
    for (int c : OperandClasses(egraph, n)) above = std::max(above, order.RankOf(c) + 1);
    return above;
  };
  std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return rank(a) < rank(b); });
  std::vector<int> runnable;
  for (int n : sorted) {
    const std::vector<int> operands = OperandClasses(egraph, n);
    if (!std::all_of(operands.begin(), operands.end(), [&](int c) { return has_provider[c]; })) {
      continue;
    }
    runnable.push_back(n);
    for (const ValueRef& v : made_by[n]) {
      const int c = egraph.ClassOf(v);
      has_provider[c] = true;
      of_class[c].push_back(v);
    }
  }
  Keep(egraph, order, runnable, this);
}

}  // namespace lemma::optimizer
