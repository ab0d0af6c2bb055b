#include "runtime/cpu/narrowing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/builder.h"
#include "runtime/cpu/kernels/bf16_products.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/operands.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/plan/use_table.h"
#include "runtime/reference/static_evaluator.h"

namespace lemma::cpu {
namespace {

bool IsNarrow(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

// A value f(source), element by element, where `source` is dynamic and of 8 bits, and all other
// operands are single static numbers.
struct Chain {
  Value source;
  std::vector<NodePtr> nodes;  // that compute it, operands before users
};

// The dynamic operand of an element-wise application, if it is of the result's shape and all others
// are single static numbers.
std::optional<size_t> ArgumentOf(const Node& node) {
  if (!node.is_op() || node.num_outputs() != 1) return std::nullopt;
  const NodeTraits& traits = NodeTraitsOf(node);
  if (!traits.pointwise || !traits.element) return std::nullopt;
  std::optional<size_t> argument;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value& v = node.inputs()[i];
    if (IsStaticValue(v)) {
      if (v.type().num_elements() != 1) return std::nullopt;
      continue;
    }
    if (argument || v.shape() != node.type(0).shape) return std::nullopt;
    argument = i;
  }
  return argument;
}

std::optional<Chain> ChainOf(const Value& v) {
  constexpr size_t kMostNodes = 16;
  Chain chain;
  Value at = v;
  do {
    const std::optional<size_t> argument = ArgumentOf(at.node());
    if (!argument || chain.nodes.size() == kMostNodes) return std::nullopt;
    chain.nodes.push_back(at.node_ptr());
    at = at.node().inputs()[*argument];
  } while (!IsNarrow(at.dtype()));
  chain.source = at;
  std::reverse(chain.nodes.begin(), chain.nodes.end());
  return chain;
}

// `node` with `argument` as its dynamic or only operand; empty unless it applies the same function.
Value Reapplied(const Node& node, const Value& argument) {
  std::vector<Value> inputs = node.inputs();
  const std::optional<size_t> at = ArgumentOf(node);
  if (!at && inputs.size() != 1) return {};
  inputs[at.value_or(0)] = argument;
  const auto made = ApplyOp(node.op().name, std::move(inputs), node.attrs());
  if (!made.ok() || made->front().shape() != argument.shape() ||
      made->front().dtype() != node.type(0).dtype) {
    return {};
  }
  const NodeTraits &now = NodeTraitsOf(made->front().node()), &before = NodeTraitsOf(node);
  const bool same = now.pointwise && now.element &&
                    now.element->body.ToString() == before.element->body.ToString();
  return same ? made->front() : Value();
}

// The results of the chain for all integers of its source's type, ascending; nullopt if they are
// not known.
std::optional<Tensor> TableOf(const Chain& chain) {
  constexpr int64_t kIntegers = 256;
  const DType dtype = chain.source.dtype();
  Shape shape(std::max(1, chain.source.type().rank()), 1);
  shape.back() = kIntegers;
  std::vector<int64_t> integers(kIntegers);
  for (int64_t i = 0; i < kIntegers; ++i) integers[i] = dtype == DType::kU8 ? i : i - 128;
  GraphBuilder builder("table");
  Value at = builder.Constant(*Tensor::FromInts({dtype, shape}, integers));
  for (const NodePtr& node : chain.nodes) {
    at = Reapplied(*node, at);
    if (!at) return std::nullopt;
  }
  static thread_local absl::flat_hash_map<uint64_t, std::optional<Tensor>> known;
  const auto [entry, fresh] = known.try_emplace(at.node().hash());
  if (!fresh) return entry->second;
  const absl::StatusOr<Tensor> values = StaticEvaluator(1).Evaluate(at);
  if (values.ok()) entry->second = values->Reshaped({kIntegers});
  return entry->second;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.type().num_bytes()) == 0;
}

// Whether larger integers give no smaller numbers, none of them is NaN, and equal ones have equal
// bits.
bool IsMonotone(const Tensor& table) {
  for (int64_t i = 0; i + 1 < table.size(); ++i) {
    const double a = table.AtDouble(i), b = table.AtDouble(i + 1);
    if (!(a <= b) || (a == b && std::signbit(a) != std::signbit(b))) return false;
  }
  return true;
}

bool IsIdentity(const Chain& chain, const Value& v) {
  if (chain.source.dtype() != v.dtype()) return false;
  const std::optional<Tensor> table = TableOf(chain);
  if (!table) return false;
  const int64_t first = v.dtype() == DType::kU8 ? 0 : -128;
  for (int64_t i = 0; i < table->size(); ++i) {
    if (table->AtDouble(i) != static_cast<double>(first + i)) return false;
  }
  return true;
}

class Narrower {
 public:
  Narrower(const Graph& graph, NodeTraitsCache& traits)
      : graph_(graph), traits_(traits), uses_(graph), now_(uses_.users.size()) {}

  // The changed graph, with origins in the given one.
  WideGraph Run() {
    for (size_t i = 0; i < uses_.nodes.size(); ++i) Rebuild(static_cast<int>(i));
    GraphBuilder builder(graph_.name());
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      builder.Input(graph_.input_names()[i], graph_.inputs()[i].type());
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      builder.Output(graph_.output_names()[i], NowOf(graph_.outputs()[i]));
    }
    result_.graph = *std::move(builder).Build();
    return std::move(result_);
  }

 private:
  Value& NowOf(const Value& v) { return now_[uses_.IdOf(v)]; }
  Value Added(Value now, const Value& given) {
    if (now != given) result_.origin.try_emplace(now, given);
    return now;
  }

  void Rebuild(int n) {
    const NodePtr& node = uses_.nodes[n];
    if (node->is_op() && HasBf16Products() &&
        (MovedInBf16(node) || RoundedEarly(node) || BoundedEarly(node)))
      return;
    if (!node->is_op() || uses_.is_static[n]) {
      for (int k = 0; k < node->num_outputs(); ++k) NowOf({node, k}) = Value(node, k);
      return;
    }
    if (Moved(node) || Selected(node) || Requantized(node)) return;
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) inputs.push_back(NowOf(v));
    const NodePtr now = inputs == node->inputs() ? node
                                                 : Node::Apply(&node->op(), std::move(inputs),
                                                               node->attrs(), node->types());
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Value given(node, k), made(now, k);
      NowOf(given) = Added(made, given);
      if (!IsNarrow(given.dtype())) continue;
      const std::optional<Chain> chain = ChainOf(made);
      if (chain && IsIdentity(*chain, made)) NowOf(given) = chain->source;
    }
  }

  bool OnlyMoves(const Node& node) const {
    const NodeTraits& traits = traits_.Of(node);
    if (traits.concat_dim) return true;
    if (node.inputs().size() != 1 || (!traits.reshapes && traits.views.empty())) return false;
    int64_t elements = 0;
    for (const TensorType& type : node.types()) elements += type.num_elements();
    return elements <= node.inputs()[0].type().num_elements();
  }

  // Whether all readers of `v` can compute it from narrow numbers themselves, or read it moved.
  // `in_bf16`: from bf16; otherwise from integers.
  bool NeedsNoMemory(const Value& v, bool in_bf16 = false) const {
    if (uses_.IsOutput(v)) return false;
    const std::vector<int>& users = uses_.Users(v);
    return std::all_of(users.begin(), users.end(), [&](int user) {
      const Node& node = *uses_.nodes[user];
      const NodeTraits& traits = traits_.Of(node);
      return traits.pointwise || traits.selects_largest || OnlyMoves(node) ||
             (in_bf16 ? MayReadBf16(node) : IntegerProductOf(node).has_value());
    });
  }

  // Whether the kernel of `node` reads bf16 numbers where it can.
  static bool MayReadBf16(const Node& node) {
    const KernelDef* def = node.is_op() && HasBf16Products() ? FindKernel(node) : nullptr;
    return def != nullptr && def->reads_bf16 && GainsFromBf16(node);
  }

  // `node` over narrow numbers, with the definition that it has over wide ones; nullptr if there is
  // none.
  NodePtr OverNarrow(const Node& node, const std::vector<Value>& sources) const {
    const auto made = ApplyOp(node.op().name, sources, node.attrs());
    if (!made.ok() || static_cast<int>(made->size()) != node.num_outputs()) return nullptr;
    const NodePtr& now = made->front().node_ptr();
    for (int k = 0; k < node.num_outputs(); ++k) {
      const TensorType type = {sources[0].dtype(), node.type(k).shape};
      if ((*made)[k].type() != type || (*made)[k].node_ptr() != now) return nullptr;
    }
    const absl::StatusOr<Definition> a = DefinitionOf(node), b = DefinitionOf(*now);
    return a.ok() && b.ok() && a->ToString() == b->ToString() ? now : nullptr;
  }

  // Computes the chain behind `node`, which is applied to its source as `moved`.
  bool ApplyBehind(const Chain& chain, const NodePtr& moved, const NodePtr& node) {
    std::vector<Value> results;
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Value given(node, k);
      Value at = Added(Value(moved, k), given);
      for (const NodePtr& step : chain.nodes) {
        at = Reapplied(*step, at);
        if (!at) return false;
        Added(at, given);
      }
      results.push_back(at);
    }
    for (int k = 0; k < node->num_outputs(); ++k) NowOf({node, k}) = results[k];
    return true;
  }

  // Applies an operator that only moves elements to the integers.
  bool Moved(const NodePtr& node) {
    if (!OnlyMoves(*node) || IsNarrow(node->type(0).dtype)) return false;
    std::vector<Value> sources;
    std::optional<Chain> first;
    std::optional<Tensor> table;
    for (const Value& v : node->inputs()) {
      std::optional<Chain> chain = ChainOf(NowOf(v));
      if (!chain || !IntegerOperandOf(NowOf(v)) || !NeedsNoMemory(v)) return false;
      sources.push_back(chain->source);
      if (!first) {
        first = std::move(chain);
        continue;
      }
      if (chain->source.dtype() != first->source.dtype()) return false;
      if (!table) table = TableOf(*first);
      const std::optional<Tensor> other = TableOf(*chain);
      if (!table || !other || !SameBits(*table, *other)) return false;
    }
    const NodePtr moved = OverNarrow(*node, sources);
    return moved != nullptr && ApplyBehind(*first, moved, node);
  }

  // Applies an operator that only moves elements to bf16 numbers.
  bool MovedInBf16(const NodePtr& node) {
    if (!OnlyMoves(*node)) return false;
    std::vector<Value> sources;
    for (const Value& v : node->inputs()) {
      if (!WidensBf16(NowOf(v).node()) || !NeedsNoMemory(v, /*in_bf16=*/true)) return false;
      sources.push_back(NowOf(v).node().inputs()[0]);
    }
    const NodePtr moved = OverNarrow(*node, sources);
    const Chain widening{sources[0], {NowOf(node->inputs()[0]).node_ptr()}};
    return moved != nullptr && ApplyBehind(widening, moved, node);
  }

  // Rounds numbers to bf16 in front of the operators that only move them; not at all, if they are
  // bf16 numbers already.
  bool RoundedEarly(const NodePtr& node) {
    if (!RoundsToBf16(*node)) return false;
    std::vector<const Node*> moves;
    Value from = node->inputs()[0];
    while (from.node().is_op() && from.node().num_outputs() == 1 && OnlyMoves(from.node()) &&
           from.node().inputs().size() == 1 && !uses_.IsOutput(from) &&
           uses_.Users(from).size() == 1 && !uses_.is_static[uses_.NodeOf(from.node())]) {
      moves.push_back(&from.node());
      from = from.node().inputs()[0];
    }
    const bool is_rounded = WidensBf16(NowOf(from).node());
    if (moves.empty() && !is_rounded) return false;
    const Value given(node, 0);
    Value at = is_rounded ? NowOf(from).node().inputs()[0]
                          : Added(Value(Node::Apply(&node->op(), {NowOf(from)}, node->attrs(),
                                                    {{DType::kBF16, from.shape()}}),
                                        0),
                                  given);
    for (size_t i = moves.size(); i-- > 0;) {
      const NodePtr moved = OverNarrow(*moves[i], {at});
      if (moved == nullptr) return false;
      at = Added(Value(moved, 0), given);
    }
    NowOf(given) = at;
    return true;
  }

  // Applies a relu or bounds, which are bf16 numbers, in front of a rounding to bf16 instead of
  // behind it: the same, since rounding is monotone and changes no bf16 number.
  bool BoundedEarly(const NodePtr& node) {
    if (node->num_outputs() != 1 || node->inputs().empty() ||
        uses_.is_static[uses_.NodeOf(*node)]) {
      return false;
    }
    const Value& wide = node->inputs()[0];
    if (!WidensBf16(wide.node()) || !RoundsToBf16(wide.node().inputs()[0].node())) return false;
    const Value& narrow = wide.node().inputs()[0];
    for (const Value& v : {wide, narrow}) {
      if (uses_.IsOutput(v) || uses_.Users(v).size() != 1) return false;
    }
    const std::optional<Eltwise> f = EltwiseOf(*node, wide);
    const auto is_bf16 = [](float x) { return BFloat16ToFloat(FloatToBFloat16(x)) == x; };
    const bool bounds =
        f &&
        ((f->algorithm == dnnl::algorithm::eltwise_relu && f->alpha == 0) ||
         (f->algorithm == dnnl::algorithm::eltwise_clip && is_bf16(f->alpha) && is_bf16(f->beta)));
    if (!bounds) return false;
    const Value given(node, 0);
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) {
      inputs.push_back(v == wide ? NowOf(narrow.node().inputs()[0]) : NowOf(v));
    }
    Value at = Added(
        Value(Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types()), 0), given);
    for (const Node* convert : {&narrow.node(), &wide.node()}) {
      at = Added(Value(Node::Apply(&convert->op(), {at}, convert->attrs(), convert->types()), 0),
                 given);
    }
    NowOf(given) = at;
    return true;
  }

  // Applies an operator that selects largest elements to the integers, if it has a kernel there.
  bool Selected(const NodePtr& node) {
    if (!traits_.Of(*node).selects_largest || IsNarrow(node->type(0).dtype)) return false;
    const std::optional<Chain> chain = ChainOf(NowOf(node->inputs()[0]));
    if (!chain) return false;
    const NodePtr selected = OverNarrow(*node, {chain->source});
    if (selected == nullptr || FindKernel(*selected) == nullptr) return false;
    const std::optional<Tensor> table = TableOf(*chain);
    return table && IsMonotone(*table) && ApplyBehind(*chain, selected, node);
  }

  // Quantizes the operands of a concatenation in place of its result, if they are functions of
  // integers.
  bool Requantized(const NodePtr& last) {
    if (last->num_outputs() != 1 || !IsNarrow(last->type(0).dtype)) return false;
    Chain behind;
    Value at(last, 0);
    while (true) {
      const std::optional<size_t> argument = ArgumentOf(at.node());
      if (!argument) break;
      behind.nodes.push_back(at.node_ptr());
      at = at.node().inputs()[*argument];
      if (uses_.IsOutput(at) || uses_.Users(at).size() != 1 || IsNarrow(at.dtype())) return false;
    }
    if (behind.nodes.empty() || !at.node().is_op() || !traits_.Of(at.node()).concat_dim ||
        ChainOf(NowOf(at))) {
      return false;
    }
    std::reverse(behind.nodes.begin(), behind.nodes.end());
    std::vector<Value> parts;
    for (const Value& v : at.node().inputs()) {
      Value part = NowOf(v);
      if (!ChainOf(part) || !NeedsNoMemory(v)) return false;
      for (const NodePtr& node : behind.nodes) {
        part = Reapplied(*node, part);
        if (!part) return false;
        Added(part, Value(node, 0));
      }
      const std::optional<Chain> chain = ChainOf(part);
      if (chain && IsIdentity(*chain, part)) part = chain->source;
      parts.push_back(part);
    }
    const NodePtr concat = OverNarrow(at.node(), parts);
    if (concat == nullptr) return false;
    NowOf({last, 0}) = Added(Value(concat, 0), Value(last, 0));
    return true;
  }

  const Graph& graph_;
  NodeTraitsCache& traits_;
  const UseTable uses_;
  std::vector<Value> now_;  // by value
  WideGraph result_;
};

bool ReadsNarrow(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    for (const Value& v : node->inputs()) {
      if (IsNarrow(v.dtype()) && !IsStaticValue(v)) return true;
    }
    if (HasBf16Products() && WidensBf16(*node)) return true;
  }
  return false;
}

}  // namespace

WideGraph Narrowed(WideGraph wide, NodeTraitsCache& traits) {
  if (!ReadsNarrow(wide.graph)) return wide;
  WideGraph narrow = Narrower(wide.graph, traits).Run();
  for (auto& [now, given] : narrow.origin) given = wide.OriginOf(given);
  narrow.origin.insert(wide.origin.begin(), wide.origin.end());
  return narrow;
}

}  // namespace lemma::cpu
