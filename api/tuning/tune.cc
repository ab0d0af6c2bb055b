#include "api/tune.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/execution/backends.h"
#include "api/models/option_error.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/text_table.h"
#include "runtime/cuda/cuda_backend.h"

namespace lemma::api {
namespace {

std::unique_ptr<KernelMeasurer> MeasurerOfDevice(codegen::ProductPrecision precision,
                                                 std::shared_ptr<const codegen::TileTable> tiles) {
  CudaOptions options;
  options.libraries = false;  // the generated kernels are measured
  options.grid.precision = precision;
  options.grid.tiles = std::move(tiles);
  return MakeCudaMeasurer(options);
}

// The table in the file, which must be of the device; an empty one if there is no such file.
absl::StatusOr<codegen::TileTable> TableIn(const std::string& path, const std::string& device) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return codegen::TileTable();
  LEMMA_ASSIGN_OR_RETURN(TileFile file, ReadTileFile(path));
  if (file.device == device) return std::move(file.table);
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": has the tiles of ", file.device, "; this is ", device));
}

}  // namespace

absl::StatusOr<TuneResult> Tune(const Model& model, const TuneOptions& options) {
  if (options.most_tiles < 1 || options.most_tiles > 1000) {
    return OptionError(
        absl::StrCat("option most_tiles: ", options.most_tiles, " is not in 1…1000"));
  }
  if (options.tiles == kTunedTiles || options.tiles == kModelTiles) {
    return OptionError(absl::StrCat("option tiles: ", options.tiles, " is no name of a file here"));
  }
  codegen::GridOptions grid;
  TuneResult result;
  result.device = options.device;
  cuda::MeasurerMaker measurer = options.measurer;
  if (!measurer) {
    const absl::StatusOr<CudaDeviceInfo> device = FindCudaDevice();
    if (!device.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "tiles are measured on the GPU of this machine: ", device.status().message()));
    }
    result.device = device->name;
    grid.architecture = device->architecture;
    measurer = [&options](std::shared_ptr<const codegen::TileTable> tiles) {
      return MeasurerOfDevice(options.precision, std::move(tiles));
    };
  }
  result.file = options.tiles.empty() ? TileFileOf(result.device) : options.tiles;
  if (result.file.empty()) {
    return OptionError("option tiles: there is no home folder, so a file has to be given");
  }
  std::error_code error;  // CheckWritable reports what this cannot do
  const std::filesystem::path folder = std::filesystem::path(result.file).parent_path();
  if (options.tiles.empty()) std::filesystem::create_directories(folder, error);
  if (absl::Status s = CheckWritable(result.file); !s.ok()) return s;
  LEMMA_ASSIGN_OR_RETURN(codegen::TileTable table, TableIn(result.file, result.device));
  result.known = static_cast<int>(table.size());

  grid.precision = options.precision;
  cuda::TunerOptions tuner;
  tuner.most_tiles = static_cast<int>(options.most_tiles);
  tuner.again = options.again;
  tuner.deadline = options.deadline;
  tuner.on_size = [&](const cuda::TunedKernel& kernel, int left) -> absl::Status {
    const std::string text = TileFileText(result.device, table);
    if (absl::Status s = WriteFileAtomically(result.file, {text}); !s.ok()) return s;
    if (options.on_size) options.on_size(kernel, left);
    return absl::OkStatus();
  };
  LEMMA_ASSIGN_OR_RETURN(result.tuned, cuda::TuneTiles(model.graph, grid, tuner, measurer, &table));
  return result;
}

std::string TextOf(const TuneResult& result) {
  TextTable table({"size", "operators", "steps", "tried", "tile", "us", "model's tile", "us"});
  double before = 0, now = 0;
  for (const cuda::TunedKernel& kernel : result.tuned.kernels) {
    table.Row({kernel.size.ToString(), kernel.operators, absl::StrCat(kernel.steps),
               absl::StrCat(kernel.tried), kernel.TileName(),
               absl::StrCat(absl::SixDigits(kernel.tile.microseconds)), kernel.ModelTileName(),
               absl::StrCat(absl::SixDigits(kernel.tile.model_microseconds))});
    before += kernel.steps * kernel.tile.model_microseconds;
    now += kernel.steps * kernel.tile.microseconds;
  }
  std::string text = result.tuned.kernels.empty() ? "" : table.ToString();
  absl::StrAppend(&text, "device   ", result.device, "\nfile     ", result.file, " (",
                  FormatCount(result.known, "size"), " before)\n");
  if (before > 0) {
    absl::StrAppendFormat(&text,
                          "these kernels take %.1f us, %.3f of the time with the model's tiles\n",
                          now, now / before);
  }
  if (result.tuned.left > 0) {
    absl::StrAppend(&text, FormatCount(result.tuned.left, "size"),
                    " not measured: the time is over\n");
  }
  return text;
}

}  // namespace lemma::api
