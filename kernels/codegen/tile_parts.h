// Parts that the schedules by tile share (tile_schedule.cc, tensor_tile.cc, bulk_tile.cc). Internal
// to kernels/codegen.
#ifndef LEMMA_KERNELS_CODEGEN_TILE_PARTS_H_
#define LEMMA_KERNELS_CODEGEN_TILE_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/codegen/nest_printer.h"
#include "kernels/codegen/schedules.h"
#include "kernels/loops/loop_ir.h"

namespace lemma::codegen {

// The product of the extents.
int64_t Size(const std::vector<Axis>& axes);
int64_t CeilDivide(int64_t a, int64_t b);

// Lowers an expression of batch, `first` and `second`. The nest's variables: one for each of the nb
// axes of the batch, then one for all axes of `first` together (nb), and one for those of `second`
// (nb + 1).
loops::Nest LowerOf(const KernelContext& context, const ScalarExpr& body, int slot, const Idx& out,
                    const std::vector<Axis>& batch, const std::vector<Axis>& first,
                    const std::vector<Axis>& second, int* fresh);

// Whether more reads move by one element along `second` than along `first`.
bool PrefersSecond(const loops::Nest& nest, int first, int second);

// A position, and the number of elements and of those in a tile. CheckText gives an "if (...) "
// that compares the positions whose total is not a multiple of the tile; "" if there is none.
struct Border {
  std::string at;
  int64_t total, tile;
};
std::string CheckText(const std::vector<Border>& borders);

// Code that declares the index of each axis of the batch, from the kernel's variable `batch`.
std::string BatchDigits(const NestPrinter& printer, const std::vector<Axis>& batch);

// The printer's options for a factor or the result of a kernel by tile.
NestPrinter::Options TileOptions(const KernelContext& context, const loops::Nest& nest,
                                 const char* prefix);

// The code after the sum: computes and stores the elements of the result that a thread holds as
// sum[i][j], in `rows` rows and `columns` columns. `row` and `column` are the element's row and
// column in the tile, as expressions of i and j.
class ResultPrinter {
 public:
  ResultPrinter(const KernelContext& context, const loops::Nest& out, int sum_slot,
                const std::vector<Axis>& batch);
  std::string Code(const TileShape& tile, int rows, int columns, const std::string& row,
                   const std::string& column, int64_t total_rows, int64_t total_columns,
                   const char* index_type) const;
  NestPrinter& printer() { return printer_; }

 private:
  NestPrinter printer_;
  int row_var_;
  std::string inside_, at_column_, at_row_, at_kernel_;
};

// How to store a tile of the result by 16 bytes: in packs of `width` elements of one row or, if
// rows_adjacent, of consecutive rows in one column. `reads` load as many elements at once. Width 1:
// one by one.
struct ResultPacking {
  int width = 1;
  bool rows_adjacent = false;
  std::vector<int> reads;  // nodes of the nest
};
ResultPacking ChooseResultPacking(const KernelContext& context, const loops::Nest& out,
                                  int sum_slot, int batch, int64_t rows, int64_t columns);

// As ResultPrinter, after each warp has written the sums of its 16 rows to shared memory, as
// staged[row][column] or, if rows are adjacent, as staged[column][row].
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

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_TILE_PARTS_H_
