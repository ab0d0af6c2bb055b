// Shorthand to write definitions by hand, and to compare their evaluation with a naive evaluation.
#ifndef LEMMA_TESTS_KERNELS_LOOPS_DEFINITION_TESTUTIL_H_
#define LEMMA_TESTS_KERNELS_LOOPS_DEFINITION_TESTUTIL_H_

#include <functional>
#include <random>
#include <vector>

#include "graph/expr/tensor_expr.h"
#include "kernels/evaluate/evaluate.h"
#include "tests/kernels/evaluate/naive_evaluator.h"

namespace lemma {

// Builds one definition (graph/expr/tensor_expr.h). Add all inputs first.
class DefinitionBuilder {
 public:
  // Adds an input of this shape. Returns its id.
  TensorId Input(std::vector<int64_t> dims, DType dtype = DType::kF32);

  // Returns the expression of the element at `index`. `index` has one variable for each dimension
  // of the tensor or each extent of the reduction.
  using Body = std::function<ScalarExpr(const Idx& index)>;
  // Add a local tensor or an output of shape `dims`. Return its id.
  TensorId Local(Idx dims, const Body& body, DType dtype = DType::kF32);
  TensorId Output(Idx dims, const Body& body, DType dtype = DType::kF32);

  // The reduction (or sum) of `body` over axes of these extents.
  ScalarExpr Reduce(ReduceKind kind, Idx extents, const Body& body);
  ScalarExpr Sum(Idx extents, const Body& body) { return Reduce(ReduceKind::kSum, extents, body); }
  VarId NewVar() { return definition_.num_vars++; }

  const Definition& definition() const { return definition_; }

 private:
  Definition definition_;
};

// The element of `tensor` at these indices.
inline ScalarExpr Read(TensorId tensor, Idx indices) {
  return ScalarExpr::Read(tensor, std::move(indices));
}
// The integer `e` as an index.
inline IndexExpr Load(const ScalarExpr& e) { return IndexExpr::Load(e.node()); }
// tensor[indices] where `inside`, else 0.
inline ScalarExpr ReadWhere(Guard inside, TensorId tensor, Idx indices) {
  return ScalarExpr::Select(std::move(inside), Read(tensor, std::move(indices)), 0);
}

// The number of elements of a tensor of this shape.
int64_t ElementsIn(const std::vector<int64_t>& dims);

// The convolution y[n, k, p, q] = sum(c, r, s) x[n, (k div (K/groups))*C + c, p*stride + r - pad,
// …] * w[k, c, r, s], padded with zeros. `x` and `w` are shapes; w begins with the sizes K and C.
Definition Conv(std::vector<int64_t> x, std::vector<int64_t> w, int64_t stride, int64_t pad,
                int64_t groups);
// The product of an [m, k] matrix and a [k, n] matrix.
Definition Matmul(int64_t m, int64_t k, int64_t n);

// Random values for the inputs. Floats are integers from -3 to 3, so that double and int64_t are
// exact; if T is Field, they are any elements of the field. Integers are from 0 to 3. T is double,
// float, int64_t or Field.
template <class T>
std::vector<Dense<T>> RandomInputs(const Definition& definition, uint32_t seed);

// Runs the definition over dense tensors of T; returns its outputs.
template <class T>
absl::StatusOr<std::vector<Dense<T>>> RunDense(const Definition& definition,
                                               const std::vector<Dense<T>>& inputs,
                                               int threads = 1);

// Expects (gtest) that evaluation on random inputs in double, in Field and, if possible, in int64_t
// agrees with naive evaluation: up to rounding in double, and exactly in the others.
void ExpectEvaluatesAsNaively(const Definition& definition, uint32_t seed = 1);

}  // namespace lemma

#endif  // LEMMA_TESTS_KERNELS_LOOPS_DEFINITION_TESTUTIL_H_
