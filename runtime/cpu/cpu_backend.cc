#include "runtime/cpu/cpu_backend.h"

#include <chrono>
#include <dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/memory/huge_pages.h"
#include "base/stopwatch.h"
#include "runtime/cpu/kernels/cpu_device.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/cpu/planner.h"
#include "runtime/plan/schedule.h"
#include "runtime/reference/static_evaluator.h"
#include "runtime/staged/staged.h"

namespace lemma {
namespace cpu {
namespace {

// A host buffer aligned to cache lines.
absl::StatusOr<Tensor> AllocateBytes(int64_t bytes) {
  return Tensor::Allocate({DType::kU8, {std::max<int64_t>(bytes, 1)}});
}

std::string KernelName(const CpuKernelSpec& spec) {
  if (spec.nodes.empty()) return spec.def->name;
  std::string name;
  for (const NodePtr& node : spec.nodes) {
    absl::StrAppend(&name, name.empty() ? "" : "+", node->op().name);
  }
  return name;
}

class CpuExecutable : public Executable {
 public:
  CpuExecutable(Graph graph, CpuPlan plan, const CompileOptions& options)
      : graph_(std::move(graph)), plan_(std::move(plan)), threads_(options.threads) {
    in_place_of_.assign(graph_.outputs().size(), -1);
    if (!options.update_state_in_place) return;
    for (const StatePair& pair : StatePairs(graph_)) {
      if (plan_.MayOverwrite(pair.input, pair.output)) in_place_of_[pair.output] = pair.input;
    }
  }

  absl::Status Prepare() {
    ThreadScope scope(threads_);
    StaticEvaluator evaluator(threads_, plan_.statics);
    std::vector<int> reads(plan_.statics.size());  // by steps without a kernel
    for (const CpuStep& step : plan_.steps) {
      for (const int id : step.static_inputs) {
        if (id >= 0) ++reads[id];
      }
    }
    statics_.resize(plan_.statics.size());
    std::vector<int64_t> scratch;
    for (const CpuStep& step : plan_.steps) {
      StaticValues values(step.spec->inputs.size());
      std::vector<bool> needed(values.size(), true);
      const auto shared_weights = step.spec->def->shared_weights;
      const std::shared_ptr<const void> shared =
          shared_weights == nullptr ? nullptr : shared_weights(*step.spec, &needed);
      for (size_t i = 0; i < values.size(); ++i) {
        if (step.static_inputs[i] < 0 || !needed[i]) continue;
        absl::StatusOr<Tensor> value = evaluator.Evaluate(plan_.statics[step.static_inputs[i]]);
        if (!value.ok()) return value.status();
        values[i] = *std::move(value);
      }
      absl::StatusOr<std::unique_ptr<Kernel>> kernel = BuildKernel(*step.spec, values);
      if (!kernel.ok()) return kernel.status();
      for (size_t i = 0; i < values.size(); ++i) {
        const int id = step.static_inputs[i];
        if (id < 0) continue;
        if ((*kernel)->NeedsStatic(static_cast<int>(i))) statics_[id] = values[i];
        if (--reads[id] == 0) evaluator.Forget(plan_.statics[id]);
      }
      memory_.weight_bytes += (*kernel)->packed_bytes();
      scratch.push_back(static_cast<int64_t>((*kernel)->scratch_bytes()));
      AddOperands(step);
      kernels_.push_back(*std::move(kernel));
    }
    for (const Tensor& t : statics_) {
      if (!t.empty_handle()) memory_.weight_bytes += t.type().num_bytes();
    }
    return PlaceBuffers(scratch);
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    return RunKernels(inputs, nullptr);
  }

  absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                               std::vector<KernelTiming>* timings) override {
    return RunKernels(inputs, timings);
  }

  MemoryUse memory() const override { return memory_; }
  std::string Describe() const override { return plan_.Describe(); }

 private:
  // An operand's place: a byte offset in a buffer, or a static value.
  struct Place {
    int buffer = -1;
    int64_t bytes = 0;
    int static_id = -1;
  };
  struct Condition {
    Place at;
    bool holds = true;
  };

  absl::Status PlaceBuffers(const std::vector<int64_t>& scratch) {
    std::vector<int> ids;
    const std::vector<BufferLife> lives = plan_.ArenaLives(&ids, scratch);
    const MemoryPlan memory = PlanMemory(lives);
    if (absl::Status s = CheckMemoryPlan(lives, memory); !s.ok()) return s;
    memory_.planned_bytes = memory.total_bytes;
    memory_.live_bytes = memory.live_bytes;
    absl::StatusOr<Tensor> arena = AllocateBytes(memory.total_bytes);
    if (!arena.ok()) return arena.status();
    arena_ = *std::move(arena);
    base_.assign(plan_.buffers.size(), nullptr);
    scratch_.assign(plan_.steps.size(), nullptr);
    for (size_t i = 0; i < lives.size(); ++i) {
      char* const at = static_cast<char*>(arena_.mutable_raw()) + memory.offsets[i];
      (i < ids.size() ? base_[ids[i]] : scratch_[lives[i].first]) = at;
    }
    return absl::OkStatus();
  }

  void AddOperands(const CpuStep& step) {
    std::vector<Place> in, out;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      in.push_back({step.inputs[i].buffer,
                    step.inputs[i].offset * SizeOf(step.spec->inputs[i].type.dtype),
                    step.static_inputs[i]});
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      out.push_back({step.outputs[i].buffer,
                     step.outputs[i].offset * SizeOf(step.spec->outputs[i].type.dtype), -1});
    }
    inputs_.push_back(std::move(in));
    outputs_.push_back(std::move(out));
    std::vector<Condition> conditions;
    for (const CpuStep::Condition& c : step.conditions) {
      conditions.push_back({{c.at.buffer, c.at.offset * SizeOf(DType::kBool), -1}, c.holds});
    }
    conditions_.push_back(std::move(conditions));
  }

  bool IsNeeded(size_t step) const {
    for (const Condition& condition : conditions_[step]) {
      if ((*static_cast<const uint8_t*>(Pointer(condition.at)) != 0) != condition.holds) {
        return false;
      }
    }
    return true;
  }

  void* Pointer(const Place& place) const {
    if (place.static_id >= 0) return const_cast<void*>(statics_[place.static_id].raw());
    return base_[place.buffer] + place.bytes;
  }

  absl::StatusOr<std::vector<Tensor>> RunKernels(absl::Span<const Tensor> inputs,
                                                 std::vector<KernelTiming>* timings) {
    if (absl::Status s = CheckInputs(graph_, inputs); !s.ok()) return s;
    ThreadScope scope(threads_);
    std::vector<Tensor> results;
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      if (in_place_of_[k] >= 0) {
        results.push_back(inputs[in_place_of_[k]]);
        continue;
      }
      absl::StatusOr<Tensor> result = Tensor::Allocate(graph_.outputs()[k].type());
      if (!result.ok()) return result.status();
      PreferHugePages(result->mutable_raw(), static_cast<size_t>(result->type().num_bytes()));
      results.push_back(*std::move(result));
    }
    for (size_t b = 0; b < base_.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind == PlanBuffer::Kind::kInput) {
        base_[b] = static_cast<char*>(const_cast<void*>(inputs[buffer.index].raw()));
      } else if (buffer.kind == PlanBuffer::Kind::kOutput) {
        base_[b] = static_cast<char*>(results[buffer.index].mutable_raw());
      }
    }
    std::vector<double> ms, start_ms;
    std::vector<void*> in, out;
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < kernels_.size(); ++i) {
      in.clear();
      out.clear();
      for (const Place& p : inputs_[i]) in.push_back(Pointer(p));
      for (const Place& p : outputs_[i]) out.push_back(Pointer(p));
      const std::chrono::duration<double, std::milli> since =
          std::chrono::steady_clock::now() - start;
      const Stopwatch stopwatch(threads_);
      const absl::Status s =
          IsNeeded(i) ? kernels_[i]->Run(in, out, scratch_[i]) : absl::OkStatus();
      if (!s.ok()) {
        return absl::Status(s.code(),
                            absl::StrCat(KernelName(*plan_.steps[i].spec), ": ", s.message()));
      }
      if (timings == nullptr) continue;
      ms.push_back(stopwatch.Ms());
      start_ms.push_back(since.count());
    }
    if (timings != nullptr) *timings = Timings(ms, start_ms);
    return results;
  }

  std::vector<KernelTiming> Timings(const std::vector<double>& ms,
                                    const std::vector<double>& start_ms) {
    std::vector<KernelTiming> rows;
    absl::flat_hash_map<Value, size_t>
        first_step;  // by value: the first step that computes a part of it
    for (size_t i = 0; i < ms.size(); ++i) {
      const CpuKernelSpec& spec = *plan_.steps[i].spec;
      if (work_.size() == i) work_.push_back(WorkOf(spec));
      const size_t first = first_step.try_emplace(ValueOf(spec), i).first->second;
      rows.push_back({KernelName(spec), Label(spec, first), ms[i], kernels_[i]->note(),
                      spec.Signature(), work_[i], start_ms[i]});
    }
    return rows;
  }

  // A value of the graph. The kernel computes all or a part of it.
  Value ValueOf(const CpuKernelSpec& spec) const {
    const Value& v = spec.nodes.empty() ? spec.inputs[0].value : spec.outputs[0].value;
    return plan_.wide.OriginOf(v);
  }

  // The value's name; if it has none, the number of the first step that computes a part of it.
  std::string Label(const CpuKernelSpec& spec, size_t first_step) const {
    std::string label(graph_.LabelOf(ValueOf(spec)));
    return label.empty() ? absl::StrCat("#", first_step) : label;
  }

  Graph graph_;
  CpuPlan plan_;
  int threads_;
  std::vector<int> in_place_of_;  // by output: the input whose memory it reuses, or -1
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::vector<Place>> inputs_, outputs_;  // by step
  std::vector<std::vector<Condition>> conditions_;    // by step
  std::vector<Work> work_;                            // by step; empty until requested
  std::vector<Tensor> statics_;                       // those that kernels read at run time
  std::vector<char*> base_;                           // by buffer
  std::vector<char*> scratch_;                        // by step
  Tensor arena_;
  MemoryUse memory_;
};

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options) : options_(options) {}

  std::string name() const override { return "cpu"; }
  std::string version() const override { return DeviceName(); }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions& options) override {
    if (NeedsStages(graph)) return CompileStages(graph, options, MakeCpuBackend(options_));
    absl::StatusOr<CpuPlan> plan = PlanGraph(graph, traits_, OptionsFor(options));
    if (!plan.ok()) return plan.status();
    auto executable = std::make_unique<CpuExecutable>(graph, *std::move(plan), options);
    if (absl::Status s = executable->Prepare(); !s.ok()) {
      return absl::Status(s.code(), absl::StrCat(graph.name(), ": ", s.message()));
    }
    return executable;
  }

  absl::StatusOr<PlanSummary> Plan(const Graph& graph, const CompileOptions& options) override {
    absl::StatusOr<CpuPlan> plan = PlanGraph(graph, traits_, OptionsFor(options));
    if (!plan.ok()) return plan.status();
    PlanSummary summary;
    summary.kernels = static_cast<int>(plan->steps.size());
    summary.text = plan->Describe();
    std::vector<int> ids;
    const MemoryPlan memory = PlanMemory(plan->ArenaLives(&ids));
    summary.memory.planned_bytes = memory.total_bytes;
    summary.memory.live_bytes = memory.live_bytes;
    for (const Value& v : plan->statics) summary.memory.weight_bytes += v.type().num_bytes();
    return summary;
  }

 private:
  PlanOptions OptionsFor(const CompileOptions& compile) const {
    return {compile.threads, options_.fuse_layout, /*with_places=*/false, options_.winograd};
  }

  const CpuOptions options_;
  NodeTraitsCache traits_;
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Backend> MakeCpuBackend(const CpuOptions& options) {
  return std::make_unique<cpu::CpuBackend>(options);
}

}  // namespace lemma
