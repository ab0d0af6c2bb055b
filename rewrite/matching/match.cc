#include "rewrite/matching/match.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rewrite/matching/unify.h"

namespace lemma {

bool IsCommuting(const PatternNode& node) {
  return node.op->commutative && node.inputs.size() >= 2 && !(node.inputs[0] == node.inputs[1]);
}

bool IsUniform(const Tensor& tensor) {
  size_t size = static_cast<size_t>(SizeOf(tensor.dtype()));
  size_t total = static_cast<size_t>(tensor.type().num_bytes());
  const char* bytes = static_cast<const char*>(tensor.raw());
  return total >= size && std::memcmp(bytes, bytes + size, total - size) == 0;
}

Match ToMatch(const MatchIndex& index, const Binding& binding) {
  Match match;
  match.anchor = binding.anchor;
  for (const ValueRef& v : binding.vars) match.vars.emplace_back(index.node(v.node), v.output);
  for (int node : binding.nodes) match.nodes.push_back(index.node(node));
  match.symbols = binding.symbols;
  match.dtype = binding.dtype;
  return match;
}

absl::StatusOr<Matcher> Matcher::Create(const Substitution& rule, std::vector<bool> untyped) {
  Matcher matcher(rule);
  matcher.untyped_ = std::move(untyped);
  const Pattern& source = rule.source;
  for (const PatternNode& node : source.nodes) {
    auto& literals = matcher.literals_.emplace_back();
    for (const auto& [name, term] : node.attrs) {
      auto value = lemma::Evaluate(term, SymbolValues(rule.symbols.size()));
      literals.push_back(value ? ToAttrValue(*value) : std::nullopt);
    }
  }
  matcher.reader_.resize(source.nodes.size());
  for (const PatternNode& node : source.nodes) {
    for (const PatternValue& input : node.inputs) {
      if (!input.is_var()) matcher.reader_[input.node] = node.op;
    }
  }
  for (const PatternValue& output : source.outputs) matcher.reader_[output.node] = nullptr;
  const int anchor = source.outputs[0].node;
  matcher.plans_.resize(source.nodes.size());
  for (size_t n = 0; n < source.nodes.size(); ++n) {
    if (source.nodes[n].op == nullptr) continue;
    auto plan = matcher.MakePlan(static_cast<int>(n));
    if (!plan.ok()) return plan.status();
    matcher.plans_[n] = *std::move(plan);
  }
  matcher.after_anchor_.resize(source.nodes.size());
  const std::string signature = matcher.Signature(source.outputs[0]);
  for (const Step& step : matcher.plans_[anchor]) {
    matcher.after_anchor_[step.node] =
        step.via && rule.where.empty() && matcher.Signature({step.node, 0}) == signature;
  }
  return matcher;
}

absl::StatusOr<Matcher> Matcher::CreateForAllOrders(const Substitution& rule) {
  auto matcher = Create(rule);
  if (matcher.ok()) matcher->after_anchor_.assign(rule.source.nodes.size(), false);
  return matcher;
}

absl::StatusOr<Matcher::Plan> Matcher::MakePlan(int start) const {
  const Pattern& source = rule_->source;
  std::vector<bool> planned(source.nodes.size());
  Plan plan = {{start, std::nullopt, 0}};
  PlanDown(start, &planned, &plan);
  auto is_operand = [&](const PatternValue& value) {
    for (size_t n = 0; n < source.nodes.size(); ++n) {
      const auto& inputs = source.nodes[n].inputs;
      if (planned[n] && std::find(inputs.begin(), inputs.end(), value) != inputs.end()) return true;
    }
    return false;
  };
  // Users of computed values come before users of variables, which may be many.
  auto next = [&](bool of_var) -> std::optional<Step> {
    for (size_t n = 0; n < source.nodes.size(); ++n) {
      const PatternNode& node = source.nodes[n];
      if (planned[n] || node.op == nullptr) continue;
      for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
        const PatternValue& value = node.inputs[slot];
        const bool known = of_var ? value.is_var() && is_operand(value)
                                  : !value.is_var() && planned[value.node] &&
                                        source.nodes[value.node].op != nullptr;
        if (known) return Step{static_cast<int>(n), value, static_cast<int>(slot)};
      }
    }
    return std::nullopt;
  };
  while (std::find(planned.begin(), planned.end(), false) != planned.end()) {
    std::optional<Step> step = next(false);
    if (!step) step = next(true);
    if (!step) {
      return absl::InvalidArgumentError(absl::StrCat(
          "rule ", rule_->name, ": the source's outputs share no value to find one from another"));
    }
    plan.push_back(*step);
    PlanDown(step->node, &planned, &plan);
  }
  return plan;
}

// Plans the operands of `node`, whose step exists.
void Matcher::PlanDown(int node, std::vector<bool>* planned, Plan* plan) const {
  (*planned)[node] = true;
  for (const PatternValue& input : rule_->source.nodes[node].inputs) {
    if (input.is_var() || (*planned)[input.node]) continue;
    plan->push_back({input.node, std::nullopt, 0});
    PlanDown(input.node, planned, plan);
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
      : vars(rule.vars.size()), nodes(rule.source.nodes.size(), -1), unifier(rule) {}
  std::vector<ValueRef> vars;
  std::vector<int> nodes;
  Unifier unifier;
  std::optional<DType> dtype;
};

class Matcher::Run {
 public:
  Run(const Matcher& matcher, const Plan& plan, const MatchView& view,
      absl::FunctionRef<bool(const Binding&)> found)
      : matcher_(matcher),
        rule_(*matcher.rule_),
        plan_(plan),
        view_(view),
        anchor_(rule_.source.outputs[0].node),
        found_(found) {}

  // False once `found` returned false.
  bool From(size_t step, State state) const {
    if (step == plan_.size()) return Finish(std::move(state));
    const Step& s = plan_[step];
    if (!s.via) return Visit(step, std::move(state));
    const PatternNode& pattern = rule_.source.nodes[s.node];
    const ValueRef value = Bound(*s.via, state);
    const auto users = view_.Users(value);
    for (const MatchView::Use& use : users) {
      bool swapped = IsCommuting(pattern) && s.slot < 2 && use.slot == 1 - s.slot;
      if (use.slot != s.slot && !swapped) continue;
      if (matcher_.after_anchor_[s.node] && use.position <= state.nodes[anchor_]) continue;
      if (&view_.Head(use.position).op() != pattern.op || IsTaken(use.position, state)) continue;
      State next = state;
      next.nodes[s.node] = use.position;
      if (!Visit(step, std::move(next))) return false;
    }
    return true;
  }

 private:
  ValueRef Bound(const PatternValue& value, const State& state) const {
    if (value.is_var()) return state.vars[value.index];
    return view_.Canonical({state.nodes[value.node], value.index});
  }

  static bool IsTaken(int node, const State& state) {
    return std::find(state.nodes.begin(), state.nodes.end(), node) != state.nodes.end();
  }

  // The step's node is bound: checks it and binds its operands.
  bool Visit(size_t step, State state) const {
    int number = plan_[step].node;
    const PatternNode& pattern = rule_.source.nodes[number];
    const int id = state.nodes[number];
    const Node& node = view_.Head(id);
    if (pattern.op == nullptr) {
      return !MatchConstant(pattern, node, &state) || From(step + 1, std::move(state));
    }
    const auto inputs = view_.Operands(id);
    if (!MatchAttrs(number, node, inputs.size(), &state)) return true;
    if (IsCommuting(pattern) && inputs[0] != inputs[1]) {
      State swapped = state;
      return BindOperands(step, inputs, 0, false, std::move(state)) &&
             BindOperands(step, inputs, 0, true, std::move(swapped));
    }
    return BindOperands(step, inputs, 0, false, std::move(state));
  }

  // Binds operands from number i on, to each value that each may stand for, and continues.
  bool BindOperands(size_t step, absl::Span<const ValueRef> inputs, size_t i, bool swap,
                    State state) const {
    const PatternNode& pattern = rule_.source.nodes[plan_[step].node];
    for (; i < pattern.inputs.size(); ++i) {
      const PatternValue& wanted = pattern.inputs[i];
      const ValueRef& value = inputs[swap && i < 2 ? 1 - i : i];
      if (wanted.is_var()) {
        if (!BindVar(wanted.index, value, &state)) return true;
        continue;
      }
      int& bound = state.nodes[wanted.node];
      if (bound >= 0) {
        if (view_.Canonical({bound, wanted.index}) != value) return true;
        continue;
      }
      const auto equal = view_.EqualTo(value);
      if (equal.size() == 1) {
        if (!MayBe(wanted, equal[0])) return true;
        bound = equal[0].node;
        continue;
      }
      for (const ValueRef& v : equal) {
        if (!MayBe(wanted, v)) continue;
        State next = state;
        next.nodes[wanted.node] = v.node;
        if (!BindOperands(step, inputs, i + 1, swap, std::move(next))) return false;
      }
      return true;
    }
    return From(step + 1, std::move(state));
  }

  bool MatchConstant(const PatternNode& pattern, const Node& node, State* state) const {
    if (!node.has_payload() || !IsUniform(node.payload())) return false;
    if (!MatchType(pattern.dtype, pattern.dims, node.type(0), state)) return false;
    const double value = node.payload().AtDouble(0);
    // -0 is equal to 0 as a number, and another constant than a rule's 0.
    const Term::Kind fill = pattern.fill.kind();
    const bool is_number = fill == Term::Kind::kInt || fill == Term::Kind::kReal;
    if (is_number && value == 0 && std::signbit(value)) return false;
    return state->unifier.Equate(pattern.fill, ScalarExpr(value));
  }

  bool MatchAttrs(int number, const Node& node, size_t num_inputs, State* state) const {
    const PatternNode& pattern = rule_.source.nodes[number];
    if (&node.op() != pattern.op || node.num_outputs() != pattern.num_outputs() ||
        num_inputs != pattern.inputs.size()) {
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

  bool MayBe(const PatternValue& pattern, ValueRef value) const {
    const PatternNode& node = rule_.source.nodes[pattern.node];
    const Node& head = view_.Head(value.node);
    return value.output == pattern.index && head.is_op() == (node.op != nullptr) &&
           (node.op == nullptr || &head.op() == node.op);
  }

  bool BindVar(int number, ValueRef value, State* state) const {
    ValueRef& bound = state->vars[number];
    if (bound.node >= 0) return bound == value;
    const PatternVar& var = rule_.vars[number];
    if (var.role != VarRole::kAny) {
      bool fits =
          var.role == VarRole::kWeight ? view_.IsStatic(value.node) : view_.IsKnown(value.node);
      if (!fits) return false;
    }
    bound = value;
    if (!matcher_.untyped_.empty() && matcher_.untyped_[number]) return true;
    return MatchType(var.dtype, var.dims, view_.Head(value.node).type(value.output), state);
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
    const int anchor = state.nodes[anchor_];
    for (size_t n = 0; n < state.nodes.size(); ++n) {
      if (matcher_.after_anchor_[n] && state.nodes[n] <= anchor) return true;
    }
    if (!state.unifier.Settle()) return true;
    Binding match;
    match.anchor = anchor;
    match.vars = std::move(state.vars);
    match.nodes = std::move(state.nodes);
    match.symbols = state.unifier.values();
    match.dtype = state.dtype.value_or(DType::kF32);
    return found_(match);
  }

  const Matcher& matcher_;
  const Substitution& rule_;
  const Plan& plan_;
  const MatchView& view_;
  const int anchor_;  // of the source
  absl::FunctionRef<bool(const Binding&)> found_;
};

// Whether each operand comes from the operator in the pattern. Most nodes fail this test, and it
// allocates nothing.
bool Matcher::OperandsMayMatch(const PatternNode& pattern, const MatchView& view, int node) const {
  bool commutes = IsCommuting(pattern);
  const auto operands = view.Operands(node);
  for (size_t i = 0; i < pattern.inputs.size(); ++i) {
    if (pattern.inputs[i].is_var()) continue;
    const PatternNode& operand = rule_->source.nodes[pattern.inputs[i].node];
    auto fits = [&](size_t slot) {
      const auto equal = view.EqualTo(operands[slot]);
      return std::any_of(equal.begin(), equal.end(), [&](const ValueRef& v) {
        const Node& n = view.Head(v.node);
        return operand.op == nullptr ? n.has_payload() : n.is_op() && &n.op() == operand.op;
      });
    };
    if (!fits(i) && !(commutes && i < 2 && fits(1 - i))) return false;
  }
  return true;
}

// The same test for the operators that must read it.
bool Matcher::UsersMayMatch(int number, const MatchView& view, int node) const {
  if (reader_[number] == nullptr) return true;
  for (int output = 0; output < view.Head(node).num_outputs(); ++output) {
    for (const MatchView::Use& use : view.Users(view.Canonical({node, output}))) {
      if (&view.Head(use.position).op() == reader_[number]) return true;
    }
  }
  return false;
}

bool Matcher::ForEachAt(const MatchView& view, int number, int node,
                        absl::FunctionRef<bool(const Binding&)> found) const {
  const Node& head = view.Head(node);
  const PatternNode& pattern = rule_->source.nodes[number];
  if (!head.is_op() || &head.op() != pattern.op ||
      view.Operands(node).size() != pattern.inputs.size() ||
      !OperandsMayMatch(pattern, view, node) || !UsersMayMatch(number, view, node)) {
    return true;
  }
  State state(*rule_);
  state.nodes[number] = node;
  return Run(*this, plans_[number], view, found).From(0, std::move(state));
}

// Only a match with outputs of several nodes can be tangled like this.
bool Matcher::Tangled(const MatchView& view, const Binding& match) const {
  std::vector<int> roots;
  for (const PatternValue& output : rule_->source.outputs) {
    roots.push_back(match.nodes[output.node]);
  }
  if (std::count(roots.begin(), roots.end(), roots[0]) == static_cast<int>(roots.size())) {
    return false;
  }
  return view.Depends(match.vars, roots);
}

bool Matcher::ForEach(const MatchIndex& index, int anchor,
                      absl::FunctionRef<bool(const Match&)> found) const {
  const int number = rule_->source.outputs[0].node;
  return ForEachAt(index, number, anchor, [&](const Binding& binding) {
    return Tangled(index, binding) || found(ToMatch(index, binding));
  });
}

bool Matcher::ForEach(const MatchIndex& index, absl::FunctionRef<bool(const Match&)> found) const {
  for (int anchor : index.ApplicationsOf(anchor_op())) {
    if (!ForEach(index, anchor, found)) return false;
  }
  return true;
}

}  // namespace lemma
