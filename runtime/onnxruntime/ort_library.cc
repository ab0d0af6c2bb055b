#include "runtime/onnxruntime/ort_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"

namespace lemma::ort {
namespace {

// The version of the table of functions that ORT_FUNCTIONS needs.
constexpr uint32_t kTableVersion = 7;
constexpr int kOnlyFatal = 4;  // what the library logs; errors come back as statuses
constexpr int kArenaAllocator = 1, kDefaultMemory = 0;

struct TableBase {
  const void* (*table)(uint32_t version);
  const char* (*version)();
};

#if defined(__aarch64__)
constexpr char kMachine[] = "arm64";
#else
constexpr char kMachine[] = "x64";
#endif

// "1.30.0" as numbers, for comparison.
std::vector<int> NumbersOf(const std::string& version) {
  std::vector<int> numbers;
  for (const auto part : absl::StrSplit(version, '.')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number)) return {};
    numbers.push_back(number);
  }
  return numbers;
}

// The library in the newest folder that tools/lib/ort has made; "" if there is none.
std::string Installed() {
  namespace fs = std::filesystem;
  const std::string installed = CachePath("ort");
  if (installed.empty()) return "";
  std::pair<std::vector<int>, std::string> newest;
  std::error_code error;
  for (const auto& version : fs::directory_iterator(installed, error)) {
    const fs::path bin = version.path() / "node_modules/onnxruntime-node/bin";
    for (const auto& napi : fs::directory_iterator(bin, error)) {
      const fs::path file = napi.path() / "linux" / kMachine / "libonnxruntime.so.1";
      if (!fs::exists(file, error)) continue;
      newest = std::max(newest, {NumbersOf(version.path().filename()), file.string()});
    }
  }
  return newest.second;
}

}  // namespace

absl::StatusOr<const Library*> Library::Load(const std::string& path) {
  static std::mutex& mutex = *new std::mutex;
  static auto& loaded = *new std::map<std::string, absl::StatusOr<const Library*>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::string file = path.empty() ? Installed() : path;
  if (file.empty()) file = "libonnxruntime.so.1";
  auto known = loaded.find(file);
  if (known == loaded.end()) known = loaded.emplace(file, Open(file)).first;
  return known->second;
}

absl::StatusOr<const Library*> Library::Open(const std::string& path) {
  // Its symbols stay its own: it carries libraries that Lemma uses in other versions.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        dlerror(), "; tools/lib/ort installs it, and option onnxruntime says where it lies"));
  }
  const auto base = reinterpret_cast<const TableBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (base == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": not ONNX Runtime's library: it has no OrtGetApiBase"));
  }
  std::unique_ptr<Library> library(new Library);
  library->version_ = base()->version();
  const auto* const table = static_cast<void* const*>(base()->table(kTableVersion));
  if (table == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": ONNX Runtime ", library->version_,
                                                      " is too old; 1.7 or newer is needed"));
  }
  Functions& f = library->functions_;
#define ORT_TAKE(position, name, result, ...) \
  f.name = reinterpret_cast<decltype(f.name)>(table[position]);
  ORT_FUNCTIONS(ORT_TAKE)
#undef ORT_TAKE
  absl::Status s = library->Take(f.CreateEnvironment(kOnlyFatal, "lemma", &library->environment_));
  if (s.ok()) s = library->Take(f.DisableTelemetry(library->environment_));
  if (s.ok()) {
    s = library->Take(f.CreateCpuMemoryInfo(kArenaAllocator, kDefaultMemory, &library->memory_));
  }
  if (!s.ok()) return s;
  return library.release();
}

absl::Status Library::Take(ApiStatus* status) const {
  if (status == nullptr) return absl::OkStatus();
  enum Code { kInvalidArgument = 2, kNoModel = 4, kInvalidProtobuf = 7, kNotImplemented = 9 };
  constexpr int kInvalidGraph = 10;
  const int code = functions_.ErrorCode(status);
  const std::string message = absl::StrCat("ONNX Runtime: ", functions_.ErrorMessage(status));
  functions_.ReleaseStatus(status);
  switch (code) {
    case kNotImplemented:
      return absl::UnimplementedError(message);
    case kInvalidArgument:
    case kNoModel:
    case kInvalidProtobuf:
    case kInvalidGraph:
      return absl::InvalidArgumentError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace lemma::ort
