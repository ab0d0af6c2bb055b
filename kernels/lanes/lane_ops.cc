// The lane operations for every machine, and the choice of the instruction set.
#include "kernels/lanes/lane_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "graph/dtypes/small_float.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lemma {
namespace lane_internal {
namespace baseline {
namespace {

#include "kernels/lanes/lane_integers.inc"
#include "kernels/lanes/lane_kernels.inc"

template <ScalarFn F, class T>
T EvalExact(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return EvalInteger<F>(a, b);
  } else {
    if constexpr (F == ScalarFn::kAdd) return a + b;
    if constexpr (F == ScalarFn::kSub) return a - b;
    if constexpr (F == ScalarFn::kMul) return a * b;
    return ApplyField(F, a, b);
  }
}

constexpr int kTile = 4;

// Operands must not be special elements.
void FieldTile(Field* c, int64_t ldc, const Field* a, const Field* b, int64_t kc, bool accumulate) {
  using Wide = unsigned __int128;
  Wide acc[kTile][kTile];
  for (int i = 0; i < kTile; ++i) {
    for (int j = 0; j < kTile; ++j) acc[i][j] = accumulate ? c[i * ldc + j].raw() : 0;
  }
  constexpr int64_t kExact = 32;  // 122-bit products that fit into 128 bits, with a margin
  while (kc > 0) {
    int64_t some = kc < kExact ? kc : kExact;
    kc -= some;
    for (; some > 0; --some, a += kTile, b += kTile) {
      for (int i = 0; i < kTile; ++i) {
        for (int j = 0; j < kTile; ++j) acc[i][j] += static_cast<Wide>(a[i].raw()) * b[j].raw();
      }
    }
    for (auto& row : acc) {
      for (Wide& x : row) x = Field::Reduce(x);
    }
  }
  for (int i = 0; i < kTile; ++i) {
    for (int j = 0; j < kTile; ++j) {
      c[i * ldc + j] = Field::FromRaw(static_cast<uint64_t>(acc[i][j]));
    }
  }
}

// dst[i] = a[i] / b[i] with one inverse for many divisors: that of their product gives those of all
// of them (Montgomery's trick). A step of 0: a[0] or b[0] for all lanes.
template <int AStep, int BStep>
void DivideFields(Field* dst, const Field* a, const Field* b, int64_t n) {
  const auto has_inverse = [](Field x) { return !x.is_special() && x != Field(); };
  const Field first_a = n > 0 ? *a : Field(), first_b = n > 0 ? *b : Field();
  if constexpr (BStep == 0) {
    const Field inverse = has_inverse(first_b) ? first_b.Inverse() : Field();
    for (int64_t i = 0; i < n; ++i) {
      const Field x = AStep == 0 ? first_a : a[i];
      dst[i] = has_inverse(first_b) && !x.is_special() ? x * inverse : x / first_b;
    }
    return;
  }
  constexpr int64_t kMany = 64;
  Field before[kMany];  // the product of the divisors before each
  for (int64_t start = 0; start < n; start += kMany) {
    const int64_t end = std::min(n, start + kMany);
    Field product(1);
    for (int64_t i = start; i < end; ++i) {
      before[i - start] = product;
      if (has_inverse(b[i])) product = product * b[i];
    }
    Field inverse = product.Inverse();
    for (int64_t i = end; i-- > start;) {
      const Field x = AStep == 0 ? first_a : a[i], y = b[i];
      const Field quotient =
          x.is_special() || !has_inverse(y) ? x / y : x * (inverse * before[i - start]);
      if (has_inverse(y)) inverse = inverse * y;
      dst[i] = quotient;
    }
  }
}

template <class T>
LaneOps<T> Make(void (*tile)(T*, int64_t, const T*, const T*, int64_t, bool), int mr, int nr) {
  LaneOps<T> ops = MakeLaneOps<T>();
  ops.mr = mr;
  ops.nr = nr;
  ops.tile = tile;
  return ops;
}

}  // namespace
}  // namespace baseline

enum class Isa { kBaseline, kAvx2, kAvx512 };

#if defined(__x86_64__)
// F16C, which not every compiler's __builtin_cpu_supports knows.
bool HasHalfConversions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Isa BestIsa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && HasHalfConversions()) return Isa::kAvx2;
#endif
  return Isa::kBaseline;
}

// Builds only the table of the best instruction set, since building a table executes its
// instructions.
template <class T>
const LaneOps<T>& Choose(const LaneOps<T>* (*avx512)(), const LaneOps<T>* (*avx2)(),
                         const LaneOps<T>& baseline) {
  const Isa isa = BestIsa();
  const LaneOps<T>* best = nullptr;
  if (isa == Isa::kAvx512) best = avx512();
  if (isa != Isa::kBaseline && best == nullptr) best = avx2();
  return best == nullptr ? baseline : *best;
}

const LaneOps<Field>& FieldLanesBaseline() {
  static const LaneOps<Field> table = [] {
    LaneOps<Field> ops = baseline::Make<Field>(baseline::FieldTile, 4, 4);
    const int div = static_cast<int>(ScalarFn::kDiv);
    ops.vv[div] = baseline::DivideFields<1, 1>;
    ops.vs[div] = baseline::DivideFields<1, 0>;
    ops.sv[div] = baseline::DivideFields<0, 1>;
    return ops;
  }();
  return table;
}

}  // namespace lane_internal

namespace li = lane_internal;

template <>
const LaneOps<float>& Lanes<float>() {
  static const LaneOps<float> baseline =
      li::baseline::Make<float>(li::baseline::VectorTile<float, 4, 4, 2>, 4, 8);
  static const LaneOps<float>& best =
      li::Choose(li::FloatLanesAvx512, li::FloatLanesAvx2, baseline);
  return best;
}

template <>
const LaneOps<double>& Lanes<double>() {
  static const LaneOps<double> baseline =
      li::baseline::Make<double>(li::baseline::VectorTile<double, 2, 4, 2>, 4, 4);
  static const LaneOps<double>& best =
      li::Choose(li::DoubleLanesAvx512, li::DoubleLanesAvx2, baseline);
  return best;
}

template <>
const LaneOps<int64_t>& Lanes<int64_t>() {
  static const LaneOps<int64_t> baseline =
      li::baseline::Make<int64_t>(li::baseline::IntegerTile, 4, 4);
  static const LaneOps<int64_t>& best =
      li::Choose(li::IntegerLanesAvx512, li::IntegerLanesAvx2, baseline);
  return best;
}

template <>
const LaneOps<Field>& Lanes<Field>() {
  static const LaneOps<Field> best = [] {
    LaneOps<Field> ops = li::FieldLanesBaseline();
    li::UseIfma(&ops);
    return ops;
  }();
  return best;
}

template <class T>
T NumberFromDouble(double value) {
  return li::baseline::Convert<T>(value);
}

template <class T>
int64_t IntegerFromNumber(T value) {
  if constexpr (std::is_same_v<T, Field>) {
    return value.is_special() ? 0 : value.Signed();
  } else {
    return li::baseline::Convert<int64_t>(value);
  }
}

template <class T>
T ReduceIdentity(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return T{};
    case ReduceKind::kProd:
      return NumberFromDouble<T>(1);
    case ReduceKind::kMax:
      return NumberFromDouble<T>(-std::numeric_limits<double>::infinity());
    case ReduceKind::kMin:
      return NumberFromDouble<T>(std::numeric_limits<double>::infinity());
  }
  return T{};
}

#define LEMMA_INSTANTIATE(T)                \
  template T ReduceIdentity<T>(ReduceKind); \
  template T NumberFromDouble<T>(double);   \
  template int64_t IntegerFromNumber<T>(T);
LEMMA_INSTANTIATE(double)
LEMMA_INSTANTIATE(float)
LEMMA_INSTANTIATE(int64_t)
LEMMA_INSTANTIATE(Field)
#undef LEMMA_INSTANTIATE

}  // namespace lemma
