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

// One application of a variant in a graph. Operands are numbers of values (InputValue,
// OutputValue): the inputs of the set are -1, -2, …; output o of operator i is 2 * i + o.
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

// A graph over the inputs of a set.
struct NumberedGraph {
  std::vector<NumberedOp> ops;  // operands before users
  std::vector<int> outputs;     // numbers of values
};
// Two graphs that may be equal, output by output.
struct Pair {
  NumberedGraph source, target;
};

struct Variant {
  std::string name;
  int num_operands = 0, num_outputs = 1;
  bool commutative = false;
  bool distinct = false;  // its two operands must be different values
};

struct Input {
  std::string name;
  int type = 0;  // the number of its type (OperatorSet)
  // Inputs of the same group have the same type and role, so they could be exchanged. The inputs of
  // a group are consecutive.
  int group = 0;
  // Its random values are integers in [-2^20, 2^20) instead of arbitrary field elements. Sums and
  // products of a few such values are ordered like integers, so laws about the order (as for max
  // and relu) hold.
  bool small = false;
};

// An operator set (implemented in taso_set.cc and table_set.cc). It numbers the types of values. A
// type consists of the dimensions and of everything else that decides whether a variant applies.
class OperatorSet {
 public:
  virtual ~OperatorSet() = default;
  virtual const std::vector<Input>& inputs() const = 0;
  virtual const std::vector<Variant>& variants() const = 0;
  // The dimensions. A bundle gets dimensions that no tensor has: eight of size 1, and the number of
  // its elements.
  virtual const std::vector<int64_t>& DimsOf(int type) const = 0;

  struct Application {
    std::vector<int> types;  // of the outputs
    Graph graph;             // over the operands, with operators of the operator table
  };
  // Applies a variant to operands of these types. NotFound if the variant does not take them.
  virtual absl::StatusOr<Application> Apply(int variant, const std::vector<int>& types) = 0;

  // The rule that states the pair with the most general types for which both sides are well-formed.
  // Its name is `name`, and it is not proved. InvalidArgument if there is no such rule for symbolic
  // sizes.
  virtual absl::StatusOr<Substitution> Lift(const Pair& pair, absl::string_view name) const = 0;
};

// How texts name a graph's inputs. kInputs: by the names of the set; kVariables: x1, x2, …
enum class Names { kInputs, kVariables };
// "add(x1, matmul(x2, w1))", with ", " between outputs; .0 and .1 distinguish the outputs of one
// operator.
std::string ToString(const OperatorSet& set, const NumberedGraph& graph,
                     Names names = Names::kInputs);
// "SOURCE => TARGET".
std::string ToString(const OperatorSet& set, const Pair& pair, Names names = Names::kInputs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_OPERATOR_SET_H_
