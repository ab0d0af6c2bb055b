// Finds the fastest tiles for the kernels of a graph, by measuring tiles on a device.
#ifndef LEMMA_RUNTIME_CUDA_TUNER_H_
#define LEMMA_RUNTIME_CUDA_TUNER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/measure.h"

namespace lemma::cuda {

// The result of tuning one size of a product or of attention.
struct TunedKernel {
  codegen::TunedSize size;
  codegen::TunedTile tile;
  codegen::TileChoice model_choice;  // the time model's choice, for a product
  codegen::StreamTile model_stream;  // the same for attention
  std::string operators;             // of the step that was measured: "conv2d+add+relu"
  int steps = 0;                     // the number of kernels of this size in the graph's plan
  int tried = 0;                     // tiles that were measured

  // The names of `tile` and of the tile that the time model chose; equal if no better one was
  // found.
  std::string TileName() const;
  std::string ModelTileName() const;
};

struct TunerOptions {
  // Tiles to measure for a size, at least 1: the time model's choice, then the tiles with the least
  // predicted times, corrected by what the table learned (TileTable::Factors).
  int most_tiles = 8;
  bool again = false;  // also tunes sizes that the table has
  Deadline deadline;   // afterwards no other size is begun
  // Called after each size, when the table has it. `left`: the number of sizes
  // that are still to be tuned. TuneTiles ends with the first error that
  // on_size returns.
  std::function<absl::Status(const TunedKernel& kernel, int left)> on_size;
};

struct TunedKernels {
  std::vector<TunedKernel> kernels;  // in the order in which they were tuned
  int left = 0;                      // sizes that were not tuned, because the deadline passed
};

// Makes a measurer of the device, whose kernels have the tiles of the given table. Without a table
// (nullptr), they have the tiles that the time model chooses.
using MeasurerMaker =
    std::function<std::unique_ptr<KernelMeasurer>(std::shared_ptr<const codegen::TileTable>)>;

// Measures tiles for each size of the graph's kernels by tile and streamed kernels, and adds the
// best tile of each size to `table`. The sizes that are predicted to take the most time come first.
// A size is measured in the step of the fewest operators that has a kernel of this size; the time
// is that of the whole step. A tile other than the time model's is taken only if it is faster by
// 2 % in three alternating measurements of the two tiles. A tile that cannot run is left out; if
// the time model's own tile cannot run, the error is returned. It is no error if the deadline
// passes (see TunedKernels::left). `grid.tile` and `grid.stream` must not be set; grid.tiles is not
// used.
absl::StatusOr<TunedKernels> TuneTiles(const Graph& graph, const codegen::GridOptions& grid,
                                       const TunerOptions& options, const MeasurerMaker& make,
                                       codegen::TileTable* table);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_TUNER_H_
