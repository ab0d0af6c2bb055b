// Tiles that were measured on a device. They take the place of those that the time model chooses
// (tile_choice.h). `lemma tune` makes such tables.
#ifndef LEMMA_KERNELS_CODEGEN_TILES_TILE_TABLE_H_
#define LEMMA_KERNELS_CODEGEN_TILES_TILE_TABLE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/codegen/product_precision.h"
#include "kernels/codegen/tiles/tile_choice.h"

namespace lemma::codegen {

// A size that was tuned: a sum of products in a precision, or attention.
struct TunedSize {
  std::optional<ProductSize> product;  // nullopt: attention
  ProductPrecision precision = ProductPrecision::kF32;
  StreamSize stream;

  // "tf32 8x128x64x512 work 0+2 bulk": batch, m, n and k; "stream 12x512x512x64x64 masked": batch,
  // m, keys, depth and n.
  std::string ToString() const;
};

// The result of tuning a size: the tile to use, and the microseconds of the kernel with this tile
// and with the tile that the time model chose.
struct TunedTile {
  TileChoice choice;  // of a product
  StreamTile stream;  // of attention
  double microseconds = 0, model_microseconds = 0;
};

// "64x64x16 by 128 in 2 parts"; of attention: "128x64", rows and keys.
std::string NameOf(const TileChoice& choice, ProductPrecision precision);
std::string NameOf(const StreamTile& tile);

class TileTable {
 public:
  // The measured tile of a size; nullopt if the size was not tuned.
  std::optional<TileChoice> Find(const ProductSize& size, ProductPrecision precision) const;
  std::optional<StreamTile> Find(const StreamSize& size) const;
  const TunedTile* Find(const TunedSize& size) const;  // nullptr: not tuned

  // `tile` must be one of TileChoices or StreamTiles of the size.
  void Set(const TunedSize& size, const TunedTile& tile);

  // Notes how long a kernel took and what the time model predicted for it.
  void Learn(int tile, ProductPrecision precision, double microseconds, double predicted);
  // By index in TileShapes: the geometric mean of measured / predicted times of the tile, or of all
  // tiles of the precision for a tile with fewer than three measurements. Empty if the precision
  // has no measurements.
  std::vector<double> Factors(ProductPrecision precision) const;

  // The measured tile of a size or, if it was not tuned, ChooseTile with the table's factors.
  TileChoice Choose(const ProductSize& size, ProductPrecision precision) const;

  // One line for each size, sorted: "tf32 8x128x64x512 work 0+2: 64x64x16 by
  // 128 in 2 parts, 12.5 us (before: 14)". Then one line for each tile with
  // measurements: "tf32 64x64x16 by 128: factor 1.25 of 17" for 17
  // measurements. A tile is named by its shape, so that a table outlives
  // changes of the space.
  std::string ToString() const;
  // Reads the text that ToString gives. InvalidArgument, with the line, for any
  // other text. Lines with tiles that the space no longer has are left out.
  static absl::StatusOr<TileTable> Parse(absl::string_view text);

  size_t size() const { return tiles_.size(); }

 private:
  // Sums over measurements of the logarithm of measured / predicted.
  struct Experience {
    double logarithms = 0;
    int count = 0;
  };

  std::map<std::string, TunedTile> tiles_;                             // by TunedSize::ToString()
  std::map<std::pair<ProductPrecision, int>, Experience> experience_;  // by index in TileShapes
};

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_TILES_TILE_TABLE_H_
