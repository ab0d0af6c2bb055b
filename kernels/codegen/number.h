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

// `value` as a constant of kernel source. For kFloat, the value is rounded to nearest, and is
// infinite if it is too large. For kDouble, it is exact. For kInteger, it is truncated and
// saturated; NaN gives 0.
std::string Literal(double value, Number number);

// A reduction in kernel source (prelude.cuh): the name of its function of two numbers ("fn_add"),
// its name as a template argument ("Sum"), and its neutral element, with which it starts.
const char* ReduceFunction(ReduceKind kind);
const char* ReduceName(ReduceKind kind);
double IdentityOf(ReduceKind kind);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_NUMBER_H_
