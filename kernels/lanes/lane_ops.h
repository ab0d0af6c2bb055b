// Elementary operations on runs of numbers ("lanes"), with which loop nests are executed.
//
// There is one table of functions per number type, chosen once for this machine's instruction set.
// The choice does not affect results, since no operation uses fused multiply-add, and the order of
// partial results in reductions is the same everywhere. Only functions that call libm may give
// other results on another machine.
#ifndef LEMMA_KERNELS_LANES_LANE_OPS_H_
#define LEMMA_KERNELS_LANES_LANE_OPS_H_

#include <cstdint>

#include "graph/dtype.h"
#include "graph/expr/field.h"
#include "graph/expr/scalar_expr.h"

namespace lemma {

// A reduction over lanes keeps this many partial results: lane i goes to partial i mod kPartials.
constexpr int kPartials = 32;

// The functions for arrays of numbers of type T. A destination (dst) may be the same array as an
// operand; no other overlap is allowed. `n` is the number of lanes.
template <class T>
struct LaneOps {
  using Unary = void (*)(T* dst, const T* a, int64_t n);
  using Binary = void (*)(T* dst, const T* a, const T* b, int64_t n);

  // Functions of one (unary) and of two operands (vv, vs, sv), indexed by ScalarFn; nullptr if the
  // function has another arity or is not defined on T.
  Unary unary[kNumScalarFns];
  Binary vv[kNumScalarFns];  // a[i] and b[i]
  Binary vs[kNumScalarFns];  // b[0] for all lanes
  Binary sv[kNumScalarFns];  // a[0] for all lanes
  // dst[i] = c[i] != 0 ? a[i * a_step] : b[i * b_step], steps 0 or 1.
  void (*where)(T* dst, const T* c, const T* a, int a_step, const T* b, int b_step, int64_t n);

  // fill: dst[i] = value. iota: dst[i] = start + i * step.
  void (*fill)(T* dst, T value, int64_t n);
  void (*iota)(T* dst, int64_t start, int64_t step, int64_t n);
  // Strided copies that convert from and to storage, by DType. load_number and store_number copy
  // numbers of type T. Strides and offsets count elements.
  void (*load[kNumDTypes])(T* dst, const void* src, int64_t stride, int64_t n);
  void (*store[kNumDTypes])(void* dst, int64_t stride, const T* src, int64_t n);
  void (*load_number)(T* dst, const void* src, int64_t stride, int64_t n);
  void (*store_number)(void* dst, int64_t stride, const T* src, int64_t n);
  // dst[i] = src[offsets[i]].
  void (*gather[kNumDTypes])(T* dst, const void* src, const int64_t* offsets, int64_t n);
  void (*gather_number)(T* dst, const void* src, const int64_t* offsets, int64_t n);

  // dst[i] = a[i] * b[i] + c[i], a[i] * b[i] - c[i] and c[i] - a[i] * b[i], each rounded twice. The
  // functions at [0] take b[0] in place of b[i] for all lanes; those at [1] take b[i].
  using Ternary = void (*)(T* dst, const T* a, const T* b, const T* c, int64_t n);
  Ternary mul_plus[2], mul_minus[2], minus_mul[2];

  // acc[i] += a[i] * b[i], and with b[0] for all lanes.
  void (*mul_add_vv)(T* acc, const T* a, const T* b, int64_t n);
  void (*mul_add_vs)(T* acc, const T* a, const T* b, int64_t n);
  // partials[i mod kPartials] = partials[…] op a[i], one function per ReduceKind; partial_dot adds
  // a[i] * b[i].
  void (*partial[4])(T* partials, const T* a, int64_t n);
  void (*partial_dot)(T* partials, const T* a, const T* b, int64_t n);

  // Whether all a[i] lie in [least, most]; nullptr unless T is int64_t.
  bool (*within)(const T* a, T least, T most, int64_t n);

  // One tile of a matrix product: c[i*ldc + j] = sum(k < kc) a[k*mr + i] * b[k*nr + j] for i < mr,
  // j < nr, summed in the order of k. With `accumulate`, the sum starts from c instead of 0.
  // If T is Field, no element of a, b or c may be special.
  int mr, nr;
  void (*tile)(T* c, int64_t ldc, const T* a, const T* b, int64_t kc, bool accumulate);
};

// T is double, float, int64_t or Field.
template <class T>
const LaneOps<T>& Lanes();

// The initial value of a reduction.
template <class T>
T ReduceIdentity(ReduceKind kind);
// Conversions of single numbers.
template <class T>
T NumberFromDouble(double value);
// Truncates and saturates. NaN and the special values of Field give 0.
template <class T>
int64_t IntegerFromNumber(T value);

namespace lane_internal {
// The tables for single instruction sets; nullptr if the compiler lacks the set. Call a function
// only if the processor has its instructions, since the call itself executes them.
const LaneOps<float>* FloatLanesAvx512();
const LaneOps<double>* DoubleLanesAvx512();
const LaneOps<int64_t>* IntegerLanesAvx512();
const LaneOps<float>* FloatLanesAvx2();
const LaneOps<double>* DoubleLanesAvx2();
const LaneOps<int64_t>* IntegerLanesAvx2();
// The table that uses no special instruction set.
const LaneOps<Field>& FieldLanesBaseline();
// Replaces the functions that multiply by functions that use AVX-512 IFMA. Returns false and does
// nothing if the compiler or the processor lacks AVX-512 IFMA.
bool UseIfma(LaneOps<Field>* ops);
}  // namespace lane_internal

}  // namespace lemma

#endif  // LEMMA_KERNELS_LANES_LANE_OPS_H_
