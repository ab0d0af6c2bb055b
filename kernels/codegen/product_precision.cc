#include "kernels/codegen/product_precision.h"

#include <algorithm>
#include <cmath>

namespace lemma::codegen {

const char* Name(ProductPrecision precision) {
  static constexpr const char* kNames[] = {"f32",  "f32x3",  "tf32", "f16",
                                           "bf16", "stored", "bytes"};
  return kNames[static_cast<int>(precision)];
}

std::vector<std::string> ProductPrecisionNames() {
  std::vector<std::string> names;
  names.reserve(kNumProductPrecisions);
  for (int i = 0; i < kNumProductPrecisions; ++i) {
    names.emplace_back(Name(static_cast<ProductPrecision>(i)));
  }
  return names;
}

std::optional<ProductPrecision> ParseProductPrecision(absl::string_view name) {
  for (int i = 0; i <= static_cast<int>(ProductPrecision::kBytes); ++i) {
    if (name == Name(static_cast<ProductPrecision>(i))) return static_cast<ProductPrecision>(i);
  }
  return std::nullopt;
}

double UnitRoundoff(ProductPrecision precision) {
  static constexpr double kUnits[] = {0, 0x1p-22, 0x1p-11, 0x1p-11, 0x1p-8, 0, 0};
  return kUnits[static_cast<int>(precision)];
}

double ProductErrorBound(ProductPrecision precision, int64_t terms) {
  if (precision == ProductPrecision::kBytes) return 0;
  const double u = UnitRoundoff(precision);
  // The product of the two small parts, at most 2^-22 of the whole, is left out.
  const double dropped = precision == ProductPrecision::kF32x3 ? 0x1p-22 : 0;
  // An addition on a tensor core aligns its operands to the largest and truncates them: each of the
  // two loses less than a unit in the last place of 24 bits, and so does the sum.
  constexpr double kTruncated = 3 * 0x1p-23, kRounded = 0x1p-24;
  // In kF32x3, tensor cores add 3 products for each of up to 8 terms, and f32 additions the rest.
  const auto count = static_cast<double>(terms);
  const double growth = precision == ProductPrecision::kF32 ? count * kRounded
                        : precision == ProductPrecision::kF32x3
                            ? 3 * std::min(count, 8.0) * kTruncated + count * kRounded
                            : count * kTruncated;
  if (growth >= 1) return HUGE_VAL;
  const double accumulation = growth / (1 - growth);
  return (2 * u + u * u + dropped) * (1 + accumulation) + accumulation;
}

}  // namespace lemma::codegen
