#include "runtime/cuda/state_in_place.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "kernels/codegen/updates/update_in_place.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::cuda {

namespace {

class InPlace {
 public:
  InPlace(absl::FunctionRef<int(const Value&)> buffer_of, NodeTraitsCache& traits, CudaPlan* plan)
      : buffer_of_(buffer_of), traits_(traits), plan_(*plan) {
    accesses_.resize(plan_.buffers.size());
    for (size_t l = 0; l < plan_.launches.size(); ++l) {
      const std::vector<int> arguments = plan_.Arguments(plan_.launches[l]);
      for (size_t i = 0; i < arguments.size(); ++i) {
        Access& access = accesses_[arguments[i]];
        const int launch = static_cast<int>(l);
        if (i >= plan_.NumReads(plan_.launches[l])) {
          access.writers.push_back(launch);
        } else {
          access.readers.push_back(launch);
        }
      }
    }
  }

  // Whether the value in `old_buffer` may be overwritten by the one in `new_buffer`.
  bool Allows(int old_buffer, int new_buffer) const {
    if (!MayShare(old_buffer, new_buffer)) return false;
    const std::vector<int>& writers = accesses_[new_buffer].writers;
    const std::vector<int>& readers = accesses_[old_buffer].readers;
    if (writers.empty()) return false;
    const int first = writers.front();
    const int read = readers.empty() ? -1 : readers.back();
    if (read < first) return true;
    // If several kernels of one horizontally fused launch read it, they run in no particular order.
    return read == first && std::count(readers.begin(), readers.end(), first) == 1 &&
           DependsElementByElement(plan_.steps[plan_.launches[first].step], old_buffer, new_buffer);
  }

  // If one kernel makes the new value, and can write only the elements that change: replaces the
  // kernel by such a one.
  void WriteOnlyChanges(int old_buffer, int new_buffer) {
    const std::vector<int>& writers = accesses_[new_buffer].writers;
    std::vector<int>& readers = accesses_[old_buffer].readers;
    if (!MayShare(old_buffer, new_buffer) || writers.size() != 1) return;
    const int launch = writers[0];
    CudaStep& step = plan_.steps[plan_.launches[launch].step];
    const bool whole = step.program != nullptr && step.parts.empty() &&
                       step.program->kernels.size() == 1 && step.program->outputs.size() == 1 &&
                       step.buffers[step.program->outputs[0]] == new_buffer;
    if (!whole || (!readers.empty() && readers.back() > launch)) return;
    const auto operands = step.buffers.begin(), end = operands + step.program->num_inputs;
    if (std::count(operands, end, old_buffer) != 1) return;
    const int kept = static_cast<int>(std::find(operands, end, old_buffer) - operands);
    absl::StatusOr<Definition> definition = ComposeNodes(step.nodes, OperandsOf(step.nodes));
    if (!definition.ok()) return;
    for (int i = 0; i < definition->num_inputs(); ++i) {
      definition->inputs[i].dtype = plan_.buffers[step.buffers[i]].type.dtype;
    }
    std::optional<codegen::GridProgram> program = codegen::MakeUpdateInPlace(*definition, kept);
    if (!program) return;
    std::vector<int> buffers(program->slots.size(), -1);
    std::copy(operands, end, buffers.begin());
    buffers[program->outputs[0]] = new_buffer;
    step.buffers = std::move(buffers);
    step.program = std::make_shared<const codegen::GridProgram>(*std::move(program));
    absl::StrAppend(&step.signature, " at a position");
    readers.erase(std::remove(readers.begin(), readers.end(), launch), readers.end());
  }

  void Unite(int old_buffer, int new_buffer) {
    for (CudaStep& step : plan_.steps) {
      const auto uses = [&](int buffer) {
        return std::count(step.buffers.begin(), step.buffers.end(), buffer) > 0;
      };
      if (uses(old_buffer) && uses(new_buffer) && !KeepsElements(step)) AllowAliases(&step);
      std::replace(step.buffers.begin(), step.buffers.end(), new_buffer, old_buffer);
    }
    std::replace(plan_.outputs.begin(), plan_.outputs.end(), new_buffer, old_buffer);
    Access &all = accesses_[old_buffer], &moved = accesses_[new_buffer];
    all.readers.insert(all.readers.end(), moved.readers.begin(), moved.readers.end());
    all.writers.insert(all.writers.end(), moved.writers.begin(), moved.writers.end());
    moved = Access();
  }

 private:
  using Program = std::shared_ptr<const codegen::GridProgram>;
  struct Access {
    std::vector<int> readers, writers;  // launches, ascending; one entry for each argument
  };

  // Whether the value in `old_buffer` is not needed in the end, and the new one is as large.
  bool MayShare(int old_buffer, int new_buffer) const {
    const Buffer &from = plan_.buffers[old_buffer], &to = plan_.buffers[new_buffer];
    return to.kind == Buffer::Kind::kArena && from.type.num_bytes() == to.type.num_bytes() &&
           std::count(plan_.outputs.begin(), plan_.outputs.end(), old_buffer) == 0;
  }

  // Whether element i of `from` is read only to compute element i of `to`.
  bool DependsElementByElement(const CudaStep& step, int from, int to) const {
    const int64_t elements = plan_.buffers[from].type.num_elements();
    absl::flat_hash_set<const Node*> depends;
    bool makes = false;
    for (const NodePtr& node : step.nodes) {
      for (const Value& v : node->inputs()) {
        if (buffer_of_(v) != from && depends.count(&v.node()) == 0) continue;
        const bool same = traits_.Of(*node).pointwise && v.shape() == node->type(0).shape &&
                          node->type(0).num_elements() == elements;
        if (!same) return false;
        depends.insert(node.get());
        makes = makes || buffer_of_(Value(node, 0)) == to;
      }
    }
    return makes;
  }

  // Whether it reads nothing of the memory that it writes.
  static bool KeepsElements(const CudaStep& step) {
    return step.program != nullptr && step.program->kept >= 0;
  }

  // Replaces its kernels by ones that may write what they read.
  void AllowAliases(CudaStep* step) {
    if (step->program == nullptr || aliased_.count(step->program) > 0) return;
    Program& program = with_aliases_[step->program];
    if (program == nullptr) {
      program = std::make_shared<const codegen::GridProgram>(WithAliases(*step->program));
    }
    step->program = program;
    aliased_.insert(program);
  }

  const absl::FunctionRef<int(const Value&)> buffer_of_;
  NodeTraitsCache& traits_;
  CudaPlan& plan_;
  std::vector<Access> accesses_;  // by buffer
  absl::flat_hash_map<Program, Program> with_aliases_;
  absl::flat_hash_set<Program> aliased_;
};

}  // namespace

void UpdateStateInPlace(absl::FunctionRef<int(const Value&)> buffer_of, NodeTraitsCache& traits,
                        CudaPlan* plan) {
  InPlace in_place(buffer_of, traits, plan);
  for (const StatePair& pair : plan->state) {
    const int from = plan->inputs[pair.input], to = plan->outputs[pair.output];
    if (from == to) continue;
    in_place.WriteOnlyChanges(from, to);
    if (in_place.Allows(from, to)) in_place.Unite(from, to);
  }
}

}  // namespace lemma::cuda
