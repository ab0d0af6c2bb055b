// Builds the normal form of a tensor's element from a definition. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_BUILD_FORM_H_
#define LEMMA_VERIFIER_NORMAL_FORM_BUILD_FORM_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/expr/tensor_expr.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {

// The constructor's arguments must outlive the object.
class FormBuilder {
 public:
  // `symbols`: the polynomials that replace the definition's symbols. `operators`, if given: for
  // each tensor of `definition` (inputs not counted), the number of the operator that computes it.
  // These numbers say where values are rounded. With the laws kNone and kExact, an operator reads
  // its own tensors unrounded and the tensors of other operators rounded; outputs are rounded. With
  // other laws, or without `operators`, nothing is rounded.
  FormBuilder(NormalForms* forms, const Definition& definition, Laws laws, const LeafMap& symbols,
              const std::vector<int>* operators = nullptr)
      : forms_(*forms),
        leaves_(forms->leaves()),
        definition_(definition),
        laws_(laws),
        symbols_(symbols),
        operators_(operators) {}

  // Needed with Laws::kExact: `normalizer` says which values are exact wherever `context` holds.
  // Both must outlive the object.
  void UseExact(Normalizer* normalizer, const Facts* context) {
    normalizer_ = normalizer;
    context_ = context;
  }

  // The element of `tensor`, an input or an output, at index `at`, with local tensors expanded. Not
  // simplified. If a part cannot be expressed, error() says which part, and the form is unusable.
  NormalForm Element(TensorId tensor, const std::vector<Poly>& at);
  // The value of an expression in the body of `tensor`; `env`, here and below, gives the values of
  // its variables.
  NormalForm ValueIn(TensorId tensor, const ScalarExpr& e, const std::map<VarId, Poly>& env);
  // The value of an index. An integer read from a tensor becomes a leaf that may have any value.
  Poly Index(const IndexExpr& e, const std::map<VarId, Poly>& env);
  // Cases, each a conjunction of facts. If `positive`: exactly one case holds where `guard` is
  // true, and none where it is false. Otherwise the reverse.
  std::vector<Facts> Cases(const Guard& guard, bool positive, const std::map<VarId, Poly>& env);

  // The part that could not be expressed, as text; "" if every form so far is usable.
  const std::string& error() const { return error_; }

 private:
  using Env = std::map<VarId, Poly>;
  NormalForm Scalar(const ScalarExpr& e, const Env& env);
  NormalForm Select(const ScalarExpr& e, const NormalForm& then, const NormalForm& otherwise,
                    const Env& env);
  // Whether the value is a value of `dtype` for all values of the elements that are read.
  bool Representable(const Atom& atom, DType dtype) const;
  bool Representable(const Summand& term, DType dtype) const;
  bool Representable(const NormalForm& form, DType dtype) const;
  NormalForm Rounded(NormalForm form, DType dtype) const;
  NormalForm Apply(const ScalarExpr& e, const Env& env);
  std::optional<NormalForm> ApplyExactly(ScalarFn fn, const std::vector<NormalForm>& args);
  NormalForm Reduce(const ScalarExpr& e, const Env& env);
  // For Laws::kExact (exact/build_exact.cc). IsExact: whether the number is computed without
  // rounding.
  bool IsExact(const NormalForm& form);
  NormalForm ApplyWhereExact(ScalarFn fn, const std::vector<NormalForm>& args);
  std::optional<NormalForm> ExactSum(const NormalForm& a, const NormalForm& b, bool unsigned_zero);
  std::optional<NormalForm> ExactProduct(const NormalForm& a, const NormalForm& b);
  NormalForm Unsigned(const NormalForm& form);
  bool IsExactSum(const Summand& all, const NormalForm& body, Span* bound);
  NormalForm StoredExactly(NormalForm value, const TensorExpr& tensor, bool rounds);
  // How the body of a tensor is computed.
  struct Computation {
    int digits = 0;         // binary digits of the floats that it is computed in; 0: integers
    bool any_zero = false;  // the sign of a zero does not matter
  };
  // Sets computation_ for the body of `tensor`; returns the previous value.
  Computation Enter(const TensorExpr& tensor);
  // Whether argument `i` of fn may have either sign if it is zero: true if fn's value does not
  // depend on that sign, false if it may. If the sign changes only the sign of a result that is
  // zero, returns `any_zero`, which says whether the result may have either sign.
  static bool AnyZero(ScalarFn fn, size_t i, bool any_zero);
  NormalForm Constant(double value);
  NormalForm Max(std::vector<NormalForm> values);
  NormalForm Inverse(NormalForm form);
  void TooLarge(const NormalForm& form);

  NormalForms& forms_;
  Leaves& leaves_;
  const Definition& definition_;
  Laws laws_;
  const LeafMap& symbols_;
  const std::vector<int>* operators_;
  int reader_ = -1;  // the operator whose element is being built
  std::string error_;
  Normalizer* normalizer_ = nullptr;
  const Facts* context_ = nullptr;
  Computation computation_;
  // Number of scalar expressions visited, and its limit: a value used twice is expanded twice.
  static constexpr int64_t kMaxScalars = 30000;
  int64_t scalars_ = 0;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_BUILD_FORM_H_
