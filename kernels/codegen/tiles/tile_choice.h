// Chooses the tile shape of a sum of products and the number of parts it is split into. Candidates
// come from a fixed space; a model predicts the time of each. docs/measurements.md says how good
// the choices are.
#ifndef LEMMA_KERNELS_CODEGEN_TILES_TILE_CHOICE_H_
#define LEMMA_KERNELS_CODEGEN_TILES_TILE_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "kernels/codegen/product_precision.h"

namespace lemma::codegen {

inline int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The extents of out[batch, m, n] = sum(k) a(batch, m, k) * b(batch, n, k).
struct ProductSize {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  // Extra work to load an element of a factor: the number of conditions, and of divisions, minima
  // and similar operations in the element's indices.
  int a_work = 0, b_work = 0;
  // Both factors are tensors of one 16-bit type that the copy engine (TMA) can move, and the
  // precision and the architecture allow products by warpgroup.
  bool bulk = false;
};

// The shape of a tile. A block computes rows * columns elements, in steps of `depth` products per
// element. Each thread computes thread_rows * thread_columns of these elements. On tensor cores,
// each warp computes this many elements, and `depth` counts 32-bit words: a word is an f32 or TF32
// number, a pair of 16-bit numbers, or four bytes.
// `stages` > 0: the tile is for warpgroups (bulk_tile.cc), shared memory holds the factors of
// `stages` steps, and `copy_warps` additional warps fetch the factors.
struct TileShape {
  int rows, columns, depth, thread_rows, thread_columns;
  bool tensor_cores = false;
  int stages = 0;
  // 0 without stages; otherwise 1 or 4. 4 warps are a warpgroup, which can give registers to the
  // other warpgroups.
  int copy_warps = 0;

  int threads() const {
    const int warps = (rows / thread_rows) * (columns / thread_columns);
    return tensor_cores ? (warps + copy_warps) * 32 : warps;
  }
  std::string ToString() const;  // "64x32x16 by 128" (threads), "128x256x32 by 384 in 4 stages"
};

struct TileChoice {
  int tile = 0;  // index into TileShapes(precision)
  // Parts of the sum. Each is computed by its own blocks; another kernel adds them.
  int64_t parts = 1;
};

// The sizes and the choice that a kernel was generated with.
struct TileUse {
  // The sizes of the whole sum; if the kernel computes a part of the sum that needs another
  // precision, the sizes of this part. `bulk` is false if the copy engine cannot move the part's
  // factors.
  ProductSize size;
  TileChoice choice;
  ProductPrecision precision = ProductPrecision::kF32;
  // The slot of each factor that is a tensor's elements as they are, without a guard; otherwise -1.
  int a_slot = -1, b_slot = -1;
  // The same, also if a guard makes the factor 0 elsewhere, as with padding.
  int a_tensor = -1, b_tensor = -1;
};

// All tile shapes for products of a precision, in a fixed order.
absl::Span<const TileShape> TileShapes(ProductPrecision precision);

// All choices worth trying.
std::vector<TileChoice> TileChoices(const ProductSize& size, ProductPrecision precision);

// Predicted microseconds of a kernel with `choice`, one of TileChoices. Use it only to compare
// choices: the time model is fitted to an H100 in f32 and to an H200 on tensor cores.
double PredictedMicroseconds(const ProductSize& size, const TileChoice& choice,
                             ProductPrecision precision);

// The extents of attention: the scores are a product of m rows and `keys` columns, `depth` deep;
// their softmax is multiplied by values of n columns. A streamed kernel keeps scores in registers.
struct StreamSize {
  int64_t batch = 1, m = 1, keys = 1, depth = 1, n = 1;
  bool masked = false;  // scores are computed from other tensors, too
};
// A block computes `rows` rows of the result, and takes `keys` scores of each row at a time. n is
// at most `columns`. Shared memory holds `stages` tiles of keys or values.
struct StreamTile {
  int rows = 0, keys = 0, columns = 0, stages = 0;
};
// All tiles worth trying; none if the depth or n is too large.
std::vector<StreamTile> StreamTiles(const StreamSize& size);
// The tile of StreamTiles with the least predicted time; nullopt if there is none.
std::optional<StreamTile> ChooseStreamTile(const StreamSize& size);
// Predicted microseconds of a streamed kernel with `tile`, one of StreamTiles.
double StreamedMicroseconds(const StreamSize& size, const StreamTile& tile);
// Predicted microseconds of separate kernels for the two products and the softmax.
double SeparateMicroseconds(const StreamSize& size, ProductPrecision precision);

// Predicted microseconds of a kernel that only moves data. `bytes`: bytes read plus bytes written.
double MovingMicroseconds(double bytes);

// The element of TileChoices with the least predicted time. Splits the sum only if the split is
// predicted to save a tenth of the time. If `factors` are given, one for each of TileShapes, a
// tile's predicted time is multiplied by its factor.
TileChoice ChooseTile(const ProductSize& size, ProductPrecision precision,
                      absl::Span<const double> factors = {});

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_TILES_TILE_CHOICE_H_
