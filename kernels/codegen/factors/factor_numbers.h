// Recognizes which numbers the factors of a product are. Internal to kernels/codegen.
#ifndef LEMMA_KERNELS_CODEGEN_FACTORS_FACTOR_NUMBERS_H_
#define LEMMA_KERNELS_CODEGEN_FACTORS_FACTOR_NUMBERS_H_

#include "absl/types/span.h"
#include "graph/dtype.h"
#include "graph/expr/scalar_expr.h"
#include "kernels/codegen/product_precision.h"

namespace lemma::codegen {

// The precision whose numbers the values of `e` are, in all cases: kF16, kBf16 or kTf32; otherwise
// kF32. `storage`: the types of the tensors that `e` reads.
ProductPrecision PrecisionOf(const ScalarExpr& e, absl::Span<const DType> storage);

// The precision that multiplies numbers of these two without rounding; kF32: none. f16 and bf16
// numbers are TF32 numbers, too. They are multiplied as such only if the other factor is rounded to
// TF32: two types mean that the graph was not written for tensor cores.
ProductPrecision JointPrecision(ProductPrecision a, ProductPrecision b);

// TileUse::a_tensor of a factor.
int TensorOf(const ScalarExpr& e);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_FACTORS_FACTOR_NUMBERS_H_
