// The precision of sums of products on tensor cores.
#ifndef LEMMA_KERNELS_CODEGEN_PRODUCT_PRECISION_H_
#define LEMMA_KERNELS_CODEGEN_PRODUCT_PRECISION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lemma::codegen {

// How the factors of a sum of products are rounded before they are multiplied. Products are
// accumulated in f32, with kBytes in i32. The precision applies to kernels by tile and to streamed
// kernels (grid_program.h); other kernels do not round factors.
enum class ProductPrecision {
  kF32,    // not rounded; no tensor cores
  kF32x3,  // each factor is a sum of two TF32 numbers; three of the four products are added
  kTf32,   // 11 bits of significand, the range of f32
  kF16,    // 11 bits; infinite from 65520 on, less accurate below 6.1e-5, 0 up to 3e-8
  kBf16,   // 8 bits, the range of f32
  // Not rounded. A product is on tensor cores if the graph's types and roundings show that all
  // elements of both factors are numbers of kF16, or of kBf16, or of kTf32; the other products are
  // as with kF32.
  kStored,
  // No choice of a user: both factors are integers of 8 bits by their definition, and the products
  // are added exactly, in i32. A kernel uses it in place of any precision above.
  kBytes,
};

// The precisions that a user can choose, without kStored.
constexpr ProductPrecision kRoundingPrecisions[] = {
    ProductPrecision::kF32, ProductPrecision::kF32x3, ProductPrecision::kTf32,
    ProductPrecision::kF16, ProductPrecision::kBf16};
// The number of precisions that a user can choose: all before kBytes.
constexpr int kNumProductPrecisions = static_cast<int>(ProductPrecision::kStored) + 1;

// "f32", "f32x3", "tf32", "f16", "bf16", "stored", "bytes".
const char* Name(ProductPrecision precision);
// The precision with this name; nullopt if there is none.
std::optional<ProductPrecision> ParseProductPrecision(absl::string_view name);
// The names of the precisions that a user can choose, "f32" first.
std::vector<std::string> ProductPrecisionNames();

// The largest relative error of a rounded factor in the normal range; 0 for kF32, kStored and
// kBytes.
double UnitRoundoff(ProductPrecision precision);

// Returns B such that |computed sum - exact sum| <= B * sum |a_i| * |b_i| for `terms` products, in
// any order of summation; not finite for very many terms (for kF32, from 2^24 on), and 0 for
// kBytes. The bound covers the rounding of the factors, and tensor cores that truncate sums to 24
// bits. It is not valid if a number overflows, or if a rounded factor (for kF32x3, one of its two
// numbers) or a product is subnormal.
double ProductErrorBound(ProductPrecision precision, int64_t terms);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_PRODUCT_PRECISION_H_
