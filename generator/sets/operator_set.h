// What is enumerated: instances of operators (an operator with its attributes), and the tensors
// that they start from.
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

// Operators applied one after the other. A value below zero is input -1 - v of the set; any other
// is 2 * (place of the operator) + output.
struct Term {
  int instance = 0;
  std::vector<int> operands;
  friend bool operator==(const Term& a, const Term& b) {
    return a.instance == b.instance && a.operands == b.operands;
  }
  friend bool operator<(const Term& a, const Term& b) {
    return std::tie(a.instance, a.operands) < std::tie(b.instance, b.operands);
  }
};
constexpr int kMostOutputs = 2;   // of an instance
constexpr int kMostOperands = 2;  // of an instance
inline int InputValue(int input) { return -1 - input; }
inline int OutputValue(int op, int output) { return kMostOutputs * op + output; }

// A graph; its operators in an order in which operands come first.
struct TermGraph {
  std::vector<Term> ops;
  std::vector<int> outputs;
};
// Two graphs that are thought to be equal, output by output.
struct Pair {
  TermGraph source, target;
};

struct Instance {
  std::string name;
  int num_operands = 0, num_outputs = 1;
  bool commutative = false;
  bool distinct = false;  // it is applied to two different values only
};

struct Input {
  std::string name;
  int type = 0;
  // Inputs of one type and one role, which could be exchanged, have the same group and follow each
  // other.
  int group = 0;
  // Its random values are numbers below 2^20, not any elements of the field: of sums and products
  // of a few of them, the order is that of numbers, so laws of the order hold.
  bool small = false;
};

// An operator set numbers the types that occur: dimensions, and whatever else decides whether an
// instance can be applied.
class OperatorSet {
 public:
  virtual ~OperatorSet() = default;
  virtual const std::vector<Input>& inputs() const = 0;
  virtual const std::vector<Instance>& instances() const = 0;
  virtual const std::vector<int64_t>& DimsOf(int type) const = 0;

  struct Application {
    std::vector<int> types;  // of the outputs
    Graph graph;             // over the operands, in the operators of the table
  };
  // NotFound if the instance does not take operands of these types.
  virtual absl::StatusOr<Application> Apply(int instance, const std::vector<int>& types) = 0;

  // The rule with the most general types under which both sides are well-formed. Nothing is proved.
  virtual absl::StatusOr<Substitution> Lift(const Pair& pair, absl::string_view name) const = 0;
};

// "add(x1, matmul(x2, w1))"; outputs of one instance are told apart by .0 and .1. Inputs have their
// names, or as variables are x1, x2, …
enum class Names { kInputs, kVariables };
std::string ToString(const OperatorSet& set, const TermGraph& graph, Names names = Names::kInputs);
std::string ToString(const OperatorSet& set, const Pair& pair, Names names = Names::kInputs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_OPERATOR_SET_H_
