// Measures which tiles make a model's CUDA kernels fastest on the device at hand, and keeps them
// for later runs. Code: api/tuning. docs/cuda.md explains tiles.
#ifndef LEMMA_API_TUNE_H_
#define LEMMA_API_TUNE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "base/deadline.h"
#include "kernels/codegen/product_precision.h"
#include "runtime/cuda/tuner.h"

namespace lemma::api {

struct TuneOptions {
  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32;
  // Where the table of tiles is read from and written to; "": the file of the device (TileFileOf in
  // api/execution/backends.h), which all later runs on this device use.
  std::string tiles;
  int64_t most_tiles = 8;  // tiles that are measured for each size of a product, 1 … 1000
  bool again = false;      // also measures sizes that the table has
  Deadline deadline;       // no size is begun after it
  // Called after each size, once the file has its tiles. `left`: the number of sizes that are still
  // to be measured.
  std::function<void(const cuda::TunedKernel& kernel, int left)> on_size;
  // For tests: takes the place of the device.
  cuda::MeasurerMaker measurer;
  std::string device = "test";  // the name of the device that `measurer` measures
};

struct TuneResult {
  std::string device, file;
  int known = 0;  // sizes that the file had before
  cuda::TunedKernels tuned;
};

// Measures tiles for each size of a product in the model's kernels, and adds
// the best tile of each size to the file (TuneTiles in runtime/cuda/tuner.h).
// FailedPrecondition without a device; InvalidArgument for a wrong option, or
// for a file that is no table of tiles or has the tiles of another device. An
// interruption is not an error: the file has the sizes measured so far.
absl::StatusOr<TuneResult> Tune(const Model& model, const TuneOptions& options);
// The tiles for people, beside those of the time model.
std::string TextOf(const TuneResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_TUNE_H_
