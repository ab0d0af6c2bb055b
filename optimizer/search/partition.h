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
  // Limits on the number of a part's operators that depend on a graph input. Operators that depend
  // on weights only do not count: they are copied into every part that uses them. A graph of at
  // most max_ops such operators is one part, however small.
  int min_ops = 24;
  int max_ops = 96;
};

// Some operators of a graph, as a graph of their own. Values from outside are its inputs; values
// that are read outside are its outputs.
struct Part {
  std::vector<EditNode> nodes;
  std::vector<ValueRef> outputs;
  int num_ops = 0;  // number of operators that depend on a graph input
  // By node: for an input, the value of the whole graph that it stands for; for any other node, its
  // number in the whole graph (the output number has no meaning).
  std::vector<ValueRef> origin;
  // Parts with equal keys have the same operators, attributes and types. They can differ only in
  // the elements of weights and constants that are not uniform (uniform: all elements are equal).
  // So rewrites found in one of these parts hold in the others.
  std::vector<uint64_t> key;
};

// Puts each operator that depends on a graph input into exactly one part. Each cut has the least
// width (number of values that cross it) among the cuts that make a part of an allowed size.
std::vector<Part> Partition(const EditGraph& graph, const PartitionOptions& options = {});

// Makes a part of the operators `nodes`, all of which must depend on a graph input. Operands must
// precede users.
Part PartOf(const EditGraph& graph, const std::vector<int>& nodes);

// Translates matches in a part's graph, while it is being rewritten, to the whole graph.
class PartMap {
 public:
  explicit PartMap(const Part& part);
  // Translates `matched`, a match in the graph `part`. nullptr if the match does not exist in the
  // whole graph, whose nodes other edits may have changed.
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
