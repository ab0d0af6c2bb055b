#include "kernels/codegen/horizontal_fusion.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/hash.h"

namespace lemma::codegen {
namespace {

constexpr int kThreads = 256;

// A kernel's code "(PARAMETERS) {\nBODY}\n" as a function of the block number.
std::string FunctionOf(const GridKernel& kernel) {
  const size_t name = kernel.code.find(kernel.name + "(");
  const std::string rest = kernel.code.substr(name + kernel.name.size() + 1);
  return absl::StrCat("__device__ inline void ", kernel.name, "(const unsigned block, ",
                      absl::StrReplaceAll(rest, {{"blockIdx.x", "block"}}));
}

}  // namespace

bool CanFuseHorizontally(const GridProgram& program) {
  if (program.kernels.size() != 1) return false;
  const GridKernel& kernel = program.kernels[0];
  // A kernel with fewer threads has one block; extra threads have no work.
  return absl::StartsWith(kernel.schedule, "by element") && !kernel.checks &&
         !kernel.synchronizes && (kernel.threads == kThreads || kernel.blocks == 1);
}

GridProgram FuseHorizontally(absl::Span<const std::shared_ptr<const GridProgram>> programs) {
  GridProgram result;
  GridKernel all;
  std::string functions, body;
  std::vector<std::string> parameters[2];
  absl::flat_hash_set<std::string> known;
  all.blocks = 0;
  for (const auto& program : programs) {
    const GridKernel& kernel = program->kernels[0];
    const int first = static_cast<int>(result.slots.size());
    result.slots.insert(result.slots.end(), program->slots.begin(), program->slots.end());
    for (int slot : program->outputs) result.outputs.push_back(first + slot);
    if (known.insert(kernel.name).second) absl::StrAppend(&functions, FunctionOf(kernel));
    std::vector<std::string> arguments = {absl::StrCat("blockIdx.x - ", all.blocks)};
    for (const bool written : {false, true}) {
      for (int slot : written ? kernel.writes : kernel.reads) {
        arguments.push_back(absl::StrCat("p", first + slot));
        parameters[written].push_back(absl::StrCat(written ? "" : "const ",
                                                   TypeName(program->slots[slot].dtype),
                                                   "* __restrict__ ", arguments.back()));
        (written ? all.writes : all.reads).push_back(first + slot);
      }
    }
    all.blocks += kernel.blocks;
    absl::StrAppend(&body, "if (blockIdx.x < ", all.blocks, ") return ", kernel.name, "(",
                    absl::StrJoin(arguments, ", "), ");\n");
  }
  parameters[0].insert(parameters[0].end(), parameters[1].begin(), parameters[1].end());
  const std::string rest =
      absl::StrCat("(", absl::StrJoin(parameters[0], ", "), ") {\n", body, "}\n");
  all.name = absl::StrCat("k_", absl::Hex(HashString(functions + rest), absl::kZeroPad16));
  // Another fused kernel in the same source may contain functions of the same name.
  all.code = absl::StrCat("namespace of_", all.name, " {\n", functions,
                          "}  // namespace\nextern \"C\" __global__ void __launch_bounds__(",
                          kThreads, ")\n", all.name, rest);
  all.code = absl::StrReplaceAll(all.code,
                                 {{") return k_", absl::StrCat(") return of_", all.name, "::k_")}});
  all.schedule = absl::StrCat("by element, ", programs.size(), " side by side");
  all.threads = kThreads;
  result.kernels.push_back(std::move(all));
  return result;
}

}  // namespace lemma::codegen
