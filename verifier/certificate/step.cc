#include "verifier/certificate/step.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/rules/held_numbers.h"
#include "verifier/certificate/refusal.h"
#include "verifier/certificate/same_graph.h"

namespace lemma::certificate {
namespace {

bool Suits(SymbolKind kind, const AttrValue& value) {
  switch (kind) {
    case SymbolKind::kInt:
      return std::holds_alternative<int64_t>(value);
    case SymbolKind::kReal:
      return std::holds_alternative<double>(value);
    case SymbolKind::kString:
      return std::holds_alternative<std::string>(value);
    case SymbolKind::kList:
      return std::holds_alternative<std::vector<int64_t>>(value);
    case SymbolKind::kUnknown:
      return true;
  }
  return false;
}

class MatchCheck {
 public:
  MatchCheck(const Substitution& rule, const CertificateStep& step, const Graph& graph)
      : rule_(rule), step_(step), graph_(graph) {}

  absl::StatusOr<Replaced> Run(Coverage* coverage, FiniteWeights* weights) {
    LEMMA_RETURN_IF_ERROR(Symbols());
    LEMMA_RETURN_IF_ERROR(CommonType());
    LEMMA_RETURN_IF_ERROR(Variables(weights));
    LEMMA_RETURN_IF_ERROR(Source());
    LEMMA_RETURN_IF_ERROR(Guard());
    if (!coverage->Covers(symbols_, step_.dtype)) {
      return Refused("the rule's proof does not cover these sizes and attributes");
    }
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Value> targets, Build(rule_.target));
    for (size_t i = 0; i < targets.size(); ++i) {
      const Value from = Bound(rule_.source.outputs[i]);
      if (from.type() != targets[i].type()) {
        return Refused(absl::StrCat("the target has type ", targets[i].type().ToString(), " for ",
                                    from.type().ToString()));
      }
      result_.outputs.emplace_back(from, targets[i]);
    }
    LEMMA_RETURN_IF_ERROR(NoCycle());
    return std::move(result_);
  }

  // Builds a side over given values of the variables.
  absl::StatusOr<std::vector<Value>> RunSide(const Pattern& side, std::vector<Value> vars) {
    result_.vars = std::move(vars);
    return Build(side);
  }

 private:
  absl::Status Symbols() {
    if (step_.symbols.size() != rule_.symbols.size()) return Refused("a symbol has no value");
    for (size_t i = 0; i < rule_.symbols.size(); ++i) {
      if (!Suits(rule_.symbols[i].kind, step_.symbols[i])) {
        return Refused(absl::StrCat("symbol ", rule_.symbols[i].name, " is ",
                                    ToString(step_.symbols[i]), ", which is no ",
                                    Name(rule_.symbols[i].kind)));
      }
      symbols_.push_back(ToExprAttr(step_.symbols[i]));
    }
    return absl::OkStatus();
  }

  // A rule that does more than move data is about floats. Without a use the common type is f32.
  absl::Status CommonType() const {
    bool used = false;
    for (const PatternVar& var : rule_.vars) used |= !var.dtype;
    for (const PatternNode& node : rule_.source.nodes) used |= node.op == nullptr && !node.dtype;
    if (!used && step_.dtype != DType::kF32) return Refused("the rule has no common type");
    const bool moves_only = rule_.contract == FloatContract::kBitExact;
    if (IsSmallFloat(step_.dtype) || (!moves_only && !IsFloat(step_.dtype))) {
      return Refused(absl::StrCat("the rule is not about ", Name(step_.dtype)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<AttrValue> Constant(const Term& term) const {
    if (auto value = Evaluate(term, symbols_)) {
      if (auto constant = ToAttrValue(*value)) return *std::move(constant);
    }
    return Refused(absl::StrCat(term.ToString(), " has no value here"));
  }

  absl::StatusOr<TensorType> TypeOf(const std::optional<DType>& dtype, const Term& dims) const {
    LEMMA_ASSIGN_OR_RETURN(AttrValue value, Constant(dims));
    auto* shape = std::get_if<Shape>(&value);
    if (shape == nullptr) return Refused(absl::StrCat(dims.ToString(), " is no shape"));
    for (int64_t dim : *shape) {
      if (!IsAtLeast(dim, 1)) return Refused("an operand is empty, which no proof covers");
    }
    return TensorType{dtype.value_or(step_.dtype), std::move(*shape)};
  }

  absl::StatusOr<Tensor> Filled(const PatternNode& node) const {
    LEMMA_ASSIGN_OR_RETURN(TensorType type, TypeOf(node.dtype, node.dims));
    constexpr int64_t kLargest = int64_t{1} << 28;
    if (type.num_bytes() > kLargest) return Refused("a constant of the rule is huge");
    LEMMA_ASSIGN_OR_RETURN(const AttrValue fill, Constant(node.fill));
    if (auto* integer = std::get_if<int64_t>(&fill)) {
      return Tensor::Filled(std::move(type), static_cast<double>(*integer));
    }
    auto* real = std::get_if<double>(&fill);
    if (real == nullptr) return Refused(absl::StrCat(node.fill.ToString(), " is no number"));
    return Tensor::Filled(std::move(type), *real);
  }

  bool IsFilledExactly(const PatternNode& node, const Tensor& tensor) const {
    auto fill = Constant(node.fill);
    if (!fill.ok()) return false;
    if (auto* integer = std::get_if<int64_t>(&*fill)) {
      if (!IsFloat(tensor.dtype())) {
        // A u64 has no negative value, although AtInt may give one.
        return tensor.AtInt(0) == *integer && (!IsUnsigned(tensor.dtype()) || *integer >= 0);
      }
      constexpr int64_t kLargest = int64_t{1} << 53;  // double holds all integers up to this one
      return tensor.AtDouble(0) == static_cast<double>(*integer) && *integer <= kLargest &&
             *integer >= -kLargest;
    }
    auto* real = std::get_if<double>(&*fill);
    return real != nullptr && SameBits(AttrValue(*real), AttrValue(tensor.AtDouble(0)));
  }

  absl::Status CheckNumber(const PatternNode& pattern, const Node& node) const {
    const std::string lost = LostNumber(pattern, node, symbols_);
    return lost.empty() ? absl::OkStatus() : Refused(absl::StrCat("the target: ", lost));
  }

  absl::Status Variables(FiniteWeights* weights) {
    if (step_.vars.size() != rule_.vars.size()) return Refused("a variable has no value");
    for (size_t i = 0; i < rule_.vars.size(); ++i) {
      const PatternVar& var = rule_.vars[i];
      LEMMA_ASSIGN_OR_RETURN(Value value, Resolve(graph_, step_.vars[i]));
      LEMMA_ASSIGN_OR_RETURN(const TensorType type, TypeOf(var.dtype, var.dims));
      if (value.type() != type) {
        return Refused(absl::StrCat("variable ", var.name, " has type ", value.type().ToString(),
                                    ", not ", type.ToString()));
      }
      // The float contract relies on it.
      if (var.role != VarRole::kAny && !weights->AreFinite(value)) {
        return Refused(
            absl::StrCat("variable ", var.name, " is no weight, or holds an infinity or NaN"));
      }
      result_.vars.push_back(std::move(value));
    }
    return absl::OkStatus();
  }

  Value Bound(const PatternValue& value) const {
    return value.is_var() ? result_.vars[value.index] : Value(nodes_[value.node], value.index);
  }

  absl::Status Source() {
    const std::vector<PatternNode>& patterns = rule_.source.nodes;
    if (step_.nodes.size() != patterns.size()) return Refused("a node of the source has no place");
    for (size_t n = 0; n < patterns.size(); ++n) {
      LEMMA_ASSIGN_OR_RETURN(const Value value, Resolve(graph_, {step_.nodes[n], 0}));
      nodes_.push_back(value.node_ptr());
      const std::string problem = Differs(patterns[n], value.node());
      if (!problem.empty()) {
        return Refused(
            absl::StrCat("%", step_.nodes[n], " is not what the source has there: ", problem));
      }
      if (patterns[n].op == nullptr) result_.constants.push_back(value);
    }
    return absl::OkStatus();
  }

  // How the node differs from the pattern's; its operands are bound. "" if it does not differ.
  std::string Differs(const PatternNode& pattern, const Node& node) const {
    if (pattern.op == nullptr) {
      auto tensor = Filled(pattern);
      if (!tensor.ok()) return std::string(tensor.status().message());
      const bool same = node.has_payload() && node.payload().SameBytes(*tensor);
      // A constant that only rounds to the pattern's is another constant.
      return same && IsFilledExactly(pattern, *tensor) ? "" : "it is another constant";
    }
    if (!node.is_op() || &node.op() != pattern.op) return "it is no " + pattern.op->name;
    if (node.num_outputs() != pattern.num_outputs()) return "the number of outputs";
    if (node.attrs().size() != pattern.attrs.size()) return "the number of attributes";
    for (const auto& [name, term] : pattern.attrs) {
      auto value = Constant(term);
      if (!value.ok()) return std::string(value.status().message());
      auto it = node.attrs().find(name);
      if (it == node.attrs().end() || !SameBits(it->second, *value)) return "attribute " + name;
    }
    if (std::string lost = LostNumber(pattern, node, symbols_); !lost.empty()) return lost;
    std::vector<Value> inputs;
    for (const PatternValue& input : pattern.inputs) inputs.push_back(Bound(input));
    if (inputs == node.inputs()) return "";
    if (pattern.op->commutative && inputs.size() >= 2) {
      std::swap(inputs[0], inputs[1]);
      if (inputs == node.inputs()) return "";
    }
    return "its operands";
  }

  absl::Status Guard() const {
    for (const Comparison& c : rule_.where) {
      if (!Evaluate(c, symbols_).value_or(false)) {
        return Refused(absl::StrCat("the rule requires ", c.lhs.ToString(), " ", Name(c.relation),
                                    " ", c.rhs.ToString()));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Value>> Build(const Pattern& side) const {
    std::vector<std::vector<Value>> built;
    auto value_of = [&](const PatternValue& v) {
      return v.is_var() ? result_.vars[v.index] : built[v.node][v.index];
    };
    for (const PatternNode& node : side.nodes) {
      if (node.op == nullptr) {
        LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Filled(node));
        const NodePtr constant = Node::Constant(std::move(tensor));
        LEMMA_RETURN_IF_ERROR(CheckNumber(node, *constant));
        built.push_back({Value(constant, 0)});
        continue;
      }
      std::vector<Value> inputs;
      for (const PatternValue& input : node.inputs) inputs.push_back(value_of(input));
      Attrs attrs;
      for (const auto& [name, term] : node.attrs) {
        LEMMA_ASSIGN_OR_RETURN(attrs[name], Constant(term));
      }
      auto outputs = ApplyOp(node.op->name, std::move(inputs), std::move(attrs));
      if (!outputs.ok()) return Refused(absl::StrCat("the target: ", outputs.status().message()));
      if (static_cast<int>(outputs->size()) != node.num_outputs()) {
        return Refused("the target has another number of outputs here");
      }
      LEMMA_RETURN_IF_ERROR(CheckNumber(node, (*outputs)[0].node()));
      built.push_back(*std::move(outputs));
    }
    std::vector<Value> outputs;
    for (const PatternValue& output : side.outputs) outputs.push_back(value_of(output));
    return outputs;
  }

  // Whether no variable can depend on what is replaced because all of them come before all nodes of
  // the source: operands come before their users in nodes(). Else nothing is known.
  bool VariablesComeFirst() const {
    for (const PatternValue& output : rule_.source.outputs) {
      if (output.is_var()) return false;
    }
    if (step_.nodes.empty()) return false;
    const int first = *std::min_element(step_.nodes.begin(), step_.nodes.end());
    return std::all_of(step_.vars.begin(), step_.vars.end(),
                       [&](const ValueAt& var) { return var.position < first; });
  }

  // If a variable needed an output, replacing that output would leave it in use.
  absl::Status NoCycle() const {
    if (VariablesComeFirst()) return absl::OkStatus();
    absl::flat_hash_set<const Node*> replaced, seen;
    for (const auto& [from, to] : result_.outputs) replaced.insert(&from.node());
    std::vector<const Node*> pending;
    for (const Value& v : result_.vars) pending.push_back(&v.node());
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      if (!seen.insert(node).second) continue;
      if (replaced.contains(node)) return Refused("a variable depends on what is replaced");
      for (const Value& input : node->inputs()) pending.push_back(&input.node());
    }
    return absl::OkStatus();
  }

  const Substitution& rule_;
  const CertificateStep& step_;
  const Graph& graph_;
  SymbolValues symbols_;
  std::vector<NodePtr> nodes_;  // by node of the source
  Replaced result_;
};

}  // namespace

absl::StatusOr<Value> Resolve(const Graph& graph, const ValueAt& ref) {
  if (ref.position < 0 || ref.position >= static_cast<int>(graph.nodes().size())) {
    return absl::InvalidArgumentError(absl::StrCat("the graph has no %", ref.position));
  }
  const NodePtr& node = graph.nodes()[ref.position];
  if (ref.output < 0 || ref.output >= node->num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("%", ref.position, " has no output ", ref.output));
  }
  return Value(node, ref.output);
}

absl::StatusOr<Replaced> CheckMatch(const Substitution& rule, const CertificateStep& step,
                                    const Graph& graph, Coverage* coverage,
                                    FiniteWeights* weights) {
  return MatchCheck(rule, step, graph).Run(coverage, weights);
}

absl::StatusOr<std::vector<Value>> Applied(const Substitution& rule, const Pattern& side,
                                           std::vector<Value> vars) {
  return MatchCheck(rule, CertificateStep(), Graph()).RunSide(side, std::move(vars));
}

absl::StatusOr<Graph> Replace(const Graph& graph, const Replacements& replacements) {
  // Values with their replacements.
  absl::flat_hash_map<Value, Value> now(replacements.begin(), replacements.end());
  now.reserve(graph.nodes().size());
  auto renewed = [&](const Value& value) {
    auto it = now.find(value);
    return it == now.end() ? value : it->second;
  };
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    const bool stays = std::none_of(node->inputs().begin(), node->inputs().end(),
                                    [&](const Value& input) { return now.contains(input); });
    if (stays) continue;
    std::vector<Value> inputs;
    for (const Value& input : node->inputs()) inputs.push_back(renewed(input));
    if (inputs == node->inputs()) continue;
    const NodePtr other = Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types());
    for (int i = 0; i < node->num_outputs(); ++i) {
      now.try_emplace(Value(node, i), Value(other, i));  // keeps replacements made before
    }
  }
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  for (const NodePtr& node : graph.nodes()) {
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Value value(node, i);
      if (const absl::string_view label = graph.LabelOf(value); !label.empty()) {
        builder.Label(renewed(value), std::string(label));
      }
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    builder.Output(graph.output_names()[i], renewed(graph.outputs()[i]));
  }
  return std::move(builder).Build();
}

}  // namespace lemma::certificate
