// Splits a large graph into parts, with cuts where few values cross.
#ifndef LEMMA_OPTIMIZER_SEARCH_PARTITION_H_
#define LEMMA_OPTIMIZER_SEARCH_PARTITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "rewrite/matching/edit_graph.h"
#include "rewrite/matching/match_set.h"

namespace lemma::optimizer {

struct PartitionOptions {
  // Limits on how many operators of a part depend on a graph input. Operators that depend on
  // weights only do not count: they are copied into every part that uses them.
  int min_ops = 24;
  int max_ops = 96;
};

// Consecutive operators of a graph, as a graph of their own. Values from outside are its inputs;
// values that are read outside are its outputs.
struct Part {
  std::vector<EditNode> nodes;
  std::vector<ValueRef> outputs;
  int num_ops = 0;  // operators that belong to this part alone
  // By node: its number in the whole graph. For an input: the value that it stands for (for other
  // nodes the output number has no meaning).
  std::vector<ValueRef> origin;
  // Equal for parts that differ only in the values of their weights, where a weight whose elements
  // are all equal must have the same value too. Rewrites found in one such part hold in the others.
  std::vector<uint64_t> key;
};

// Puts every operator that depends on a graph input into one part. Each cut has the least width
// (number of values that cross it) among the cuts that leave a part of an allowed size.
std::vector<Part> Partition(const EditGraph& graph, const PartitionOptions& options = {});

// Makes a part of these operators, which depend on a graph input; operands precede users.
Part PartOf(const EditGraph& graph, const std::vector<int>& nodes);

// Translates matches in a part's graph, while it is being rewritten, to the whole graph.
class PartMap {
 public:
  explicit PartMap(const Part& part);
  // `part` is the graph in which `matched` matches. nullptr if the whole graph lacks the match.
  MatchedEditPtr Translate(const EditGraph& part, const EditGraph& whole,
                           const MatchedEdit& matched) const;
  // Records that an edit made the nodes `made` in the part and `made_in_whole` in the whole graph.
  void Extend(const std::vector<int>& made, const std::vector<int>& made_in_whole);

 private:
  std::optional<ValueRef> Find(ValueRef value) const;
  bool IsAlike(const EditGraph& part, const EditGraph& whole, int node) const;
  std::vector<ValueRef> origin_;
  std::vector<bool> is_input_;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_PARTITION_H_
