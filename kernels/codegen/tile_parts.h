// Code that the schedules by tile share (tile_schedule.cc, tensor_tile.cc, bulk_tile.cc,
// streamed_tile.cc). Internal to kernels/codegen.
#ifndef LEMMA_KERNELS_CODEGEN_TILE_PARTS_H_
#define LEMMA_KERNELS_CODEGEN_TILE_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/codegen/nest_printer.h"
#include "kernels/codegen/schedules.h"
#include "kernels/loops/loop_ir.h"

namespace lemma::codegen {

// The product of the extents.
int64_t Size(const std::vector<Axis>& axes);

// Lowers `body`, an expression over the axes of `batch`, `first` and `second`, stored at index
// `out` of `slot`. If the batch has nb axes, the nest's variables 0 … nb - 1 are these axes.
// Variable nb stands for all axes of `first` merged, and variable nb + 1 for those of `second`.
loops::Nest LowerMerged(const KernelContext& context, const ScalarExpr& body, int slot,
                        const Idx& out, const std::vector<Axis>& batch,
                        const std::vector<Axis>& first, const std::vector<Axis>& second,
                        int* fresh);

// Whether more reads of the nest are contiguous along variable number `second` than along variable
// number `first`.
bool PrefersSecond(const loops::Nest& nest, int first, int second);

// A dimension that tiles cover: `at` is a position in it, as an expression; `total` is its size,
// and `tile` the tile's size. CheckText returns the code that checks positions against sizes, such
// as "if (i < 100) ". Dimensions whose size is a multiple of the tile's size are not checked. "" if
// there is nothing to check.
struct Border {
  std::string at;
  int64_t total, tile;
};
std::string CheckText(const std::vector<Border>& borders);

// The type ("int" or "int64") of a kernel's rows, columns and depths, which are
// at most `most`. The type is wide enough for the offsets that the code of
// `printers` computes from these numbers.
const char* IndexTypeFor(int64_t most, const std::vector<const NestPrinter*>& printers);

// Code that declares the index of each axis of the batch, from the kernel's variable `batch`.
std::string BatchDigits(const NestPrinter& printer, const std::vector<Axis>& batch);

// The printer's options for a factor or the result of a kernel by tile; names begin with `prefix`.
NestPrinter::Options TileOptions(const KernelContext& context, const loops::Nest& nest,
                                 const char* prefix);

// Prints the code that runs after the sums are complete. A thread holds the sums sum[i][j] for
// i < `rows` and j < `columns`. The code computes elements of the result from these sums and stores
// the elements. `row` and `column` are an element's row and column in the tile, as expressions of i
// and j. `total_rows` and `total_columns` are the sizes of the result. `sum` is the value of a sum,
// as an expression of i and j. The kernel must declare a_first and b_first, the tile's first row
// and first column.
class ResultPrinter {
 public:
  ResultPrinter(const KernelContext& context, const loops::Nest& out, int sum_slot,
                const std::vector<Axis>& batch, const std::string& sum = "sum[i][j]");
  std::string Code(const TileShape& tile, int rows, int columns, const std::string& row,
                   const std::string& column, int64_t total_rows, int64_t total_columns,
                   const char* index_type) const;
  NestPrinter& printer() { return printer_; }

 private:
  NestPrinter printer_;
  int row_var_;
  std::string inside_, at_column_, at_row_, at_kernel_;
};

// How to store a tile of the result: in packs of 16 bytes, which have `width` elements. A pack lies
// in one row or, if rows_adjacent, in consecutive rows of one column. The nodes `reads` load
// `width` elements at once, too. If the width is 1, elements are stored one by one.
struct ResultPacking {
  int width = 1;
  bool rows_adjacent = false;
  std::vector<int> reads;  // nodes of the nest
};
ResultPacking ChooseResultPacking(const KernelContext& context, const loops::Nest& out,
                                  int sum_slot, int batch, int64_t rows, int64_t columns);

// Like ResultPrinter, but the sums are read from shared memory, where each warp has written the
// sums of its 16 rows as staged[row][column] or, if rows are adjacent, as staged[column][row].
class PackedResultPrinter {
 public:
  PackedResultPrinter(const KernelContext& context, const loops::Nest& out, int sum_slot,
                      const std::vector<Axis>& batch, ResultPacking packing);
  // `first_row` is the warp's first row within the tile.
  std::string Code(const TileShape& tile, const std::string& first_row, int64_t total_rows,
                   int64_t total_columns, const char* index_type) const;
  NestPrinter& printer() { return printer_; }

 private:
  NestPrinter printer_;
  int row_var_;
  ResultPacking packing_;
  std::string type_;  // of a stored element
  int slot_;
  std::string element_, at_pack_, at_line_, at_kernel_, start_;
};

// --- Parts of kernels by warpgroup. They are in bulk_tile.cc, which describes the tiles. ---

// kBulkDepth: the depth of a tile, in numbers. kGroupRows: the rows of a group. One warpgroup
// multiplies a group; if rows are adjacent in memory, one copy moves a group. kLineBytes: the bytes
// of a line of a tile. kBarrierBytes: the bytes of a barrier.
constexpr int64_t kBulkDepth = 64, kGroupRows = 64, kLineBytes = 128, kBarrierBytes = 8;

// A factor that the copy engine can move.
struct BulkFactor {
  DType dtype = DType::kBF16;
  bool rows_adjacent = false;  // adjacent rows are adjacent in memory
  BulkSource source;           // BulkCopyText sets its box
  // For each dimension of the source: the variable of the nest that runs along it.
  std::vector<int> vars;

  // Bytes from one depth to the next in a tile.
  int64_t DepthBytes() const { return rows_adjacent ? kLineBytes : 2; }
};
// The factor that `nest` reads; nullopt unless the nest only reads 16-bit floats that the copy
// engine can move. The nest's variables: 0 … batch - 1 for the axes of the batch, then the row,
// then the depth. `rows` and `depth` are the extents of the last two variables.
std::optional<BulkFactor> MatchBulkFactor(const KernelContext& context, const loops::Nest& nest,
                                          int batch, int64_t rows, int64_t depth);

// The code that copies a factor's tile to `place` and signals `barrier`; both are expressions. The
// tile has kBulkDepth numbers from the kernel's variable `depth` on, and `tile_rows` rows from the
// kernel's variable NAME_first on, where NAME is the argument `name`, such as "a". Sets the
// factor's box.
std::string BulkCopyText(const char* name, BulkFactor* factor, int batch, int64_t tile_rows,
                         const std::string& place, const std::string& barrier);
// The code that declares the coordinates of the batch, for BulkCopyText.
std::string BulkCoordinates(const std::vector<Axis>& batch);

// GiveRegistersText: the code with which the warpgroup that copies gives registers away.
// TakeRegistersText: the code with which each warpgroup that multiplies takes registers.
// `warpgroups`: how many warpgroups multiply, 2 or 3. Only one block of a kernel with this code may
// run on a multiprocessor at a time, so call LimitToOneBlock for the kernel.
std::string GiveRegistersText(int warpgroups);
std::string TakeRegistersText(int warpgroups);
void LimitToOneBlock(GridKernel* kernel);

// Prints the code after the sums. The code stores the result in packs by way of shared memory or,
// if packs do not fit the result, element by element.
class BulkResult {
 public:
  BulkResult(const KernelContext& context, const loops::Nest& out, const TiledSource& tiled,
             int64_t rows, int64_t columns);
  std::string Code(const TileShape& tile, int64_t rows, int64_t columns,
                   const char* index_type) const;
  NestPrinter& printer() { return packed_ ? packed_->printer() : single_->printer(); }
  // Bytes of shared memory, from its start, that the code uses.
  int64_t SharedBytes(const TileShape& tile) const {
    return packed_ ? tile.rows / 16 * Lines(tile) * LineNumbers(tile) * 4 : 0;
  }

 private:
  // Each warp has lines of its own. They are padded, so that the lanes of a warp write to different
  // banks.
  int64_t Lines(const TileShape& tile) const { return rows_adjacent_ ? tile.columns : 16; }
  int64_t LineNumbers(const TileShape& tile) const {
    return rows_adjacent_ ? 16 + 4 : tile.columns + 8;
  }

  bool rows_adjacent_ = false;
  std::optional<ResultPrinter> single_;
  std::optional<PackedResultPrinter> packed_;
};

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_TILE_PARTS_H_
