// Recognizes products whose factors are integers of 8 bits, perhaps less a zero point. Internal to
// kernels/codegen.
#ifndef LEMMA_KERNELS_CODEGEN_FACTORS_BYTE_PRODUCT_H_
#define LEMMA_KERNELS_CODEGEN_FACTORS_BYTE_PRODUCT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "graph/expr/scalar_expr.h"
#include "kernels/codegen/schedules.h"
#include "kernels/loops/contraction.h"

namespace lemma::codegen {

// A factor whose value is `bytes` - `zero`; both are of type `dtype`, u8 or i8. Where a guard makes
// the factor 0, as padding does, `bytes` equals `zero`.
struct ByteFactor {
  DType dtype = DType::kU8;
  ScalarExpr bytes;
  // One number for the whole tensor: a constant, or a read at constant indices; nullopt: 0.
  std::optional<ScalarExpr> zero;
};

struct ByteProduct {
  ByteFactor a, b;
};

// The largest number of terms for which i32 holds a sum of byte products, and
// each partial result when zero points are subtracted. A multiple of every
// tile's depth.
constexpr int64_t kMostByteTerms = 33024;
static_assert(kMostByteTerms * 255 * 255 < (int64_t{1} << 31));

// `contraction` as a product of bytes. nullopt if a factor has another form, if a sum may not fit
// i32 or, in a program of f32, may not be exact, or if the architecture lacks the instruction.
std::optional<ByteProduct> ByteProductOf(const KernelContext& context,
                                         const loops::ContractionSource& contraction);

// Prints the code that subtracts zero points in a kernel that multiplies on
// tensor cores (tensor_tile.cc):
//   sum (a - za) (b - zb) = sum a b - za sum b - zb (sum a - K za), where the sums have K terms.
// The kernel multiplies a and b by ones to get sum a and sum b in the same lanes as sum a b. The
// code uses the kernel's arrays left, right and sum. Without zero points there is no code.
class ZeroPoints {
 public:
  // `words`: the prelude's type for the words of both factors. `depth`: K, the
  // number of terms of the whole sum. A warp holds fragments_m x fragments_n
  // fragments of the result. context.number must be kInteger. *fresh: as in
  // schedules.h.
  ZeroPoints(const KernelContext& context, const ByteProduct& product, std::string words,
             int64_t depth, int fragments_m, int fragments_n, int* fresh);

  // Declares the zero points, factors of ones, and the sums of bytes.
  std::string Declarations() const;
  // Adds the bytes of the fragments left[i] and right[j] to their sums.
  std::string Accumulation() const;
  // An expression of i and j: sum[i][j] less the parts that zero points add to it, an i32. Without
  // zero points, sum[i][j].
  std::string Sum() const;
  // The slots that Declarations reads.
  const std::vector<int>& slots() const { return slots_; }

 private:
  void Add(const KernelContext& context, const ScalarExpr& zero, const std::string& name,
           int* fresh);
  std::string Ones(const std::string& name, int words) const;

  const std::string words_;
  const int64_t depth_;
  const int fragments_m_, fragments_n_;
  bool has_a_ = false, has_b_ = false;
  std::string zeros_;
  std::vector<int> slots_;
};

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_FACTORS_BYTE_PRODUCT_H_
