// Keeping numbers of nodes above those of what they are computed from.
#ifndef LEMMA_REWRITE_MATCHING_TOPOLOGICAL_ORDER_H_
#define LEMMA_REWRITE_MATCHING_TOPOLOGICAL_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace lemma {

// Makes the rank of `node` at least `rank`, and those of its users, and theirs, one more than what
// they use; ranks were in order but for `node`, and no node is computed from itself. Calls
// set(node, rank) once for each node that is raised, after what it uses: taken as they come, a node
// could be raised again for every way that leads to it. rank_of(node): its rank;
// for_each_user(node, visit): visit(user).
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
