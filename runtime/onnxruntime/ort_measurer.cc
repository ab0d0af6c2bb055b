// Measures groups of operators as ONNX Runtime executes them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/stopwatch.h"
#include "graph/builder.h"
#include "graph/onnx/export.h"
#include "runtime/cpu/caches.h"
#include "runtime/cpu/kernels/cpu_device.h"
#include "runtime/onnxruntime/group_model.h"
#include "runtime/onnxruntime/ort_backend.h"
#include "runtime/onnxruntime/ort_groups.h"
#include "runtime/onnxruntime/ort_library.h"
#include "runtime/onnxruntime/ort_session.h"
#include "runtime/plan/compose_nodes.h"
#include "runtime/plan/group_work.h"

namespace lemma {
namespace ort {
namespace {

struct OrtKernelSpec : KernelSpec {
  GroupSpec group;
};

const OrtKernelSpec* SpecOf(const PlannedKernel& kernel) {
  return dynamic_cast<const OrtKernelSpec*>(kernel.spec.get());
}

cpu::MemoryRanges RangesOf(const std::vector<Tensor>& tensors) {
  cpu::MemoryRanges ranges;
  for (const Tensor& t : tensors) {
    ranges.push_back(
        {static_cast<const char*>(t.raw()), static_cast<size_t>(t.type().num_bytes())});
  }
  return ranges;
}

class OrtMeasurer : public KernelMeasurer {
 public:
  OrtMeasurer(const Library* library, int threads) : library_(library), threads_(threads) {}

  std::string device() const override {
    return absl::StrCat("onnxruntime ", library_->version(), ", ", cpu::ProcessorName(),
                        ", threads ", threads_, ", groups 1");
  }

  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override {
    const UseTable uses(graph);
    KernelPlan plan;
    absl::flat_hash_map<Value, bool> blocked;
    for (const std::vector<int>& positions : GroupsOf(uses, &traits_)) {
      auto spec = std::make_shared<OrtKernelSpec>();
      for (const int i : positions) spec->group.nodes.push_back(uses.nodes[i]);
      for (const Value& v : OperandsOf(spec->group.nodes)) {
        const bool is_static = uses.is_static[uses.NodeOf(v.node())] || v.node().has_payload();
        spec->group.operands.push_back({v, is_static, !is_static && blocked.contains(v)});
      }
      std::string signature = spec->group.Signature();
      auto is_blocked = IsBlocked(signature, spec->group);
      if (!is_blocked.ok()) return is_blocked.status();
      if (*is_blocked) blocked[Value(spec->group.nodes.back(), 0)] = true;
      plan.kernels.push_back({std::move(signature), spec, spec->group.nodes});
    }
    return plan;
  }

  Work WorkOf(const PlannedKernel& kernel) const override {
    return WorkOfGroup(SpecOf(kernel)->group.nodes);
  }

  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    if (last_signature_ != kernel.signature) {
      last_signature_.clear();
      auto model = MakeGroupModel(library_, SpecOf(kernel)->group, threads_);
      if (!model.ok()) return model.status();
      auto ready = Load(*std::move(model));
      // It was made from what Lemma wrote, so it lacks a kernel, whatever the library calls that.
      if (!ready.ok()) return absl::UnimplementedError(ready.status().message());
      last_ = *std::move(ready);
      last_signature_ = kernel.signature;
    }
    if (last_.loaded == nullptr) return kLeastMs;
    if (overhead_ms_ < 0) {
      auto overhead = Overhead();
      if (!overhead.ok()) return overhead.status();
      overhead_ms_ = *overhead;
    }
    auto ms = TimeOf(last_);
    if (!ms.ok()) return absl::UnimplementedError(ms.status().message());
    return std::max(kLeastMs, *ms - overhead_ms_);
  }

 private:
  static constexpr double kLeastMs = 1e-4;  // what a node takes even if it does nothing

  // Whether the group's result has channels in blocks.
  absl::StatusOr<bool> IsBlocked(const std::string& signature, const GroupSpec& group) {
    if (!MayBeBlocked(group.nodes.back()->type(0))) return false;
    auto known = blocked_.find(signature);
    if (known != blocked_.end()) return known->second;
    auto model = MakeGroupModel(library_, group, threads_);
    if (!model.ok()) return model.status();
    return blocked_[signature] = model->is_blocked;
  }

  // What a call takes whose model has next to nothing to do.
  absl::StatusOr<double> Overhead() {
    GraphBuilder builder("nothing");
    const TensorType scalar{DType::kF32, {1}};
    const Value x = builder.Input("x", scalar), y = builder.Input("y", scalar);
    auto sum = builder.Op("add", {x, y});
    if (!sum.ok()) return sum.status();
    builder.Output("z", *sum);
    auto graph = std::move(builder).Build();
    if (!graph.ok()) return graph.status();
    auto exported = ExportOnnx(*graph);
    if (!exported.ok()) return exported.status();
    auto value = Tensor::Filled(scalar, 0.75);
    if (!value.ok()) return value.status();
    auto ready = Load({*std::move(exported), {"x", "y"}, {"z"}, {*value, *value}, false, false});
    return ready.ok() ? TimeOf(*ready) : ready.status();
  }

  // A model that is loaded, with the values of its inputs; not loaded if it has nothing to do.
  struct Ready {
    std::unique_ptr<LoadedModel> loaded;
    std::vector<Tensor> values;
  };
  absl::StatusOr<Ready> Load(GroupModel model) const {
    Ready ready;
    ready.values = std::move(model.values);
    if (model.outputs.empty()) return ready;
    LoadSettings settings;
    settings.threads = threads_;
    if (model.is_optimized) settings.level = OrtLevel::kDisabled;
    auto loaded = LoadedModel::Create(library_, model.model, model.inputs, model.outputs, settings);
    if (!loaded.ok()) return loaded.status();
    ready.loaded = *std::move(loaded);
    return ready;
  }

  // The median: at least 5 runs and 2 ms, at most 50 runs or 0.2 s. Operands are in the caches as
  // after the kernel before, all else is not.
  absl::StatusOr<double> TimeOf(const Ready& ready) const {
    const cpu::MemoryRanges warm = RangesOf(ready.values);
    std::vector<double> times;
    double total = 0;
    for (int i = 0; i < 52; ++i) {
      cpu::ArrangeCaches({}, warm);
      const Stopwatch stopwatch(threads_);
      if (absl::Status s = ready.loaded->RunOnly(ready.values); !s.ok()) return s;
      const double ms = stopwatch.Ms();
      if (i < 2) continue;  // warming up
      times.push_back(ms);
      total += ms;
      if (times.size() >= 5 && (total > 200 || (total > 2 && times.size() >= 15))) break;
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  }

  const Library* const library_;
  const int threads_;
  NodeTraitsCache traits_;
  absl::flat_hash_map<std::string, bool> blocked_;  // by signature
  double overhead_ms_ = -1;                         // negative: not measured yet
  // The kernel measured last: it is often measured several times.
  std::string last_signature_;
  Ready last_;
};

}  // namespace
}  // namespace ort

std::unique_ptr<KernelMeasurer> MakeOrtMeasurer(int threads, const OrtOptions& options) {
  auto library = ort::Library::Load(options.library);
  if (!library.ok()) return nullptr;
  return std::make_unique<ort::OrtMeasurer>(*library, threads);
}

}  // namespace lemma
