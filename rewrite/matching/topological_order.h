// Keeps a topological order of nodes. Each node has a number, its rank, which is above the ranks of
// its operands. (This rank is not the rank of a tensor.)
#ifndef LEMMA_REWRITE_MATCHING_TOPOLOGICAL_ORDER_H_
#define LEMMA_REWRITE_MATCHING_TOPOLOGICAL_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace lemma {

// Raises the rank of `node` to at least `rank`, then raises the ranks of its direct and indirect
// users above the ranks of their operands. Before the call only `node` may be out of order; the
// graph must have no cycle. Calls set(node, rank) once for each raised node, operands before users,
// however many paths lead to the node. rank_of(node) returns the node's rank;
// for_each_user(node, visit) calls visit(user) for each user of the node.
template <class RankOf, class Set, class ForEachUser>
void MaintainTopologicalOrder(int node, int64_t rank, const RankOf& rank_of, const Set& set,
                              const ForEachUser& for_each_user) {
  std::map<std::pair<int64_t, int>, int64_t> pending = {{{rank_of(node), node}, rank}};
  while (!pending.empty()) {
    const auto [key, wanted] = *pending.begin();
    pending.erase(pending.begin());
    const int next = key.second;
    if (rank_of(next) >= wanted) continue;
    set(next, wanted);
    for_each_user(next, [&pending, &rank_of, least = wanted + 1](int user) {
      int64_t& of_user = pending[{rank_of(user), user}];
      of_user = std::max(of_user, least);
    });
  }
}

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_TOPOLOGICAL_ORDER_H_
