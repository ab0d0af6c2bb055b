// Makes back ends by name, and defines the options of an execution.
#ifndef LEMMA_API_EXECUTION_BACKENDS_H_
#define LEMMA_API_EXECUTION_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/codegen/product_precision.h"
#include "kernels/codegen/tiles/tile_table.h"
#include "runtime/executor.h"
#include "runtime/measure.h"
#include "runtime/onnxruntime/ort_backend.h"

namespace lemma::api {

// The names of Lemma's own back ends; the default comes first.
std::vector<std::string> BackendNames();
// The names of the targets: other programs for which a model can be optimized. Each target is a
// back end too: MakeBackend and MakeMeasurer take its name. A target's memory use is not known.
std::vector<std::string> TargetNames();
// Whether `backend` is in TargetNames().
bool IsTarget(absl::string_view backend);

inline constexpr char kTunedTiles[] = "tuned", kModelTiles[] = "model";  // BackendOptions::tiles

// The comment on each option names the back ends that use it. Other back ends ignore the option.
// For them, CheckExecutionOptions accepts fuse_layout, winograd and precision only with their
// default values.
struct BackendOptions {
  // "cpu": whether to fuse layout operators (CpuOptions in runtime/cpu/cpu_backend.h).
  bool fuse_layout = true;
  // "cuda", "cuda-generated": whether memory may stay unused for a while, so that more kernels run
  // at the same time (PlanOptions in runtime/cuda/cuda_plan.h).
  bool reuse_late = true;
  // "cuda", "cuda-generated": the precision of the factors in sums of products.
  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32;
  // "cuda", "cuda-generated": the tiles of kernels (docs/cuda.md). kTunedTiles: the tiles that
  // `lemma tune` measured on the device; kModelTiles: the tiles that the time model chooses;
  // otherwise the tiles in the file of this name.
  std::string tiles = kTunedTiles;
  OrtOptions ort;        // "onnxruntime"
  bool winograd = true;  // "cpu": Winograd's algorithm for convolutions, where it is faster
};
// The back end that executes a graph, and its options.
struct ExecutionOptions {
  std::string backend = BackendNames().front();  // a name in BackendNames() or TargetNames()
  int threads = 1;                               // limit on CPU threads of a kernel, 1 … 1024
  BackendOptions backend_options;
};
// The back end with this name. InvalidArgument, listing BackendNames(), if there is none; for
// "cuda" and "cuda-generated", also the errors of TilesOf.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(absl::string_view name,
                                                     const BackendOptions& options = {});
// Measures the kernels of the back end with this name; `threads` is as in ExecutionOptions. nullptr
// if there is no such back end, if its kernels cannot be measured one by one, if the library of a
// target cannot be loaded, or if TilesOf fails for "cuda" or "cuda-generated".
std::unique_ptr<KernelMeasurer> MakeMeasurer(absl::string_view backend, int threads,
                                             const BackendOptions& options = {});

// The table that BackendOptions::tiles names. nullptr for kModelTiles, and for kTunedTiles if there
// is no device or no table of it. NotFound or InvalidArgument, beginning with the path, if a file
// cannot be read.
absl::StatusOr<std::shared_ptr<const codegen::TileTable>> TilesOf(const std::string& tiles);
// The contents of a file of tiles.
struct TileFile {
  std::string device;  // the name of the device on which they were measured
  codegen::TileTable table;
};
// Errors as in TilesOf.
absl::StatusOr<TileFile> ReadTileFile(const std::string& path);
// The path of the file in which `lemma tune` keeps the table of a device, in ~/.cache/lemma/tiles;
// "" if HOME is not set.
std::string TileFileOf(absl::string_view device);
// The contents of a file of tiles: a heading, the device and the table's lines.
std::string TileFileText(absl::string_view device, const codegen::TileTable& table);

// InvalidArgument if fuse_layout or winograd is false for a back end other than "cpu", if the
// precision is not f32 for a back end other than "cuda" and "cuda-generated", or if the number of
// threads is not in 1…1024; ResourceExhausted if the system cannot start so many threads; NotFound
// or FailedPrecondition if a target's library cannot be loaded; for "cuda" and "cuda-generated",
// the errors of TilesOf. Messages name options (api/models/option_error.h). Does not check the back
// end's name; MakeBackend does.
absl::Status CheckExecutionOptions(const ExecutionOptions& execution);

// The back end that `execution` names, with its options.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const ExecutionOptions& execution);
// Options with execution.threads; all other options have their defaults.
CompileOptions CompileOptionsOf(const ExecutionOptions& execution);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_BACKENDS_H_
