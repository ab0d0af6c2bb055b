// Substitutions: rewrite rules as data.
//
// A rule is two patterns over the same variables and symbols. It claims: for all values of its
// symbols for which the source is well-formed and the precondition holds, and for all input
// tensors, every output of the target equals the source's output at the same position. Nothing in a
// rule has a meaning of its own: operators mean what the operator table says, terms what
// rewrite/rules/term.h says.
//
//   # x·(a | b) = x·a | x·b
//   rule merge_matmul_rhs(x: [m,k], a: [k,n1], b: [k,n2]) reassociates {
//     p = matmul(x, a)
//     q = matmul(x, b)
//     return p, q
//   } => {
//     w = concat(a, b) {axis = 1}
//     y = matmul(x, w)
//     p, q = split(y) {axis = 1, sizes = [n1, n2]}
//     return p, q
//   }
//   proved reassociates "1f…" "all sizes >= 1 …"
//
// Element types: a variable without one has the rule's common type, which is any float type; in a
// bit-exact rule it is any type for which the source is well-formed.
#ifndef LEMMA_REWRITE_RULES_SUBSTITUTION_H_
#define LEMMA_REWRITE_RULES_SUBSTITUTION_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/dtype.h"
#include "graph/op_def.h"
#include "rewrite/rules/term.h"

namespace lemma {

// How source and target may differ in floating-point arithmetic. Each allows what the one before
// it does.
enum class FloatContract {
  kBitExact,      // equal bits: data is moved, the same arithmetic is done
  kReassociates,  // equal as real numbers, rounded differently
  kRealOnly,      // overflow, NaN or infinities may differ too
};
// "bit_exact", "reassociates", "real_only".
const char* Name(FloatContract contract);
std::optional<FloatContract> ParseFloatContract(absl::string_view name);

// What is known about a rule's truth: what `lemma verify` found, kept with the rule. Whether it
// still speaks of the rule is for rewrite/rules/proof_check.h to say.
struct ProofRecord {
  enum class Verdict { kNone, kProved, kRefuted, kUnknown };
  Verdict verdict = Verdict::kNone;
  FloatContract contract = FloatContract::kRealOnly;  // the strictest that was proved
  std::string id;      // hash of the statement and of the operators' definitions
  std::string detail;  // sizes, attributes and ranks covered; a counterexample; a reason
  friend bool operator==(const ProofRecord& a, const ProofRecord& b) {
    return a.verdict == b.verdict && a.contract == b.contract && a.id == b.id &&
           a.detail == b.detail;
  }
};
// "none", "proved", "refuted", "unknown".
const char* Name(ProofRecord::Verdict verdict);

// What a variable may be bound to. The restriction is about profit, and about the float contract:
// weights are finite, so it does not matter to `reassociates` which of their elements a side reads.
// Those that are known not to be are bound to none.
enum class VarRole {
  kAny,
  kWeight,    // known before the inputs are: depends on finite weights and constants only
  kConstant,  // the same, and its values are known when the graph is optimized
};

struct PatternVar {
  std::string name;
  VarRole role = VarRole::kAny;
  std::optional<DType> dtype;  // absent: the rule's common type
  Term dims;                   // a list
};

// A variable (node = -1, index = its number) or an output of a pattern node.
struct PatternValue {
  int node = -1;
  int index = 0;
  bool is_var() const { return node < 0; }
  friend bool operator==(const PatternValue& a, const PatternValue& b) {
    return a.node == b.node && a.index == b.index;
  }
};

struct PatternNode {
  // nullptr: a constant, all of whose elements are `fill`.
  const OpDef* op = nullptr;
  std::vector<PatternValue> inputs;
  // All of the operator's attributes, in its order.
  std::vector<std::pair<std::string, Term>> attrs;
  std::vector<std::string> output_names;  // "" where unnamed
  // Constants only.
  std::optional<DType> dtype;
  Term dims, fill;

  int num_outputs() const { return static_cast<int>(output_names.size()); }
};

struct Pattern {
  std::vector<PatternNode> nodes;  // operands before users
  std::vector<PatternValue> outputs;
};

enum class Relation { kEq, kNe, kLt, kLe, kGt, kGe };
const char* Name(Relation relation);

struct Comparison {
  Term lhs;
  Relation relation = Relation::kEq;
  Term rhs;
};
// nullopt if a side has no value, or is neither a number nor, for = and !=, a list.
std::optional<bool> Evaluate(const Comparison& comparison, const SymbolValues& values);

struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::kUnknown;
};

// Made by the reader in rewrite/rules/rule_text.h, which checks that
//   * operators, attributes and numbers of operands and outputs are right;
//   * every output of the source is an operator's, and each node of either side is needed;
//   * every symbol occurs in the source or in the precondition.
struct Substitution {
  std::string name;
  std::string doc;
  FloatContract contract = FloatContract::kReassociates;
  std::vector<Symbol> symbols;
  std::vector<PatternVar> vars;
  Pattern source, target;  // target.outputs[i] replaces source.outputs[i]
  std::vector<Comparison> where;
  ProofRecord proof;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_SUBSTITUTION_H_
