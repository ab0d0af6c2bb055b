// Measures single kernels of the CUDA back end on random values.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/barrier.h"
#include "graph/builder.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/plan/compose_nodes.h"
#include "runtime/plan/group_work.h"
#if HAVE_CUDA
#include "runtime/cuda/cuda_compiler.h"
#include "runtime/cuda/cuda_executable.h"
#endif

namespace lemma {
namespace cuda {
namespace {

// Ratio of the device memory's bandwidth to that of the host's link: 3.35 TB/s to 64 GB/s (PCIe 5
// x16) for an H100, 2.0 TB/s to 32 GB/s for an A100. Used for copies that were not measured.
constexpr double kTimesSlower = 60;

struct StepSpec : KernelSpec {
  explicit StepSpec(const CudaStep& step)
      : nodes(step.nodes), is_transfer(step.program == nullptr) {}
  std::vector<NodePtr> nodes;
  bool is_transfer;  // between device and host memory
};

const StepSpec* SpecOf(const PlannedKernel& kernel) {
  return dynamic_cast<const StepSpec*>(kernel.spec.get());
}

// A copy to the host's memory and back.
absl::StatusOr<Graph> RoundTrip(const TensorType& type) {
  GraphBuilder builder("kernel");
  const Value x = builder.Input("x", type);
  builder.Output("y", Barrier(Offload(x), x));
  return std::move(builder).Build();
}

#if HAVE_CUDA
absl::StatusOr<double> Time(Executable* executable, const std::vector<Tensor>& inputs) {
  constexpr int kRepeats = 10, kRuns = 7;
  return TimeInSequence(executable, inputs, kRepeats, kRuns);
}

void AddSources(const CudaPlan& plan, std::vector<std::string>* sources) {
  for (const KernelSet& set : KernelSetsOf(plan)) sources->push_back(codegen::SourceOf(set));
}

// The options for the device, if there is one.
CudaOptions ForDevice(CudaOptions options) {
  auto device = OpenDevice();
  if (device.ok()) options.grid.architecture = (*device)->architecture;
  return options;
}

absl::Status Precompile(const std::vector<std::string>& sources) {
  auto device = OpenDevice();
  if (!device.ok()) return device.status();
  return CompileCubins(sources, (*device)->architecture, CubinFolder(),
                       (*device)->driver_version / 1000, CompilerThreads())
      .status();
}
#else
void AddSources(const CudaPlan&, std::vector<std::string>*) {}

CudaOptions ForDevice(const CudaOptions& options) { return options; }

absl::Status Precompile(const std::vector<std::string>&) { return absl::OkStatus(); }

absl::StatusOr<double> Time(Executable*, const std::vector<Tensor>&) {
  return absl::FailedPreconditionError("no CUDA device");
}
#endif

// Lifetimes counted in steps.
MemoryTimeline TimelineOf(const CudaPlan& plan) {
  MemoryTimeline timeline;
  for (const CudaStep& step : plan.steps) {
    timeline.kernels.push_back({step.signature, std::make_shared<StepSpec>(step), step.nodes});
  }
  timeline.peak_bytes = plan.memory.planned_bytes;
  const int end = static_cast<int>(plan.steps.size());
  if (end == 0) return timeline;
  // Converts a time in launches, from 1; times before and after them count as the first and last
  // step.
  auto step_at = [&](int time) {
    if (time <= 0) return 0;
    const size_t launch = static_cast<size_t>(time - 1);
    return launch < plan.launches.size() ? plan.launches[launch].step : end - 1;
  };
  std::vector<bool> is_value(plan.buffers.size(), false);
  for (const auto& place : plan.places) is_value[place.second] = true;
  for (const std::vector<int>* buffers : {&plan.inputs, &plan.outputs}) {
    for (int b : *buffers) is_value[b] = true;
  }
  std::vector<int> number(plan.buffers.size(), -1);
  for (const bool values : {true, false}) {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer& buffer = plan.buffers[b];
      const bool counts =
          buffer.kind == Buffer::Kind::kArena || buffer.kind == Buffer::Kind::kInput;
      if (!counts || is_value[b] != values || buffer.first > buffer.last) continue;
      number[b] = static_cast<int>(timeline.buffers.size());
      timeline.buffers.push_back(
          {buffer.type.num_bytes(), step_at(buffer.first), step_at(buffer.last)});
    }
    if (values) timeline.first_scratch = static_cast<int>(timeline.buffers.size());
  }
  timeline.reads.resize(plan.steps.size());
  timeline.writes.resize(plan.steps.size());
  for (const Launch& launch : plan.launches) {
    const std::vector<int> arguments = plan.Arguments(launch);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (number[arguments[i]] < 0) continue;
      auto& accesses = i < plan.NumReads(launch) ? timeline.reads : timeline.writes;
      accesses[launch.step].push_back(number[arguments[i]]);
    }
  }
  for (const auto& [value, buffer] : plan.places) {
    if (number[buffer] >= 0) timeline.places.emplace_back(value, number[buffer]);
  }
  return timeline;
}

class CudaMeasurer : public KernelMeasurer {
 public:
  explicit CudaMeasurer(const CudaOptions& options)
      : options_(ForDevice(options)), backend_(MakeCudaBackend(options)) {}

  // Change the number when kernels, or the way they are measured, change.
  std::string device() const override {
    return absl::StrCat("cuda, kernels 2, ", backend_->version());
  }

  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override {
    absl::StatusOr<CudaPlan> plan =
        PlanGraph(graph, traits_, {options_.grid, /*horizontal_fusion=*/false});
    if (!plan.ok()) return plan.status();
    KernelPlan result;
    for (const CudaStep& step : plan->steps) {
      result.kernels.push_back({step.signature, std::make_shared<StepSpec>(step), step.nodes});
    }
    result.peak_bytes = plan->memory.planned_bytes;
    return result;
  }

  absl::StatusOr<MemoryTimeline> Timeline(const Graph& graph) override {
    absl::StatusOr<CudaPlan> plan = PlanGraph(
        graph, traits_, {options_.grid, /*horizontal_fusion=*/false, /*with_places=*/true});
    if (!plan.ok()) return plan.status();
    return TimelineOf(*plan);
  }

  bool CanOffload() const override { return true; }

  Work WorkOf(const PlannedKernel& kernel) const override {
    Work work = WorkOfGroup(kernel.nodes);
    if (const StepSpec* spec = SpecOf(kernel); spec != nullptr && spec->is_transfer) {
      work.bytes_read *= kTimesSlower;
      work.bytes_written *= kTimesSlower;
    }
    return work;
  }

  absl::Status Prepare(absl::Span<const PlannedKernel> kernels) override {
    std::vector<std::string> sources;
    for (const PlannedKernel& kernel : kernels) {
      absl::StatusOr<Graph> graph = GraphOf(kernel);
      if (!graph.ok()) return graph.status();
      absl::StatusOr<CudaPlan> plan = PlanGraph(*graph, traits_, {options_.grid});
      if (!plan.ok()) return plan.status();
      AddSources(*plan, &sources);
    }
    return Precompile(sources);
  }

  // Operands are in the device's caches if they fit.
  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    absl::StatusOr<Graph> graph = GraphOf(kernel);
    if (!graph.ok()) return graph.status();
    auto executable = backend_->Compile(*graph, {});
    if (!executable.ok()) return executable.status();
    std::vector<Tensor> inputs;
    for (const Value& v : graph->inputs()) {
      // Integers are 0, so that they are valid indices.
      auto values = Tensor::Filled(v.type(), IsFloat(v.dtype()) ? 0.75 : 0);
      if (!values.ok()) return values.status();
      inputs.push_back(*std::move(values));
    }
    auto ms = Time(executable->get(), inputs);
    const StepSpec* spec = SpecOf(kernel);
    if (ms.ok() && spec != nullptr && spec->is_transfer) *ms /= 2;
    return ms;
  }

 private:
  static absl::StatusOr<Graph> GraphOf(const PlannedKernel& kernel) {
    const StepSpec* spec = SpecOf(kernel);
    if (spec == nullptr && !kernel.nodes.empty() && kernel.spec == nullptr) {
      return GraphOfNodes(kernel.nodes, "kernel", /*keeps_indices=*/true);
    }
    if (spec == nullptr) return absl::InvalidArgumentError("a kernel of another back end");
    if (spec->is_transfer) return RoundTrip(spec->nodes[0]->type(0));
    // Indices stay valid in every run.
    return GraphOfNodes(spec->nodes, "kernel", /*keeps_indices=*/true);
  }

  const CudaOptions options_;
  std::unique_ptr<Backend> backend_;
  NodeTraitsCache traits_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<KernelMeasurer> MakeCudaMeasurer(const CudaOptions& options) {
  return std::make_unique<cuda::CudaMeasurer>(options);
}

}  // namespace lemma
