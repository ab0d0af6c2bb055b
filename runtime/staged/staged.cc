#include "runtime/staged/staged.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/run_time/call.h"
#include "graph/sizes/specialize.h"
#include "runtime/staged/cut.h"
#include "runtime/tolerance.h"

namespace lemma {
namespace {

using Tensors = std::vector<Tensor>;
using Values = absl::flat_hash_map<Value, Tensor>;

// Sizes that are known before the graph runs, or that a result has.
absl::Status BindSizes(const TensorType& declared, const TensorType& given, DimValues* sizes) {
  const auto misfit = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("gives ", given.ToString(), ", declared is ", declared.ToString()));
  };
  if (declared.dtype != given.dtype || declared.rank() != given.rank()) return misfit();
  for (const bool plain : {true, false}) {
    for (int axis = 0; axis < declared.rank(); ++axis) {
      std::map<std::string, SizeRange> dims;
      CollectDims(declared.shape[axis], &dims);
      const bool is_plain =
          dims.size() == 1 && SizeName(declared.shape[axis]) == dims.begin()->first;
      if (plain && is_plain) sizes->emplace(dims.begin()->first, given.shape[axis]);
      if (plain) continue;
      auto size = Evaluate(declared.shape[axis], *sizes);
      if (!size.ok() || *size != given.shape[axis]) return misfit();
    }
  }
  return absl::OkStatus();
}

// A part of the graph, compiled for the sizes at which it was executed last.
class Part {
 public:
  Part(Graph graph, const CompileOptions& options, std::shared_ptr<Backend> backend)
      : graph_(std::move(graph)),
        dims_(DimsOf(graph_)),
        options_(options),
        backend_(std::move(backend)) {}

  const Graph& graph() const { return graph_; }
  bool is_symbolic() const { return !dims_.empty(); }

  absl::StatusOr<Executable*> For(const DimValues& sizes) {
    DimValues own;
    for (const auto& [name, range] : dims_) {
      auto size = sizes.find(name);
      if (size == sizes.end()) {
        return absl::InternalError(absl::StrCat("size ", name, " is read before it is known"));
      }
      own.emplace(*size);
    }
    auto known = std::find_if(plans_.begin(), plans_.end(),
                              [&](const auto& plan) { return plan.first == own; });
    if (known != plans_.end()) {
      plans_.splice(plans_.begin(), plans_, known);
      return plans_.front().second.get();
    }
    LEMMA_ASSIGN_OR_RETURN(Graph sized, Specialize(graph_, own));
    LEMMA_ASSIGN_OR_RETURN(std::unique_ptr<Executable> plan, backend_->Compile(sized, options_));
    plans_.emplace_front(std::move(own), std::move(plan));
    if (plans_.size() > kMaxPlans) plans_.pop_back();
    return plans_.front().second.get();
  }

  // Of the plans that are there.
  void AddMemory(MemoryUse* memory) const {
    for (const auto& [sizes, plan] : plans_) {
      const MemoryUse own = plan->memory();
      memory->weight_bytes += own.weight_bytes;
      memory->planned_bytes += own.planned_bytes;
      memory->live_bytes = std::max(memory->live_bytes, own.live_bytes);
      memory->host_bytes += own.host_bytes;
    }
  }
  std::string Describe() const {
    if (plans_.empty()) return absl::StrCat(graph_.num_ops(), " operators, planned at run time\n");
    return plans_.front().second->Describe();
  }

 private:
  static constexpr size_t kMaxPlans = 16;

  const Graph graph_;
  const std::map<std::string, SizeRange> dims_;
  const CompileOptions options_;
  const std::shared_ptr<Backend> backend_;
  std::list<std::pair<DimValues, std::unique_ptr<Executable>>> plans_;  // used last comes first
};

// A stage that is ready to run: a part or a call, or neither if there is nothing to do.
struct ReadyStage {
  Stage stage;
  std::unique_ptr<Part> part;
  std::unique_ptr<OpaqueCall> call;
  std::shared_ptr<double> call_error;  // the errors of all graphs that `call` executed, summed
  std::vector<Value> read_last;        // values that no later stage reads
};

// Fills `read_last`.
void FindLastReads(std::vector<ReadyStage>* stages) {
  absl::flat_hash_set<Value> read;
  for (auto ready = stages->rbegin(); ready != stages->rend(); ++ready) {
    const Stage& stage = ready->stage;
    const auto note = [&](const Value& v) {
      if (!v.node().has_payload() && read.insert(v).second) ready->read_last.push_back(v);
    };
    for (const Value& v : stage.inputs) note(v);
    for (const RunCondition& condition : stage.conditions) note(condition.condition);
    for (const Value& v : stage.outputs) note(v);
  }
}

class StagedExecutable : public Executable {
 public:
  StagedExecutable(Graph graph, std::vector<ReadyStage> stages)
      : graph_(std::move(graph)), stages_(std::move(stages)) {}

  absl::StatusOr<Tensors> Run(absl::Span<const Tensor> inputs) override {
    return Execute(inputs, nullptr);
  }
  absl::StatusOr<Tensors> RunTimed(absl::Span<const Tensor> inputs,
                                   std::vector<KernelTiming>* timings) override {
    timings->clear();
    return Execute(inputs, timings);
  }

  MemoryUse memory() const override {
    MemoryUse memory;
    for (const ReadyStage& ready : stages_) {
      if (ready.part != nullptr) ready.part->AddMemory(&memory);
    }
    return memory;
  }

  const RunFindings& findings() const override { return findings_; }

  std::string Describe() const override {
    std::string text;
    for (const ReadyStage& ready : stages_) {
      if (ready.part != nullptr) absl::StrAppend(&text, ready.part->Describe());
      if (ready.call != nullptr) {
        absl::StrAppend(&text, ready.stage.call->String("op_type"), ", imported at run time\n");
      }
    }
    return text;
  }

 private:
  using Milliseconds = std::chrono::duration<double, std::milli>;

  absl::StatusOr<Tensors> Execute(absl::Span<const Tensor> inputs,
                                  std::vector<KernelTiming>* timings) {
    LEMMA_RETURN_IF_ERROR(CheckInputs(graph_, inputs));
    const auto begin = std::chrono::steady_clock::now();
    Values values;
    findings_ = {};
    DimValues& sizes = findings_.sizes;
    for (size_t i = 0; i < inputs.size(); ++i) values[graph_.inputs()[i]] = inputs[i];
    for (const ReadyStage& ready : stages_) {
      const Milliseconds start = std::chrono::steady_clock::now() - begin;
      absl::StatusOr<Tensors> results = IsNeeded(ready.stage, values)
                                            ? RunStage(ready, values, timings, start.count())
                                            : Unread(ready.stage, &sizes);
      if (!results.ok()) return results.status();
      if (&ready == &stages_.back()) return results;
      for (size_t i = 0; i < results->size(); ++i) {
        values[ready.stage.outputs[i]] = std::move((*results)[i]);
      }
      for (const Value& v : ready.read_last) values.erase(v);
    }
    return absl::InternalError("a graph without stages");
  }

  static Tensor ValueOf(const Value& v, const Values& values) {
    return v.node().has_payload() ? v.node().payload() : values.at(v);
  }

  static bool IsNeeded(const Stage& stage, const Values& values) {
    return std::all_of(stage.conditions.begin(), stage.conditions.end(),
                       [&](const RunCondition& condition) {
                         const Tensor value = ValueOf(condition.condition, values);
                         return (value.AtInt(0) != 0) == condition.holds;
                       });
  }

  // Zeros for the results of a stage that is not executed. Sizes that nothing determines are the
  // least ones; whatever depends on them is not executed either.
  static absl::StatusOr<Tensors> Unread(const Stage& stage, DimValues* sizes) {
    Tensors results;
    for (const Value& v : stage.outputs) {
      TensorType type = v.type();
      for (int64_t& size : type.shape) {
        std::map<std::string, SizeRange> dims;
        CollectDims(size, &dims);
        for (const auto& [name, range] : dims) sizes->emplace(name, range.least);
        LEMMA_ASSIGN_OR_RETURN(size, Evaluate(size, *sizes));
      }
      LEMMA_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Filled(std::move(type), 0));
      results.push_back(std::move(zeros));
    }
    return results;
  }

  absl::StatusOr<Tensors> RunStage(const ReadyStage& ready, const Values& values,
                                   std::vector<KernelTiming>* timings, double start_ms) {
    Tensors inputs;
    for (const Value& v : ready.stage.inputs) inputs.push_back(ValueOf(v, values));
    if (ready.call != nullptr) return RunCall(ready, inputs, timings, start_ms);
    if (ready.part == nullptr) return Tensors();
    LEMMA_ASSIGN_OR_RETURN(Executable * executable, ready.part->For(findings_.sizes));
    if (timings == nullptr) return executable->Run(inputs);
    std::vector<KernelTiming> own;
    absl::StatusOr<Tensors> results = executable->RunTimed(inputs, &own);
    for (KernelTiming& timing : own) {
      timing.start_ms += start_ms;
      timings->push_back(std::move(timing));
    }
    return results;
  }

  absl::StatusOr<Tensors> RunCall(const ReadyStage& ready, const Tensors& inputs,
                                  std::vector<KernelTiming>* timings, double start_ms) {
    const auto begin = std::chrono::steady_clock::now();
    const Node& node = *ready.stage.call;
    const std::string& op_type = node.String("op_type");
    *ready.call_error = 0;
    LEMMA_ASSIGN_OR_RETURN(Tensors results, ready.call->Run(inputs));
    findings_.errors[&node] = *ready.call_error;
    for (size_t i = 0; i < results.size(); ++i) {
      absl::Status s = BindSizes(node.types()[i], results[i].type(), &findings_.sizes);
      if (!s.ok()) return absl::Status(s.code(), absl::StrCat(op_type, ": ", s.message()));
    }
    if (timings == nullptr) return results;
    const Milliseconds ms = std::chrono::steady_clock::now() - begin;
    KernelTiming timing;
    timing.kernel = op_type;
    timing.label = std::string(graph_.LabelOf(Value(ready.stage.call, 0)));
    if (timing.label.empty()) timing.label = op_type;
    timing.ms = ms.count();
    timing.note = "imported at run time";
    timing.start_ms = start_ms;
    for (const Tensor& tensor : inputs) timing.work.bytes_read += tensor.type().num_bytes();
    for (const Tensor& tensor : results) timing.work.bytes_written += tensor.type().num_bytes();
    timings->push_back(std::move(timing));
    return results;
  }

  const Graph graph_;
  std::vector<ReadyStage> stages_;
  RunFindings findings_;
};

double LargestTolerance(const Graph& graph, const RunFindings& findings) {
  double largest = 0;
  for (double tolerance : RelativeTolerances(graph, findings)) {
    largest = std::max(largest, tolerance);
  }
  return largest;
}

// Compiles what a call imports as the parts are compiled. Each run of such a graph adds its
// tolerance to `error`.
GraphCompiler CallCompiler(const CompileOptions& options, const std::shared_ptr<Backend>& backend,
                           const std::shared_ptr<double>& error) {
  return [=](const Graph& body) -> absl::StatusOr<GraphFunction> {
    LEMMA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, backend->Compile(body, options));
    const double usual = LargestTolerance(body, {});
    return GraphFunction([=](absl::Span<const Tensor> inputs) {
      absl::StatusOr<Tensors> results = executable->Run(inputs);
      const RunFindings& findings = executable->findings();
      const bool found = !findings.sizes.empty() || !findings.errors.empty();
      *error += found ? LargestTolerance(body, findings) : usual;
      return results;
    });
  };
}

CallNames NamesOf(const Stage& stage, const Graph& graph) {
  CallNames names;
  for (const Value& v : stage.inputs) names.inputs.emplace_back(graph.LabelOf(v));
  for (const Value& v : stage.outputs) names.outputs.emplace_back(graph.LabelOf(v));
  return names;
}

}  // namespace

bool NeedsStages(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return node->is_op() && IsCall(*node); });
}

absl::StatusOr<std::unique_ptr<Executable>> CompileStages(const Graph& graph,
                                                          const CompileOptions& options,
                                                          std::shared_ptr<Backend> backend) {
  CompileOptions own = options;
  own.update_state_in_place = false;
  LEMMA_ASSIGN_OR_RETURN(std::vector<Stage> stages, Cut(graph));
  std::vector<ReadyStage> ready;
  for (Stage& stage : stages) {
    ReadyStage next;
    if (stage.call != nullptr) {
      next.call_error = std::make_shared<double>(0);
      LEMMA_ASSIGN_OR_RETURN(next.call,
                             MakeCall(*stage.call, CallCompiler(own, backend, next.call_error),
                                      NamesOf(stage, graph)));
    } else if (!stage.outputs.empty()) {
      next.part = std::make_unique<Part>(stage.part, own, backend);
      if (!next.part->is_symbolic()) LEMMA_RETURN_IF_ERROR(next.part->For({}).status());
    }
    next.stage = std::move(stage);
    ready.push_back(std::move(next));
  }
  FindLastReads(&ready);
  return std::make_unique<StagedExecutable>(graph, std::move(ready));
}

}  // namespace lemma
