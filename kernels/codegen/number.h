// Writes numbers, their types and functions as kernel source.
#ifndef LEMMA_KERNELS_CODEGEN_NUMBER_H_
#define LEMMA_KERNELS_CODEGEN_NUMBER_H_

#include <string>

#include "graph/expr/scalar_expr.h"

namespace lemma::codegen {

// The number type of a computation.
enum class Number { kFloat, kDouble, kInteger };

// "float", "double", "int64".
const char* TypeName(Number number);

// `value` as a constant. For kFloat it is rounded to nearest, to infinity if it is too large; for
// kDouble it is exact; for kInteger it is truncated and saturated, and NaN gives 0.
std::string Literal(double value, Number number);

// For a reduction: the function of two numbers ("fn_add") and the template argument ("Sum") that
// stand for it in kernel source (prelude.cuh), and its neutral element, with which it starts.
const char* ReduceFunction(ReduceKind kind);
const char* ReduceName(ReduceKind kind);
double IdentityOf(ReduceKind kind);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_NUMBER_H_
