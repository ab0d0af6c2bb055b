// Floats of 8 and 4 bits: their values, and the rounding to them. Everything else about these types
// is derived from the functions below.
#ifndef LEMMA_GRAPH_DTYPES_SMALL_FLOAT_H_
#define LEMMA_GRAPH_DTYPES_SMALL_FLOAT_H_

#include <cstdint>

#include "graph/dtype.h"

namespace lemma {

// 256 numbers: number b is the value of the byte b in a small float type. A
// byte of f4e2m1 has the value of its low 4 bits.
const float* SmallFloatValues(DType dtype);

// The byte of the nearest value, ties to even, as in ONNX's Cast without saturation:
//   * f8e4m3fn, f8e4m3fnuz, f8e5m2fnuz: NaN if the rounded number would exceed the type's largest
//     number, and for infinities; the types with "uz" have no -0
//   * f8e5m2: an infinity if the rounded number would exceed the type's largest number
//   * f8e8m0, powers of two from 2^-127 to 2^127: ties up, NaN for everything outside that range
//   * f4e2m1, which has neither infinities nor NaN: for magnitudes above the largest number, this
//     number with the sign of `value`; -0 for NaN
uint8_t RoundToSmallFloat(DType dtype, double value);

// The largest number of the type.
float LargestSmallFloat(DType dtype);

}  // namespace lemma

#endif  // LEMMA_GRAPH_DTYPES_SMALL_FLOAT_H_
