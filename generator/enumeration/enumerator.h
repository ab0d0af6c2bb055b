// Enumerates all graphs over an operator set that have at most a given number of operators, and
// groups graphs that may be equal into classes.
//
// A graph is a set of operator nodes that contains the operands of each of its nodes. Its outputs
// are the values that none of its nodes reads. Nodes are hash-consed and numbered: operands come
// before users, and nodes that rest on (depend on) fewer operators come first. Each graph is
// generated once, as the increasing sequence of its nodes' numbers. Operands of commutative
// operators are sorted. A node that several graphs share is evaluated once. docs/generator.md says
// which graphs are left out and why that loses no rule.
//
// A term is a value with all nodes on which it depends. A term's key is a hash of its dimensions
// and of some of its elements, on random inputs. If several terms have the same key, their keys
// also cover all elements on further inputs: small integers, all of one sign within each input. A
// graph's key is the sum of its outputs' keys. A value is colliding if another term has its key; a
// graph is colliding if all its outputs are colliding.
//
// A graph is decomposable if it has several outputs and no operator with two outputs. If two such
// graphs are equal, so are the smaller graphs that compute one output each, and these are
// enumerated too. So decomposable graphs may be left out: if max_ops exceeds
// max_ops_of_decomposable, a class has decomposable graphs only if it also has an indecomposable
// graph.
//
// Terms and the walk over graphs are in enumerator.cc and the headers enumerator_*.h, classes in
// enumerator_classes.cc, counts and conversions of graphs in enumerator_graphs.cc.
#ifndef LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_H_
#define LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "generator/enumeration/compact_graph.h"
#include "generator/enumeration/enumerator_keys.h"
#include "generator/enumeration/evaluator.h"
#include "generator/sets/operator_set.h"

namespace lemma::generator {

struct EnumeratorOptions {
  int max_ops = 2;    // in 1…kMostOps
  uint64_t seed = 1;  // of the random inputs
  int threads = 1;    // to visit graphs; one thread makes the terms. Has no effect on the results
  const std::atomic<bool>* interrupted = nullptr;  // true: end soon with Cancelled; may be null
  // Limit in bytes for terms with their values and for records of graphs. If the records do not
  // fit, the keys are divided into shares, and graphs are enumerated again for each share. Results
  // do not depend on the limit.
  int64_t max_memory = int64_t{8} << 30;
  // If max_ops exceeds this, classes that have only decomposable graphs are left out.
  int max_ops_of_decomposable = 4;
  // Finds only classes whose keys lie in range number `shard` (from 0) of num_shards equal ranges,
  // and one of num_shards equal parts of the identities (Enumerator::identities). Each class and
  // each identity is in exactly one shard. num_shards is in 1…kMostKeyRanges.
  int shard = 0, num_shards = 1;
};
constexpr int kMostOps = CompactGraph::kMostOps, kMostKeyRanges = 4096;

struct EnumeratorStats {
  int64_t terms = 0;         // distinct applications, including pruned ones
  int64_t pruned_terms = 0;  // terms that are equal to one of their inputs or subterms
  int64_t graphs = 0;        // all graphs, of all sizes
  std::array<int64_t, kMostOps + 1> graphs_of_size = {};  // by number of operators
  int64_t distinct = 0;                                   // values with different keys
  // Colliding graphs of this shard, without the decomposable ones that are left out.
  int64_t colliding_graphs = 0;
  int64_t classes = 0;       // sets of at least two colliding graphs with one key, in this shard
  int64_t members = 0;       // graphs in these classes
  int64_t shares = 0;        // number of shares into which limited memory divides the keys
  int64_t terms_memory = 0;  // bytes for terms and their values
};

// Stands for a graph: its key, and its place in the order of enumeration (enumerator_visits.h).
struct GraphRecord {
  uint64_t key = 0, place = 0;
};

class Enumerator {
 public:
  // `set` must outlive this object.
  Enumerator(OperatorSet* set, const EnumeratorOptions& options);

  // Enumerates. Call it once, before Classes, ForEachClass and ForEachGraph. Cancelled if
  // interrupted; ResourceExhausted if max_memory cannot hold the terms and a share of the graphs,
  // or if there are too many terms to number; InvalidArgument if an option is out of range.
  absl::Status Run();

  int num_inputs() const { return num_inputs_; }
  Evaluator& evaluator() { return evaluator_; }
  const EnumeratorStats& stats() const { return stats_; }
  // Equations between a term and one of its inputs or subterms, which were found when such terms
  // were pruned; only those of this shard.
  const std::vector<Pair>& identities() const { return identities_; }
  // Colliding graphs with the same key, smallest first. The outputs of each member are sorted by
  // their keys, so output k of one member corresponds to output k of another one.
  struct Class {
    std::vector<NumberedGraph> members;
  };
  // All classes of this shard, by ascending key. Errors as in Run.
  absl::StatusOr<std::vector<Class>> Classes();
  // Calls visit(members) for the same classes in the same order, for a caller that does not want to
  // hold millions of members at once. Stops at the first error of `visit` and returns it. Other
  // errors as in Run.
  absl::Status ForEachClass(
      const std::function<absl::Status(absl::Span<const CompactGraph>)>& visit);
  // Visits every enumerated graph; for tests.
  absl::Status ForEachGraph(const std::function<void(const NumberedGraph&)>& visit);

 private:
  static constexpr int kNone = Evaluator::kNone;
  using Application = Evaluator::Application;
  using Operands = std::array<int, kMostOperands>;  // value numbers, or kNone
  struct Node {
    int variant = 0;
    Operands operands = {kNone, kNone};
  };
  struct NodeSet {
    int size = 0;
    std::array<int, kMostOps> nodes = {};
    uint64_t mask = 0;         // bit i: a node rests on input i
    uint32_t read = 0;         // bit OutputValue(i, o): a later node reads output o of nodes[i]
    bool two_outputs = false;  // one of the nodes has two outputs
  };
  // Nodes begin … end - 1. All of them rest on the same other nodes.
  struct NodeRun {
    int begin = 0, end = 0;
    bool on_nothing = false;   // the nodes read inputs only
    bool two_outputs = false;  // some of the nodes have two outputs
  };
  // An application to values of a set of nodes. It is not stored as a node. It reads every node of
  // the set that no node of the set reads.
  struct NewApplication {
    const Application* application = nullptr;
    Operands operands = {kNone, kNone};
    uint64_t mask = 0;  // bit i: it rests on input i
  };
  using Keys = std::array<uint64_t, kMostOutputs>;
  template <class Visit>
  class SetWalk;

  // Value numbers: first the inputs, then kMostOutputs numbers for each node.
  int ValueOf(int node, int output) const { return num_inputs() + kMostOutputs * node + output; }
  int NodeOf(int value) const {
    return value < num_inputs() ? kNone : (value - num_inputs()) / kMostOutputs;
  }
  int OutputOf(int value) const { return (value - num_inputs()) % kMostOutputs; }
  int OutputsOf(int node) const { return outputs_of_[nodes_[node].variant]; }
  // The number of the value in a graph made from the set (NumberedOp).
  int LocalValue(const NodeSet& set, int value) const;
  // The outputs of the set's nodes that `operands` read, as bits of NodeSet::read.
  uint32_t ReadBits(const NodeSet& set, const Operands& operands) const;

  // Inputs not in `mask` that could be exchanged with a later input that is in `mask`. A graph is
  // enumerated only if it has no such inputs.
  uint64_t Missing(uint64_t mask) const {
    uint64_t before = 0;
    for (size_t k = 0; k < same_group_.size(); ++k) before |= (mask >> (k + 1)) & same_group_[k];
    return before & ~mask;
  }
  // Whether `free` further operands suffice to read the missing inputs.
  bool Completable(uint64_t mask, int free) const {
    const uint64_t missing = Missing(mask);
    return missing == 0 || (free > 0 && __builtin_popcountll(missing) <= free);
  }
  void AddToCount(int size, int64_t graphs) {
    stats_.graphs_of_size[size] += graphs;
    stats_.graphs += graphs;
  }
  // Whether decomposable graphs are left out.
  bool SkipsDecomposable() const { return options_.max_ops > options_.max_ops_of_decomposable; }
  int FreeOperands(int size) const { return kMostOperands * (options_.max_ops - size); }

  // ---- Terms ----
  void AddInputs();
  absl::Status AddNodes(int size);
  absl::Status AddNode(int size, const NewApplication& term, const Keys& keys);
  absl::Status EvaluateLastLevel();
  // Visits the applications to inputs and to values of the set that leave no node of the set
  // unread. `compile`: whether to compile applications to operand types that were not met before;
  // if false, these applications are skipped.
  template <class Visit>
  absl::Status ForEachNewApplication(const NodeSet& set, bool compile, const Visit& visit);
  absl::Status Evaluate(const NodeSet& set, const NewApplication& term, Keys* keys, bool* pruned);
  absl::StatusOr<bool> IsIdentity(const NodeSet& set, const NewApplication& term,
                                  const std::vector<int>& targets);
  // Whether two values have so similar dimensions that an identity for one may hold for the other.
  bool MayShareIdentity(int value, int other) const;
  // Whether value `of` is an instance of the term `value` of `pattern`. Adds to *inputs and *ops
  // the values and nodes that stand for the pattern's inputs and operators.
  bool Matches(const NumberedGraph& pattern, int value, int of, std::vector<int>* inputs,
               std::vector<int>* ops) const;
  const Field* Elements(int value);
  absl::Status PrepareElements(int node);
  absl::Status PrepareOperands(const Operands& operands);
  const Application& ApplicationOf(int node) const;
  // Sets the lowest bit of each key to whether another term has the key.
  void MarkColliding();
  // Makes the keys of colliding values depend on all elements, on further inputs.
  absl::Status RefineKeys();
  int64_t TermsMemory() const;
  absl::Status CheckMemory() const;

  // ---- Graphs ----
  //
  // Calls visit(set, runs of nodes that may follow the set, in no order) for all sets of a size.
  // Unless the size is 0, visits only sets whose first node is in [first_begin, first_end).
  template <class Visit>
  absl::Status ForEachSet(int size, int first_begin, int first_end, const Visit& visit) const;
  // A graph: the nodes of a set, and one more node.
  struct Visited {
    uint64_t place = 0, key = 0;
    int num_outputs = 0;
    bool decomposable = false;  // the graph is decomposable, and SkipsDecomposable()
    const NodeSet* set = nullptr;
    int variant = 0;                     // of the last node
    const Operands* operands = nullptr;  // of the last node
    const uint64_t* keys = nullptr;      // of the last node's outputs
  };
  // Selects the graphs to visit: all graphs; indecomposable colliding graphs; or decomposable
  // graphs whose outputs all occur among the outputs of indecomposable graphs.
  enum class Which { kAll, kIndecomposable, kDecomposable };
  struct Cursor {
    uint64_t set = 0;  // number of the next set
    size_t last = 0;   // position in last_keys_ of the next term's keys
  };
  // Calls visit(Visited) for the graphs of a size.
  template <class Visit>
  absl::Status VisitGraphs(int size, Which which, int first_begin, int first_end, Cursor cursor,
                           const Visit& visit);
  template <class Visit>
  void VisitExtensions(const NodeSet& set, absl::Span<const NodeRun> runs, int size, Which which,
                       Cursor* cursor, const Visit& visit);
  // Calls visit(thread, Visited) for the graphs of all sizes, on all threads.
  template <class Visit>
  absl::Status VisitAllGraphs(Which which, const Visit& visit);
  // Calls visit(key) for the outputs of a graph.
  template <class Visit>
  void ForEachOutput(const Visited& visited, const Visit& visit) const;
  // Counts the graphs that end in a stored node.
  void CountGraphs(int size, const NodeSet& set, absl::Span<const NodeRun> runs);
  absl::Status FindGraphs();
  // For the indecomposable graphs with several outputs: the keys of the graphs, the keys of their
  // outputs, and the greatest number of outputs.
  struct IndecomposableKeys {
    std::vector<uint64_t> keys;
    absl::flat_hash_set<uint64_t> outputs;
    int most_outputs = 0;
  };
  // Finds decomposable graphs that have one of these keys.
  absl::Status FindPartners(std::vector<IndecomposableKeys> indecomposable);
  // Fills records_ with the graphs in the bins first_bin … end_bin - 1.
  absl::Status FindRecords(uint64_t first_bin, uint64_t end_bin);
  absl::Status ForEachShare(const std::function<absl::Status()>& visit);
  // The bins of this shard.
  uint64_t FirstBin() const;
  uint64_t EndBin() const;
  bool IsOfShard(uint64_t key) const;
  // The graphs of records_[begin … end - 1].
  absl::StatusOr<std::vector<CompactGraph>> GraphsOf(size_t begin, size_t end);
  CompactGraph GraphOf(const Visited& visited) const;
  CompactGraph GraphOf(const NodeSet& set, int variant, const Operands& operands,
                       const uint64_t* keys) const;

  absl::Status CheckInterrupted() const;

  OperatorSet* const set_;
  const int num_inputs_;
  const EnumeratorOptions options_;
  Evaluator evaluator_;
  EnumeratorStats stats_;
  std::vector<Pair> identities_;
  int64_t num_identities_ = 0;  // of all shards
  // Identities that do not follow from others in the list, by the variant of their last operator.
  // Targets are values of the source.
  struct IdentityPattern {
    NumberedGraph source;
    std::vector<int> targets;
  };
  std::vector<std::vector<IdentityPattern>> patterns_;

  std::vector<int> outputs_of_;  // of variants
  // [k]: the inputs i such that input i + k + 1 can be exchanged with input i, as bits.
  std::vector<uint64_t> same_group_;
  // By node; nodes of fewer than max_ops operators are stored.
  std::vector<Node> nodes_;
  std::vector<uint64_t> masks_;     // bit i: the node rests on input i
  std::vector<uint64_t> sums_;      // the sum of the node's outputs' keys
  std::vector<uint8_t> colliding_;  // whether all outputs of the node are colliding
  // Whether the node's value may be an output of a partner (see bins_).
  std::vector<uint8_t> partner_;
  int most_partner_outputs_ = 0;
  // By node: whether some run rests on this node and on no node with a higher number.
  std::vector<bool> has_users_;
  std::array<int, kMostOps + 1> first_node_ = {};  // of each size
  std::vector<int> types_;                         // of values
  std::vector<uint64_t> keys_;                     // of values; the lowest bit: it is colliding
  std::vector<int64_t> offsets_;  // in elements_, of inputs and nodes of <= max_ops - 2 operators
  std::vector<Field> elements_;
  absl::flat_hash_map<uint64_t, NodeRun> runs_;  // by the nodes they rest on
  // Keys of the outputs of terms of max_ops operators, in the order of enumeration; 0: pruned.
  std::vector<uint64_t> last_keys_;
  // By first node: where the sets of max_ops - 1 nodes with this first node begin.
  std::vector<Cursor> cursors_;

  // bins_: by leading bits of the key, the number of indecomposable colliding graphs of this shard
  // plus the number of their partners, which are the decomposable graphs with the same key.
  std::vector<uint64_t> bins_;
  std::vector<GraphRecord> partners_;
  // The members of classes in share [first_bin, end_bin).
  std::vector<GraphRecord> records_;
  uint64_t first_bin_ = 0, end_bin_ = 0;

  int prepared_node_ = kNone;
  std::array<std::vector<Field>, kMostOutputs> prepared_;
  std::vector<Field> scratch_, output_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_H_
