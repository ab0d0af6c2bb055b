#include "optimizer/folding/constant_folding.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/expr/arithmetic.h"
#include "graph/onnx/fold.h"
#include "graph/rebuild.h"
#include "graph/sizes/specialize.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma::optimizer {
namespace {

// Results up to this size are always kept; larger ones only up to kMaxGrowth times their operands.
constexpr int64_t kSmallBytes = 1 << 20;
constexpr int64_t kMaxGrowth = 2;
// In f32, of how many elements at most the exact values are kept beside the rounded ones.
constexpr int64_t kMostLookedAt = int64_t{1} << 24;

// Whether rounding changes some element by more than it may change the largest one.
bool IsOutOfRange(absl::Span<const double> exact, const Tensor& rounded) {
  const double unit = rounded.dtype() == DType::kF16    ? 0x1p-11
                      : rounded.dtype() == DType::kBF16 ? 0x1p-8
                      : rounded.dtype() == DType::kF32  ? 0x1p-24
                                                        : 0;
  if (unit == 0) return false;
  double most = 0, error = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(exact[i])) continue;
    most = std::max(most, std::abs(exact[i]));
    error = std::max(error, std::abs(exact[i] - rounded.AtDouble(static_cast<int64_t>(i))));
  }
  return error > 2 * unit * most;
}

bool WorthKeeping(const Node& node) {
  if (WidensIntegers(node)) return false;
  int64_t in = 0, out = 0;
  for (const Value& v : node.inputs()) in += v.type().num_bytes();
  for (const TensorType& type : node.types()) out += type.num_bytes();
  return out <= kSmallBytes || out <= kMaxGrowth * in;
}

// The foldable values that the rest of the graph reads, in the order of the graph's nodes.
std::vector<Value> Frontier(const Graph& graph, const absl::flat_hash_set<const Node*>& foldable) {
  std::vector<Value> result;
  absl::flat_hash_set<Value> seen;
  auto reads = [&](const Value& v) {
    if (foldable.contains(&v.node()) && seen.insert(v).second) result.push_back(v);
  };
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op() || foldable.contains(node.get())) continue;
    for (const Value& v : node->inputs()) reads(v);
  }
  for (const Value& v : graph.outputs()) reads(v);
  return result;
}

// Computes nodes on demand. Keeps values in double, or in their own type if that holds them
// exactly, until the last of `wanted` that depends on them has been asked for.
class Folder {
 public:
  // `exactly`: what results are in double decides whether their types hold them.
  Folder(absl::Span<const Value> wanted, int threads, bool exactly) : exactly_(exactly) {
    options_.threads = threads;
    std::vector<const Node*> pending;
    absl::flat_hash_set<const Node*> seen;
    auto uses = [&](const Value& v) {
      if (!v.node().is_op()) return;
      ++uses_[&v.node()];
      if (seen.insert(&v.node()).second) pending.push_back(&v.node());
    };
    for (const Value& v : wanted) uses(v);
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      for (const Value& v : node->inputs()) {
        uses(v);
        inner_.insert(&v.node());
      }
    }
  }

  // The value is one of `wanted`; to be asked for once.
  absl::StatusOr<Tensor> ValueOf(const Value& value) {
    out_of_range_ = false;
    // Uses an explicit stack, since chains may be long.
    std::vector<NodePtr> stack = {value.node_ptr()};
    while (!stack.empty()) {
      NodePtr node = stack.back();
      if (values_.contains(Value(node, 0))) {  // its operands may be released
        stack.pop_back();
        continue;
      }
      bool ready = true;
      for (const Value& v : node->inputs()) {
        if (v.node().is_op() && !values_.contains(v)) {
          stack.push_back(v.node_ptr());
          ready = false;
        }
      }
      if (!ready) continue;
      stack.pop_back();
      if (absl::Status s = Compute(node); !s.ok()) return s;
    }
    const Tensor wide = values_.at(value);
    Release(value);
    if (wide.type() == value.type()) return wide;
    auto rounded = Tensor::FromDoubles(value.type(), wide.data<double>());
    out_of_range_ = exactly_ && rounded.ok() && IsOutOfRange(wide.data<double>(), *rounded);
    return rounded;
  }
  // Of the value that was asked for last.
  bool out_of_range() const { return out_of_range_; }

 private:
  // One use less; the node's values are dropped after the last.
  void Release(const Value& value) {
    if (!value.node().is_op() || --uses_[&value.node()] > 0) return;
    for (int i = 0; i < value.node().num_outputs(); ++i) {
      values_.erase(Value(value.node_ptr(), i));
    }
  }

  absl::Status Compute(const NodePtr& node) {
    if (!node->is_op() || values_.contains(Value(node, 0))) return absl::OkStatus();
    auto definition = DefinitionOf(*node);
    if (!definition.ok()) return definition.status();
    auto program = CompileLoops(*definition);
    if (!program.ok()) return program.status();
    bool integral = true;
    bool exact = HasExactOutputs(*definition);
    std::vector<TensorView> in;
    for (const Value& v : node->inputs()) {
      const Tensor& tensor = v.node().is_op() ? values_.at(v) : v.node().payload();
      integral &= !IsReal(tensor.dtype());
      exact &= tensor.dtype() == v.dtype();
      in.push_back({tensor.raw(), tensor.dtype(), DenseStrides(tensor.shape())});
    }
    std::vector<Tensor> results;
    std::vector<MutableTensorView> out;
    for (TensorType type : node->types()) {
      integral &= !IsReal(type.dtype);
      // A result that no other one depends on is rounded where it is stored, which is the same for
      // f32 and needs a third of the memory. An exact one, such as a transposed weight, needs no
      // more than its own type.
      const bool is_last = node->num_outputs() == 1 && !inner_.contains(node.get());
      const bool looked_at = exactly_ && type.num_elements() <= kMostLookedAt;
      const bool stays = exact || (is_last && type.dtype == DType::kF32 && !looked_at);
      if (IsFloat(type.dtype) && !stays) type.dtype = DType::kF64;
      auto tensor = Tensor::Allocate(type);
      if (!tensor.ok()) return tensor.status();
      out.push_back({tensor->mutable_raw(), type.dtype, DenseStrides(type.shape)});
      results.push_back(*std::move(tensor));
    }
    absl::Status status = absl::InvalidArgumentError("");
    if (integral) status = Run<int64_t>(*program, in, out, options_);
    // An integer program may contain functions of reals; it is then run in double.
    if (absl::IsInvalidArgument(status)) status = Run<double>(*program, in, out, options_);
    if (!status.ok()) return status;
    for (size_t i = 0; i < results.size(); ++i) {
      values_[Value(node, static_cast<int>(i))] = std::move(results[i]);
    }
    for (const Value& v : node->inputs()) Release(v);
    return absl::OkStatus();
  }

  RunOptions options_;
  const bool exactly_;
  bool out_of_range_ = false;
  absl::flat_hash_map<const Node*, int> uses_;  // that are still to come
  absl::flat_hash_set<const Node*> inner_;      // those that others depend on
  absl::flat_hash_map<Value, Tensor> values_;
};

}  // namespace

bool IsFoldable(const Node& node) {
  // Without a definition, an operator has no output types.
  return !IsSymbolic(node) && WorthKeeping(node) &&
         InferTypes(node.op(), node.input_types(), node.attrs()).ok();
}

absl::flat_hash_set<const Node*> FoldableNodes(const Graph& graph) {
  absl::flat_hash_set<const Node*> result;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    auto known = [&](const Value& v) {
      return v.node().has_payload() || result.contains(&v.node());
    };
    if (!std::all_of(node->inputs().begin(), node->inputs().end(), known)) continue;
    if (IsFoldable(*node)) result.insert(node.get());
  }
  return result;
}

namespace {

absl::StatusOr<Graph> Fold(const Graph& graph, int threads,
                           const absl::flat_hash_set<const Node*>& kept, const Graph* before,
                           bool* out_of_range) {
  absl::flat_hash_set<uint64_t> computed_before;
  if (before != nullptr) {
    for (const Node* node : FoldableNodes(*before)) computed_before.insert(node->hash());
  }
  const absl::flat_hash_set<const Node*> foldable = FoldableNodes(graph);
  if (foldable.empty()) return graph;
  ValueMap replacements;
  std::vector<Value> wanted;
  for (const Value& value : Frontier(graph, foldable)) {
    if (!kept.contains(&value.node())) wanted.push_back(value);
  }
  Folder folder(wanted, threads, before != nullptr);
  for (const Value& value : wanted) {
    auto tensor = folder.ValueOf(value);
    if (absl::IsResourceExhausted(tensor.status())) return tensor.status();
    if (!tensor.ok()) continue;
    if (folder.out_of_range() && !computed_before.contains(value.node().hash())) {
      *out_of_range = true;
    }
    replacements[value] = Value(Node::Constant(*std::move(tensor)), 0);
  }
  return ReplaceValues(graph, replacements);
}

}  // namespace

absl::StatusOr<Graph> FoldConstants(const Graph& graph, int threads,
                                    const absl::flat_hash_set<const Node*>& kept) {
  return Fold(graph, threads, kept, nullptr, nullptr);
}

absl::StatusOr<Graph> FoldConstants(const Graph& graph, int threads,
                                    const absl::flat_hash_set<const Node*>& kept,
                                    const Graph& before, bool* out_of_range) {
  return Fold(graph, threads, kept, &before, out_of_range);
}

Graph AssumeFolded(const Graph& graph) {
  const absl::flat_hash_set<const Node*> foldable = FoldableNodes(graph);
  if (foldable.empty()) return graph;
  ValueMap replacements;
  for (const Value& value : Frontier(graph, foldable)) {
    std::string name = absl::StrCat("folded ", absl::Hex(value.hash(), absl::kZeroPad16));
    replacements[value] = Value(Node::Weight(std::move(name), value.type(), Tensor()), 0);
  }
  return ReplaceValues(graph, replacements);
}

}  // namespace lemma::optimizer
