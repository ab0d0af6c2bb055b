// All graphs of up to a number of operators over an operator set, and those that may be equal.
//
// A graph is a set of operator nodes that holds the operands of each of its nodes. Nodes are
// hash-consed and numbered, operands before users and those that rest on fewer operators first; a
// graph is generated once, as the increasing sequence of its nodes' numbers. So there are no
// isomorphic copies and no orders of evaluation; operands of commutative operators are ordered; and
// what graphs share is evaluated once. The outputs of a graph are the values that none of its nodes
// reads. docs/generator.md says which graphs are left out and why that loses no rule.
//
// A value's key is a hash of its dimensions and of some of its elements, on random inputs; a
// graph's key is the sum of its outputs' keys.
#ifndef LEMMA_GENERATOR_ENUMERATOR_H_
#define LEMMA_GENERATOR_ENUMERATOR_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "generator/compact_graph.h"
#include "generator/evaluator.h"
#include "generator/operator_set.h"

namespace lemma::generator {

struct EnumeratorOptions {
  int max_ops = 2;  // in 1…kMostOps
  uint64_t seed = 1;
  const std::atomic<bool>* interrupted = nullptr;
  // Graphs whose keys are kept at a time. If there are more, they are enumerated again for each
  // share of the keys.
  int64_t max_records = int64_t{1} << 25;
};
constexpr int kMostOps = 4;

struct EnumeratorStats {
  int64_t terms = 0;         // distinct applications, those pruned included
  int64_t pruned_terms = 0;  // equal to one of their inputs or parts
  int64_t graphs = 0;        // by size and in all
  std::array<int64_t, kMostOps + 1> graphs_of_size = {};
  int64_t distinct = 0;    // values
  int64_t hot_graphs = 0;  // all of whose outputs are values that another term has as well
  int64_t classes = 0;     // of at least two such graphs with one key
  int64_t members = 0;     // of these classes
};

// A key and a graph's place in the order of enumeration.
struct GraphRecord {
  uint64_t key = 0, place = 0;
};

class Enumerator {
 public:
  // `set` must outlive this.
  Enumerator(OperatorSet* set, const EnumeratorOptions& options);

  // Cancelled if interrupted; ResourceExhausted if there are more nodes than can be numbered.
  absl::Status Run();

  int num_inputs() const { return num_inputs_; }
  Evaluator& evaluator() { return evaluator_; }
  const EnumeratorStats& stats() const { return stats_; }
  // Terms that are equal to one of their inputs or parts, found when they were pruned.
  const std::vector<Pair>& identities() const { return identities_; }
  // Graphs with hot outputs that share their key with another one, smallest first in each class.
  // Outputs of the members of a class correspond by their keys.
  struct Class {
    std::vector<TermGraph> members;
  };
  // ResourceExhausted if there are more of them than max_records.
  absl::StatusOr<std::vector<Class>> Classes();
  // The same classes in the same order, one at a time, for when there are millions of members.
  // Stops at the first error of `visit` and returns it.
  absl::Status ForEachClass(
      const std::function<absl::Status(absl::Span<const CompactGraph>)>& visit);
  // Every graph that is enumerated; for tests. After Run.
  absl::Status ForEachGraph(const std::function<void(const TermGraph&)>& visit);

 private:
  static constexpr int kNone = Evaluator::kNone;
  using Application = Evaluator::Application;
  struct Node {
    int instance = 0;
    std::array<int, kMostOperands> operands = {kNone, kNone};  // value numbers
    uint64_t mask = 0;                                         // of inputs that it rests on
    int size = 0;                                              // of its closure
    std::array<int, kMostOps> closure = {};                    // in order; itself last
  };
  struct NodeSet {
    int size = 0;
    std::array<int, kMostOps> nodes = {};
    uint64_t mask = 0;
  };
  struct NewTerm {
    const Application* application = nullptr;
    std::array<int, kMostOperands> operands = {kNone, kNone};
    uint64_t mask = 0;
  };

  // Value numbers: the inputs, then kMostOutputs for each node.
  int ValueOf(int node, int output) const { return num_inputs() + kMostOutputs * node + output; }
  int NodeOf(int value) const {
    return value < num_inputs() ? kNone : (value - num_inputs()) / kMostOutputs;
  }
  int OutputsOf(int node) const { return set_->instances()[nodes_[node].instance].num_outputs; }

  // Inputs that come before one in `mask` that could be exchanged with them, and are not in it.
  int Missing(uint64_t mask) const { return __builtin_popcountll(Before(mask) & ~mask); }
  bool IsPrefix(uint64_t mask) const { return (Before(mask) & ~mask) == 0; }
  uint64_t Before(uint64_t mask) const {
    uint64_t before = 0;
    for (size_t k = 0; k < same_group_.size(); ++k) before |= (mask >> (k + 1)) & same_group_[k];
    return before;
  }
  bool Completable(uint64_t mask, int size) const {
    const int missing = kMostOperands * (options_.max_ops - size);
    return missing == 0 ? IsPrefix(mask) : Missing(mask) <= missing;
  }

  void AddInputs();
  absl::Status AddNodes(int size);
  absl::Status ForEachNewTerm(const NodeSet& set,
                              const std::function<absl::Status(const NewTerm&)>& visit);
  absl::Status ForEachSet(int size, const std::function<absl::Status(const NodeSet&)>& visit);
  absl::Status ExtendSet(NodeSet* set, int size,
                         const std::function<absl::Status(const NodeSet&)>& visit);
  // visit(first node, number of nodes) of each run of nodes whose operands' closure is in the set.
  template <class Visit>
  void ForEachRun(const NodeSet& set, bool proper, const Visit& visit) const;
  static uint64_t PackedKey(const NodeSet& set, unsigned subset);

  // Elements of a stored value, or of one computed for the set at hand.
  const Field* Elements(int value);
  absl::Status PrepareElements(const NodeSet& set);
  // Keys of the outputs; `pruned` if all are values that the term rests on.
  absl::Status Evaluate(const NodeSet& set, const NewTerm& term,
                        std::array<uint64_t, kMostOutputs>* keys, bool* pruned);
  absl::Status EvaluateLastLevel();
  void MarkHot();
  absl::Status FindRecords();
  // Of the keys with this remainder.
  absl::Status FindShare(uint64_t share, uint64_t shares);
  void AddClasses(std::vector<GraphRecord> records);

  // A graph: the nodes of a set, and one more.
  struct Visited {
    uint64_t place = 0, key = 0;
    bool hot = false;
    const NodeSet* set = nullptr;
    int node = kNone;               // a stored node, or
    const NewTerm* term = nullptr;  // one of max_ops operators,
    const uint64_t* term_keys = nullptr;
  };
  // Visits the graphs of a size in the order of their places; with `hot_only`, it may leave out
  // others. `last` runs through last_keys_.
  template <class Visit>
  absl::Status VisitGraphs(int size, bool hot_only, const Visit& visit);
  template <class Visit>
  absl::Status VisitExtensions(const NodeSet& set, int size, uint64_t place, bool hot_only,
                               size_t* last, const Visit& visit);
  // Outputs in the order of their keys.
  TermGraph GraphOf(const Visited& visited) const;
  TermGraph GraphOf(const NodeSet& set, int instance,
                    const std::array<int, kMostOperands>& operands,
                    absl::Span<const uint64_t> keys) const;

  absl::Status CheckInterrupted() const;

  OperatorSet* const set_;
  const int num_inputs_;
  const EnumeratorOptions options_;
  Evaluator evaluator_;
  EnumeratorStats stats_;
  std::vector<Pair> identities_;

  std::vector<uint64_t> same_group_;  // [k]: inputs i such that i + k can be exchanged with i
  std::vector<Node> nodes_;
  std::vector<int> types_;        // of values
  std::vector<uint64_t> keys_;    // of values; the lowest bit says whether it is hot
  std::vector<int64_t> offsets_;  // of values in elements_, or -1
  std::vector<Field> elements_;
  absl::flat_hash_map<uint64_t, std::pair<int, int>> runs_;
  // Of the outputs of terms of max_ops operators, in the order of enumeration; 0: pruned.
  std::vector<uint64_t> last_keys_;
  std::vector<GraphRecord> records_;

  int prepared_node_ = kNone;
  std::array<std::vector<Field>, kMostOutputs> prepared_;
  std::vector<Field> scratch_, output_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_ENUMERATOR_H_
