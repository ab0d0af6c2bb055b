#include "runtime/reference/reference.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/expr/arithmetic.h"
#include "kernels/evaluate/evaluate.h"
#include "runtime/plan/group_work.h"
#include "runtime/plan/node_traits.h"
#include "runtime/staged/staged.h"

namespace lemma {
namespace {

DType StorageOf(DType dtype, BetweenOperators values) {
  return IsFloat(dtype) && values == BetweenOperators::kUnrounded ? DType::kF64 : dtype;
}

// A node ready to run.
struct Loops {
  LoopProgram program;
  bool integers = false;
  bool in_float = false;  // if not integers: in float instead of double
};

absl::Status Annotate(const absl::Status& status, const Node& node) {
  return absl::Status(status.code(), absl::StrCat(node.op().name, ": ", status.message()));
}

absl::StatusOr<Loops> CompileNode(const Node& node) {
  absl::StatusOr<Definition> definition = DefinitionOf(node);
  if (!definition.ok()) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", node.op().name, " (", definition.status().message(), ")"));
  }
  absl::StatusOr<LoopProgram> program = CompileLoops(*definition);
  if (!program.ok()) return Annotate(program.status(), node);
  return Loops{*std::move(program), ArithmeticFor(*definition) == Arithmetic::kInteger};
}

absl::Status RunNode(const Node& node, const Loops& loops, absl::Span<const Tensor> inputs,
                     std::vector<Tensor>* outputs, int threads) {
  std::vector<TensorView> in;
  for (const Tensor& t : inputs) in.push_back({t.raw(), t.dtype(), RowMajorStrides(t.shape())});
  std::vector<MutableTensorView> out;
  for (Tensor& t : *outputs) {
    out.push_back({t.mutable_raw(), t.dtype(), RowMajorStrides(t.shape())});
  }
  RunOptions options;
  options.threads = threads;
  const absl::Status status = loops.integers   ? Run<int64_t>(loops.program, in, out, options)
                              : loops.in_float ? Run<float>(loops.program, in, out, options)
                                               : Run<double>(loops.program, in, out, options);
  return status.ok() ? status : Annotate(status, node);
}

class ReferenceExecutable : public Executable {
 public:
  ReferenceExecutable(Graph graph, std::vector<Loops> loops, BetweenOperators values, int threads)
      : graph_(std::move(graph)), loops_(std::move(loops)), values_(values), threads_(threads) {
    PlanLifetimes();
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    return Execute(inputs, nullptr);
  }

  absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                               std::vector<KernelTiming>* timings) override {
    timings->clear();
    return Execute(inputs, timings);
  }

  MemoryUse memory() const override { return memory_; }

  std::string Describe() const override {
    const bool rounded = values_ == BetweenOperators::kRounded;
    return absl::StrCat(graph_.num_ops(), " operators by definition, in double",
                        rounded ? ", their results rounded to their types\n" : "\n");
  }

 private:
  absl::StatusOr<std::vector<Tensor>> Execute(absl::Span<const Tensor> inputs,
                                              std::vector<KernelTiming>* timings) {
    if (absl::Status s = CheckInputs(graph_, inputs); !s.ok()) return s;
    using Milliseconds = std::chrono::duration<double, std::milli>;
    const auto begin = std::chrono::steady_clock::now();
    absl::flat_hash_map<Value, Tensor> values;
    absl::flat_hash_map<Value, absl::Status> failed;  // values that cannot be computed
    auto value_of = [&](const Value& v) -> Tensor {
      if (v.node().is_op()) return values.at(v);
      return v.node().has_payload() ? v.node().payload() : inputs[v.node().input_index()];
    };
    const std::vector<NodePtr>& nodes = graph_.nodes();
    for (size_t i = 0, op = 0; i < nodes.size(); ++i) {
      if (!nodes[i]->is_op()) continue;
      const auto start = std::chrono::steady_clock::now();
      std::vector<Tensor> operands, results;
      for (const Value& v : nodes[i]->inputs()) {
        operands.push_back(failed.contains(v) ? Tensor() : value_of(v));
      }
      absl::Status s = ReplaceUnread(*nodes[i], failed, &operands);
      for (const TensorType& type : nodes[i]->types()) {
        absl::StatusOr<Tensor> t = Tensor::Allocate({StorageOf(type.dtype, values_), type.shape});
        if (!t.ok()) return t.status();
        results.push_back(*std::move(t));
      }
      if (s.ok()) s = RunNode(*nodes[i], loops_[op], operands, &results, threads_);
      for (int k = 0; k < nodes[i]->num_outputs(); ++k) {
        const Value result(nodes[i], k);
        if (s.ok()) {
          values[result] = std::move(results[k]);
        } else {
          failed[result] = s;
        }
      }
      for (const Value& v : dead_after_[i]) values.erase(v);
      if (timings != nullptr) {
        const Milliseconds ms = std::chrono::steady_clock::now() - start;
        std::string label(graph_.LabelOf(Value(nodes[i], 0)));
        if (label.empty()) label = absl::StrCat("#", op);
        timings->push_back({nodes[i]->op().name, std::move(label), ms.count(), "", "",
                            WorkOfGroup({&nodes[i], 1}), Milliseconds(start - begin).count()});
      }
      ++op;
    }
    std::vector<Tensor> outputs;
    for (const Value& v : graph_.outputs()) {
      if (auto status = failed.find(v); status != failed.end()) return status->second;
      absl::StatusOr<Tensor> t = Rounded(value_of(v), v.dtype());
      if (!t.ok()) return t.status();
      outputs.push_back(*std::move(t));
    }
    return outputs;
  }

  // Gives operands that could not be computed zeros if the node does not read them, because they
  // are on the side of a Choice that is not taken. Otherwise returns why there is no operand.
  absl::Status ReplaceUnread(const Node& node,
                             const absl::flat_hash_map<Value, absl::Status>& failed,
                             std::vector<Tensor>* operands) {
    if (failed.empty()) return absl::OkStatus();
    const std::optional<Choice>& choice = traits_.Of(node).choice;
    for (size_t k = 0; k < operands->size(); ++k) {
      const auto why = failed.find(node.inputs()[k]);
      if (why == failed.end()) continue;
      const Tensor* condition = choice ? &(*operands)[choice->condition] : nullptr;
      if (condition == nullptr || condition->empty_handle()) return why->second;
      const auto unread = condition->AtInt(0) != 0 ? Choice::Side::kElse : Choice::Side::kThen;
      if (choice->sides[k] != unread) return why->second;
      const TensorType& type = node.inputs()[k].type();
      absl::StatusOr<Tensor> zeros =
          Tensor::Filled({StorageOf(type.dtype, values_), type.shape}, 0);
      if (!zeros.ok()) return zeros.status();
      (*operands)[k] = *std::move(zeros);
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Tensor> Rounded(const Tensor& value, DType dtype) {
    absl::StatusOr<Tensor> result = Tensor::Allocate({dtype, value.shape()});
    if (!result.ok()) return result;
    if (dtype == value.dtype()) {
      const char* from = static_cast<const char*>(value.raw());
      std::copy(from, from + value.type().num_bytes(), static_cast<char*>(result->mutable_raw()));
      return result;
    }
    return Tensor::FromDoubles({dtype, value.shape()}, value.ToDoubles());
  }

  // Finds values without readers after each node, and the resulting bound on memory.
  void PlanLifetimes() {
    const std::vector<NodePtr>& nodes = graph_.nodes();
    absl::flat_hash_map<Value, size_t> last_use;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (int k = 0; k < nodes[i]->num_outputs(); ++k) last_use[Value(nodes[i], k)] = i;
      for (const Value& v : nodes[i]->inputs()) last_use[v] = i;
    }
    for (const Value& v : graph_.outputs()) last_use[v] = nodes.size();
    dead_after_.resize(nodes.size() + 1);
    for (const NodePtr& node : nodes) {
      for (int k = 0; k < node->num_outputs(); ++k) {
        Value v(node, k);
        if (node->is_op()) dead_after_[last_use[v]].push_back(v);
        if (node->has_payload()) memory_.weight_bytes += node->type(k).num_bytes();
      }
    }
    auto bytes = [this](const Value& v) {
      return v.type().num_elements() * SizeOf(StorageOf(v.dtype(), values_));
    };
    int64_t live = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!nodes[i]->is_op()) continue;
      for (int k = 0; k < nodes[i]->num_outputs(); ++k) live += bytes(Value(nodes[i], k));
      memory_.live_bytes = std::max(memory_.live_bytes, live);
      for (const Value& v : dead_after_[i]) live -= bytes(v);
    }
    memory_.planned_bytes = memory_.live_bytes;
  }

  Graph graph_;
  std::vector<Loops> loops_;
  BetweenOperators values_;
  int threads_;
  std::vector<std::vector<Value>> dead_after_;
  NodeTraitsCache traits_;
  MemoryUse memory_;
};

class ReferenceBackend : public Backend {
 public:
  explicit ReferenceBackend(BetweenOperators values) : values_(values) {}

  std::string name() const override { return Rounds() ? "reference" : "reference-f64"; }
  std::string version() const override {
    return Rounds() ? "definitions in double, rounded between operators" : "definitions in double";
  }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions& options) override {
    if (NeedsStages(graph)) return CompileStages(graph, options, MakeReferenceBackend(values_));
    std::vector<Loops> loops;
    for (const NodePtr& node : graph.nodes()) {
      if (!node->is_op() && IsOpaque(node->type(0).dtype)) {
        return absl::UnimplementedError(
            absl::StrCat("unsupported: values of element type ", Name(node->type(0).dtype)));
      }
      if (node->kind() == Node::Kind::kWeight && !node->has_payload()) {
        return absl::FailedPreconditionError(
            absl::StrCat(graph.name(), ": weight ", node->name(), " has no values"));
      }
      if (!node->is_op()) continue;
      absl::StatusOr<Loops> compiled = CompileNode(*node);
      if (!compiled.ok()) return compiled.status();
      loops.push_back(*std::move(compiled));
    }
    return std::make_unique<ReferenceExecutable>(graph, std::move(loops), values_, options.threads);
  }

 private:
  bool Rounds() const { return values_ == BetweenOperators::kRounded; }

  const BetweenOperators values_;
};

absl::StatusOr<std::vector<Tensor>> Evaluate(const Node& node, const Loops& loops,
                                             absl::Span<const Tensor> inputs, int threads) {
  std::vector<Tensor> outputs;
  for (const TensorType& type : node.types()) {
    LEMMA_ASSIGN_OR_RETURN(Tensor t, Tensor::Allocate(type));
    outputs.push_back(std::move(t));
  }
  LEMMA_RETURN_IF_ERROR(RunNode(node, loops, inputs, &outputs, threads));
  return outputs;
}

}  // namespace

std::unique_ptr<Backend> MakeReferenceBackend(BetweenOperators values) {
  return std::make_unique<ReferenceBackend>(values);
}

absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node, absl::Span<const Tensor> inputs,
                                                 int threads) {
  LEMMA_ASSIGN_OR_RETURN(const Loops loops, CompileNode(node));
  return Evaluate(node, loops, inputs, threads);
}

absl::StatusOr<std::vector<Tensor>> EvaluateNodeInFloat(const Node& node,
                                                        absl::Span<const Tensor> inputs) {
  LEMMA_ASSIGN_OR_RETURN(Loops loops, CompileNode(node));
  loops.in_float = true;
  return Evaluate(node, loops, inputs, /*threads=*/1);
}

}  // namespace lemma
