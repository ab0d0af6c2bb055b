#include "cli/backends.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/version.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/reference/reference.h"

namespace lemma::cli {
namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Backend> (*make)(bool fuse_layout);
  // nullptr: cannot be measured.
  std::unique_ptr<KernelMeasurer> (*make_measurer)(int threads, bool fuse_layout);
};

constexpr CudaOptions kGenerated = {/*libraries=*/false};

constexpr Entry kBackends[] = {
    {"cpu", [](bool fuse_layout) { return MakeCpuBackend({fuse_layout}); },
     [](int threads, bool fuse_layout) { return MakeCpuMeasurer(threads, {fuse_layout}); }},
    {"cuda", [](bool) { return MakeCudaBackend(); }, [](int, bool) { return MakeCudaMeasurer(); }},
    {"cuda-generated", [](bool) { return MakeCudaBackend(kGenerated); },
     [](int, bool) { return MakeCudaMeasurer(kGenerated); }},
    {"reference", [](bool) { return MakeReferenceBackend(); }, nullptr},
    {"reference-f64", [](bool) { return MakeReferenceBackend(BetweenOperators::kUnrounded); },
     nullptr},
};

const Entry* Find(absl::string_view name) {
  for (const Entry& entry : kBackends) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kBackends) names.push_back(entry.name);
  return names;
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(absl::string_view name, bool fuse_layout) {
  if (const Entry* entry = Find(name)) return entry->make(fuse_layout);
  return absl::InvalidArgumentError(
      absl::StrCat("no back end '", name, "'; there are ", absl::StrJoin(BackendNames(), ", ")));
}

std::unique_ptr<KernelMeasurer> MakeMeasurer(absl::string_view backend, int threads,
                                             bool fuse_layout) {
  const Entry* entry = Find(backend);
  if (entry == nullptr || entry->make_measurer == nullptr) return nullptr;
  return entry->make_measurer(threads, fuse_layout);
}

std::string VersionText() {
  std::string text = absl::StrCat("lemma ", kVersion);
  for (const Entry& entry : kBackends) {
    absl::StrAppend(&text, "\n", entry.name, ": ", entry.make(true)->version());
  }
  return text;
}

}  // namespace lemma::cli
