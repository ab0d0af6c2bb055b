// Stores the terms of an operator set, each term once, with types and an order on the terms.
#ifndef LEMMA_GENERATOR_DERIVATION_TERM_STORE_H_
#define LEMMA_GENERATOR_DERIVATION_TERM_STORE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "generator/sets/operator_set.h"

namespace lemma::generator {

// A node is an application of a variant, an input, or a variable. Output `output` of node `node` is
// the value number kMostOutputs * node + output. Operands of commutative variants are sorted by
// number. The types of a node follow from its variant and its operands' types; terms with
// variables, such as the sides of rules, have no types (kNone). Not thread-safe.
class TermStore {
 public:
  static constexpr int kNone = -1;
  static constexpr int kInput = -1, kVariable = -2;  // Node::variant of inputs and of variables
  struct Node {
    int variant = kInput;
    // Values; kNone in place of a missing operand. For an input or a variable, operands[0] is its
    // number instead, counted from 0.
    std::array<int, kMostOperands> operands = {kNone, kNone};
    std::array<int, kMostOutputs> types = {kNone, kNone};  // of the outputs
    int size = 0;  // number of operators, counted as in a tree; at most kMostSize
  };
  static constexpr int kMostSize = 1 << 20;

  // `set` must outlive this object.
  explicit TermStore(OperatorSet* set);

  // The value of an input of the set, or of a variable. Numbers count from 0. `type` is a type of
  // the set (OperatorSet).
  int Input(int number, int type);
  int Variable(int number);
  // The number of the node (not of a value) that applies the variant to these values; kNone if the
  // variant does not take operands of these types.
  int Make(int variant, const std::array<int, kMostOperands>& operands);
  // The node of each operator of the graph; kNone for an operator that is not well-formed. `types`:
  // the types of the graph's inputs.
  std::vector<int> NodesOf(const NumberedGraph& graph, const std::vector<int>& types);
  // The value that stands for the graph's value number `value` (NumberedOp); kNone if it is not
  // well-formed. `nodes` must come from NodesOf with the same types.
  int ValueOf(int value, const std::vector<int>& nodes, const std::vector<int>& types);

  // A graph whose only output is the value. The input or variable with number i becomes
  // InputValue(i).
  NumberedGraph GraphOf(int value) const;

  // The node that has the output `value`.
  const Node& node(int value) const { return nodes_[value / kMostOutputs]; }
  int NumOperands(const Node& node) const {
    return node.variant < 0 ? 0 : set_->variants()[node.variant].num_operands;
  }
  bool IsCommutative(const Node& node) const {
    return node.variant >= 0 && set_->variants()[node.variant].commutative;
  }
  int TypeOf(int value) const { return node(value).types[value % kMostOutputs]; }
  // A number that is the same for values of equal dimensions, and only for them. The value must
  // have a type.
  int DimsOf(int value);
  // Forgets all nodes, so that their numbers become invalid.
  void Clear();
  int num_nodes() const { return static_cast<int>(nodes_.size()); }
  const OperatorSet& set() const { return *set_; }
  // The first error of OperatorSet::Apply other than NotFound; OK if there was none.
  const absl::Status& status() const { return status_; }

  // Orders the terms. `precedence` has a different number for each variant; a larger number means a
  // greater variant. The order is the lexicographic path order of these variants, but operands of
  // commutative variants are compared as multisets. It is well-founded, total on terms without
  // variables, and stable: a greater term stays greater for all values of the variables.
  void SetPrecedence(std::vector<int> precedence);
  const std::vector<int>& precedence() const { return precedence_; }
  // Whether the value a is greater than the value b in this order.
  bool Greater(int a, int b);

 private:
  struct Key {
    int variant, first, second;
    friend bool operator==(const Key& a, const Key& b) {
      return a.variant == b.variant && a.first == b.first && a.second == b.second;
    }
    template <class H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.variant, k.first, k.second);
    }
  };
  int Add(const Key& key, const Node& node);
  const std::array<int, kMostOutputs>& TypesOf(int variant, int type0, int type1);
  bool IsGreater(int a, int b);
  int64_t Rank(int value) const;
  int Copy(int value, absl::flat_hash_map<int, int>* places, NumberedGraph* graph) const;

  OperatorSet* const set_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<Key, int> numbers_;
  absl::flat_hash_map<Key, std::array<int, kMostOutputs>> applications_;
  absl::flat_hash_map<int, int> dims_;
  std::vector<int> precedence_;
  absl::flat_hash_map<uint64_t, bool> greater_;
  absl::Status status_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_TERM_STORE_H_
