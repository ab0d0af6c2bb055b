// The lane operations for machines with AVX-512.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "graph/dtypes/small_float.h"
#include "kernels/lanes/lane_ops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lemma {
namespace lane_internal {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// After all headers: an inline function of theirs must not use instructions that a machine may
// lack.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,prefer-vector-width=512")
namespace avx512 {
namespace {

#include "kernels/lanes/lane_integers.inc"
#include "kernels/lanes/lane_kernels.inc"

template <ScalarFn F, class T>
T EvalExact(T a, T b) {
  return EvalInteger<F>(a, b);
}

constexpr int64_t kHalves = 16;
inline void WidenHalves(float* dst, const Half* src) {
  _mm512_storeu_ps(dst, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(src))));
}
inline void NarrowHalves(Half* dst, const float* src) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst),
                      _mm512_cvtps_ph(_mm512_loadu_ps(src), _MM_FROUND_TO_NEAREST_INT));
}
inline void RoundHalves(float* dst, const float* src) {
  _mm512_storeu_ps(
      dst, _mm512_cvtph_ps(_mm512_cvtps_ph(_mm512_loadu_ps(src), _MM_FROUND_TO_NEAREST_INT)));
}
#include "kernels/lanes/lane_half.inc"

LaneOps<float> MakeFloat() {
  LaneOps<float> ops = MakeLaneOps<float>();
  UseHalfInstructions(&ops);
  ops.mr = 12;
  ops.nr = 32;
  ops.tile = VectorTile<float, 16, 12, 2>;
  return ops;
}

LaneOps<double> MakeDouble() {
  LaneOps<double> ops = MakeLaneOps<double>();
  ops.mr = 12;
  ops.nr = 16;
  ops.tile = VectorTile<double, 8, 12, 2>;
  return ops;
}

LaneOps<int64_t> MakeInteger() {
  LaneOps<int64_t> ops = MakeLaneOps<int64_t>();
  ops.mr = ops.nr = kIntegerTile;
  ops.tile = IntegerTile;
  return ops;
}

}  // namespace
}  // namespace avx512
#pragma GCC pop_options

const LaneOps<float>* FloatLanesAvx512() {
  static const LaneOps<float> ops = avx512::MakeFloat();
  return &ops;
}
const LaneOps<double>* DoubleLanesAvx512() {
  static const LaneOps<double> ops = avx512::MakeDouble();
  return &ops;
}
const LaneOps<int64_t>* IntegerLanesAvx512() {
  static const LaneOps<int64_t> ops = avx512::MakeInteger();
  return &ops;
}
#else
const LaneOps<float>* FloatLanesAvx512() { return nullptr; }
const LaneOps<double>* DoubleLanesAvx512() { return nullptr; }
const LaneOps<int64_t>* IntegerLanesAvx512() { return nullptr; }
#endif

}  // namespace lane_internal
}  // namespace lemma
