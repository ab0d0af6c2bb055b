#include "runtime/cpu/widening.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "graph/ops/formula.h"
#include "runtime/cpu/kernels/bf16_products.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/plan/use_table.h"

namespace lemma::cpu {
namespace {

class Widener {
 public:
  Widener(const Graph& graph, NodeTraitsCache& traits)
      : graph_(graph), traits_(traits), uses_(graph) {
    forms_.resize(uses_.users.size());
    is_wide_.assign(uses_.users.size(), false);
  }

  WideGraph Run() {
    if (!Choose()) return {graph_, {}};
    for (size_t i = 0; i < uses_.nodes.size(); ++i) Rebuild(static_cast<int>(i));
    GraphBuilder builder(graph_.name());
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      builder.Input(graph_.input_names()[i], graph_.inputs()[i].type());
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      builder.Output(graph_.output_names()[i], Narrow(graph_.outputs()[i]));
    }
    result_.graph = *std::move(builder).Build();
    return std::move(result_);
  }

 private:
  static Value Cast(const Value& v, DType to) { return Formula(ApplyOp).Cast(v, to); }

  // A value as it was and as an f32; empty if nothing has asked for it.
  struct Widths {
    Value narrow, wide;
  };

  bool IsStatic(int n) const { return uses_.is_static[n]; }
  // Whether `v` is a 16-bit float that is computed at run time.
  bool IsHalf(const Value& v) const {
    return IsHalfFloat(v.dtype()) && !IsStatic(uses_.NodeOf(v.node()));
  }
  bool OnlyMoves(const Node& node) const {
    const NodeTraits& traits = traits_.Of(node);
    return traits.reshapes || !traits.views.empty() || traits.concat_dim.has_value();
  }
  bool HasWideKernel(const NodePtr& node) const {
    if (!traits_.Of(*node).widens || FindKernel(*node) != nullptr) return false;
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) {
      inputs.push_back(IsHalfFloat(v.dtype()) ? Cast(v, DType::kF32) : v);
    }
    return FindKernel(*Applied(*node, std::move(inputs), true)) != nullptr;
  }

  // Finds the values that are kept as f32; whether there are any.
  bool Choose() {
    bool any = false;
    auto choose = [&](const Value& v) {
      if (!IsHalf(v) || is_wide_[uses_.IdOf(v)]) return false;
      is_wide_[uses_.IdOf(v)] = true;
      return any = true;
    };
    std::vector<int> moves;
    for (size_t i = 0; i < uses_.nodes.size(); ++i) {
      const NodePtr& node = uses_.nodes[i];
      if (!node->is_op() || IsStatic(static_cast<int>(i))) continue;
      if (OnlyMoves(*node)) moves.push_back(static_cast<int>(i));
      if (!HasWideKernel(node)) continue;
      for (const Value& v : node->inputs()) choose(v);
      for (int k = 0; k < node->num_outputs(); ++k) choose(Value(node, k));
    }
    for (bool changed = any; changed;) {
      changed = false;
      for (const int n : moves) {
        const NodePtr& node = uses_.nodes[n];
        bool wide = false;
        for (const Value& v : node->inputs()) wide = wide || is_wide_[uses_.IdOf(v)];
        for (int k = 0; k < node->num_outputs(); ++k) {
          wide = wide || is_wide_[uses_.IdOf(Value(node, k))];
        }
        if (!wide) continue;
        for (const Value& v : node->inputs()) changed = choose(v) || changed;
        for (int k = 0; k < node->num_outputs(); ++k) {
          changed = choose(Value(node, k)) || changed;
        }
      }
    }
    return any;
  }

  // `node` over `inputs`, with the same types or with f32 for the 16-bit floats among the results.
  static NodePtr Applied(const Node& node, std::vector<Value> inputs, bool wide) {
    std::vector<TensorType> types = node.types();
    for (TensorType& type : types) {
      if (wide && IsHalfFloat(type.dtype)) type.dtype = DType::kF32;
    }
    return Node::Apply(&node.op(), std::move(inputs), node.attrs(), std::move(types));
  }

  Widths& FormsOf(const Value& v) { return forms_[uses_.IdOf(v)]; }
  Value Added(Value now, const Value& given) {
    if (now != given) result_.origin.try_emplace(now, given);
    return now;
  }
  Value Narrow(const Value& v) {
    Widths& forms = FormsOf(v);
    if (!forms.narrow) forms.narrow = Added(Cast(forms.wide, v.dtype()), v);
    return forms.narrow;
  }
  Value Wide(const Value& v) {
    Widths& forms = FormsOf(v);
    if (!forms.wide) forms.wide = Added(Cast(forms.narrow, DType::kF32), v);
    return forms.wide;
  }

  // As Wide, but as a cast of the 16-bit value: what a kernel reads that multiplies bf16 numbers.
  Value Factor(const Value& v) {
    if (IsStatic(uses_.NodeOf(v.node()))) return Wide(v);
    const Value narrow = Narrow(v), wide = Wide(v);
    return WidensBf16(wide.node()) ? wide : Added(Cast(narrow, DType::kF32), v);
  }
  // Whether the kernel of the application in f32 reads bf16 numbers where it can.
  bool MayReadBf16(const Node& node, const std::vector<Value>& wide_inputs) const {
    if (!HasBf16Products()) return false;
    const NodePtr applied = Applied(node, wide_inputs, /*wide=*/true);
    const KernelDef* def = FindKernel(*applied);
    return def != nullptr && def->reads_bf16 && GainsFromBf16(*applied);
  }

  void Rebuild(int n) {
    const NodePtr& node = uses_.nodes[n];
    bool wide = false;
    for (int k = 0; k < node->num_outputs(); ++k) wide = wide || is_wide_[uses_.IdOf({node, k})];
    for (const Value& v : node->inputs()) wide = wide || is_wide_[uses_.IdOf(v)];
    const bool reads_half = std::any_of(node->inputs().begin(), node->inputs().end(),
                                        [&](const Value& v) { return IsHalf(v); });
    if (!node->is_op() || IsStatic(n)) {
      for (int k = 0; k < node->num_outputs(); ++k) FormsOf({node, k}).narrow = Value(node, k);
      return;
    }
    // An operator that reads only weights, such as a look-up, reads them as they are.
    wide = wide && reads_half && traits_.Of(*node).widens;
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) {
      inputs.push_back(wide && IsHalfFloat(v.dtype()) ? Wide(v) : Narrow(v));
    }
    if (wide && MayReadBf16(*node, inputs)) {
      for (size_t k = 0; k < 2; ++k) {
        if (node->inputs()[k].dtype() == DType::kBF16) inputs[k] = Factor(node->inputs()[k]);
      }
    }
    const NodePtr now = Applied(*node, std::move(inputs), wide);
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Value given(node, k), made = Added(Value(now, k), given);
      Widths& forms = FormsOf(given);
      if (!wide || !IsHalfFloat(given.dtype())) {
        forms.narrow = made;
      } else if (!traits_.Of(*node).rounds) {
        forms.wide = made;
      } else {
        forms.narrow = Added(Cast(made, given.dtype()), given);
      }
    }
  }

  const Graph& graph_;
  NodeTraitsCache& traits_;
  const UseTable uses_;
  std::vector<Widths> forms_;  // by value
  std::vector<bool> is_wide_;  // by value: kept as an f32
  WideGraph result_;
};

bool HasHalf(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    for (const TensorType& type : node->types()) {
      if (IsHalfFloat(type.dtype)) return true;
    }
  }
  return false;
}

}  // namespace

const NodePtr& WideGraph::OriginOf(const NodePtr& node) const {
  auto it = origin.find(Value(node, 0));
  return it == origin.end() ? node : it->second.node_ptr();
}

WideGraph Widened(const Graph& graph, NodeTraitsCache& traits) {
  if (!HasHalf(graph)) return {graph, {}};
  return Widener(graph, traits).Run();
}

}  // namespace lemma::cpu
