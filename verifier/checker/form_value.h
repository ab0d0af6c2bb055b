// Evaluates the normal forms in a proof file, given a value for each name in them.
#ifndef LEMMA_VERIFIER_CHECKER_FORM_VALUE_H_
#define LEMMA_VERIFIER_CHECKER_FORM_VALUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verifier/checker/evaluator.h"
#include "verifier/checker/proof_text.h"

namespace lemma::checker {

// A name in a proof file stands for an integer: a size, an index or an axis. Arguments `name` are
// positions in ProofText::names. Nodes are parts of the file (proof_text.h).
class FormValue {
 public:
  // `names`: the number of names. `inputs`: the tensors that reads refer to; the tensors and
  // `algebra` must outlive the object.
  FormValue(Algebra* algebra, size_t names, std::vector<const TensorValue*> inputs)
      : algebra_(*algebra), inputs_(std::move(inputs)), values_(names) {}

  // Sets the value of an integer name; nullopt: it has none.
  void Set(int name, std::optional<int64_t> value) { values_[name] = value; }
  std::optional<int64_t> Get(int name) const { return values_[name]; }
  // Sets a real parameter. A parameter without a value is an indeterminate.
  void SetParam(const std::string& name, double value) { params_[name] = value; }

  // The values of parts of the text: a POLY, FACT, FORM or TERM (docs/proofs.md). If problem() is
  // not "", the results mean nothing.
  int64_t Integer(const Node& poly);
  bool Holds(const Node& fact);
  Value Form(const Node& form);
  Value Summand(const Node& term);
  // The product of a summand's atoms at the values set for its axes.
  Value Atoms(const Node& term);
  // The integer points of a summand's axes at which its guards (`where`) hold, in lexicographic
  // order. Each point has one integer per axis. The axes must have no value yet. If affine guards
  // give an axis no lower bound, it begins at -12; if they give it no upper bound, it ends at 12.
  using Points = std::vector<std::vector<int64_t>>;
  Points PointsOf(const Node& axes, const Node& where);
  // SetAxes gives each axis its value at a point. ClearAxes removes these values.
  void SetAxes(const Node& axes, const std::vector<int64_t>& point);
  void ClearAxes(const Node& axes);

  // The first fault found in the text, such as a name without a value or a sum over too many
  // points; "" if none.
  const std::string& problem() const { return problem_; }

 private:
  struct Affine {
    int64_t constant = 0;
    std::vector<int64_t> factors;  // by open axis (axis without a value)
  };
  struct Range {
    std::optional<int64_t> low, high;
  };

  void Fail(const std::string& why) {
    if (problem_.empty()) problem_ = why;
  }
  Value AtomOf(const Node& atom);
  std::vector<Value> Alternatives(const Node& atom, size_t first);
  void Enumerate(const Node& where, std::vector<int>* open, const Node& axes, Points* points);
  std::vector<Range> Bounds(const Node& where, const std::vector<int>& open);
  // nullopt if the polynomial is not affine in the open axes.
  std::optional<Affine> AffineOf(const Node& poly, const std::vector<int>& open);

  Algebra& algebra_;
  std::vector<const TensorValue*> inputs_;
  std::vector<std::optional<int64_t>> values_;
  std::map<std::string, double> params_;
  int64_t tries_ = 0;
  std::string problem_;
};

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_FORM_VALUE_H_
