// What every generated kernel may call: conversions, scalar functions, reductions by warp and
// block. Compiled by NVRTC and nvcc in front of the kernels, and as host C++ behind
// tests/kernels/codegen/grid_emulator.h. Scalar functions mean what kernels/evaluate/evaluate.h
// says.
#ifndef LEMMA_KERNELS_CODEGEN_PRELUDE_CUH_
#define LEMMA_KERNELS_CODEGEN_PRELUDE_CUH_

namespace lemma_gpu {

typedef long long int64;
typedef unsigned long long uint64;

// Storage types that C++ has no name for.
struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};
struct truth {
  unsigned char byte;
};

__device__ inline unsigned int BitsOf(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  unsigned int bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
#endif
}
__device__ inline float FloatOf(unsigned int bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
#endif
}

__device__ inline float Infinity() { return FloatOf(0x7f800000u); }
__device__ inline float NotANumber() { return FloatOf(0x7fc00000u); }

// --- Storage ---

__device__ inline float Widen(bf16 h) { return FloatOf(static_cast<unsigned int>(h.bits) << 16); }

__device__ inline float Widen(f16 h) {
  const unsigned int sign = (h.bits & 0x8000u) << 16, rest = (h.bits & 0x7fffu) << 13;
  // From bias 15 to 127; the multiplication also normalizes subnormals.
  const unsigned int magnitude = BitsOf(FloatOf(rest) * 5.192296858534828e33f);  // 2^112
  return FloatOf(((h.bits & 0x7c00u) == 0x7c00u ? rest | 0x7f800000u : magnitude) | sign);
}

// To nearest, ties to even.
__device__ inline bf16 ToBf16(float x) {
  const unsigned int bits = BitsOf(x);
  const unsigned int rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return bf16{static_cast<unsigned short>((x == x ? rounded : bits | 0x400000u) >> 16)};
}
__device__ inline f16 ToF16(float x) {
  const unsigned int bits = BitsOf(x), sign = (bits >> 16) & 0x8000u,
                     magnitude = bits & 0x7fffffffu;
  unsigned int result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u;
  } else if (magnitude >= 0x47800000u) {
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Adding 1/2 aligns the mantissa to the subnormals' unit, and rounds.
    result = BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    result = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return f16{static_cast<unsigned short>(result | sign)};
}

// To float, so that rounding on to 16 bits rounds once: an inexact result is made odd.
__device__ inline float RoundToOdd(double x) {
  const float f = static_cast<float>(x);
  const double back = f;
  if (back == x || x != x) return f;
  const unsigned int too_large = (back < 0 ? -back : back) > (x < 0 ? -x : x) ? 1u : 0u;
  return FloatOf((BitsOf(f) - too_large) | 1u);
}
__device__ inline float RoundToOdd(float x) { return x; }
__device__ inline float RoundToOdd(int64 x) { return RoundToOdd(static_cast<double>(x)); }

// x rounded towards zero and brought into [lo, hi]; `end` is hi + 1, exact as a float.
template <class F>
__device__ inline int64 Saturate(F x, int64 lo, int64 hi, F end) {
  if (x >= end) return hi;
  if (x <= static_cast<F>(lo)) return lo;
  return x == x ? static_cast<int64>(x) : 0;
}

// An element as a number of type T.
template <class T, class S>
struct LoadAs {
  static __device__ inline T From(S x) { return static_cast<T>(x); }
};
template <class T>
struct LoadAs<T, f16> {
  static __device__ inline T From(f16 x) { return static_cast<T>(Widen(x)); }
};
template <class T>
struct LoadAs<T, bf16> {
  static __device__ inline T From(bf16 x) { return static_cast<T>(Widen(x)); }
};
template <class T>
struct LoadAs<T, truth> {
  static __device__ inline T From(truth x) { return static_cast<T>(x.byte != 0); }
};
template <class F>
__device__ inline int64 TruncateReal(F x) {
  return Saturate(x, static_cast<int64>(0x8000000000000000ull), 0x7fffffffffffffffll,
                  static_cast<F>(9223372036854775808.0));
}
template <>
struct LoadAs<int64, float> {
  static __device__ inline int64 From(float x) { return TruncateReal(x); }
};
template <>
struct LoadAs<int64, double> {
  static __device__ inline int64 From(double x) { return TruncateReal(x); }
};
template <>
struct LoadAs<int64, f16> {
  static __device__ inline int64 From(f16 x) { return TruncateReal(Widen(x)); }
};
template <>
struct LoadAs<int64, bf16> {
  static __device__ inline int64 From(bf16 x) { return TruncateReal(Widen(x)); }
};
template <class T, class S>
__device__ inline T Load(S x) {
  return LoadAs<T, S>::From(x);
}

// A number as an element: integers saturate if it is real, wrap if it is an integer.
__device__ inline void Store(float* to, float x) { *to = x; }
__device__ inline void Store(float* to, double x) { *to = static_cast<float>(x); }
__device__ inline void Store(float* to, int64 x) { *to = static_cast<float>(x); }
__device__ inline void Store(double* to, float x) { *to = x; }
__device__ inline void Store(double* to, double x) { *to = x; }
__device__ inline void Store(double* to, int64 x) { *to = static_cast<double>(x); }
template <class T>
__device__ inline void Store(f16* to, T x) {
  *to = ToF16(RoundToOdd(x));
}
template <class T>
__device__ inline void Store(bf16* to, T x) {
  *to = ToBf16(RoundToOdd(x));
}
template <class T>
__device__ inline void Store(truth* to, T x) {
  to->byte = x != T(0) ? 1 : 0;
}
#define LEMMA_STORE_INTEGER(type, lo, hi, end)                                    \
  __device__ inline void Store(type* to, int64 x) { *to = static_cast<type>(x); } \
  __device__ inline void Store(type* to, float x) {                               \
    *to = static_cast<type>(Saturate(x, lo, hi, static_cast<float>(end)));        \
  }                                                                               \
  __device__ inline void Store(type* to, double x) {                              \
    *to = static_cast<type>(Saturate(x, lo, hi, static_cast<double>(end)));       \
  }
LEMMA_STORE_INTEGER(int64, static_cast<int64>(0x8000000000000000ull), 0x7fffffffffffffffll,
                    9223372036854775808.0)
LEMMA_STORE_INTEGER(int, -2147483647ll - 1, 2147483647ll, 2147483648.0)
LEMMA_STORE_INTEGER(signed char, -128ll, 127ll, 128.0)
LEMMA_STORE_INTEGER(unsigned char, 0ll, 255ll, 256.0)
#undef LEMMA_STORE_INTEGER

// Several consecutive elements, aligned to their size together, by one access of memory.
template <class S, int N>
struct alignas(sizeof(S) * N) Pack {
  S at[N];
};
template <int N, class S>
__device__ inline Pack<S, N> LoadPack(const S* from) {
  return *reinterpret_cast<const Pack<S, N>*>(from);
}
template <int N, class S>
__device__ inline void StorePack(S* to, const Pack<S, N>& values) {
  *reinterpret_cast<Pack<S, N>*>(to) = values;
}

// --- Indices ---

template <class I>
__device__ inline I FloorDiv(I a, I b) {
  const I q = a / b;
  return a % b < 0 ? q - 1 : q;
}
// For divisors of which it is not known that they are positive.
template <class I>
__device__ inline I FloorDivOr0(I a, I b) {
  return b > 0 ? FloorDiv(a, b) : 0;
}
template <class I>
__device__ inline I ModOr0(I a, I b) {
  return b > 0 ? a - b * FloorDiv(a, b) : 0;
}
template <class I>
__device__ inline I Least(I a, I b) {
  return a < b ? a : b;
}
template <class I>
__device__ inline I Greatest(I a, I b) {
  return a > b ? a : b;
}

// --- Scalar functions ---

// For float and double, and under the same names for int64 further below.
#define LEMMA_REAL(F, body1, name) \
  __device__ inline F name(F a) { return body1; }
#define LEMMA_REAL2(F, body2, name) \
  __device__ inline F name(F a, F b) { return body2; }
#define LEMMA_REALS(F, floor_, ceil_, rint_, trunc_, fmod_)    \
  LEMMA_REAL2(F, a + b, fn_add)                                \
  LEMMA_REAL2(F, a - b, fn_sub)                                \
  LEMMA_REAL2(F, a* b, fn_mul)                                 \
  LEMMA_REAL2(F, a / b, fn_div)                                \
  LEMMA_REAL(F, -a, fn_neg)                                    \
  LEMMA_REAL2(F, a < b || a != a ? a : b, fn_min)              \
  LEMMA_REAL2(F, a > b || a != a ? a : b, fn_max)              \
  LEMMA_REAL(F, a < 0 ? -a : a + F(0), fn_abs)                 \
  LEMMA_REAL(F, a > 0 ? F(1) : a < 0 ? F(-1) : a, fn_sign)     \
  LEMMA_REAL(F, floor_(a), fn_floor)                           \
  LEMMA_REAL(F, ceil_(a), fn_ceil)                             \
  LEMMA_REAL(F, rint_(a), fn_round)                            \
  LEMMA_REAL(F, trunc_(a), fn_trunc)                           \
  LEMMA_REAL2(F, fmod_(a, b), fn_fmod)                         \
  __device__ inline F fn_mod(F a, F b) {                       \
    const F r = fmod_(a, b);                                   \
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;           \
  }                                                            \
  LEMMA_REAL2(F, a < b ? F(1) : F(0), fn_less)                 \
  LEMMA_REAL2(F, a == b ? F(1) : F(0), fn_equal)               \
  LEMMA_REAL2(F, a != 0 && b != 0 ? F(1) : F(0), fn_and)       \
  LEMMA_REAL2(F, a != 0 || b != 0 ? F(1) : F(0), fn_or)        \
  LEMMA_REAL(F, a == 0 ? F(1) : F(0), fn_not)                  \
  LEMMA_REAL(F, a != a ? F(1) : F(0), fn_is_nan)               \
  LEMMA_REAL(F, a == a && a - a != 0 ? F(1) : F(0), fn_is_inf) \
  __device__ inline F fn_where(F a, F b, F c) { return a != 0 ? b : c; }
LEMMA_REALS(float, floorf, ceilf, rintf, truncf, fmodf)
LEMMA_REALS(double, floor, ceil, rint, trunc, fmod)

#define LEMMA_TRANSCENDENTAL(name)                                  \
  __device__ inline float fn_##name(float a) { return name##f(a); } \
  __device__ inline double fn_##name(double a) { return name(a); }
LEMMA_TRANSCENDENTAL(exp)
LEMMA_TRANSCENDENTAL(log)
LEMMA_TRANSCENDENTAL(sqrt)
LEMMA_TRANSCENDENTAL(erf)
LEMMA_TRANSCENDENTAL(sin)
LEMMA_TRANSCENDENTAL(cos)
LEMMA_TRANSCENDENTAL(tan)
LEMMA_TRANSCENDENTAL(asin)
LEMMA_TRANSCENDENTAL(acos)
LEMMA_TRANSCENDENTAL(atan)
LEMMA_TRANSCENDENTAL(sinh)
LEMMA_TRANSCENDENTAL(cosh)
LEMMA_TRANSCENDENTAL(tanh)
LEMMA_TRANSCENDENTAL(asinh)
LEMMA_TRANSCENDENTAL(acosh)
LEMMA_TRANSCENDENTAL(atanh)
#undef LEMMA_TRANSCENDENTAL
#undef LEMMA_REALS
#undef LEMMA_REAL2
#undef LEMMA_REAL

// The powers that occur in models cost a product.
template <class F>
__device__ inline F SmallPower(F a, F b, F otherwise) {
  return b == F(2) ? a * a : b == F(1) ? a : b == F(-1) ? F(1) / a : otherwise;
}
__device__ inline float fn_pow(float a, float b) { return SmallPower(a, b, powf(a, b)); }
__device__ inline double fn_pow(double a, double b) { return SmallPower(a, b, pow(a, b)); }

// Arithmetic wraps; division truncates, and by 0 gives 0.
__device__ inline int64 fn_add(int64 a, int64 b) {
  return static_cast<int64>(static_cast<uint64>(a) + static_cast<uint64>(b));
}
__device__ inline int64 fn_sub(int64 a, int64 b) {
  return static_cast<int64>(static_cast<uint64>(a) - static_cast<uint64>(b));
}
__device__ inline int64 fn_mul(int64 a, int64 b) {
  return static_cast<int64>(static_cast<uint64>(a) * static_cast<uint64>(b));
}
__device__ inline int64 fn_neg(int64 a) { return fn_sub(0, a); }
__device__ inline int64 fn_div(int64 a, int64 b) {
  return b == 0 ? 0 : b == -1 ? fn_neg(a) : a / b;
}
__device__ inline int64 fn_min(int64 a, int64 b) { return a < b ? a : b; }
__device__ inline int64 fn_max(int64 a, int64 b) { return a > b ? a : b; }
__device__ inline int64 fn_abs(int64 a) { return a < 0 ? fn_neg(a) : a; }
__device__ inline int64 fn_sign(int64 a) { return (a > 0) - (a < 0); }
__device__ inline int64 fn_floor(int64 a) { return a; }
__device__ inline int64 fn_ceil(int64 a) { return a; }
__device__ inline int64 fn_round(int64 a) { return a; }
__device__ inline int64 fn_trunc(int64 a) { return a; }
__device__ inline int64 fn_fmod(int64 a, int64 b) { return b == 0 || b == -1 ? 0 : a % b; }
__device__ inline int64 fn_mod(int64 a, int64 b) {
  const int64 r = fn_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
__device__ inline int64 fn_pow(int64 a, int64 n) {
  if (n < 0) return a == 1 ? 1 : a == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
  int64 result = 1;
  for (; n != 0; n >>= 1) {
    if (n & 1) result = fn_mul(result, a);
    a = fn_mul(a, a);
  }
  return result;
}
__device__ inline int64 fn_less(int64 a, int64 b) { return a < b; }
__device__ inline int64 fn_equal(int64 a, int64 b) { return a == b; }
__device__ inline int64 fn_and(int64 a, int64 b) { return a != 0 && b != 0; }
__device__ inline int64 fn_or(int64 a, int64 b) { return a != 0 || b != 0; }
__device__ inline int64 fn_not(int64 a) { return a == 0; }
__device__ inline int64 fn_is_nan(int64) { return 0; }
__device__ inline int64 fn_is_inf(int64) { return 0; }
__device__ inline int64 fn_where(int64 a, int64 b, int64 c) { return a != 0 ? b : c; }

// What storing a number as an element and loading it again gives.
template <class S, class T>
__device__ inline T Stored(T x) {
  S element;
  Store(&element, x);
  return Load<T>(element);
}
#define LEMMA_STORED(name, S)                                                \
  __device__ inline float fn_stored_##name(float a) { return Stored<S>(a); } \
  __device__ inline double fn_stored_##name(double a) { return Stored<S>(a); }
#define LEMMA_STORED_INTEGER(name, S) \
  LEMMA_STORED(name, S)               \
  __device__ inline int64 fn_stored_##name(int64 a) { return Stored<S>(a); }
LEMMA_STORED(f32, float)
LEMMA_STORED(f64, double)
LEMMA_STORED(f16, f16)
LEMMA_STORED(bf16, bf16)
LEMMA_STORED_INTEGER(i64, int64)
LEMMA_STORED_INTEGER(i32, int)
LEMMA_STORED_INTEGER(i8, signed char)
LEMMA_STORED_INTEGER(u8, unsigned char)
LEMMA_STORED_INTEGER(bool, truth)
#undef LEMMA_STORED_INTEGER
#undef LEMMA_STORED

// --- Reductions ---

struct Sum {
  template <class T>
  static __device__ inline T Apply(T a, T b) {
    return fn_add(a, b);
  }
};
struct Prod {
  template <class T>
  static __device__ inline T Apply(T a, T b) {
    return fn_mul(a, b);
  }
};
struct Max {
  template <class T>
  static __device__ inline T Apply(T a, T b) {
    return fn_max(a, b);
  }
};
struct Min {
  template <class T>
  static __device__ inline T Apply(T a, T b) {
    return fn_min(a, b);
  }
};

// Of the values of a warp's threads, all of which take part; every thread gets the same result.
template <class Op, class T>
__device__ inline T WarpReduce(T value) {
  for (int distance = 16; distance > 0; distance >>= 1) {
    value = Op::Apply(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// Of the values of a block's threads; `shared` has room for one number for each warp.
template <class Op, int kThreads, class T>
__device__ inline T BlockReduce(T value, T* shared) {
  value = WarpReduce<Op>(value);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int warp = 1; warp < kThreads / 32; ++warp) value = Op::Apply(value, shared[warp]);
  __syncthreads();
  return value;
}

}  // namespace lemma_gpu

#endif  // LEMMA_KERNELS_CODEGEN_PRELUDE_CUH_
