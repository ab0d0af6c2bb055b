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

// `value` as a constant, rounded to nearest; an integer is truncated and saturated, 0 for NaN.
std::string Literal(double value, Number number);

// For a reduction: the function of two numbers ("fn_add"), the type that names it ("Sum"), and its
// initial value.
const char* ReduceFunction(ReduceKind kind);
const char* ReduceName(ReduceKind kind);
double IdentityOf(ReduceKind kind);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_NUMBER_H_
