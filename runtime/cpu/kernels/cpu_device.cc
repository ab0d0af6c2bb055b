#include "runtime/cpu/kernels/cpu_device.h"

#include <omp.h>

#include <dnnl.hpp>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lemma::cpu {
namespace {

std::string ModelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos) {
      return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return "unknown processor";
}

const char* InstructionSet() {
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  return "no AVX2";
}

}  // namespace

std::string ProcessorName() { return absl::StrCat(ModelName(), ", ", InstructionSet()); }

std::string DeviceName() {
  const dnnl_version_t* v = dnnl_version();
  return absl::StrCat(ProcessorName(), ", oneDNN ", v->major, ".", v->minor, ".", v->patch);
}

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

}  // namespace lemma::cpu
