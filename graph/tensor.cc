#include "graph/tensor.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "graph/dtypes/small_float.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();

template <class Int>
Int SaturateTo(double v) {
  if (std::isnan(v)) return 0;
  if (v <= static_cast<double>(std::numeric_limits<Int>::min())) {
    return std::numeric_limits<Int>::min();
  }
  if (v >= static_cast<double>(std::numeric_limits<Int>::max())) {
    return std::numeric_limits<Int>::max();
  }
  return static_cast<Int>(v);
}

// An integer of fewer than 8 bits.
template <class From>
int64_t SaturateToBits(DType dtype, From v) {
  return std::clamp<int64_t>(SaturateTo<int64_t>(static_cast<double>(v)), LeastInteger(dtype),
                             LargestInteger(dtype));
}

// A float that becomes the same 16-bit float as `v`: rounded to odd, so that it lies in the middle
// between two of them only if `v` does.
float ToOdd(double v) {
  auto near = static_cast<float>(v);
  if (!std::isfinite(near) || static_cast<double>(near) == v) return near;
  uint32_t bits = 0;
  std::memcpy(&bits, &near, sizeof(bits));
  if (std::fabs(static_cast<double>(near)) > std::fabs(v)) --bits;
  bits |= 1;
  std::memcpy(&near, &bits, sizeof(bits));
  return near;
}

template <class From>
void StoreElement(DType dtype, void* base, int64_t i, From v) {
  switch (dtype) {
    case DType::kF32:
      static_cast<float*>(base)[i] = static_cast<float>(v);
      return;
    case DType::kF64:
      static_cast<double*>(base)[i] = static_cast<double>(v);
      return;
    case DType::kF16:
      static_cast<uint16_t*>(base)[i] = FloatToHalf(ToOdd(static_cast<double>(v)));
      return;
    case DType::kBF16:
      static_cast<uint16_t*>(base)[i] = FloatToBFloat16(ToOdd(static_cast<double>(v)));
      return;
    case DType::kI64:
      if constexpr (std::is_same_v<From, int64_t>) {
        static_cast<int64_t*>(base)[i] = v;
      } else {
        static_cast<int64_t*>(base)[i] = SaturateTo<int64_t>(v);
      }
      return;
    case DType::kI32:
      static_cast<int32_t*>(base)[i] = SaturateTo<int32_t>(static_cast<double>(v));
      return;
    case DType::kI8:
      static_cast<int8_t*>(base)[i] = SaturateTo<int8_t>(static_cast<double>(v));
      return;
    case DType::kU8:
      static_cast<uint8_t*>(base)[i] = SaturateTo<uint8_t>(static_cast<double>(v));
      return;
    case DType::kBool:
      static_cast<uint8_t*>(base)[i] = v != 0;
      return;
    case DType::kI16:
      static_cast<int16_t*>(base)[i] = SaturateTo<int16_t>(static_cast<double>(v));
      return;
    case DType::kU16:
      static_cast<uint16_t*>(base)[i] = SaturateTo<uint16_t>(static_cast<double>(v));
      return;
    case DType::kU32:
      static_cast<uint32_t*>(base)[i] = SaturateTo<uint32_t>(static_cast<double>(v));
      return;
    case DType::kU64:
      if constexpr (std::is_same_v<From, int64_t>) {
        static_cast<uint64_t*>(base)[i] = static_cast<uint64_t>(v);
      } else {
        static_cast<uint64_t*>(base)[i] = SaturateTo<uint64_t>(v);
      }
      return;
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2:
      static_cast<int8_t*>(base)[i] = static_cast<int8_t>(SaturateToBits(dtype, v));
      return;
    case DType::kF8E4M3:
    case DType::kF8E4M3Uz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Uz:
    case DType::kF8E8M0:
    case DType::kF4E2M1:
      static_cast<uint8_t*>(base)[i] = RoundToSmallFloat(dtype, static_cast<double>(v));
      return;
    default:
      return;  // an opaque type; there is no memory for it
  }
}

template <class To>
To LoadElement(DType dtype, const void* base, int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<To>(static_cast<const float*>(base)[i]);
    case DType::kF64:
      return static_cast<To>(static_cast<const double*>(base)[i]);
    case DType::kF16:
      return static_cast<To>(HalfToFloat(static_cast<const uint16_t*>(base)[i]));
    case DType::kBF16:
      return static_cast<To>(BFloat16ToFloat(static_cast<const uint16_t*>(base)[i]));
    case DType::kI64:
      return static_cast<To>(static_cast<const int64_t*>(base)[i]);
    case DType::kI32:
      return static_cast<To>(static_cast<const int32_t*>(base)[i]);
    case DType::kI8:
      return static_cast<To>(static_cast<const int8_t*>(base)[i]);
    case DType::kU8:
      return static_cast<To>(static_cast<const uint8_t*>(base)[i]);
    case DType::kBool:
      return static_cast<To>(static_cast<const uint8_t*>(base)[i] != 0);
    case DType::kI16:
      return static_cast<To>(static_cast<const int16_t*>(base)[i]);
    case DType::kU16:
      return static_cast<To>(static_cast<const uint16_t*>(base)[i]);
    case DType::kU32:
      return static_cast<To>(static_cast<const uint32_t*>(base)[i]);
    case DType::kU64:
      return static_cast<To>(static_cast<const uint64_t*>(base)[i]);
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2:
      return static_cast<To>(NarrowInteger(dtype, static_cast<const uint8_t*>(base)[i]));
    case DType::kF8E4M3:
    case DType::kF8E4M3Uz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Uz:
    case DType::kF8E8M0:
    case DType::kF4E2M1:
      return static_cast<To>(SmallFloatValues(dtype)[static_cast<const uint8_t*>(base)[i]]);
    default:
      return To();
  }
}

template <class From>
absl::StatusOr<Tensor> FromValues(TensorType type, absl::Span<const From> values) {
  if (static_cast<int64_t>(values.size()) != type.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(type.ToString(), " needs ", type.num_elements(),
                                                   " values, ", values.size(), " given"));
  }
  auto tensor = Tensor::Allocate(std::move(type));
  if (!tensor.ok()) return tensor;
  for (size_t i = 0; i < values.size(); ++i) {
    StoreElement(tensor->dtype(), tensor->mutable_raw(), static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

}  // namespace

int64_t NumElements(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d == 0) return 0;
  }
  for (int64_t d : shape) {
    if (__builtin_mul_overflow(n, d, &n)) return kMaxInt;
  }
  return n;
}

std::string ToString(const Shape& shape) {
  auto format = [](std::string* out, int64_t size) { out->append(SizeName(size)); };
  return absl::StrCat("[", absl::StrJoin(shape, ",", format), "]");
}

std::vector<int64_t> RowMajorStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

int64_t TensorType::num_bytes() const {
  int64_t bytes;
  if (__builtin_mul_overflow(num_elements(), SizeOf(dtype), &bytes)) return kMaxInt;
  return bytes;
}

uint64_t TensorType::Hash() const {
  uint64_t h = Mix64(static_cast<uint64_t>(dtype) + 1);
  for (int64_t d : shape) h = HashCombine(h, static_cast<uint64_t>(d));
  return HashCombine(h, shape.size());
}

std::string TensorType::ToString() const {
  return absl::StrCat(Name(dtype), lemma::ToString(shape));
}

absl::StatusOr<Tensor> Tensor::Allocate(TensorType type) {
  if (IsOpaque(type.dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: values of element type ", Name(type.dtype)));
  }
  int64_t bytes = type.num_bytes();
  constexpr int64_t kAlign = 64;
  if (bytes > kMaxInt - kAlign) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor ", type.ToString(), " is too large"));
  }
  size_t padded = static_cast<size_t>((bytes + kAlign) / kAlign * kAlign);
  char* memory = static_cast<char*>(std::aligned_alloc(kAlign, padded));
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a tensor ", type.ToString(), " of ", bytes, " bytes"));
  }
  Tensor tensor;
  tensor.type_ = std::move(type);
  tensor.buffer_ = std::shared_ptr<char>(memory, [](char* p) { std::free(p); });
  tensor.hash_ = std::make_shared<uint64_t>(0);
  return tensor;
}

absl::StatusOr<Tensor> Tensor::Filled(TensorType type, double value) {
  auto tensor = Allocate(std::move(type));
  if (!tensor.ok()) return tensor;
  const int64_t bytes = tensor->type().num_bytes();
  if (bytes == 0) return tensor;
  auto* raw = static_cast<char*>(tensor->mutable_raw());
  StoreElement(tensor->dtype(), raw, 0, value);
  // Each copy doubles what is filled.
  for (int64_t done = SizeOf(tensor->dtype()); done < bytes; done *= 2) {
    std::memcpy(raw + done, raw, static_cast<size_t>(std::min(done, bytes - done)));
  }
  return tensor;
}

absl::StatusOr<Tensor> Tensor::FromDoubles(TensorType type, absl::Span<const double> values) {
  return FromValues(std::move(type), values);
}

absl::StatusOr<Tensor> Tensor::FromInts(TensorType type, absl::Span<const int64_t> values) {
  return FromValues(std::move(type), values);
}

Tensor Tensor::Borrowed(TensorType type, std::shared_ptr<const void> values) {
  Tensor tensor;
  tensor.type_ = std::move(type);
  char* data = const_cast<char*>(static_cast<const char*>(values.get()));
  tensor.buffer_ = std::shared_ptr<char>(std::move(values), data);
  tensor.hash_ = std::make_shared<uint64_t>(0);
  return tensor;
}

Tensor Tensor::Ints(absl::Span<const int64_t> values) {
  return *FromInts({DType::kI64, {static_cast<int64_t>(values.size())}}, values);
}

Tensor Tensor::ScalarF32(float value) { return *Filled({DType::kF32, {}}, value); }

double Tensor::AtDouble(int64_t i) const { return LoadElement<double>(dtype(), raw(), i); }
int64_t Tensor::AtInt(int64_t i) const {
  if (IsReal(dtype())) return SaturateTo<int64_t>(AtDouble(i));
  return LoadElement<int64_t>(dtype(), raw(), i);
}

std::vector<double> Tensor::ToDoubles() const {
  std::vector<double> values(static_cast<size_t>(size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = AtDouble(static_cast<int64_t>(i));
  return values;
}

std::vector<int64_t> Tensor::ToInts() const {
  std::vector<int64_t> values(static_cast<size_t>(size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = AtInt(static_cast<int64_t>(i));
  return values;
}

namespace {

// A number with all exponent bits set is infinite or NaN.
template <class Bits>
bool AllFinite(const void* data, int64_t n, Bits exponent) {
  const Bits* bits = static_cast<const Bits*>(data);
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) finite &= (bits[i] & exponent) != exponent;
  return finite;
}

}  // namespace

bool Tensor::IsFinite() const {
  switch (dtype()) {
    case DType::kF64:
      return AllFinite<uint64_t>(raw(), size(), 0x7ff0000000000000u);
    case DType::kF32:
      return AllFinite<uint32_t>(raw(), size(), 0x7f800000u);
    case DType::kF16:
      return AllFinite<uint16_t>(raw(), size(), 0x7c00u);
    case DType::kBF16:
      return AllFinite<uint16_t>(raw(), size(), 0x7f80u);
    default:
      break;
  }
  if (!IsSmallFloat(dtype())) return true;
  const auto* bytes = static_cast<const uint8_t*>(raw());
  const float* values = SmallFloatValues(dtype());
  return std::all_of(bytes, bytes + size(),
                     [&](uint8_t byte) { return std::isfinite(values[byte]); });
}

Tensor Tensor::Reshaped(Shape shape) const {
  Tensor result = *this;
  result.type_.shape = std::move(shape);
  result.hash_ = std::make_shared<uint64_t>(0);
  return result;
}

uint64_t Tensor::ContentHash() const {
  if (hash_ == nullptr) return 0;
  uint64_t cached = __atomic_load_n(hash_.get(), __ATOMIC_RELAXED);
  if (cached != 0) return cached;
  uint64_t h = HashBytes(raw(), static_cast<size_t>(type_.num_bytes()), type_.Hash());
  if (h == 0) h = 1;
  __atomic_store_n(hash_.get(), h, __ATOMIC_RELAXED);
  return h;
}

bool Tensor::SameBytes(const Tensor& other) const {
  if (type_ != other.type_) return false;
  if (raw() == other.raw()) return true;
  return std::memcmp(raw(), other.raw(), static_cast<size_t>(type_.num_bytes())) == 0;
}

float HalfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t mantissa = bits & 0x3ffu;
  float magnitude;
  if (exponent == 0x1f) {
    uint32_t word = 0x7f800000u | (mantissa << 13);
    std::memcpy(&magnitude, &word, 4);
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    uint32_t word = ((exponent + 112) << 23) | (mantissa << 13);
    std::memcpy(&magnitude, &word, 4);
  }
  uint32_t word;
  std::memcpy(&word, &magnitude, 4);
  word |= sign;
  float result;
  std::memcpy(&result, &word, 4);
  return result;
}

uint16_t FloatToHalf(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000u);
  uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 or more: rounds to infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: subnormal, a multiple of 2^-24
    float absolute;
    std::memcpy(&absolute, &magnitude, 4);
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(absolute, 24)));
  }
  uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

float BFloat16ToFloat(uint16_t bits) {
  uint32_t word = static_cast<uint32_t>(bits) << 16;
  float result;
  std::memcpy(&result, &word, 4);
  return result;
}

uint16_t FloatToBFloat16(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((word >> 16) | 0x40u);
  return static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}

}  // namespace lemma
