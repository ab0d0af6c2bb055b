// How numbers, their types and functions are written in kernels.
#ifndef LEMMA_KERNELS_CODEGEN_NUMBER_H_
#define LEMMA_KERNELS_CODEGEN_NUMBER_H_

#include <string>

#include "graph/expr/scalar_expr.h"

namespace lemma::codegen {

// What numbers are computed in.
enum class Number { kFloat, kDouble, kInteger };

// "float", "double", "int64".
const char* TypeName(Number number);

// `value` as a constant, rounded to nearest; an integer is truncated and saturated, 0 for NaN.
std::string Literal(double value, Number number);

// The function of two numbers, and the type that names it: "fn_add", "Sum". What it starts from.
const char* ReduceFunction(ReduceKind kind);
const char* ReduceName(ReduceKind kind);
double IdentityOf(ReduceKind kind);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_NUMBER_H_
