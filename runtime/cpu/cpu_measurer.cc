// Measures single kernels of the CPU back end on random values.
#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/median.h"
#include "base/stopwatch.h"
#include "runtime/cpu/caches.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/kernels/cpu_device.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/weight_only_kernel.h"
#include "runtime/cpu/planner.h"
#include "runtime/staged/cut.h"
#include "runtime/staged/staged.h"

namespace lemma {
namespace cpu {
namespace {

// Values in [0.25, 1.25): no denormals, and no domain errors of logarithms and roots. Integers are
// 0, so that they are valid indices.
absl::StatusOr<Tensor> MadeUp(DType dtype, int64_t elements, std::mt19937* random) {
  constexpr size_t kDistinct = 10007;
  absl::StatusOr<Tensor> t = Tensor::Filled({dtype, {std::max<int64_t>(elements, 1)}}, 0.75);
  if (t.ok() && dtype == DType::kF32) {
    std::uniform_real_distribution<float> uniform(0.25f, 1.25f);
    absl::Span<float> values = t->mutable_data<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = i < kDistinct ? uniform(*random) : values[i - kDistinct];
    }
  }
  return t;
}

// Weights that are more than a vector get integers from 1 to `most`, which kernels of integer
// products need; to other kernels the values do not matter.
void MakeIntegers(const TensorType& type, int most, Tensor* weight) {
  const int64_t elements = type.num_elements();
  const bool is_vector = std::any_of(type.shape.begin(), type.shape.end(),
                                     [&](int64_t size) { return size == elements; });
  if (type.dtype != DType::kF32 || is_vector || elements <= 1) return;
  absl::Span<float> values = weight->mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(1 + i % most);
}

// Whether `v` is one number that KnownExponentOf finds.
bool IsExponent(const CpuKernelSpec& spec, const Value& v) {
  if (!v || !v.node().has_payload() || v.type().num_elements() != 1) return false;
  return std::any_of(spec.nodes.begin(), spec.nodes.end(), [&](const NodePtr& node) {
    return std::count(node->inputs().begin(), node->inputs().end(), v) > 0 &&
           KnownExponentOf(*node).has_value();
  });
}

absl::Span<const char> BytesAt(const void* at, const CpuKernelSpec::Operand& operand) {
  const int64_t bytes = SpanOf(operand.type.shape, operand.strides) * SizeOf(operand.type.dtype);
  return {static_cast<const char*>(at), static_cast<size_t>(bytes)};
}

struct Operands {
  std::vector<Tensor> memory;
  std::vector<void*> in, out;  // pointers into `memory`
  StaticValues statics;
};

absl::StatusOr<Operands> MadeUpOperands(const CpuKernelSpec& spec) {
  std::mt19937 random(1);
  Operands made;
  made.statics.resize(spec.inputs.size());
  // Of a weight-only product, integers as wide as the weight's.
  const int most = spec.def != &WeightOnlyKernel()  ? 8
                   : WeightBitsOf(spec.head()) == 4 ? 8
                   : WeightBitsOf(spec.head()) == 8 ? 100
                                                    : 255;
  auto make = [&](const CpuKernelSpec::Operand& operand) -> absl::StatusOr<void*> {
    absl::StatusOr<Tensor> t =
        MadeUp(operand.type.dtype, SpanOf(operand.type.shape, operand.strides), &random);
    if (!t.ok()) return t.status();
    if (operand.is_static) MakeIntegers(operand.type, most, &*t);
    if (IsExponent(spec, operand.value)) t = operand.value.node().payload();
    made.memory.push_back(*std::move(t));
    return made.memory.back().mutable_raw();
  };
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    absl::StatusOr<void*> at = make(spec.inputs[i]);
    if (!at.ok()) return at.status();
    made.in.push_back(*at);
    if (spec.inputs[i].is_static) {
      made.statics[i] = made.memory.back().Reshaped(spec.inputs[i].type.shape);
    }
  }
  for (const auto& operand : spec.outputs) {
    absl::StatusOr<void*> at = make(operand);
    if (!at.ok()) return at.status();
    made.out.push_back(*at);
  }
  // In a plan the sum is usually added in place. Not if the operand is a part of something larger:
  // its elements would extend beyond the output's.
  if (!spec.in_place.empty() && !spec.nodes.empty() && spec.def != &PointwiseKernel()) {
    const auto& operand = spec.inputs[spec.in_place[0]];
    const auto& result = spec.outputs[0];
    if (operand.type == result.type &&
        SameLayout(operand.type.shape, operand.strides, result.strides)) {
      made.in[spec.in_place[0]] = made.out[0];
    }
  }
  return made;
}

// Strides without gaps in the order of the operand's.
Strides DenseStridesOf(const CpuKernelSpec::Operand& operand) {
  return DenseInOrder(operand.type.shape, DimOrder(operand.type.shape, operand.strides));
}

std::string TextOf(const CpuKernelSpec::Operand& operand) {
  return absl::StrCat(operand.type.ToString(), operand.is_static ? " static" : "", " ",
                      LayoutName(operand.type.shape, DenseStridesOf(operand)));
}

double GapBytes(const CpuKernelSpec& spec) {
  double bytes = 0;
  for (const auto* operands : {&spec.inputs, &spec.outputs}) {
    for (const CpuKernelSpec::Operand& operand : *operands) {
      if (SameLayout(operand.type.shape, operand.strides, DenseStridesOf(operand))) continue;
      bytes += static_cast<double>(operand.type.num_bytes());
    }
  }
  return bytes;
}

// Whether the node, which is fused behind others, adds a static vector along a dimension that can
// be the channels of a product: 1, or the last.
bool IsLight(const Node& node) {
  const int rank = node.type(0).rank();
  for (const Value& v : node.inputs()) {
    if (v.type() != node.type(0) || IsStaticValue(v)) continue;
    for (int channel : {1, rank - 1}) {
      if (channel < 0 || channel >= rank) continue;
      if (PostOpKindOf(node, v, channel) == PostOpKind::kBias) {
        return std::all_of(node.inputs().begin(), node.inputs().end(),
                           [&](const Value& other) { return other == v || IsStaticValue(other); });
      }
    }
  }
  return false;
}

std::string NameOf(const Node& node) {
  std::string text = node.op().key();
  for (const auto& [name, value] : node.attrs()) {
    absl::StrAppend(&text, " ", name, "=", ToString(value));
  }
  if (const auto power = KnownExponentOf(node)) absl::StrAppend(&text, " ^", *power);
  return text;
}

// Adds the functions that `e` applies, without the roundings of stored results.
void AddFunctions(const ScalarExpr& e, std::vector<std::string>* functions) {
  if (e.kind() == ScalarExpr::Kind::kApply && !IsStored(e.fn())) {
    functions->push_back(std::string(Info(e.fn()).name));
  }
  for (const ScalarExpr& arg : e.args()) AddFunctions(arg, functions);
}

// Whether the node is an activation of which IsActivationPair knows a form in two operators.
bool IsSwish(const Node& node) {
  if (node.inputs().size() != 1) return false;
  const std::optional<Eltwise> f = EltwiseOf(node, node.inputs()[0]);
  return f && (f->algorithm == dnnl::algorithm::eltwise_swish ||
               f->algorithm == dnnl::algorithm::eltwise_hardswish);
}

// Adds what nodes [n, …) of a kernel do, and returns how many nodes that are. An activation that is
// written as two operators, such as x * sigmoid(x), does the same as silu.
size_t AddFused(const std::vector<NodePtr>& nodes, size_t n, std::vector<std::string>* fused) {
  const auto add = [&](const Node& node) {
    const NodeTraits& traits = NodeTraitsOf(node);
    if (traits.pointwise && traits.element) return AddFunctions(traits.element->body, fused);
    fused->push_back(NameOf(node));
  };
  const Node& node = *nodes[n];
  if (IsSwish(node)) {
    add(node);
    return 1;
  }
  for (const Value& v : node.inputs()) {
    if (n + 1 == nodes.size() || !IsActivationPair(v, node, *nodes[n + 1])) continue;
    add(node);
    add(*nodes[n + 1]);
    return 2;
  }
  fused->push_back(NameOf(node));
  return 1;
}

KernelTraits TraitsOf(const CpuKernelSpec& spec) {
  KernelTraits traits;
  traits.operators = static_cast<int>(spec.nodes.size());
  traits.work = WorkOf(spec);
  traits.gap_bytes = GapBytes(spec);
  if (spec.nodes.empty() || spec.def == &LayoutKernel()) return traits;
  const bool pointwise = spec.def == &PointwiseKernel();
  traits.core = absl::StrCat(spec.def->name, pointwise ? "" : " " + NameOf(spec.head()), ":");
  if (spec.def == &WeightOnlyKernel()) {
    absl::StrAppend(&traits.core, " ", WeightBitsOf(spec.head()), " bits");
  }
  // The operands of the head, and those from which nodes in front of it compute them.
  const size_t behind = static_cast<size_t>(spec.head_at) + 1;
  std::vector<Value> own;
  for (size_t n = 0; n < behind; ++n) {
    own.insert(own.end(), spec.nodes[n]->inputs().begin(), spec.nodes[n]->inputs().end());
  }
  for (const CpuKernelSpec::Operand& in : spec.inputs) {
    // Of an element-wise kernel, which reads each operand once, the layouts of the large ones.
    const bool counts = pointwise ? in.type.shape == spec.outputs[0].type.shape
                                  : std::find(own.begin(), own.end(), in.value) != own.end() &&
                                        !(in.is_static && in.type.rank() <= 1);
    if (counts) absl::StrAppend(&traits.core, " ", TextOf(in));
  }
  for (const CpuKernelSpec::Operand& out : spec.outputs) {
    absl::StrAppend(&traits.core, " -> ", TextOf(out));
  }
  for (size_t n = pointwise ? 0 : behind; n < spec.nodes.size();) {
    n += IsLight(*spec.nodes[n]) ? 1 : AddFused(spec.nodes, n, &traits.fused);
  }
  std::sort(traits.fused.begin(), traits.fused.end());
  return traits;
}

class CpuMeasurer : public KernelMeasurer {
 public:
  CpuMeasurer(int threads, const CpuOptions& options) : threads_(threads), options_(options) {}

  std::string device() const override {
    return absl::StrCat("cpu, ", DeviceName(), ", threads ", threads_, ", kernels 19",
                        options_.fuse_layout ? "" : ", fusion off",
                        options_.winograd == WinogradUse::kWhereFaster ? "" : ", winograd ",
                        options_.winograd == WinogradUse::kNever    ? "off"
                        : options_.winograd == WinogradUse::kAlways ? "always"
                                                                    : "");
  }

  // What is executed in stages costs what its parts do: an opaque operator costs the same wherever
  // it stands.
  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override {
    if (!NeedsStages(graph)) return PlanPart(graph);
    absl::StatusOr<std::vector<Stage>> stages = Cut(graph);
    if (!stages.ok()) return stages.status();
    KernelPlan result;
    for (const Stage& stage : *stages) {
      if (stage.call != nullptr || stage.outputs.empty()) continue;
      absl::StatusOr<KernelPlan> part = PlanPart(stage.part);
      if (!part.ok()) return part;
      result.peak_bytes = std::max(result.peak_bytes, part->peak_bytes);
      for (PlannedKernel& kernel : part->kernels) {
        for (NodePtr& node : kernel.nodes) {
          const auto origin = stage.origin.find(node.get());
          if (origin != stage.origin.end()) node = origin->second;
        }
        result.kernels.push_back(std::move(kernel));
      }
    }
    return result;
  }

  absl::StatusOr<KernelPlan> PlanPart(const Graph& graph) {
    absl::StatusOr<CpuPlan> plan = PlanGraph(graph, traits_, PlanOptionsOf(false));
    if (!plan.ok()) return plan.status();
    KernelPlan result;
    for (const CpuStep& step : plan->steps) {
      result.kernels.push_back({step.spec->Signature(), step.spec, plan->NodesOf(step)});
    }
    absl::StatusOr<std::vector<int64_t>> scratch = ScratchOf(result.kernels);
    if (!scratch.ok()) return scratch.status();
    std::vector<int> ids;
    result.peak_bytes = PlanMemory(plan->ArenaLives(&ids, *scratch)).total_bytes;
    return result;
  }

  absl::StatusOr<MemoryTimeline> Timeline(const Graph& graph) override {
    absl::StatusOr<CpuPlan> plan = PlanGraph(graph, traits_, PlanOptionsOf(/*with_places=*/true));
    if (!plan.ok()) return plan.status();
    MemoryTimeline timeline;
    std::vector<int> ids, number(plan->buffers.size(), -1);
    for (const CpuStep& step : plan->steps) {
      timeline.kernels.push_back({step.spec->Signature(), step.spec, plan->NodesOf(step)});
    }
    absl::StatusOr<std::vector<int64_t>> scratch = ScratchOf(timeline.kernels);
    if (!scratch.ok()) return scratch.status();
    timeline.buffers = plan->ArenaLives(&ids, *scratch);
    timeline.first_scratch = static_cast<int>(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) number[ids[i]] = static_cast<int>(i);
    auto add = [&](int buffer, std::vector<int>* to) {
      if (buffer >= 0 && number[buffer] >= 0) to->push_back(number[buffer]);
    };
    for (const CpuStep& step : plan->steps) {
      timeline.reads.emplace_back();
      timeline.writes.emplace_back();
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.static_inputs[i] < 0) add(step.inputs[i].buffer, &timeline.reads.back());
      }
      for (const Location& out : step.outputs) add(out.buffer, &timeline.writes.back());
    }
    for (const auto& [value, buffer] : plan->places) {
      if (number[buffer] >= 0) timeline.places.emplace_back(value, number[buffer]);
    }
    timeline.peak_bytes = PlanMemory(timeline.buffers).total_bytes;
    return timeline;
  }

  Work WorkOf(const PlannedKernel& kernel) const override {
    const auto* spec = dynamic_cast<const CpuKernelSpec*>(kernel.spec.get());
    return spec == nullptr ? Work() : cpu::WorkOf(*spec);
  }

  KernelTraits TraitsOf(const PlannedKernel& kernel) const override {
    const auto* spec = dynamic_cast<const CpuKernelSpec*>(kernel.spec.get());
    return spec == nullptr ? KernelTraits() : cpu::TraitsOf(*spec);
  }

  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    const auto* spec = dynamic_cast<const CpuKernelSpec*>(kernel.spec.get());
    if (spec == nullptr) return absl::InvalidArgumentError("a kernel of another back end");
    ThreadScope scope(threads_);
    absl::StatusOr<Operands> operands = MadeUpOperands(*spec);
    if (!operands.ok()) return operands.status();
    CpuKernelSpec made_up = *spec;
    made_up.is_made_up = true;
    absl::StatusOr<std::unique_ptr<Kernel>> built = BuildKernel(made_up, operands->statics);
    if (!built.ok()) return built.status();
    absl::StatusOr<Tensor> scratch =
        Tensor::Allocate({DType::kU8, {static_cast<int64_t>((*built)->scratch_bytes()) + 64}});
    if (!scratch.ok()) return scratch.status();
    MemoryRanges cold = (*built)->PackedWeights(), warm;
    for (size_t i = 0; i < spec->inputs.size(); ++i) {
      const bool is_static = spec->inputs[i].is_static;
      if (is_static && !(*built)->NeedsStatic(static_cast<int>(i))) continue;
      (is_static ? cold : warm).push_back(BytesAt(operands->in[i], spec->inputs[i]));
    }
    for (size_t i = 0; i < spec->outputs.size(); ++i) {
      cold.push_back(BytesAt(operands->out[i], spec->outputs[i]));
    }
    auto run = [&] { return (*built)->Run(operands->in, operands->out, scratch->mutable_raw()); };
    absl::StatusOr<double> median = Median(run, cold, warm);
    Hold(std::move(operands->memory));
    return median;
  }

 private:
  PlanOptions PlanOptionsOf(bool with_places) const {
    return {threads_, options_.fuse_layout, with_places, options_.winograd};
  }

  // The scratch memory of each kernel; unknown for kernels with weights, since those would be
  // packed.
  absl::StatusOr<std::vector<int64_t>> ScratchOf(const std::vector<PlannedKernel>& kernels) {
    std::vector<int64_t> scratch;
    for (const PlannedKernel& kernel : kernels) {
      const auto& spec = dynamic_cast<const CpuKernelSpec&>(*kernel.spec);
      const bool weights = std::any_of(spec.inputs.begin(), spec.inputs.end(),
                                       [](const auto& in) { return in.is_static; });
      auto [known, fresh] = scratch_.try_emplace(kernel.signature, 0);
      if (fresh && !weights) {
        ThreadScope scope(threads_);
        absl::StatusOr<std::unique_ptr<Kernel>> built =
            BuildKernel(spec, StaticValues(spec.inputs.size()));
        if (!built.ok()) return built.status();
        known->second = static_cast<int64_t>((*built)->scratch_bytes());
      }
      scratch.push_back(known->second);
    }
    return scratch;
  }

  // Times depend on where operands lie. While these are held, the next ones lie elsewhere. Large
  // ones are not held: their places matter less, and they would take much memory.
  void Hold(std::vector<Tensor> memory) {
    constexpr int64_t kMostBytes = int64_t{64} << 20;
    int64_t bytes = 0;
    for (const Tensor& tensor : memory) bytes += tensor.type().num_bytes();
    if (bytes > kMostBytes) return;
    held_.push_back(std::move(memory));
    if (held_.size() > 2) held_.pop_front();
  }

  // Repeats until the median is stable: at least 5 runs and 2 ms, at most 50 runs or 0.2 s; 15 runs
  // suffice, or fewer if they say where the median is.
  absl::StatusOr<double> Median(absl::FunctionRef<absl::Status()> run, const MemoryRanges& cold,
                                const MemoryRanges& warm) const {
    std::vector<double> times;
    double total = 0;
    for (int i = 0; i < 52; ++i) {
      ArrangeCaches(cold, warm);
      const Stopwatch stopwatch(threads_);
      if (absl::Status s = run(); !s.ok()) return s;
      const double ms = stopwatch.Ms();
      if (i < 2) continue;  // warming up
      times.push_back(ms);
      total += ms;
      if (times.size() < 5) continue;
      // Half a percent to each side is less than costs are off by in any case (ErrorMs).
      const bool known = times.size() >= 15 || MedianIsKnown(times, 0.01);
      if (total > 200 || (total > 2 && known)) break;
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  }

  int threads_;
  const CpuOptions options_;
  std::deque<std::vector<Tensor>> held_;  // the operands of the last measurements
  NodeTraitsCache traits_;
  absl::flat_hash_map<std::string, int64_t> scratch_;  // bytes, by signature
};

}  // namespace
}  // namespace cpu

std::unique_ptr<KernelMeasurer> MakeCpuMeasurer(int threads, const CpuOptions& options) {
  return std::make_unique<cpu::CpuMeasurer>(threads, options);
}

}  // namespace lemma
