// Evaluates an operator's definition at concrete sizes. The elements are exact values (algebra.h).
#ifndef LEMMA_VERIFIER_CHECKER_EVALUATOR_H_
#define LEMMA_VERIFIER_CHECKER_EVALUATOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/expr/tensor_expr.h"
#include "verifier/checker/algebra.h"

namespace lemma::checker {

struct TensorValue {
  std::vector<int64_t> dims;
  std::vector<Value> elements;  // row-major
};

// Reports errors, such as an index outside its tensor or a symbol without a value, to the algebra
// (Algebra::problem). The constructor's arguments, and the tensors that `inputs` points to, must
// outlive the object. `inputs`: the definition's inputs, in order.
class Evaluator {
 public:
  Evaluator(Algebra* algebra, const Definition& definition, std::vector<const TensorValue*> inputs);
  // The definition's outputs; they may lack elements if Algebra::problem is set. Call Run at most
  // once.
  std::vector<TensorValue> Run();

  // Values of symbols by name, for sizes that are not constant; *symbols must outlive the object.
  void SetSymbols(const std::map<std::string, int64_t>* symbols) { symbols_ = symbols; }
  // Whether a guard that concerns symbols only is true.
  bool Holds(const Guard& g);

  // Whether an index depended on an element whose value is not a known integer. If so, the caller
  // must evaluate again, with numbers as the elements of the integer inputs.
  bool needs_positions() const { return needs_positions_; }
  // Whether a read was outside its tensor.
  bool read_outside() const { return read_outside_; }

 private:
  int64_t Index(const IndexExpr& e);
  Value Scalar(const ScalarExpr& e);
  Value Read(const ScalarExpr& e);
  void Collect(const ScalarExpr& reduce, size_t axis, std::vector<Value>* values);

  Algebra& algebra_;
  const Definition& definition_;
  std::vector<const TensorValue*> tensors_;
  std::vector<TensorValue> made_;
  std::vector<int64_t> vars_;
  const std::map<std::string, int64_t>* symbols_ = nullptr;
  bool needs_positions_ = false, read_outside_ = false;
};

// The row-major position of the element at `index` in a tensor of shape `dims`; -1 if `index` is
// outside. `dims` and `index` must have the same length.
int64_t OffsetOf(const std::vector<int64_t>& dims, const std::vector<int64_t>& index);

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_EVALUATOR_H_
