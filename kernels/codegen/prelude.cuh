// Functions that generated kernels call: conversions, scalar functions, and reductions by warp and
// block. NVRTC and nvcc compile this text in front of the kernels. Tests compile it as host C++
// behind tests/kernels/codegen/grid_emulator.h. kernels/evaluate/evaluate.h gives the semantics of
// scalar functions.
#ifndef LEMMA_KERNELS_CODEGEN_PRELUDE_CUH_
#define LEMMA_KERNELS_CODEGEN_PRELUDE_CUH_

namespace lemma_gpu {

typedef long long int64;
typedef unsigned long long uint64;

// Storage types that C++ lacks.
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
#ifdef __CUDA_ARCH__
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h.bits));
  return x;
#else
  const unsigned int sign = (h.bits & 0x8000u) << 16, rest = (h.bits & 0x7fffu) << 13;
  // From bias 15 to 127; the multiplication also normalizes subnormals.
  const unsigned int magnitude = BitsOf(FloatOf(rest) * 5.192296858534828e33f);  // 2^112
  return FloatOf(((h.bits & 0x7c00u) == 0x7c00u ? rest | 0x7f800000u : magnitude) | sign);
#endif
}

// To nearest, ties to even.
__device__ inline bf16 ToBf16(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#else
  const unsigned int bits = BitsOf(x);
  const unsigned int rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return bf16{static_cast<unsigned short>((x == x ? rounded : bits | 0x400000u) >> 16)};
#endif
}
__device__ inline f16 ToF16(float x) {
#ifdef __CUDA_ARCH__
  f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#else
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
#endif
}

// Rounds to float such that a later rounding to 16 bits equals a single rounding: makes an inexact
// result odd.
__device__ inline float RoundToOdd(double x) {
  const float f = static_cast<float>(x);
  const double back = f;
  if (back == x || x != x) return f;
  const unsigned int too_large = (back < 0 ? -back : back) > (x < 0 ? -x : x) ? 1u : 0u;
  return FloatOf((BitsOf(f) - too_large) | 1u);
}
__device__ inline float RoundToOdd(float x) { return x; }
__device__ inline float RoundToOdd(int64 x) { return RoundToOdd(static_cast<double>(x)); }

// x rounded towards zero and limited to [lo, hi]; `end` is hi + 1, exact as a float.
template <class F>
__device__ inline int64 Saturate(F x, int64 lo, int64 hi, F end) {
  if (x >= end) return hi;
  if (x <= static_cast<F>(lo)) return lo;
  return x == x ? static_cast<int64>(x) : 0;
}

// Converts an element to a number of type T.
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

// HighBits is the quotient of a byte and `divisor`, a power of two, rounded down; LowBits is the
// remainder. They separate numbers of few bits that share a byte.
template <class T, int divisor>
__device__ inline T HighBits(unsigned char x) {
  return static_cast<T>(static_cast<int>(x) / divisor);
}
template <class T, int divisor>
__device__ inline T LowBits(unsigned char x) {
  return static_cast<T>(static_cast<int>(x) % divisor);
}

// Stores a number as an element. For integer elements, real numbers saturate and integers wrap.
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
LEMMA_STORE_INTEGER(short, -32768ll, 32767ll, 32768.0)
LEMMA_STORE_INTEGER(unsigned short, 0ll, 65535ll, 65536.0)
LEMMA_STORE_INTEGER(unsigned int, 0ll, 4294967295ll, 4294967296.0)
#undef LEMMA_STORE_INTEGER
__device__ inline void Store(uint64* to, int64 x) { *to = static_cast<uint64>(x); }
template <class F>
__device__ inline uint64 SaturateUnsigned(F x) {
  if (x >= static_cast<F>(18446744073709551616.0)) return 0xffffffffffffffffull;
  return x > static_cast<F>(0) ? static_cast<uint64>(x) : 0;
}
__device__ inline void Store(uint64* to, float x) { *to = SaturateUnsigned(x); }
__device__ inline void Store(uint64* to, double x) { *to = SaturateUnsigned(x); }

// Several consecutive elements, aligned to their total size. A pack of at most 16 bytes is one
// memory access.
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
// For divisors not known to be positive.
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

// Functions that the table's rows call (graph/expr/scalar_functions.inc), for float and double.
#define LEMMA_OF_LIBM(Name, name)                              \
  __device__ inline float Name(float x) { return name##f(x); } \
  __device__ inline double Name(double x) { return name(x); }
LEMMA_OF_LIBM(Floor, floor)
LEMMA_OF_LIBM(Ceil, ceil)
LEMMA_OF_LIBM(Rint, rint)
LEMMA_OF_LIBM(Trunc, trunc)
LEMMA_OF_LIBM(Sqrt, sqrt)
LEMMA_OF_LIBM(Exp, exp)
LEMMA_OF_LIBM(Log, log)
LEMMA_OF_LIBM(Erf, erf)
LEMMA_OF_LIBM(Sin, sin)
LEMMA_OF_LIBM(Cos, cos)
LEMMA_OF_LIBM(Tan, tan)
LEMMA_OF_LIBM(Asin, asin)
LEMMA_OF_LIBM(Acos, acos)
LEMMA_OF_LIBM(Atan, atan)
LEMMA_OF_LIBM(Sinh, sinh)
LEMMA_OF_LIBM(Cosh, cosh)
LEMMA_OF_LIBM(Tanh, tanh)
LEMMA_OF_LIBM(Asinh, asinh)
LEMMA_OF_LIBM(Acosh, acosh)
LEMMA_OF_LIBM(Atanh, atanh)
#undef LEMMA_OF_LIBM

// A TF32 number as a word of 32 bits: the nearest one, ties away from zero.
__device__ inline unsigned int ToTf32(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned int word;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(x));
  return word & 0xffffe000u;
#else
  return x == x ? (BitsOf(x) + 0x1000u) & 0xffffe000u : 0x7fffe000u;
#endif
}
__device__ inline float RoundTf32(float x) { return FloatOf(ToTf32(x)); }
__device__ inline double RoundTf32(double x) { return RoundTf32(static_cast<float>(x)); }

__device__ inline float Fmod(float a, float b) { return fmodf(a, b); }
__device__ inline double Fmod(double a, double b) { return fmod(a, b); }
// Turns a remainder with the dividend's sign into one with the divisor's sign.
template <class T>
__device__ inline T Shifted(T r, T b) {
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Common powers are computed as products.
template <class F>
__device__ inline F SmallPower(F a, F b, F otherwise) {
  return b == F(2) ? a * a : b == F(1) ? a : b == F(-1) ? F(1) / a : otherwise;
}
__device__ inline float Pow(float a, float b) { return SmallPower(a, b, powf(a, b)); }
__device__ inline double Pow(double a, double b) { return SmallPower(a, b, pow(a, b)); }

// Integer functions. Sums and products wrap; division truncates, and division by 0 gives 0.
__device__ inline uint64 U(int64 x) { return static_cast<uint64>(x); }
__device__ inline int64 S(uint64 x) { return static_cast<int64>(x); }
__device__ inline int64 Quotient(int64 a, int64 b) {
  return b == 0 ? 0 : b == -1 ? S(-U(a)) : a / b;
}
__device__ inline int64 Remainder(int64 a, int64 b) { return b == 0 || b == -1 ? 0 : a % b; }
__device__ inline int64 Power(int64 a, int64 n) {
  if (n < 0) return a == 1 ? 1 : a == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
  uint64 result = 1, base = U(a);
  for (; n != 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return S(result);
}

// The value after storing a number as an element and loading it again.
template <class S, class T>
__device__ inline T Stored(T x) {
  S element;
  Store(&element, x);
  return Load<T>(element);
}
typedef float StorageF32;
typedef double StorageF64;
typedef f16 StorageF16;
typedef bf16 StorageBF16;
typedef int64 StorageI64;
typedef int StorageI32;
typedef signed char StorageI8;
typedef unsigned char StorageU8;
typedef truth StorageBool;
typedef short StorageI16;
typedef unsigned short StorageU16;
typedef unsigned int StorageU32;
typedef uint64 StorageU64;

// fn_NAME for each row, for float, double and int64.
#define LEMMA_ARGUMENTS_1(T) [[maybe_unused]] T a
#define LEMMA_ARGUMENTS_2(T) [[maybe_unused]] T a, [[maybe_unused]] T b
#define LEMMA_ARGUMENTS_3(T) [[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c
#define LEMMA_OVERLOAD(F, name, arity, value)                 \
  __device__ inline F fn_##name(LEMMA_ARGUMENTS_##arity(F)) { \
    [[maybe_unused]] typedef F T;                             \
    return value;                                             \
  }
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) \
  LEMMA_OVERLOAD(float, name, arity, real)                                \
  LEMMA_OVERLOAD(double, name, arity, real)                               \
  LEMMA_OVERLOAD(int64, name, arity, integer)
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) \
  LEMMA_OVERLOAD(float, name, arity, real)                            \
  LEMMA_OVERLOAD(double, name, arity, real)
// No kernel has values of these types.
#define LEMMA_STORED_SMALL_FN(id, name, traits, dtype)
#define LEMMA_STORED_FN(id, name, traits, dtype)             \
  LEMMA_OVERLOAD(float, name, 1, Stored<Storage##dtype>(a))  \
  LEMMA_OVERLOAD(double, name, 1, Stored<Storage##dtype>(a)) \
  LEMMA_OVERLOAD(int64, name, 1, Stored<Storage##dtype>(a))
#include "graph/expr/scalar_functions.inc"
#undef LEMMA_OVERLOAD
#undef LEMMA_ARGUMENTS_3
#undef LEMMA_ARGUMENTS_2
#undef LEMMA_ARGUMENTS_1

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

// Reduces the values of all threads of a warp; every thread must take part and gets the same
// result.
template <class Op, class T>
__device__ inline T WarpReduce(T value) {
  for (int distance = 16; distance > 0; distance >>= 1) {
    value = Op::Apply(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// Reduces the values of a block's threads; `shared` has room for one number per warp.
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

// --- Tensor cores (sm_80) ---

// Declares the block's shared memory, whose size the launch gives (GridKernel::shared_bytes).
#if defined(LEMMA_GRID_EMULATOR)
#define LEMMA_SHARED(name, words) __shared__ __align__(32) unsigned int name[words]
#else
#define LEMMA_SHARED(name, words) extern __shared__ __align__(32) unsigned int name[]
#endif

// Words of 32 bits, and the product of a 16-row and an 8-column fragment of 8 words' depth:
// tensor_tile.cc describes the fragments. `upper` and `lower` are two numbers each of the sum,
// which lane l holds in rows l / 4 and l / 4 + 8.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define LEMMA_MMA(shape, type, upper, lower, a, b)                                      \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                  \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
               : "+f"((upper)[0]), "+f"((upper)[1]), "+f"((lower)[0]), "+f"((lower)[1]) \
               : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#elif defined(LEMMA_GRID_EMULATOR)
#define LEMMA_MMA(shape, type, upper, lower, a, b) \
  grid_emulator::MultiplyAdd<Self>(upper, lower, a, b)
#else
#define LEMMA_MMA(shape, type, upper, lower, a, b)
#endif

struct WordsTf32 {
  typedef WordsTf32 Self;
  static constexpr int kNumbers = 1;
  static __device__ inline unsigned int Make(float x, float) { return ToTf32(x); }
  static __device__ inline float Number(unsigned int word, int) { return FloatOf(word); }
  static __device__ inline void MultiplyAdd(float* upper, float* lower, const unsigned int* a,
                                            const unsigned int* b) {
    LEMMA_MMA("m16n8k8", "tf32", upper, lower, a, b);
  }
};

// Words hold f32 numbers, which become two TF32 numbers each.
struct WordsF32x3 {
  static __device__ inline unsigned int Make(float x, float) { return BitsOf(x); }
  static __device__ inline unsigned int Rest(unsigned int word, unsigned int large) {
    const float rest = FloatOf(word) - FloatOf(large);
    return ToTf32(rest == rest ? rest : 0.0f);
  }
  static __device__ inline void MultiplyAdd(float* upper, float* lower, const unsigned int* a,
                                            const unsigned int* b) {
    unsigned int large_a[4], small_a[4], large_b[2], small_b[2];
    for (int i = 0; i < 4; ++i) large_a[i] = ToTf32(FloatOf(a[i]));
    for (int i = 0; i < 4; ++i) small_a[i] = Rest(a[i], large_a[i]);
    for (int i = 0; i < 2; ++i) large_b[i] = ToTf32(FloatOf(b[i]));
    for (int i = 0; i < 2; ++i) small_b[i] = Rest(b[i], large_b[i]);
    // Tensor cores truncate sums. A long sum would lose a unit in the last place in each step, so
    // each step has a sum of its own, and f32 additions, which round, add them up.
    float first[2] = {0.0f, 0.0f}, second[2] = {0.0f, 0.0f};
    WordsTf32::MultiplyAdd(first, second, small_a, large_b);
    WordsTf32::MultiplyAdd(first, second, large_a, small_b);
    WordsTf32::MultiplyAdd(first, second, large_a, large_b);
    for (int i = 0; i < 2; ++i) upper[i] += first[i];
    for (int i = 0; i < 2; ++i) lower[i] += second[i];
  }
};

struct WordsF16 {
  typedef WordsF16 Self;
  static constexpr int kNumbers = 2;
  static constexpr bool kBf16 = false;
  static __device__ inline unsigned int Make(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned int word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
#else
    return ToF16(first).bits | static_cast<unsigned int>(ToF16(second).bits) << 16;
#endif
  }
  static __device__ inline float Number(unsigned int word, int i) {
    return Widen(f16{static_cast<unsigned short>(word >> 16 * i)});
  }
  static __device__ inline void MultiplyAdd(float* upper, float* lower, const unsigned int* a,
                                            const unsigned int* b) {
    LEMMA_MMA("m16n8k16", "f16", upper, lower, a, b);
  }
};

struct WordsBf16 {
  typedef WordsBf16 Self;
  static constexpr int kNumbers = 2;
  static constexpr bool kBf16 = true;
  static __device__ inline unsigned int Make(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned int word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
#else
    return ToBf16(first).bits | static_cast<unsigned int>(ToBf16(second).bits) << 16;
#endif
  }
  // The same for numbers that were loaded from bf16.
  static __device__ inline unsigned int Join(float first, float second) {
    return BitsOf(first) >> 16 | (BitsOf(second) & 0xffff0000u);
  }
  static __device__ inline float Number(unsigned int word, int i) {
    return Widen(bf16{static_cast<unsigned short>(word >> 16 * i)});
  }
  static __device__ inline void MultiplyAdd(float* upper, float* lower, const unsigned int* a,
                                            const unsigned int* b) {
    LEMMA_MMA("m16n8k16", "bf16", upper, lower, a, b);
  }
};
#undef LEMMA_MMA

// Words of four integers of 8 bits, the first in the lowest bits. WordsU8I8: those of A are
// unsigned, those of B are signed. The products are added in i32, which wraps.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define LEMMA_MMA_BYTES(a_type, b_type, upper, lower, a, b)                             \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." a_type "." b_type               \
               ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
               : "+r"((upper)[0]), "+r"((upper)[1]), "+r"((lower)[0]), "+r"((lower)[1]) \
               : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#elif defined(LEMMA_GRID_EMULATOR)
#define LEMMA_MMA_BYTES(a_type, b_type, upper, lower, a, b) \
  grid_emulator::MultiplyAdd<Self>(upper, lower, a, b)
#else
#define LEMMA_MMA_BYTES(a_type, b_type, upper, lower, a, b)
#endif
__device__ inline unsigned int JoinBytes(int first, int second, int third, int fourth) {
  return (static_cast<unsigned int>(first) & 255u) |
         (static_cast<unsigned int>(second) & 255u) << 8 |
         (static_cast<unsigned int>(third) & 255u) << 16 | static_cast<unsigned int>(fourth) << 24;
}
#define LEMMA_BYTE_WORDS(name, a_storage, b_storage, a_type, b_type)                         \
  struct name {                                                                              \
    typedef name Self;                                                                       \
    static constexpr int kNumbers = 4;                                                       \
    static __device__ inline unsigned int MakeA(int i, int j, int k, int l) {                \
      return JoinBytes(i, j, k, l);                                                          \
    }                                                                                        \
    static __device__ inline unsigned int MakeB(int i, int j, int k, int l) {                \
      return JoinBytes(i, j, k, l);                                                          \
    }                                                                                        \
    static __device__ inline int NumberOfA(unsigned int word, int i) {                       \
      return static_cast<a_storage>(word >> 8 * i);                                          \
    }                                                                                        \
    static __device__ inline int NumberOfB(unsigned int word, int i) {                       \
      return static_cast<b_storage>(word >> 8 * i);                                          \
    }                                                                                        \
    static __device__ inline void MultiplyAdd(int* upper, int* lower, const unsigned int* a, \
                                              const unsigned int* b) {                       \
      LEMMA_MMA_BYTES(a_type, b_type, upper, lower, a, b);                                   \
    }                                                                                        \
  };
LEMMA_BYTE_WORDS(WordsU8U8, unsigned char, unsigned char, "u8", "u8")
LEMMA_BYTE_WORDS(WordsU8I8, unsigned char, signed char, "u8", "s8")
LEMMA_BYTE_WORDS(WordsI8U8, signed char, unsigned char, "s8", "u8")
LEMMA_BYTE_WORDS(WordsI8I8, signed char, signed char, "s8", "s8")
#undef LEMMA_BYTE_WORDS
#undef LEMMA_MMA_BYTES

#include "kernels/codegen/prelude_sm90.cuh"

}  // namespace lemma_gpu

#endif  // LEMMA_KERNELS_CODEGEN_PRELUDE_CUH_
