#include "runtime/cuda/cuda_compiler.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/sha256.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/cuda/cubin_cache.h"

namespace lemma::cuda {
namespace {

#define LEMMA_NVRTC_FUNCTIONS(F) \
  F(nvrtcVersion)                \
  F(nvrtcGetErrorString)         \
  F(nvrtcCreateProgram)          \
  F(nvrtcCompileProgram)         \
  F(nvrtcGetProgramLogSize)      \
  F(nvrtcGetProgramLog)          \
  F(nvrtcGetCUBINSize)           \
  F(nvrtcGetCUBIN)               \
  F(nvrtcDestroyProgram)

struct Nvrtc {
#define LEMMA_NVRTC_POINTER(name) decltype(&::name) name = nullptr;
  LEMMA_NVRTC_FUNCTIONS(LEMMA_NVRTC_POINTER)
#undef LEMMA_NVRTC_POINTER
  int major = 0, minor = 0;
};

// nullptr if the library lacks a function.
const Nvrtc* BindNvrtc(void* library) {
  auto* nvrtc = new Nvrtc;
  bool complete = true;
#define LEMMA_NVRTC_FIND(name)                                                  \
  nvrtc->name = reinterpret_cast<decltype(nvrtc->name)>(dlsym(library, #name)); \
  complete = complete && nvrtc->name != nullptr;
  LEMMA_NVRTC_FUNCTIONS(LEMMA_NVRTC_FIND)
#undef LEMMA_NVRTC_FIND
  if (complete && nvrtc->nvrtcVersion(&nvrtc->major, &nvrtc->minor) == NVRTC_SUCCESS) return nvrtc;
  delete nvrtc;
  return nullptr;
}

// Installed files, or names on the library path; newest first.
constexpr const char* kNvrtcFiles[] = {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13",
                                       "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.12",
                                       "libnvrtc.so"};

std::vector<const Nvrtc*> LoadAll() {
  std::vector<const Nvrtc*> found;
  for (const char* file : kNvrtcFiles) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const Nvrtc* nvrtc = library == nullptr ? nullptr : BindNvrtc(library);
    if (nvrtc != nullptr) found.push_back(nvrtc);
  }
  return found;
}

absl::StatusOr<const Nvrtc*> GetNvrtc(int newest) {
  static const auto* all = new std::vector<const Nvrtc*>(LoadAll());
  for (const Nvrtc* nvrtc : *all) {
    if (newest == 0 || nvrtc->major <= newest) return nvrtc;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no NVRTC", newest > 0 ? absl::StrCat(" up to version ", newest) : "",
                   ": libnvrtc.so.13 and libnvrtc.so.12 were looked for"));
}

// With the instructions that only this architecture has.
std::string ArchitectureName(int architecture) {
  return absl::StrCat("sm_", architecture,
                      architecture == codegen::kWarpgroupArchitecture ? "a" : "");
}

absl::StatusOr<std::string> Compile(const Nvrtc& nvrtc, const std::string& source,
                                    int architecture) {
  nvrtcProgram program = nullptr;
  nvrtcResult result =
      nvrtc.nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
  const std::string arch = "--gpu-architecture=" + ArchitectureName(architecture);
  const char* options[] = {arch.c_str(), "--std=c++17", "--extra-device-vectorization"};
  if (result == NVRTC_SUCCESS) result = nvrtc.nvrtcCompileProgram(program, 3, options);
  std::string cubin, log;
  size_t bytes = 0;
  if (result == NVRTC_SUCCESS) result = nvrtc.nvrtcGetCUBINSize(program, &bytes);
  if (result == NVRTC_SUCCESS) {
    cubin.resize(bytes);
    result = nvrtc.nvrtcGetCUBIN(program, &cubin[0]);
  } else if (program != nullptr && nvrtc.nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS) {
    log.resize(bytes);
    nvrtc.nvrtcGetProgramLog(program, &log[0]);
  }
  if (program != nullptr) nvrtc.nvrtcDestroyProgram(&program);
  if (result == NVRTC_SUCCESS) return cubin;
  return absl::InternalError(
      absl::StrCat("NVRTC: ", nvrtc.nvrtcGetErrorString(result), "\n", log.c_str()));
}

}  // namespace

std::string CubinFolder() { return CachePath("cubins"); }

absl::StatusOr<std::string> CompilerVersion() {
  absl::StatusOr<const Nvrtc*> nvrtc = GetNvrtc(0);
  if (!nvrtc.ok()) return nvrtc.status();
  return absl::StrCat("NVRTC ", (*nvrtc)->major, ".", (*nvrtc)->minor);
}

absl::StatusOr<std::string> CompileCubin(const std::string& source, int architecture,
                                         const std::string& folder, int newest) {
  absl::StatusOr<const Nvrtc*> nvrtc = GetNvrtc(newest);
  if (!nvrtc.ok()) return nvrtc.status();
  if (folder.empty()) return Compile(**nvrtc, source, architecture);
  const std::string key =
      Sha256Of(absl::StrCat(ArchitectureName(architecture), " nvrtc ", (*nvrtc)->major, ".",
                            (*nvrtc)->minor, "\n", source));
  if (std::optional<std::string> kept = CachedCubin(folder, key)) return *std::move(kept);
  absl::StatusOr<std::string> cubin = Compile(**nvrtc, source, architecture);
  if (cubin.ok()) KeepCubin(folder, key, *cubin);
  return cubin;
}

int CompilerThreads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

absl::StatusOr<std::vector<std::string>> CompileCubins(const std::vector<std::string>& sources,
                                                       int architecture, const std::string& folder,
                                                       int newest, int threads) {
  std::vector<absl::StatusOr<std::string>> cubins(sources.size(), absl::UnknownError(""));
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < sources.size(); i = next++) {
      cubins[i] = CompileCubin(sources[i], architecture, folder, newest);
    }
  };
  std::vector<std::thread> helpers;
  const int wanted = std::min(threads, static_cast<int>(sources.size()));
  for (int i = 1; i < wanted; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  std::vector<std::string> result;
  for (absl::StatusOr<std::string>& cubin : cubins) {
    if (!cubin.ok()) return cubin.status();
    result.push_back(*std::move(cubin));
  }
  return result;
}

}  // namespace lemma::cuda
