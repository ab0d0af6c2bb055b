#include "graph/dtypes/small_float.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lemma {
namespace {

// A value is (-1)^sign * 2^(exponent - bias) * 1.mantissa, or 2^(1 - bias) * 0.mantissa for an
// exponent of 0.
struct Format {
  int mantissa_bits, bias;
  uint8_t largest;   // the byte of the largest finite number
  uint8_t nan;       // the byte of the positive NaN, and of what is not in the type
  bool infinite;     // whether the byte after `largest` is infinity
  bool signed_zero;  // whether there is -0; otherwise its byte is NaN
};

constexpr uint8_t kSign = 0x80, kNone = 0;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// In the order of DType, without f8e8m0.
constexpr Format kFormats[] = {
    {3, 7, 0x7e, 0x7f, false, true},    // f8e4m3fn
    {3, 8, 0x7f, kSign, false, false},  // f8e4m3fnuz
    {2, 15, 0x7b, 0x7e, true, true},    // f8e5m2
    {2, 16, 0x7f, kSign, false, false}  // f8e5m2fnuz
};
// The sign of f4e2m1 is bit 3; the functions below move it.
constexpr Format kFormat4 = {1, 1, 0x07, kNone, false, true};

const Format& FormatOf(DType dtype) {
  if (dtype == DType::kF4E2M1) return kFormat4;
  return kFormats[static_cast<int>(dtype) - kFirstSmallFloat];
}

float Magnitude(const Format& f, int byte) {
  const int mantissa = byte & ((1 << f.mantissa_bits) - 1), exponent = byte >> f.mantissa_bits;
  const int implied = exponent > 0 ? 1 << f.mantissa_bits : 0;
  return std::ldexp(static_cast<float>(implied + mantissa),
                    (exponent > 0 ? exponent : 1) - f.bias - f.mantissa_bits);
}

float ValueOf(DType dtype, int byte) {
  if (dtype == DType::kF8E8M0) return byte == 0xff ? kNaN : std::ldexp(1.0F, byte - 127);
  const Format& f = FormatOf(dtype);
  if (dtype == DType::kF4E2M1) byte = (byte & 7) | (byte & 8) << 4;
  if (!f.signed_zero && byte == kSign) return kNaN;
  const int rest = byte & 0x7f;
  float value = rest <= f.largest ? Magnitude(f, rest) : kNaN;
  if (f.infinite && rest == f.largest + 1) value = kInfinity;
  return (byte & kSign) != 0 ? -value : value;
}

using Values = std::array<std::array<float, 256>, kNumSmallFloats>;

uint8_t RoundToPower(double value) {
  if (!(value >= 0x1p-127 && value <= 0x1p127)) return 0xff;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // from 1/2 to 1
  return static_cast<uint8_t>(exponent - 1 + (fraction >= 0.75 ? 1 : 0) + 127);
}

}  // namespace

const float* SmallFloatValues(DType dtype) {
  static const Values* const values = [] {
    auto* all = new Values;
    for (int type = 0; type < kNumSmallFloats; ++type) {
      for (int byte = 0; byte < 256; ++byte) {
        (*all)[type][byte] = ValueOf(static_cast<DType>(kFirstSmallFloat + type), byte);
      }
    }
    return all;
  }();
  return (*values)[static_cast<int>(dtype) - kFirstSmallFloat].data();
}

uint8_t RoundToSmallFloat(DType dtype, double value) {
  if (dtype == DType::kF8E8M0) return RoundToPower(value);
  const Format& f = FormatOf(dtype);
  const bool narrow = dtype == DType::kF4E2M1;
  if (narrow && std::isnan(value)) return 8;
  const uint8_t sign = !std::signbit(value) ? 0 : narrow ? 8 : kSign;
  if (std::isnan(value)) return f.signed_zero ? f.nan | sign : f.nan;
  const double magnitude = std::abs(value);
  // The unit of the last place, at least that of the smallest number.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 1, 1 - f.bias) - f.mantissa_bits;
  // Exact but for the rounding to an integer. A carry into the next exponent is right, too.
  const bool huge = magnitude >= 0x1p20;  // or infinite
  const int steps = huge ? 0 : static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
  const int binades = unit + f.mantissa_bits - (1 - f.bias);  // above the lowest one
  const int byte = steps == 0 ? 0 : steps + (binades << f.mantissa_bits);
  if (huge || byte > f.largest) {
    if (narrow) return f.largest | sign;
    if (f.infinite) return static_cast<uint8_t>((f.largest + 1) | sign);
    return f.signed_zero ? f.nan | sign : f.nan;
  }
  if (byte == 0 && !f.signed_zero) return 0;
  return static_cast<uint8_t>(byte | sign);
}

float LargestSmallFloat(DType dtype) {
  if (dtype == DType::kF8E8M0) return 0x1p127F;
  return Magnitude(FormatOf(dtype), FormatOf(dtype).largest);
}

}  // namespace lemma
