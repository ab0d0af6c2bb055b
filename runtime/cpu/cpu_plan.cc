#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/planner.h"

namespace lemma::cpu {

std::vector<BufferLife> CpuPlan::ArenaLives(std::vector<int>* ids,
                                            absl::Span<const int64_t> scratch) const {
  std::vector<BufferLife> lives;
  for (size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].kind != PlanBuffer::Kind::kArena) continue;
    lives.push_back({buffers[b].bytes, buffers[b].first_step, buffers[b].last_step});
    ids->push_back(static_cast<int>(b));
  }
  for (size_t s = 0; s < scratch.size(); ++s) {
    const int step = static_cast<int>(s);
    if (scratch[s] > 0) lives.push_back({scratch[s], step, step});
  }
  return lives;
}

bool CpuPlan::MayOverwrite(int input, int output) const {
  int old_buffer = -1, new_buffer = -1;
  for (size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].index == input && buffers[b].kind == PlanBuffer::Kind::kInput) {
      old_buffer = static_cast<int>(b);
    } else if (buffers[b].index == output && buffers[b].kind == PlanBuffer::Kind::kOutput) {
      new_buffer = static_cast<int>(b);
    }
  }
  int last_read = -1, first_write = -1;
  for (size_t s = 0; s < steps.size(); ++s) {
    for (size_t i = 0; i < steps[s].inputs.size(); ++i) {
      if (steps[s].static_inputs[i] < 0 && steps[s].inputs[i].buffer == old_buffer) {
        last_read = static_cast<int>(s);
      }
    }
    for (const Location& out : steps[s].outputs) {
      if (out.buffer == new_buffer && first_write < 0) first_write = static_cast<int>(s);
    }
  }
  if (first_write < 0 || last_read > first_write) return false;
  if (last_read < first_write) return true;
  const CpuStep& step = steps[first_write];
  if (step.spec->def != &PointwiseKernel()) return false;
  const CpuKernelSpec::Operand& to = step.spec->outputs[0];
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.static_inputs[i] >= 0 || step.inputs[i].buffer != old_buffer) continue;
    const CpuKernelSpec::Operand& from = step.spec->inputs[i];
    if (from.type != to.type || step.inputs[i].offset != step.outputs[0].offset ||
        !SameLayout(from.type.shape, from.strides, to.strides)) {
      return false;
    }
  }
  return true;
}

std::vector<NodePtr> CpuPlan::NodesOf(const CpuStep& step) const {
  std::vector<NodePtr> nodes;
  for (const NodePtr& node : step.spec->nodes) {
    const NodePtr& given = wide.OriginOf(node);
    if (std::find(nodes.begin(), nodes.end(), given) == nodes.end()) nodes.push_back(given);
  }
  return nodes;
}

std::string CpuPlan::Describe() const {
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    absl::StrAppend(&text, i, ": ", steps[i].spec->Signature(), "\n");
    for (const Location& out : steps[i].outputs) {
      absl::StrAppend(&text, "   -> buffer ", out.buffer, " + ", out.offset, "\n");
    }
  }
  return text;
}

}  // namespace lemma::cpu
