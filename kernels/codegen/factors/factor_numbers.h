// Finds out whether the factors of a product are numbers of a lower precision than f32, such as f16
// numbers. Internal to kernels/codegen.
#ifndef LEMMA_KERNELS_CODEGEN_FACTORS_FACTOR_NUMBERS_H_
#define LEMMA_KERNELS_CODEGEN_FACTORS_FACTOR_NUMBERS_H_

#include "absl/types/span.h"
#include "graph/dtype.h"
#include "graph/expr/scalar_expr.h"
#include "kernels/codegen/product_precision.h"

namespace lemma::codegen {

// kF16, kBf16 or kTf32 if every value of `e` is known to be a number of this precision; otherwise
// kF32. `storage`: the types of the tensors that `e` reads.
ProductPrecision PrecisionOf(const ScalarExpr& e, absl::Span<const DType> storage);

// The precision in which tensor cores multiply factors of precisions `a` and `b` without rounding
// the factors; kF32: none. The result is kTf32 if one factor is a TF32 number and the other factor
// an f16 or bf16 number, because f16 and bf16 numbers are TF32 numbers too. The result is kF32 if
// one factor is an f16 number and the other factor a bf16 number: a graph with such a product was
// not written for tensor cores.
ProductPrecision JointPrecision(ProductPrecision a, ProductPrecision b);

// The number of the tensor that the factor `e` reads, perhaps under a guard
// that makes the factor 0 elsewhere (TileUse::a_tensor); -1 for any other
// factor.
int TensorOf(const ScalarExpr& e);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_FACTORS_FACTOR_NUMBERS_H_
