// Evaluates definitions: runs loop nests over dense or strided tensors, for any number type.
//
// A Definition with constant sizes is compiled once and run many times. The
// number type sets the arithmetic: double for the reference, float for the CPU
// back end, int64_t for exact integers, Field for fingerprints. The number type
// is independent of the types in which tensors are stored: loads widen, stores
// round.
//
// Semantics in addition to graph/expr/scalar_expr.h:
//   * min and max propagate NaN. Sums and products may be reassociated, in an order that depends
//     on neither the machine nor the number of threads.
//   * Locals (tensors that are neither inputs nor outputs) are kept in the number type; they are
//     not rounded to their dtype.
//   * int64_t: arithmetic wraps, div truncates towards zero, x/0 = x mod 0 = 0. If the definition
//     has a function or a constant that is not integral, the run fails with InvalidArgument.
//   * A data-dependent index is computed in int64_t arithmetic from the stored integers, and always
//     checked: if it is outside its tensor, the run fails with OutOfRange. Any other read outside
//     its tensor is a mistake in the definition, and the run fails with Internal. No memory outside
//     a tensor is touched.
#ifndef LEMMA_KERNELS_EVALUATE_EVALUATE_H_
#define LEMMA_KERNELS_EVALUATE_EVALUATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/dtype.h"
#include "graph/expr/field.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// The memory of one tensor, not owned. Element (i, j, …) lies `i*strides[0] + j*strides[1] + …`
// elements after `data`; strides may be zero or negative.
struct TensorView {
  const void* data = nullptr;
  std::optional<DType> storage;  // nullopt: elements have the number type of the computation
  std::vector<int64_t> strides;
};

// An output. Its elements must not overlap each other or any input. One exception: an output may be
// exactly an input (same data, storage and strides) if only this output's body reads that input,
// and only at the element that it writes.
//
// Stores to f16 and bf16 round to nearest even; stores to small floats round as RoundToSmallFloat
// (graph/dtypes/small_float.h). Stores of a real number to an integer truncate and saturate (NaN
// gives 0). Stores of int64_t to a narrower integer wrap. Stores to bool give x != 0.
struct MutableTensorView {
  void* data = nullptr;
  std::optional<DType> storage;
  std::vector<int64_t> strides;
};

// Row-major strides, in elements.
std::vector<int64_t> DenseStrides(absl::Span<const int64_t> dims);

// A Definition with constant sizes, ready to run. Immutable, cheap to copy, thread-safe.
class LoopProgram {
 public:
  struct Tensor {
    DType dtype;
    std::vector<int64_t> dims;
  };
  // In the order of Definition::inputs and Definition::outputs.
  const std::vector<Tensor>& inputs() const;
  const std::vector<Tensor>& outputs() const;

  struct Impl;
  const std::shared_ptr<const Impl>& impl() const { return impl_; }
  explicit LoopProgram(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

// Compiles `definition`. InvalidArgument if a symbol or a parameter remains, or if `definition` is
// malformed (unbound variable or tensor, wrong arity or rank).
absl::StatusOr<LoopProgram> CompileLoops(const Definition& definition);

struct RunOptions {
  int threads = 1;  // does not affect results
};

// Computes all outputs. InvalidArgument if the number of tensors, a rank or a data pointer does not
// fit. The first run with given strides plans the loops (tens of microseconds); later runs with the
// same strides reuse the plan. A program keeps at most 32 plans. Number is double, float, int64_t
// or Field.
template <class Number>
absl::Status Run(const LoopProgram& program, absl::Span<const TensorView> inputs,
                 absl::Span<const MutableTensorView> outputs, const RunOptions& options = {});

extern template absl::Status Run<double>(const LoopProgram&, absl::Span<const TensorView>,
                                         absl::Span<const MutableTensorView>, const RunOptions&);
extern template absl::Status Run<float>(const LoopProgram&, absl::Span<const TensorView>,
                                        absl::Span<const MutableTensorView>, const RunOptions&);
extern template absl::Status Run<int64_t>(const LoopProgram&, absl::Span<const TensorView>,
                                          absl::Span<const MutableTensorView>, const RunOptions&);
extern template absl::Status Run<Field>(const LoopProgram&, absl::Span<const TensorView>,
                                        absl::Span<const MutableTensorView>, const RunOptions&);

}  // namespace lemma

#endif  // LEMMA_KERNELS_EVALUATE_EVALUATE_H_
