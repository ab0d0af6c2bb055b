// Builds compositions of operators, written like formulas.
#ifndef LEMMA_GRAPH_OPS_FORMULA_H_
#define LEMMA_GRAPH_OPS_FORMULA_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

// Applies operators and keeps the first error. After an error, operators are not applied and their
// results are empty. So a composition is written without checks, and its status is read once at the
// end.
//
// An empty value stands for a zero of any shape: a sum leaves it out, and a product with it is
// empty too. Formula simplifies multiplication by 1, addition of 0, and arithmetic on constants of
// one element, expanded or not. So graphs do not contain such operators.
class Formula {
 public:
  // The type of ApplyOp (graph/builder.h).
  using Apply = absl::StatusOr<std::vector<Value>> (*)(absl::string_view op,
                                                       std::vector<Value> inputs, Attrs attrs);
  explicit Formula(Apply apply) : apply_(apply) {}

  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  // Apply the operator `op`. Op returns the first output, Ops all outputs; empty if an input is
  // empty.
  Value Op(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {});
  std::vector<Value> Ops(absl::string_view op, std::vector<Value> inputs, Attrs attrs = {});

  // An error in `tensor` becomes this formula's error.
  Value Constant(const absl::StatusOr<Tensor>& tensor);
  Value Scalar(DType dtype, double value);
  // A tensor whose elements are all `value`.
  Value Filled(const TensorType& type, double value);
  // `x`, or zeros of `type` if `x` is empty.
  Value OrZeros(const Value& x, const TensorType& type) { return x ? x : Filled(type, 0); }
  // The number that all elements of `x` equal; nullopt if it is not known. `x` must not be empty.
  static std::optional<double> Uniform(const Value& x);

  // Element-wise; shapes broadcast. A number becomes a scalar of the other operand's element type.
  // If `a` is empty, the result for a number `b` is empty, also for Add.
  Value Add(const Value& a, const Value& b);
  Value Sub(const Value& a, const Value& b);
  Value Mul(const Value& a, const Value& b);
  Value Div(const Value& a, const Value& b);
  Value Neg(const Value& a);
  Value Add(const Value& a, double b) { return a ? Add(a, Scalar(a.dtype(), b)) : a; }
  Value Mul(const Value& a, double b) { return a ? Mul(a, Scalar(a.dtype(), b)) : a; }
  Value Div(const Value& a, double b) { return a ? Div(a, Scalar(a.dtype(), b)) : a; }
  Value Square(const Value& a) { return Mul(a, a); }
  // test ? a : b. An empty `a` or `b` counts as zero. Both must have one element type.
  Value Where(const Value& test, const Value& a, const Value& b);

  // Over the axes `axes`; x itself if there are none.
  Value Sum(const Value& x, std::vector<int64_t> axes, bool keepdims = false);
  Value Mean(const Value& x, std::vector<int64_t> axes, bool keepdims = false);
  // Sums x over the axes along which a tensor of `shape` repeats when it broadcasts to x's shape.
  // The result has the shape `shape`. This is the transpose of Expand.
  Value SumTo(const Value& x, const Shape& shape);
  Value Expand(const Value& x, const Shape& shape);
  Value Reshape(const Value& x, const Shape& shape);
  // If `x` is itself a transpose, the two become one transpose.
  Value Transpose(const Value& x, std::vector<int64_t> perm);
  // Exchanges the last two dimensions.
  Value MatrixTranspose(const Value& x);
  Value Slice(const Value& x, std::vector<int64_t> starts, Shape sizes);
  // Empty if a part is empty.
  Value Concat(std::vector<Value> parts, int64_t axis);
  // If `x` is itself a cast from the 16-bit type `to` to f32 or f64, returns the operand of `x`.
  Value Cast(const Value& x, DType to);

 private:
  Value Arithmetic(absl::string_view op, const Value& a, const Value& b);

  Apply apply_;
  absl::Status status_;
};

// The list 0, 1, …, n - 1 without the elements of `without`.
std::vector<int64_t> AxesBut(int64_t n, const std::vector<int64_t>& without = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_OPS_FORMULA_H_
