// In which tiles a sum of products is computed, and in how many parts: a stated space, and a model
// of the time that each of it takes. docs/cuda.md has its figures.
#ifndef LEMMA_KERNELS_CODEGEN_TILE_CHOICE_H_
#define LEMMA_KERNELS_CODEGEN_TILE_CHOICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace lemma::codegen {

// out[batch, m, n] = sum(k) a(batch, m, k) * b(batch, n, k).
struct ProductSize {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  // What loading an element of a factor takes besides: conditions, and divisions of its index.
  int a_work = 0, b_work = 0;
};

// A block computes rows * columns elements, `depth` products at a time; a thread thread_rows *
// thread_columns of them.
struct TileShape {
  int rows, columns, depth, thread_rows, thread_columns;

  int threads() const { return (rows / thread_rows) * (columns / thread_columns); }
  std::string ToString() const;  // "64x32x16 by 128"
};

struct TileChoice {
  int tile = 0;  // of TileShapes()
  int64_t parts =
      1;  // of the sum: each by blocks of its own, and another kernel for these together
};

// Sizes and a choice, of a kernel that was generated so.
struct TileUse {
  ProductSize size;  // of the whole sum
  TileChoice choice;
};

absl::Span<const TileShape> TileShapes();

// All that are worth a try.
std::vector<TileChoice> TileChoices(const ProductSize& size);

// Microseconds on the device that the model was fitted to; good for comparisons.
double PredictedMicroseconds(const ProductSize& size, const TileChoice& choice);

// The choice of least predicted time; parts only where they are predicted to gain a tenth.
TileChoice ChooseTile(const ProductSize& size);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_TILE_CHOICE_H_
