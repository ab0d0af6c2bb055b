#include "runtime/cuda/horizontal_fusion.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/codegen/horizontal_fusion.h"

namespace lemma::cuda {

using codegen::GridKernel;
using codegen::GridProgram;

namespace {

constexpr int64_t kSmallBytes = 64 * 1024;

const GridKernel& OnlyKernel(const CudaStep& step) { return step.program->kernels[0]; }

bool IsSmall(const CudaPlan& plan, const CudaStep& step) {
  if (step.program == nullptr || !codegen::CanFuseHorizontally(*step.program)) return false;
  const std::vector<int>& buffers = step.buffers;
  return std::all_of(buffers.begin(), buffers.end(), [&](int b) {
    return b < 0 || plan.buffers[b].type.num_bytes() <= kSmallBytes;
  });
}

size_t PointersOf(const CudaStep& step) {
  return OnlyKernel(step).reads.size() + OnlyKernel(step).writes.size();
}

CudaStep Together(std::vector<CudaStep> steps) {
  if (steps.size() == 1) return std::move(steps[0]);
  CudaStep result;
  std::map<std::string, int> counts;
  for (const CudaStep& step : steps) ++counts[step.operators];
  result.operators = absl::StrJoin(counts, ", ", [](std::string* text, const auto& count) {
    absl::StrAppend(text, count.second, " ", count.first);
  });
  std::vector<std::shared_ptr<const GridProgram>> programs;
  for (const CudaStep& step : steps) {
    result.nodes.insert(result.nodes.end(), step.nodes.begin(), step.nodes.end());
    result.buffers.insert(result.buffers.end(), step.buffers.begin(), step.buffers.end());
    result.parts.push_back({step.nodes.size(), step.program->slots.size()});
    programs.push_back(step.program);
  }
  result.program = std::make_shared<const GridProgram>(codegen::FuseHorizontally(programs));
  return result;
}

}  // namespace

void FuseSmallLaunches(CudaPlan* plan) {
  const size_t count = plan->steps.size();
  // By buffer: whether a step that does not move reads it. Readers come after the writer.
  std::vector<bool> needed(plan->buffers.size(), false), moves(count, false);
  for (size_t s = count; s-- > 0;) {
    const CudaStep& step = plan->steps[s];
    moves[s] = IsSmall(*plan, step) &&
               std::none_of(OnlyKernel(step).writes.begin(), OnlyKernel(step).writes.end(),
                            [&](int slot) { return needed[step.buffers[slot]]; });
    if (moves[s]) continue;
    if (step.program == nullptr) {  // a copy
      needed[step.buffers[0]] = true;
      continue;
    }
    for (const GridKernel& kernel : step.program->kernels) {
      for (int slot : kernel.reads) needed[step.buffers[slot]] = true;
    }
  }
  // The level of a moving step: after all steps that write what it reads.
  std::vector<int> level_of(plan->buffers.size(), 0);
  std::map<int, std::vector<CudaStep>> levels;
  std::vector<CudaStep> steps;
  for (size_t s = 0; s < count; ++s) {
    CudaStep& step = plan->steps[s];
    if (!moves[s]) {
      steps.push_back(std::move(step));
      continue;
    }
    int level = 0;
    for (int slot : OnlyKernel(step).reads) level = std::max(level, level_of[step.buffers[slot]]);
    for (int slot : OnlyKernel(step).writes) level_of[step.buffers[slot]] = level + 1;
    levels[level].push_back(std::move(step));
  }
  for (auto& [level, small] : levels) {
    std::vector<CudaStep> group;
    size_t pointers = 0;
    for (CudaStep& step : small) {
      if (!group.empty() && pointers + PointersOf(step) > codegen::kMostPointers) {
        steps.push_back(Together(std::exchange(group, {})));
        pointers = 0;
      }
      pointers += PointersOf(step);
      group.push_back(std::move(step));
    }
    steps.push_back(Together(std::move(group)));
  }
  plan->steps = std::move(steps);
}

}  // namespace lemma::cuda
