#include "api/checking/program_parts.h"

#include "runtime/plan/compose_nodes.h"

namespace lemma::api {

std::vector<kernels::ProgramPart> PartsOf(const cuda::CudaStep& step) {
  std::vector<cuda::StepPart> sizes = step.parts;
  if (sizes.empty()) sizes = {{step.nodes.size(), step.program->slots.size()}};
  std::vector<kernels::ProgramPart> parts;
  size_t node = 0, slot = 0, output = 0;
  const std::vector<int>& outputs = step.program->outputs;
  for (const cuda::StepPart& size : sizes) {
    kernels::ProgramPart part;
    part.nodes = absl::MakeConstSpan(step.nodes).subspan(node, size.nodes);
    part.operands = OperandsOf(part.nodes);
    part.first_slot = static_cast<int>(slot);
    for (; output < outputs.size() && outputs[output] < static_cast<int>(slot + size.slots);
         ++output) {
      part.outputs.push_back(outputs[output]);
    }
    node += size.nodes;
    slot += size.slots;
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<std::pair<int, int>> InPlace(const cuda::CudaStep& step) {
  std::vector<std::pair<int, int>> pairs;
  for (const kernels::ProgramPart& part : PartsOf(step)) {
    for (size_t k = 0; k < part.operands.size(); ++k) {
      const int from = part.first_slot + static_cast<int>(k);
      for (int to : step.program->outputs) {
        const bool same = step.buffers[from] >= 0 && step.buffers[from] == step.buffers[to];
        if (same) pairs.emplace_back(from, to);
      }
    }
  }
  return pairs;
}

}  // namespace lemma::api
