#include "api/checking/program_parts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/plan/compose_nodes.h"

namespace lemma::api {

namespace {

// A kernel may read an operand as the narrower value that it was widened from. Then the part begins
// with what widens it.
void AddWidening(const codegen::GridProgram& program, kernels::ProgramPart* part) {
  std::vector<NodePtr> widening;  // operands before users
  for (size_t k = 0; k < part->operands.size(); ++k) {
    Value& operand = part->operands[k];
    const DType stored = program.slots[part->first_slot + k].dtype;
    std::vector<NodePtr> nodes;  // users before operands
    Value narrow = operand;
    while (narrow.dtype() != stored && narrow.node().is_op() &&
           narrow.node().inputs().size() == 1) {
      nodes.push_back(narrow.node_ptr());
      narrow = Value(narrow.node().inputs()[0]);
    }
    if (narrow.dtype() != stored) continue;
    operand = narrow;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (std::count(widening.begin(), widening.end(), *node) == 0) widening.push_back(*node);
    }
  }
  for (const NodePtr& node : part->nodes) {
    if (std::count(widening.begin(), widening.end(), node) == 0) widening.push_back(node);
  }
  part->nodes = std::move(widening);
}

}  // namespace

std::vector<kernels::ProgramPart> PartsOf(const cuda::CudaStep& step) {
  std::vector<cuda::StepPart> sizes = step.parts;
  if (sizes.empty()) sizes = {{step.nodes.size(), step.program->slots.size()}};
  std::vector<kernels::ProgramPart> parts;
  size_t node = 0, slot = 0, output = 0;
  const std::vector<int>& outputs = step.program->outputs;
  for (const cuda::StepPart& size : sizes) {
    kernels::ProgramPart part;
    const auto first = step.nodes.begin() + static_cast<std::ptrdiff_t>(node);
    part.nodes.assign(first, first + static_cast<std::ptrdiff_t>(size.nodes));
    part.operands = OperandsOf(part.nodes);
    part.first_slot = static_cast<int>(slot);
    AddWidening(*step.program, &part);
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
