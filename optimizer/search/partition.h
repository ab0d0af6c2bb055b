// Large graphs in pieces, cut where few values cross.
#ifndef LEMMA_OPTIMIZER_SEARCH_PARTITION_H_
#define LEMMA_OPTIMIZER_SEARCH_PARTITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "rewrite/matching/edit_graph.h"
#include "rewrite/matching/match_set.h"

namespace lemma::optimizer {

struct PartitionOptions {
  // Operators of a part that depend on an input of the graph. What depends on weights only is in
  // every part that uses it.
  int min_ops = 24;
  int max_ops = 96;
};

// Consecutive operators of a graph as a graph of their own: what comes from outside is an input,
// what is read outside an output.
struct Part {
  std::vector<EditNode> nodes;
  std::vector<ValueRef> outputs;
  int num_ops = 0;  // that are this part's alone
  // By node: where it is in the whole graph; of an input, the value that it stands for, otherwise
  // the output counts for nothing.
  std::vector<ValueRef> origin;
  // Equal for parts that are the same but for the values of their weights, and those only if not
  // all elements are equal. What is searched in one holds for the others.
  std::vector<uint64_t> key;
};

// Every operator that depends on an input of the graph is in one part. Each cut is, of those that
// leave a part of an allowed size, one of the least width (values that cross it).
std::vector<Part> Partition(const EditGraph& graph, const PartitionOptions& options = {});

// Those operators, which depend on an input of the graph, as a part; operands before users.
Part PartOf(const EditGraph& graph, const std::vector<int>& nodes);

// Translates matches of a part's graph, as it is rewritten, to the whole one.
class PartMap {
 public:
  explicit PartMap(const Part& part);
  // `part` is as it is where `matched` matches. nullptr if the match is not in the whole graph too.
  MatchedEditPtr Translate(const EditGraph& part, const EditGraph& whole,
                           const MatchedEdit& matched) const;
  // Takes note that an edit made these nodes of the part, and those of the whole graph.
  void Extend(const std::vector<int>& made, const std::vector<int>& made_in_whole);

 private:
  std::optional<ValueRef> Find(ValueRef value) const;
  bool IsAlike(const EditGraph& part, const EditGraph& whole, int node) const;
  std::vector<ValueRef> origin_;
  std::vector<bool> is_input_;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_PARTITION_H_
