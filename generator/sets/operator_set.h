// An operator set defines what is enumerated: variants (operators with their attributes) and the
// input tensors to which they are applied.
#ifndef LEMMA_GENERATOR_SETS_OPERATOR_SET_H_
#define LEMMA_GENERATOR_SETS_OPERATOR_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::generator {

// One application of a variant. Operands are value numbers (InputValue, OutputValue): the inputs of
// the set are -1, -2, …; output o of operator i of the graph is 2 * i + o.
struct NumberedOp {
  int variant = 0;
  std::vector<int> operands;
  friend bool operator==(const NumberedOp& a, const NumberedOp& b) {
    return a.variant == b.variant && a.operands == b.operands;
  }
  friend bool operator<(const NumberedOp& a, const NumberedOp& b) {
    return std::tie(a.variant, a.operands) < std::tie(b.variant, b.operands);
  }
};
constexpr int kMostOutputs = 2;   // of a variant
constexpr int kMostOperands = 2;  // of a variant
inline int InputValue(int input) { return -1 - input; }
inline int OutputValue(int op, int output) { return kMostOutputs * op + output; }

// A graph; operands come before their users.
struct NumberedGraph {
  std::vector<NumberedOp> ops;
  std::vector<int> outputs;
};
// Two graphs that may be equal, output by output.
struct Pair {
  NumberedGraph source, target;
};

struct Variant {
  std::string name;
  int num_operands = 0, num_outputs = 1;
  bool commutative = false;
  bool distinct = false;  // it is not applied to the same value twice
};

struct Input {
  std::string name;
  int type = 0;
  // Inputs of one type and role, which could be exchanged, have the same group and are consecutive.
  int group = 0;
  // Its random values are integers in [-2^20, 2^20) instead of any field elements. Sums and
  // products of a few of them are ordered as numbers, so laws of the order hold.
  bool small = false;
};

// An operator set (implemented in taso_set.cc and table_set.cc). It numbers the types that occur; a
// type is the dimensions and anything else that decides whether a variant applies.
class OperatorSet {
 public:
  virtual ~OperatorSet() = default;
  virtual const std::vector<Input>& inputs() const = 0;
  virtual const std::vector<Variant>& variants() const = 0;
  virtual const std::vector<int64_t>& DimsOf(int type) const = 0;

  struct Application {
    std::vector<int> types;  // of the outputs
    Graph graph;             // over the operands, with operators of the table
  };
  // NotFound if the variant does not take operands of these types.
  virtual absl::StatusOr<Application> Apply(int variant, const std::vector<int>& types) = 0;

  // The rule with the most general types for which both sides are well-formed. It is not proved.
  virtual absl::StatusOr<Substitution> Lift(const Pair& pair, absl::string_view name) const = 0;
};

// "add(x1, matmul(x2, w1))"; .0 and .1 distinguish outputs of one variant. kInputs: inputs have
// their names; kVariables: they are x1, x2, …
enum class Names { kInputs, kVariables };
std::string ToString(const OperatorSet& set, const NumberedGraph& graph,
                     Names names = Names::kInputs);
std::string ToString(const OperatorSet& set, const Pair& pair, Names names = Names::kInputs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_OPERATOR_SET_H_
