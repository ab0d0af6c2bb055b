#include "rewrite/match.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "rewrite/unify.h"

namespace lemma {
namespace {

// All elements have the same bytes.
bool IsUniform(const Tensor& tensor) {
  size_t size = static_cast<size_t>(SizeOf(tensor.dtype()));
  size_t total = static_cast<size_t>(tensor.type().num_bytes());
  const char* bytes = static_cast<const char*>(tensor.raw());
  return total >= size && std::memcmp(bytes, bytes + size, total - size) == 0;
}

bool IsCommuting(const PatternNode& node) {
  return node.op->commutative && node.inputs.size() >= 2 && !(node.inputs[0] == node.inputs[1]);
}

}  // namespace

absl::StatusOr<Matcher> Matcher::Create(const Substitution& rule) {
  Matcher matcher(rule);
  const Pattern& source = rule.source;
  for (const PatternNode& node : source.nodes) {
    auto& literals = matcher.literals_.emplace_back();
    for (const auto& [name, term] : node.attrs) {
      auto value = lemma::Evaluate(term, SymbolValues(rule.symbols.size()));
      literals.push_back(value ? ToAttrValue(*value) : std::nullopt);
    }
  }
  std::vector<bool> planned(source.nodes.size());
  int anchor = source.outputs[0].node;
  matcher.steps_.push_back({anchor, std::nullopt, 0, false});
  matcher.PlanDown(anchor, &planned);
  auto known = [&](const PatternValue& value) {
    if (!value.is_var()) return planned[value.node] && source.nodes[value.node].op != nullptr;
    for (size_t n = 0; n < source.nodes.size(); ++n) {
      const auto& inputs = source.nodes[n].inputs;
      if (planned[n] && std::find(inputs.begin(), inputs.end(), value) != inputs.end()) return true;
    }
    return false;
  };
  std::string anchor_signature = matcher.Signature(source.outputs[0]);
  while (true) {
    auto open = std::find(planned.begin(), planned.end(), false);
    if (open == planned.end()) return matcher;
    bool progress = false;
    for (size_t n = 0; n < source.nodes.size() && !progress; ++n) {
      const PatternNode& node = source.nodes[n];
      for (size_t slot = 0; !planned[n] && node.op != nullptr && slot < node.inputs.size();
           ++slot) {
        if (!known(node.inputs[slot])) continue;
        int number = static_cast<int>(n);
        bool alike = rule.where.empty() && matcher.Signature({number, 0}) == anchor_signature;
        matcher.steps_.push_back({number, node.inputs[slot], static_cast<int>(slot), alike});
        matcher.PlanDown(number, &planned);
        progress = true;
        break;
      }
    }
    if (!progress) {
      return absl::InvalidArgumentError(absl::StrCat(
          "rule ", rule.name, ": the source's outputs share no value to find one from another"));
    }
  }
}

// Plans `node`, whose step is there, and what it is computed from.
void Matcher::PlanDown(int node, std::vector<bool>* planned) {
  (*planned)[node] = true;
  for (const PatternValue& input : rule_->source.nodes[node].inputs) {
    if (input.is_var() || (*planned)[input.node]) continue;
    steps_.push_back({input.node, std::nullopt, 0, false});
    PlanDown(input.node, planned);
  }
}

std::string Matcher::Signature(const PatternValue& value) const {
  if (value.is_var()) return absl::StrCat("v", rule_->vars[value.index].role);
  const PatternNode& node = rule_->source.nodes[value.node];
  if (node.op == nullptr) return absl::StrCat("fill ", node.fill.ToString());
  std::string text = absl::StrCat(node.op->name, ".", value.index, "(");
  for (const PatternValue& input : node.inputs) absl::StrAppend(&text, Signature(input), ",");
  for (const auto& [name, term] : node.attrs) absl::StrAppend(&text, name, term.ToString(), ",");
  return text + ")";
}

struct Matcher::State {
  explicit State(const Substitution& rule)
      : vars(rule.vars.size()), nodes(rule.source.nodes.size()), unifier(rule) {}
  std::vector<Value> vars;
  std::vector<NodePtr> nodes;
  Unifier unifier;
  std::optional<DType> dtype;
};

class Matcher::Run {
 public:
  Run(const Matcher& matcher, const MatchIndex& index, int anchor,
      absl::FunctionRef<bool(const Match&)> found)
      : matcher_(matcher), rule_(*matcher.rule_), index_(index), anchor_(anchor), found_(found) {}

  // False once `found` returned false.
  bool From(size_t step, State state) const {
    if (step == matcher_.steps_.size()) return Finish(std::move(state));
    const Step& s = matcher_.steps_[step];
    if (!s.via) return Visit(step, std::move(state));
    const PatternNode& pattern = rule_.source.nodes[s.node];
    Value value = Bound(*s.via, state);
    for (const MatchIndex::Use& use : index_.UsesOf(value)) {
      bool swapped = IsCommuting(pattern) && s.slot < 2 && use.slot == 1 - s.slot;
      if (use.slot != s.slot && !swapped) continue;
      if (s.after_anchor && use.position <= anchor_) continue;
      const NodePtr& node = index_.node(use.position);
      if (&node->op() != pattern.op || IsTaken(node, state)) continue;
      State next = state;
      next.nodes[s.node] = node;
      if (!Visit(step, std::move(next))) return false;
    }
    return true;
  }

 private:
  Value Bound(const PatternValue& value, const State& state) const {
    if (value.is_var()) return state.vars[value.index];
    return Value(state.nodes[value.node], value.index);
  }

  static bool IsTaken(const NodePtr& node, const State& state) {
    return std::find(state.nodes.begin(), state.nodes.end(), node) != state.nodes.end();
  }

  // The step's node is bound: checks it and binds its operands.
  bool Visit(size_t step, State state) const {
    int number = matcher_.steps_[step].node;
    const PatternNode& pattern = rule_.source.nodes[number];
    const Node& node = *state.nodes[number];
    if (pattern.op == nullptr) {
      return !MatchConstant(pattern, node, &state) || From(step + 1, std::move(state));
    }
    if (!MatchAttrs(number, node, &state)) return true;
    const std::vector<Value>& inputs = node.inputs();
    if (IsCommuting(pattern) && inputs[0] != inputs[1]) {
      State swapped = state;
      if (MatchInputs(pattern, node, 0, &state) && !From(step + 1, std::move(state))) return false;
      return !MatchInputs(pattern, node, 1, &swapped) || From(step + 1, std::move(swapped));
    }
    return !MatchInputs(pattern, node, 0, &state) || From(step + 1, std::move(state));
  }

  bool MatchConstant(const PatternNode& pattern, const Node& node, State* state) const {
    if (!node.has_payload() || !IsUniform(node.payload())) return false;
    if (!MatchType(pattern.dtype, pattern.dims, node.type(0), state)) return false;
    return state->unifier.Equate(pattern.fill, ScalarExpr(node.payload().AtDouble(0)));
  }

  bool MatchAttrs(int number, const Node& node, State* state) const {
    const PatternNode& pattern = rule_.source.nodes[number];
    if (&node.op() != pattern.op || node.num_outputs() != pattern.num_outputs() ||
        node.inputs().size() != pattern.inputs.size()) {
      return false;
    }
    for (size_t i = 0; i < pattern.attrs.size(); ++i) {
      const auto& [name, term] = pattern.attrs[i];
      auto it = node.attrs().find(name);
      if (it == node.attrs().end()) return false;
      const std::optional<AttrValue>& literal = matcher_.literals_[number][i];
      if (literal ? *literal != it->second : !state->unifier.Equate(term, ToExprAttr(it->second))) {
        return false;
      }
    }
    return true;
  }

  bool MatchInputs(const PatternNode& pattern, const Node& node, int swap, State* state) const {
    for (size_t i = 0; i < pattern.inputs.size(); ++i) {
      size_t slot = swap && i < 2 ? 1 - i : i;
      if (!MatchValue(pattern.inputs[i], node.inputs()[slot], state)) return false;
    }
    return true;
  }

  bool MatchValue(const PatternValue& pattern, const Value& value, State* state) const {
    if (!pattern.is_var()) {
      const PatternNode& node = rule_.source.nodes[pattern.node];
      NodePtr& bound = state->nodes[pattern.node];
      if (bound != nullptr) return Value(bound, pattern.index) == value;
      if (value.output() != pattern.index || value.node().is_op() != (node.op != nullptr) ||
          (node.op != nullptr && &value.node().op() != node.op)) {
        return false;
      }
      bound = value.node_ptr();
      return true;
    }
    Value& bound = state->vars[pattern.index];
    if (bound) return bound == value;
    const PatternVar& var = rule_.vars[pattern.index];
    if (var.role != VarRole::kAny) {
      int position = index_.PositionOf(value.node());
      bool fits =
          var.role == VarRole::kWeight ? index_.IsStatic(position) : index_.IsKnown(position);
      if (!fits) return false;
    }
    bound = value;
    return MatchType(var.dtype, var.dims, value.type(), state);
  }

  bool MatchType(const std::optional<DType>& dtype, const Term& dims, const TensorType& type,
                 State* state) const {
    if (dtype) {
      if (*dtype != type.dtype) return false;
    } else if (state->dtype) {
      if (*state->dtype != type.dtype) return false;
    } else {
      if (rule_.contract != FloatContract::kBitExact && !IsFloat(type.dtype)) return false;
      state->dtype = type.dtype;
    }
    return state->unifier.Equate(dims, ToExprAttr(type.shape));
  }

  bool Finish(State state) const {
    if (!state.unifier.Settle()) return true;
    Match match;
    match.anchor = anchor_;
    match.vars = std::move(state.vars);
    match.nodes = std::move(state.nodes);
    match.symbols = state.unifier.values();
    match.dtype = state.dtype.value_or(DType::kF32);
    if (NeedsItsOutputs(match)) return true;
    return found_(match);
  }

  // Whether a variable depends on an output. Only outputs of several nodes can be so tangled.
  bool NeedsItsOutputs(const Match& match) const {
    std::vector<int> roots;
    for (const PatternValue& output : rule_.source.outputs) {
      roots.push_back(index_.PositionOf(*match.nodes[output.node]));
    }
    int first = *std::min_element(roots.begin(), roots.end());
    if (first == *std::max_element(roots.begin(), roots.end())) return false;
    std::vector<const Node*> pending;
    absl::flat_hash_set<const Node*> seen;
    for (const Value& v : match.vars) pending.push_back(&v.node());
    while (!pending.empty()) {
      const Node* node = pending.back();
      pending.pop_back();
      int position = index_.PositionOf(*node);
      if (position < first || !seen.insert(node).second) continue;
      if (std::find(roots.begin(), roots.end(), position) != roots.end()) return true;
      for (const Value& input : node->inputs()) pending.push_back(&input.node());
    }
    return false;
  }

  const Matcher& matcher_;
  const Substitution& rule_;
  const MatchIndex& index_;
  int anchor_;
  absl::FunctionRef<bool(const Match&)> found_;
};

// Whether each operand comes from the operator that the pattern has there: most anchors fail that,
// and nothing has to be allocated to see it.
bool Matcher::OperandsMayMatch(const PatternNode& pattern, const Node& node) const {
  bool commutes = IsCommuting(pattern);
  for (size_t i = 0; i < pattern.inputs.size(); ++i) {
    if (pattern.inputs[i].is_var()) continue;
    const PatternNode& operand = rule_->source.nodes[pattern.inputs[i].node];
    auto fits = [&](size_t slot) {
      const Node& n = node.inputs()[slot].node();
      return operand.op == nullptr ? n.has_payload() : n.is_op() && &n.op() == operand.op;
    };
    if (!fits(i) && !(commutes && i < 2 && fits(1 - i))) return false;
  }
  return true;
}

bool Matcher::ForEach(const MatchIndex& index, int anchor,
                      absl::FunctionRef<bool(const Match&)> found) const {
  const NodePtr& node = index.node(anchor);
  const PatternNode& pattern = rule_->source.nodes[steps_[0].node];
  if (!node->is_op() || &node->op() != pattern.op ||
      node->inputs().size() != pattern.inputs.size()) {
    return true;
  }
  if (!OperandsMayMatch(pattern, *node)) return true;
  State state(*rule_);
  state.nodes[steps_[0].node] = node;
  return Run(*this, index, anchor, found).From(0, std::move(state));
}

bool Matcher::ForEach(const MatchIndex& index, absl::FunctionRef<bool(const Match&)> found) const {
  for (int anchor : index.ApplicationsOf(anchor_op())) {
    if (!ForEach(index, anchor, found)) return false;
  }
  return true;
}

}  // namespace lemma
