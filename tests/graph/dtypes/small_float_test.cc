// Floats of 8 and 4 bits against f16, of which they are parts, and against a search for the nearest
// value.
#include "graph/dtypes/small_float.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/tensor.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

const DType kTypes[] = {DType::kF8E4M3,   DType::kF8E4M3Uz, DType::kF8E5M2,
                        DType::kF8E5M2Uz, DType::kF8E8M0,   DType::kF4E2M1};

// The bits moved to where f16, which has 5 bits of exponent and a bias of 15, has them.
float FromHalf(int byte, int mantissa_bits, int bias) {
  const int sign = (byte & 0x80) << 8, rest = (byte & 0x7f) << (10 - mantissa_bits);
  return std::ldexp(HalfToFloat(static_cast<uint16_t>(sign | rest)), 15 - bias);
}

float ExpectedValue(DType dtype, int byte) {
  const int rest = byte & 0x7f;
  switch (dtype) {
    case DType::kF8E4M3:
      return rest == 0x7f ? kNaN : FromHalf(byte, 3, 7);
    case DType::kF8E4M3Uz:
      return byte == 0x80 ? kNaN : FromHalf(byte, 3, 8);
    case DType::kF8E5M2:
      return FromHalf(byte, 2, 15);
    case DType::kF8E5M2Uz: {
      if (byte == 0x80) return kNaN;
      // The highest exponent is that of f16's infinity.
      const float half = rest < 0x7c ? FromHalf(byte, 2, 16) : 2 * FromHalf(byte - 4, 2, 16);
      return half;
    }
    case DType::kF8E8M0:
      return byte == 0xff ? kNaN : std::exp2(static_cast<float>(byte - 127));
    default: {
      const float values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
      const float value = values[byte & 7];
      return (byte & 8) != 0 ? -value : value;
    }
  }
}

bool Same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(SmallFloat, EveryByteHasItsValue) {
  for (DType dtype : kTypes) {
    for (int byte = 0; byte < 256; ++byte) {
      const float expected = ExpectedValue(dtype, byte);
      EXPECT_TRUE(Same(SmallFloatValues(dtype)[byte], expected))
          << Name(dtype) << " " << byte << " is " << SmallFloatValues(dtype)[byte] << ", not "
          << expected;
    }
  }
}

TEST(SmallFloat, EveryValueIsRoundedToItself) {
  for (DType dtype : kTypes) {
    const int bytes = dtype == DType::kF4E2M1 ? 16 : 256;
    for (int byte = 0; byte < bytes; ++byte) {
      const float value = ExpectedValue(dtype, byte);
      const int again = RoundToSmallFloat(dtype, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(ExpectedValue(dtype, again))) << Name(dtype) << " " << byte;
      } else {
        EXPECT_EQ(again, byte) << Name(dtype);
      }
    }
  }
}

// All multiples of a quarter of the distance to the next value, between the finite values.
TEST(SmallFloat, NumbersBetweenAreRoundedToTheNearestAndTiesToEven) {
  for (DType dtype : kTypes) {
    if (dtype == DType::kF8E8M0) continue;
    const int sign = dtype == DType::kF4E2M1 ? 8 : 0x80;
    for (int byte = 0; byte < sign - 1; ++byte) {
      const double low = ExpectedValue(dtype, byte), high = ExpectedValue(dtype, byte + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      for (double share : {0.25, 0.4999999999, 0.5, 0.5000000001, 0.75}) {
        const double x = low + share * (high - low);
        const int nearest = share < 0.5 ? byte : share > 0.5 ? byte + 1 : byte + byte % 2;
        EXPECT_EQ(RoundToSmallFloat(dtype, x), nearest) << Name(dtype) << " " << x;
        const bool no_minus_zero =
            nearest == 0 && (dtype == DType::kF8E4M3Uz || dtype == DType::kF8E5M2Uz);
        EXPECT_EQ(RoundToSmallFloat(dtype, -x), no_minus_zero ? 0 : nearest | sign)
            << Name(dtype) << " " << -x;
      }
    }
  }
}

TEST(SmallFloat, TheEndsOfTheRange) {
  const struct {
    DType dtype;
    double x;
    int byte;
  } cases[] = {{DType::kF8E4M3, 448, 0x7e},
               {DType::kF8E4M3, 464, 0x7e},
               {DType::kF8E4M3, 464.001, 0x7f},
               {DType::kF8E4M3, -480, 0xff},
               {DType::kF8E4M3, kInf, 0x7f},
               {DType::kF8E4M3, -kInf, 0xff},
               {DType::kF8E4M3, kNaN, 0x7f},
               {DType::kF8E4M3, -0.0, 0x80},
               {DType::kF8E4M3, 1e300, 0x7f},
               {DType::kF8E4M3, 0x1p-10, 0x00},
               {DType::kF8E4M3, 0x1.01p-10, 1},
               {DType::kF8E4M3, 1e-300, 0},
               {DType::kF8E4M3Uz, 240, 0x7f},
               {DType::kF8E4M3Uz, 247.9, 0x7f},
               {DType::kF8E4M3Uz, 248, 0x80},
               {DType::kF8E4M3Uz, -kInf, 0x80},
               {DType::kF8E4M3Uz, -0.0, 0},
               {DType::kF8E4M3Uz, -1e-9, 0},
               {DType::kF8E4M3Uz, kNaN, 0x80},
               {DType::kF8E5M2, 57344, 0x7b},
               {DType::kF8E5M2, 61439, 0x7b},
               {DType::kF8E5M2, 61440, 0x7c},
               {DType::kF8E5M2, -1e9, 0xfc},
               {DType::kF8E5M2, kInf, 0x7c},
               {DType::kF8E5M2, kNaN, 0x7e},
               {DType::kF8E5M2, 0x1p-17, 0x00},
               {DType::kF8E5M2Uz, 57344, 0x7f},
               {DType::kF8E5M2Uz, 61440, 0x80},
               {DType::kF8E5M2Uz, kInf, 0x80},
               {DType::kF8E5M2Uz, -0.0, 0},
               {DType::kF4E2M1, 5, 6},
               {DType::kF4E2M1, 5.001, 7},
               {DType::kF4E2M1, 1e30, 7},
               {DType::kF4E2M1, -kInf, 15},
               {DType::kF4E2M1, kNaN, 8},
               {DType::kF4E2M1, 0.25, 0},
               {DType::kF4E2M1, -0.25, 8},
               {DType::kF8E8M0, 1, 127},
               {DType::kF8E8M0, 1.4999, 127},
               {DType::kF8E8M0, 1.5, 128},
               {DType::kF8E8M0, 0x1p-127, 0},
               {DType::kF8E8M0, 0x1.8p-127, 1},
               {DType::kF8E8M0, 0x1p127, 254},
               {DType::kF8E8M0, 0x1.1p127, 255},
               {DType::kF8E8M0, 0, 255},
               {DType::kF8E8M0, -1, 255},
               {DType::kF8E8M0, kInf, 255},
               {DType::kF8E8M0, kNaN, 255},
               {DType::kF8E8M0, 0x1.ffp-128, 255}};
  for (const auto& c : cases) {
    EXPECT_EQ(RoundToSmallFloat(c.dtype, c.x), c.byte) << Name(c.dtype) << " " << c.x;
  }
}

TEST(SmallFloat, TensorsHoldThem) {
  const Tensor x = *Tensor::FromDoubles({DType::kF8E4M3, {4}}, {0.5, -1.0625, 1e9, kNaN});
  EXPECT_EQ(x.AtDouble(0), 0.5);
  EXPECT_EQ(x.AtDouble(1), -1);
  EXPECT_TRUE(std::isnan(x.AtDouble(2)));
  EXPECT_FALSE(x.IsFinite());
  EXPECT_EQ(x.AtInt(1), -1);
  EXPECT_EQ(x.type().num_bytes(), 4);
  EXPECT_TRUE(Tensor::FromDoubles({DType::kF4E2M1, {1}}, {9})->IsFinite());
  EXPECT_EQ(LargestSmallFloat(DType::kF8E4M3), 448);
  EXPECT_EQ(LargestSmallFloat(DType::kF8E4M3Uz), 240);
  EXPECT_EQ(LargestSmallFloat(DType::kF8E5M2), 57344);
  EXPECT_EQ(LargestSmallFloat(DType::kF8E5M2Uz), 57344);
  EXPECT_EQ(LargestSmallFloat(DType::kF4E2M1), 6);
}

}  // namespace
}  // namespace lemma
