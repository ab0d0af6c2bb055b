// Writes numbers, their types and functions as kernel source.
#ifndef LEMMA_KERNELS_CODEGEN_NUMBER_H_
#define LEMMA_KERNELS_CODEGEN_NUMBER_H_

#include <string>

#include "graph/expr/scalar_expr.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::codegen {

// The number type of a computation.
enum class Number { kFloat, kDouble, kInteger };
// The number type in which the kernels of `definition` compute (ArithmeticFor in
// graph/expr/arithmetic.h).
Number NumberFor(const Definition& definition);

// "float", "double", "int64".
const char* TypeName(Number number);

// `value` as a constant of kernel source. A kFloat is rounded to nearest, and is infinite if
// `value` is too large; a kDouble is exact; a kInteger is truncated and saturated, and 0 for NaN.
std::string Literal(double value, Number number);

// A reduction in kernel source (prelude.cuh): its function of two numbers ("fn_add"), the template
// argument that stands for it ("Sum"), and its neutral element, with which it starts.
const char* ReduceFunction(ReduceKind kind);
const char* ReduceName(ReduceKind kind);
double IdentityOf(ReduceKind kind);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_NUMBER_H_
