// The prover's normal form, which writes a scalar expression as a sum. Internal to the prover.
//
//   normal form = sum of any number of summands
//   summand     = 1 / denominator * the sum, over the integer points of its axes at which all
//                 guards hold, of coefficient * the product of its atoms
//   atom        = a read of an input | a constant | a function of normal forms | the reciprocal of
//                 a normal form or of a size | a maximum or another reduction over points
//
// The coefficient may depend on the axes. The bounds of axes are guards like others. A summand and
// an alternative of an atom bind their axes. Two summands of one form may bind the same axes; each
// binds them for itself. Product, and Substitute of a whole form, replace all bound axes by new
// ones.
//
// Coefficients, indices and guards are integer polynomials (Poly) in leaves: symbols, axes and
// other indices, quotients of these, and so on (graph/expr/polynomial.h). In comments of this room,
// "form" means normal form.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_NORMAL_FORM_H_
#define LEMMA_VERIFIER_NORMAL_FORM_NORMAL_FORM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/expr/polynomial.h"
#include "graph/expr/scalar_expr.h"
#include "verifier/arithmetic/arith.h"

namespace lemma::prover {

struct Summand;
struct NormalForm {
  std::vector<Summand> terms;
};

// The values over which a maximum or another reduction is taken: `value` at all points of `axes`
// where `guards` hold.
struct Alternative {
  std::vector<Leaf> axes;
  Facts guards;
  NormalFormPtr value;
};

struct Atom {
  enum class Kind {
    kRead,         // tensor at index
    kConstant,     // a real constant or parameter `name`, about which nothing else is known
    kFn,           // name(args)
    kInverse,      // 1 / args[0]
    kSizeInverse,  // 1 / index[0]
    kMax,          // the greatest (`name` is max) or least (min) value of all alternatives
    kReduce,       // reduction `name` of its only alternative: a product, or any reduction whose
                   // order is fixed
  };
  Kind kind = Kind::kRead;
  std::string name;
  int tensor = -1;
  std::vector<Poly> index;
  std::vector<NormalFormPtr> args;
  std::vector<Alternative> alternatives;

  bool Is(ScalarFn fn) const { return kind == Kind::kFn && name == Info(fn).name; }
};

struct Summand {
  Poly coefficient = 1;
  int64_t denominator = 1;  // positive
  std::vector<Leaf> axes;
  Facts guards;
  std::vector<Atom> atoms;
};

// Whether a summand or an alternative has neither axes nor guards.
template <class T>
bool IsPlain(const T& t) {
  return t.axes.empty() && t.guards.empty();
}
// If `form` is a single atom, a pointer to this atom inside `form`; otherwise nullptr.
const Atom* OnlyAtom(const NormalForm& form);

bool Contains(const std::vector<Leaf>& leaves, Leaf leaf);

// The laws of real numbers that may be used; docs/proofs.md lists them.
enum class Laws {
  kNone,      // arithmetic is uninterpreted (no laws of + and * are used): only data is moved
  kExact,     // laws that are true bit for bit: arithmetic is interpreted only where it is exact
  kRing,      // sums and products in any order, maxima; division only by sizes
  kRealOnly,  // also laws of exp, log and division, which rounding and overflow break
};

// A pointer to the form.
NormalFormPtr Share(NormalForm form);
// The form that stands for value / denominator.
NormalForm Number(const Poly& value, int64_t denominator = 1);
// The form that consists of this atom.
NormalForm OfAtom(Atom atom);
// The function of these arguments, as an atom and as a form.
Atom FnAtom(std::string name, std::vector<NormalForm> args);
NormalForm FnForm(ScalarFn fn, std::vector<NormalForm> args);
// The forms that stand for 1 / x, a + b and factor * a.
NormalForm Reciprocal(const NormalForm& x);
NormalForm Sum(const NormalForm& a, const NormalForm& b);
NormalForm Scaled(const NormalForm& a, int64_t factor);

// The common factor of a form's coefficients: the form equals content / common times a form whose
// coefficients are coprime integers.
struct Content {  // ContentOfAll returns positive numbers
  int64_t content = 0, common = 1;
};
// The content of a form; nullopt if the form is 0 or 64 bits do not suffice.
std::optional<Content> ContentOfAll(const NormalForm& form);
// form * common / content.
NormalForm WithoutContent(NormalForm form, const Content& content);

// Substitutes, renames and prints forms over `leaves`, which must outlive the object.
class NormalForms {
 public:
  // Sets Leaves::substitute_load, so `leaves` must not substitute after the object is destroyed.
  explicit NormalForms(Leaves* leaves);

  NormalForm Product(const NormalForm& a, const NormalForm& b);
  // Replaces free leaves as `map` says. All axes that are bound in `form` become new ones.
  NormalForm Substitute(const NormalForm& form, const LeafMap& map);
  // The same, but term.axes is copied unchanged. `map` may replace uses of these axes in `term`.
  Summand Substitute(const Summand& term, const LeafMap& map);
  Atom Substitute(const Atom& atom, const LeafMap& map);
  Facts Substitute(const Facts& facts, const LeafMap& map);
  // The summand with new axes in place of all axes that it binds.
  Summand Renamed(const Summand& term);

  // Whether `leaf`, a symbol or a variable, occurs, also inside other leaves.
  bool Mentions(const NormalForm& form, Leaf leaf) const;
  bool Mentions(const Atom& atom, Leaf leaf) const;
  // Adds the symbols and variables that occur in the form, bound axes included, to *deps. Sorts
  // *deps and removes repeated leaves.
  void CollectDeps(const NormalForm& form, std::vector<Leaf>* deps) const;

  // Forms with equal keys are equal up to names of axes, order of summands and factors, and
  // repeated alternatives. Some forms that are equal in this sense have different keys.
  std::string Key(const NormalForm& form);
  std::string Key(const Summand& term, bool with_coefficient = true);
  std::string Key(const Atom& atom);
  std::string ToString(const NormalForm& form) { return Key(form); }

  Leaves& leaves() { return leaves_; }

 private:
  std::string KeyOf(const Poly& p);
  std::string KeyOf(const Facts& facts);
  std::string KeyOf(const Alternative& alternative);
  std::string NameOf(Leaf leaf);
  bool Mentions(const Facts& facts, Leaf leaf) const;

  Leaves& leaves_;
  std::map<Leaf, std::string> bound_;  // names of bound axes while printing
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_NORMAL_FORM_H_
