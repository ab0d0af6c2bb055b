// Terms express the attributes, sizes and side conditions of rules over symbols.
//
// A term denotes an integer, a real, a string, or a list of integers or of reals. One evaluator has
// two uses: with symbols bound to constants, it computes a value; with symbols bound to index
// expressions, it yields an expression that the prover reasons about. A list symbol stands for a
// list of any length. "s.." in a list stands for the elements of s: [b.., m, k] is the shape of a
// matrix with any number of batch dimensions in front. A rule with list symbols means all rules
// that arise when the lists are written out, element by element.
#ifndef LEMMA_REWRITE_RULES_TERM_H_
#define LEMMA_REWRITE_RULES_TERM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/attr.h"

namespace lemma {

enum class TermFn {
  kAdd,        // a + b; kAdd to kMax work element by element on lists of equal length
  kSub,        // a - b
  kMul,        // a * b
  kDiv,        // floor(a / b), b > 0
  kMod,        // a - b * floor(a / b), b > 0
  kMin,        // min(a, b)
  kMax,        // max(a, b)
  kLen,        // len(s): number of elements
  kProduct,    // product(s): product of the elements
  kCompose,    // compose(p, q)[i] = p[q[i]]: transposing by p, then by q
  kInverse,    // inverse(p): the permutation that undoes p
  kPermute,    // permute(s, p)[i] = s[p[i]]
  kIota,       // iota(n) = [0, 1, …, n - 1]
  kRepeat,     // repeat(v, n): a list of n elements, all v
  kBroadcast,  // broadcast(s, t): the shape to which both shapes broadcast
};
// A function's name in the text form, and its number of arguments.
struct TermFnInfo {
  const char* name;
  int arity;
};
const TermFnInfo& Info(TermFn fn);
constexpr int kNumTermFns = static_cast<int>(TermFn::kBroadcast) + 1;

enum class SymbolKind { kUnknown, kInt, kReal, kString, kList };
const char* Name(SymbolKind kind);

class Term {
 public:
  enum class Kind { kInt, kReal, kString, kSymbol, kList, kCall };

  Term(int64_t value = 0);  // NOLINT: a constant reads as itself
  static Term Real(double value);
  static Term String(std::string value);
  // `index`: the symbol's number in its rule.
  static Term Symbol(std::string name, int index);
  // If splice[i], items[i] is a list whose elements take its place.
  static Term List(std::vector<Term> items, std::vector<bool> splice);
  static Term Call(TermFn fn, std::vector<Term> args);
  static Term Of(const AttrValue& value);

  Kind kind() const { return node_->kind; }
  int64_t integer() const { return node_->integer; }
  double real() const { return node_->real; }
  const std::string& text() const { return node_->text; }  // kString; kSymbol: the symbol's name
  int symbol() const { return static_cast<int>(node_->integer); }
  TermFn fn() const { return node_->fn; }
  const std::vector<Term>& args() const { return node_->args; }  // of a call or a list
  bool IsSplice(size_t i) const { return node_->splice[i]; }

  // The term in the text form.
  std::string ToString() const;
  // Appends the numbers of the term's symbols, in order of occurrence, except numbers that *symbols
  // already has.
  void CollectSymbols(std::vector<int>* symbols) const;

 private:
  struct Node {
    Kind kind = Kind::kInt;
    int64_t integer = 0;
    double real = 0;
    std::string text;
    TermFn fn = TermFn::kAdd;
    std::vector<Term> args;
    std::vector<bool> splice;
  };
  explicit Term(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

// Values of a rule's symbols, by number; nullopt: not known (yet).
using SymbolValues = std::vector<std::optional<ExprAttr>>;

// The value of `term`. nullopt if a symbol in it is unknown, or if the term has no value. Examples
// of terms without a value: lists of unequal length are added; a divisor is 0 or negative; a sum,
// difference or product of two integers overflows; a list is no permutation; iota() or repeat()
// would have more than 64 elements; kinds do not fit. But if product() of a list overflows, the
// value is an expression that is not folded to a number.
std::optional<ExprAttr> Evaluate(const Term& term, const SymbolValues& values);

// Whether both have the same kind and value. Expressions with symbols are the same only if they are
// written alike.
bool SameValue(const ExprAttr& a, const ExprAttr& b);
// `value` as a constant; nullopt if it contains a symbol of a rule. Symbolic sizes of a model count
// as constants.
std::optional<AttrValue> ToAttrValue(const ExprAttr& value);
ExprAttr ToExprAttr(const AttrValue& value);
ExprAttr ToExprAttr(const std::vector<int64_t>& list);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_TERM_H_
