// Measures single kernels of the CUDA back end on made-up values.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/plan/compose_nodes.h"
#include "runtime/plan/group_work.h"

namespace lemma {
namespace cuda {
namespace {

struct StepSpec : KernelSpec {
  std::vector<NodePtr> nodes;
};

// The nodes as a graph whose inputs are what they read.
absl::StatusOr<Graph> GraphOfNodes(const std::vector<NodePtr>& nodes) {
  GraphBuilder builder("kernel");
  absl::flat_hash_map<Value, Value> now;
  for (const Value& v : OperandsOf(nodes)) {
    const std::string name = absl::StrCat("x", now.size());
    now[v] = builder.Input(name, v.type());
  }
  for (const NodePtr& node : nodes) {
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) inputs.push_back(now.at(v));
    auto outputs = builder.Ops(node->op().name, inputs, node->attrs());
    if (!outputs.ok()) return outputs.status();
    for (int k = 0; k < node->num_outputs(); ++k) now[Value(node, k)] = (*outputs)[k];
  }
  for (int k = 0; k < nodes.back()->num_outputs(); ++k) {
    builder.Output(absl::StrCat("y", k), now.at(Value(nodes.back(), k)));
  }
  return std::move(builder).Build();
}

class CudaMeasurer : public KernelMeasurer {
 public:
  explicit CudaMeasurer(const CudaOptions& options) : backend_(MakeCudaBackend(options)) {}

  std::string device() const override { return absl::StrCat("cuda, ", backend_->version()); }

  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override {
    absl::StatusOr<CudaPlan> plan = PlanGraph(graph, traits_);
    if (!plan.ok()) return plan.status();
    KernelPlan result;
    for (const Step& step : plan->steps) {
      auto spec = std::make_shared<StepSpec>();
      spec->nodes = step.nodes;
      result.kernels.push_back({step.signature, std::move(spec), step.nodes});
    }
    result.peak_bytes = plan->memory.planned_bytes;
    return result;
  }

  Work WorkOf(const PlannedKernel& kernel) const override { return WorkOfGroup(kernel.nodes); }

  // Operands are in the device's caches where they fit.
  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    const auto* spec = dynamic_cast<const StepSpec*>(kernel.spec.get());
    if (spec == nullptr) return absl::InvalidArgumentError("a kernel of another back end");
    absl::StatusOr<Graph> graph = GraphOfNodes(spec->nodes);
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
    constexpr int kWarmUp = 2, kRuns = 15;
    std::vector<double> times;
    for (int run = 0; run < kWarmUp + kRuns; ++run) {
      std::vector<KernelTiming> rows;
      auto outputs = (*executable)->RunTimed(inputs, &rows);
      if (!outputs.ok()) return outputs.status();
      double ms = 0;
      for (const KernelTiming& row : rows) ms += row.ms;
      if (run >= kWarmUp) times.push_back(ms);
    }
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
  }

 private:
  std::unique_ptr<Backend> backend_;
  NodeTraitsCache traits_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<KernelMeasurer> MakeCudaMeasurer(const CudaOptions& options) {
  return std::make_unique<cuda::CudaMeasurer>(options);
}

}  // namespace lemma
