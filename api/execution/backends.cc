#include "api/execution/backends.h"

#include <filesystem>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/models/option_error.h"
#include "api/version.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/onnxruntime/ort_backend.h"
#include "runtime/reference/reference.h"

namespace lemma::api {
namespace {

struct Entry {
  const char* name;
  absl::StatusOr<std::unique_ptr<Backend>> (*make)(const BackendOptions& options);
  // nullptr if the back end's kernels cannot be measured.
  std::unique_ptr<KernelMeasurer> (*make_measurer)(int threads, const BackendOptions& options);
  bool is_target = false;
};

template <bool libraries>
absl::StatusOr<CudaOptions> Cuda(const BackendOptions& options) {
  CudaOptions result;
  result.libraries = libraries;
  result.reuse_late = options.reuse_late;
  result.grid.precision = options.precision;
  LEMMA_ASSIGN_OR_RETURN(result.grid.tiles, TilesOf(options.tiles));
  return result;
}

CpuOptions Cpu(const BackendOptions& options) {
  return {options.fuse_layout, options.winograd ? WinogradUse::kWhereFaster : WinogradUse::kNever};
}

template <bool libraries>
absl::StatusOr<std::unique_ptr<Backend>> MakeCuda(const BackendOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const CudaOptions cuda, Cuda<libraries>(options));
  return MakeCudaBackend(cuda);
}

// CheckExecutionOptions reports an error.
template <bool libraries>
std::unique_ptr<KernelMeasurer> MeasureCuda(int, const BackendOptions& options) {
  const absl::StatusOr<CudaOptions> cuda = Cuda<libraries>(options);
  return cuda.ok() ? MakeCudaMeasurer(*cuda) : nullptr;
}

using MadeBackend = absl::StatusOr<std::unique_ptr<Backend>>;

constexpr Entry kBackends[] = {
    {"cpu",
     [](const BackendOptions& options) -> MadeBackend { return MakeCpuBackend(Cpu(options)); },
     [](int threads, const BackendOptions& options) {
       return MakeCpuMeasurer(threads, Cpu(options));
     }},
    {"cuda", MakeCuda<true>, MeasureCuda<true>},
    {"cuda-generated", MakeCuda<false>, MeasureCuda<false>},
    {"reference", [](const BackendOptions&) -> MadeBackend { return MakeReferenceBackend(); },
     nullptr},
    {"reference-f64",
     [](const BackendOptions&) -> MadeBackend {
       return MakeReferenceBackend(BetweenOperators::kUnrounded);
     },
     nullptr},
    {"onnxruntime",
     [](const BackendOptions& options) -> MadeBackend { return MakeOrtBackend(options.ort); },
     [](int threads, const BackendOptions& options) {
       return MakeOrtMeasurer(threads, options.ort);
     },
     /*is_target=*/true},
};

const Entry* Find(absl::string_view name) {
  for (const Entry& entry : kBackends) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

std::vector<std::string> Names(bool targets) {
  std::vector<std::string> names;
  for (const Entry& entry : kBackends) {
    if (entry.is_target == targets) names.push_back(entry.name);
  }
  return names;
}

// Without tuned tiles, so that a broken file of them does not matter.
std::string VersionOf(const Entry& entry) {
  BackendOptions options;
  options.tiles = kModelTiles;
  const absl::StatusOr<std::unique_ptr<Backend>> backend = entry.make(options);
  return backend.ok() ? (*backend)->version() : std::string(backend.status().message());
}

constexpr char kTileHeading[] = "lemma tiles 1";

// Whether the system can start so many threads at once. If it cannot, OpenMP would end the process.
bool CanStart(int threads) {
  std::promise<void> ended;
  std::shared_future<void> end(ended.get_future());
  std::vector<std::thread> started;
  bool all = true;
  try {
    for (int i = 1; i < threads; ++i) started.emplace_back([end] { end.wait(); });
  } catch (const std::system_error&) {
    all = false;
  }
  ended.set_value();
  for (std::thread& thread : started) thread.join();
  return all;
}

}  // namespace

std::vector<std::string> BackendNames() { return Names(/*targets=*/false); }

std::string TileFileOf(absl::string_view device) {
  std::string name(device);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return CachePath(absl::StrCat("tiles/", name, ".txt"));
}

std::string TileFileText(absl::string_view device, const codegen::TileTable& table) {
  return absl::StrCat(kTileHeading, "\ndevice ", device, "\n", table.ToString());
}

absl::StatusOr<TileFile> ReadTileFile(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  constexpr absl::string_view kDevice = "device ";
  LEMMA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('\n', 2));
  if (parts.size() != 3 || parts[0] != kTileHeading || !absl::StartsWith(parts[1], kDevice)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": not a file of tiles, which begins with '", kTileHeading, "' and the device"));
  }
  absl::StatusOr<codegen::TileTable> table = codegen::TileTable::Parse(parts[2]);
  if (!table.ok()) {
    return absl::Status(table.status().code(), absl::StrCat(path, ": ", table.status().message()));
  }
  return TileFile{parts[1].substr(kDevice.size()), *std::move(table)};
}

absl::StatusOr<std::shared_ptr<const codegen::TileTable>> TilesOf(const std::string& tiles) {
  std::string path = tiles;
  if (tiles == kModelTiles) return nullptr;
  if (tiles == kTunedTiles) {
    const absl::StatusOr<CudaDeviceInfo> device = FindCudaDevice();
    if (!device.ok()) return nullptr;
    path = TileFileOf(device->name);
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error)) return nullptr;
  }
  LEMMA_ASSIGN_OR_RETURN(TileFile file, ReadTileFile(path));
  return std::make_shared<const codegen::TileTable>(std::move(file.table));
}

std::vector<std::string> TargetNames() { return Names(/*targets=*/true); }

bool IsTarget(absl::string_view backend) {
  const Entry* entry = Find(backend);
  return entry != nullptr && entry->is_target;
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(absl::string_view name,
                                                     const BackendOptions& options) {
  if (const Entry* entry = Find(name)) return entry->make(options);
  return absl::InvalidArgumentError(
      absl::StrCat("no back end '", name, "'; there are ", absl::StrJoin(BackendNames(), ", ")));
}

std::unique_ptr<KernelMeasurer> MakeMeasurer(absl::string_view backend, int threads,
                                             const BackendOptions& options) {
  const Entry* entry = Find(backend);
  if (entry == nullptr || entry->make_measurer == nullptr) return nullptr;
  return entry->make_measurer(threads, options);
}

absl::Status CheckExecutionOptions(const ExecutionOptions& execution) {
  const int threads = execution.threads;
  if (threads < 1 || threads > 1024) {
    return OptionError(absl::StrCat("option threads: ", threads, " is not in 1…1024"));
  }
  if (!CanStart(threads)) {
    return MarkOptionError(absl::ResourceExhaustedError(
        absl::StrCat("option threads: not enough memory for ", threads, " threads")));
  }
  if (IsTarget(execution.backend)) {
    const absl::Status s = CheckOrtLibrary(execution.backend_options.ort.library);
    if (!s.ok()) {
      return MarkOptionError(
          absl::Status(s.code(), absl::StrCat("option target=", execution.backend,
                                              " needs ONNX Runtime's library: ", s.message())));
    }
  }
  if (!execution.backend_options.fuse_layout && execution.backend != "cpu") {
    return OptionError(absl::StrCat("option fuse_layout: the back end cpu knows it, ",
                                    execution.backend, " does not"));
  }
  if (!execution.backend_options.winograd && execution.backend != "cpu") {
    return OptionError(absl::StrCat("option winograd: the back end cpu knows it, ",
                                    execution.backend, " does not"));
  }
  const bool cuda = execution.backend == "cuda" || execution.backend == "cuda-generated";
  if (execution.backend_options.precision != codegen::ProductPrecision::kF32 && !cuda) {
    return OptionError(absl::StrCat("option precision: only the back ends cuda and cuda-generated ",
                                    "compute products in ",
                                    Name(execution.backend_options.precision)));
  }
  if (cuda) {
    const absl::Status s = TilesOf(execution.backend_options.tiles).status();
    if (!s.ok()) {
      return MarkOptionError(absl::Status(s.code(), absl::StrCat("option tiles: ", s.message())));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const ExecutionOptions& execution) {
  return MakeBackend(execution.backend, execution.backend_options);
}

CompileOptions CompileOptionsOf(const ExecutionOptions& execution) {
  CompileOptions result;
  result.threads = execution.threads;
  return result;
}

std::string VersionText() {
  std::string text = absl::StrCat("lemma ", kVersion);
  for (const Entry& entry : kBackends) {
    if (entry.is_target) continue;
    absl::StrAppend(&text, "\n", entry.name, ": ", VersionOf(entry));
  }
  return text;
}

}  // namespace lemma::api
