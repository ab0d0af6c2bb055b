// Substitutions are rewrite rules as data: a source pattern, a target pattern and a precondition.
//
// Both patterns are over the same variables and symbols. Take any values of the symbols for which
// the source is well-formed and the precondition holds, and take any input tensors. A rule claims
// that every output of the target then equals the source's output at the same position. A rule
// defines no meaning of its own: the operator table defines the operators, and
// rewrite/rules/term.h defines the terms.
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
// Element types: a variable without a type has the rule's common type. The common type is any float
// type, or in a bit-exact rule any type for which the source is well-formed.
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

// How source and target may differ in floating-point arithmetic. Each contract also allows what the
// contract before it allows.
enum class FloatContract {
  kBitExact,      // equal bits: the rule moves data or does the same arithmetic
  kReassociates,  // equal as real numbers, rounded differently
  kRealOnly,      // overflow, NaN, infinities, and results at discontinuities may differ too
  // The sides differ: as real numbers by at most Substitution::bound in each element. Roundings of
  // floats may differ in addition, as with kRealOnly. Such a rule is no equality and is never
  // applied; only `lemma verify` and `lemma rules` read it (RuleKinds in rule_text.h).
  kBounded,
};
// "bit_exact", "reassociates", "real_only", "bounded".
const char* Name(FloatContract contract);
std::optional<FloatContract> ParseFloatContract(absl::string_view name);

// The result of `lemma verify` for a rule, kept with the rule. rewrite/rules/proof_check.h says
// whether the result still applies to the current rule.
struct ProofRecord {
  enum class Verdict { kNone, kProved, kRefuted, kUnknown };
  Verdict verdict = Verdict::kNone;
  FloatContract contract = FloatContract::kRealOnly;  // the strictest contract proved
  std::string id;      // hash of the statement and of the operators' definitions
  std::string detail;  // the sizes, attributes and ranks covered; a counterexample; a reason
  friend bool operator==(const ProofRecord& a, const ProofRecord& b) {
    return a.verdict == b.verdict && a.contract == b.contract && a.id == b.id &&
           a.detail == b.detail;
  }
};
// "none", "proved", "refuted", "unknown".
const char* Name(ProofRecord::Verdict verdict);

// The values that a variable may bind. Rules restrict them for two reasons: some rules pay off for
// weights only; and weights are finite, so `reassociates` may ignore which of their elements a side
// reads. A weight that is known not to be finite is bound only by a variable of role kAny.
enum class VarRole {
  kAny,
  kWeight,    // computed from finite weights and constants only, not from inputs
  kConstant,  // as kWeight, and its values are known when the graph is optimized
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
  // nullptr: a constant whose elements are all `fill`.
  const OpDef* op = nullptr;
  std::vector<PatternValue> inputs;
  // All attributes of the operator, in the operator's order.
  std::vector<std::pair<std::string, Term>> attrs;
  std::vector<std::string> output_names;  // "" where unnamed
  // For constants only.
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
// Whether the comparison holds. All relations compare numbers; = and != also compare two lists or
// two strings. nullopt if a side has no value, if the sides cannot be compared, or if the answer is
// not known to be the same for all values of symbolic sizes.
std::optional<bool> Evaluate(const Comparison& comparison, const SymbolValues& values);

struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::kUnknown;
};

// A rule. The reader (rewrite/rules/rule_text.h) checks that
//   * operators exist, and have the attributes and numbers of operands that the rule gives them;
//   * the source uses every variable, no output of the source is a variable, and every operator of
//     the source has operands;
//   * both sides have equally many outputs, and each node of either side is needed;
//   * every symbol of the target also occurs in a variable's dimensions, in the source or in the
//     precondition.
struct Substitution {
  std::string name;
  std::string doc;  // the comment before the rule in its file
  FloatContract contract = FloatContract::kReassociates;
  std::optional<Term> bound;  // set exactly if the contract is kBounded
  std::vector<Symbol> symbols;
  std::vector<PatternVar> vars;
  Pattern source, target;         // target.outputs[i] replaces source.outputs[i]
  std::vector<Comparison> where;  // the precondition: all of them must hold
  ProofRecord proof;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_SUBSTITUTION_H_
