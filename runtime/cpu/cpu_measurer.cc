// Measures single kernels of the CPU back end on made-up values.
#include <algorithm>
#include <chrono>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/planner.h"

namespace lemma {
namespace cpu {
namespace {

// Values in [0.25, 1.25): no denormals, no domain errors of logarithms and roots. Integers are 0,
// so that they are valid indices.
absl::StatusOr<Tensor> MadeUp(DType dtype, int64_t elements, std::mt19937* random) {
  absl::StatusOr<Tensor> t = Tensor::Filled({dtype, {std::max<int64_t>(elements, 1)}}, 0.75);
  if (t.ok() && dtype == DType::kF32) {
    std::uniform_real_distribution<float> uniform(0.25f, 1.25f);
    for (float& x : t->mutable_data<float>()) x = uniform(*random);
  }
  return t;
}

class CpuMeasurer : public KernelMeasurer {
 public:
  explicit CpuMeasurer(int threads) : threads_(threads) {}

  std::string device() const override {
    return absl::StrCat("cpu, ", DeviceName(), ", threads ", threads_, ", kernels 2");
  }

  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override {
    absl::StatusOr<CpuPlan> plan = PlanGraph(graph, traits_, threads_);
    if (!plan.ok()) return plan.status();
    KernelPlan result;
    for (const PlanStep& step : plan->steps) {
      result.kernels.push_back({step.spec->Signature(), step.spec, step.spec->nodes});
    }
    std::vector<int> ids;
    result.peak_bytes = PlanMemory(plan->ArenaLives(&ids)).total_bytes;
    return result;
  }

  Work WorkOf(const PlannedKernel& kernel) const override {
    Work work;
    const auto* spec = dynamic_cast<const CpuKernelSpec*>(kernel.spec.get());
    if (spec == nullptr) return work;
    for (const NodePtr& node : spec->nodes) {
      absl::StatusOr<Definition> definition = DefinitionOf(*node);
      absl::StatusOr<Work> counted = definition.ok() ? CountWork(*definition) : definition.status();
      if (counted.ok()) work.flops += counted->flops;
    }
    for (const auto& operand : spec->inputs) work.bytes_read += operand.type.num_bytes();
    for (const auto& operand : spec->outputs) work.bytes_written += operand.type.num_bytes();
    return work;
  }

  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    const auto* spec = dynamic_cast<const CpuKernelSpec*>(kernel.spec.get());
    if (spec == nullptr) return absl::InvalidArgumentError("a kernel of another back end");
    ThreadScope scope(threads_);
    std::mt19937 random(1);
    StaticValues statics(spec->inputs.size());
    std::vector<Tensor> memory;
    std::vector<void*> in, out;
    for (size_t i = 0; i < spec->inputs.size(); ++i) {
      const auto& operand = spec->inputs[i];
      absl::StatusOr<Tensor> t =
          MadeUp(operand.type.dtype, SpanOf(operand.type.shape, operand.strides), &random);
      if (!t.ok()) return t.status();
      if (operand.is_static) statics[i] = t->Reshaped(operand.type.shape);
      in.push_back(t->mutable_raw());
      memory.push_back(*std::move(t));
    }
    for (const auto& operand : spec->outputs) {
      absl::StatusOr<Tensor> t =
          MadeUp(operand.type.dtype, SpanOf(operand.type.shape, operand.strides), &random);
      if (!t.ok()) return t.status();
      out.push_back(t->mutable_raw());
      memory.push_back(*std::move(t));
    }
    // In a plan the sum is usually added in place. Not where the operand is a part of something
    // larger: its elements would lie beyond the output's.
    if (spec->in_place >= 0 && !spec->nodes.empty() && spec->def != &PointwiseKernel()) {
      const auto& operand = spec->inputs[spec->in_place];
      const auto& result = spec->outputs[0];
      if (operand.type == result.type &&
          SameLayout(operand.type.shape, operand.strides, result.strides)) {
        in[spec->in_place] = out[0];
      }
    }
    absl::StatusOr<std::unique_ptr<Kernel>> built = spec->def->build(*spec, statics);
    if (!built.ok()) return built.status();
    absl::StatusOr<Tensor> scratch =
        Tensor::Allocate({DType::kU8, {static_cast<int64_t>((*built)->scratch_bytes()) + 64}});
    if (!scratch.ok()) return scratch.status();
    return Median(**built, in, out, scratch->mutable_raw());
  }

 private:
  // Repeats until the median is settled enough: at least 5 runs and 2 ms, at most 50 runs or 0.2 s.
  static absl::StatusOr<double> Median(Kernel& kernel, const std::vector<void*>& in,
                                       const std::vector<void*>& out, void* scratch) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    double total = 0;
    for (int run = 0; run < 52; ++run) {
      const auto start = Clock::now();
      if (absl::Status s = kernel.Run(in, out, scratch); !s.ok()) return s;
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      if (run < 2) continue;  // warming up
      times.push_back(ms);
      total += ms;
      if (times.size() >= 5 && (total > 200 || (total > 2 && times.size() >= 15))) break;
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  }

  int threads_;
  NodeTraitsCache traits_;
};

}  // namespace
}  // namespace cpu

std::unique_ptr<KernelMeasurer> MakeCpuMeasurer(int threads) {
  return std::make_unique<cpu::CpuMeasurer>(threads);
}

}  // namespace lemma
