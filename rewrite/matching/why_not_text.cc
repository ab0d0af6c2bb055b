#include "rewrite/matching/why_not_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lemma {
namespace {

// The value's name in the rule's text; an output without a name is called after its operator.
std::string NameOf(const Substitution& rule, const PatternValue& value) {
  if (value.is_var()) return rule.vars[value.index].name;
  const PatternNode& node = rule.source.nodes[value.node];
  const std::string& name = node.output_names[value.index];
  if (!name.empty()) return name;
  return node.op == nullptr ? "the constant" : node.op->name;
}

std::string OutputOf(const OpDef& op, int output, int num_outputs) {
  return num_outputs == 1 ? op.name : absl::StrCat("output ", output + 1, " of ", op.name);
}

// The operator that computes an operand, in the rule or in the graph.
std::string Wanted(const Substitution& rule, const PatternValue& value) {
  if (value.is_var()) return NameOf(rule, value);
  const PatternNode& node = rule.source.nodes[value.node];
  if (node.op == nullptr) return "a constant of equal elements";
  return OutputOf(*node.op, value.index, node.num_outputs());
}
std::string Actual(const MatchIndex& index, const ValueRef& value) {
  const Node& node = index.Head(value.node);
  if (node.is_op()) return OutputOf(node.op(), value.output, node.num_outputs());
  switch (node.kind()) {
    case Node::Kind::kInput:
      return "an input";
    case Node::Kind::kWeight:
      return "a weight";
    default:
      return "a constant";
  }
}

std::string ValueText(const ExprAttr& value) {
  auto constant = ToAttrValue(value);
  return constant ? ToString(*constant) : "?";
}

// "n = 4, k = 3": the symbols in `terms` that have values.
std::string SymbolsIn(const Substitution& rule, const std::vector<Term>& terms,
                      const SymbolValues& symbols) {
  std::vector<int> numbers;
  for (const Term& term : terms) term.CollectSymbols(&numbers);
  SymbolValues asked(symbols.size());
  for (int number : numbers) asked[number] = symbols[number];
  return SymbolsText(rule, asked);
}

std::string With(const std::string& symbols) {
  return symbols.empty() ? "" : absl::StrCat(" with ", symbols);
}

// The term's value, or the term itself while it has none.
std::string TermText(const Term& term, const SymbolValues& symbols) {
  auto value = lemma::Evaluate(term, symbols);
  return value ? ValueText(*value) : term.ToString();
}

std::string OperandText(const Substitution& rule, const MatchIndex& index, const Binding& match,
                        const RuleCondition& condition) {
  const PatternNode& node = rule.source.nodes[condition.node];
  const auto operands = index.Operands(match.nodes[condition.node]);
  const PatternValue& value = node.inputs[condition.index];
  const std::string& op = node.op->name;
  if (node.op->commutative && condition.index < 2) {
    return absl::StrCat("the operands of ", op, " are ", Actual(index, operands[0]), " and ",
                        Actual(index, operands[1]), ", not ", Wanted(rule, node.inputs[0]), " and ",
                        Wanted(rule, node.inputs[1]));
  }
  const ValueRef& operand = operands[condition.index];
  const std::string which = operands.size() == 1
                                ? absl::StrCat("the operand of ", op)
                                : absl::StrCat("operand ", condition.index + 1, " of ", op);
  const bool is_bound = value.is_var() || match.nodes[value.node] >= 0;
  if (is_bound) return absl::StrCat(which, " is another value than ", NameOf(rule, value));
  const PatternNode& source = rule.source.nodes[value.node];
  const Node& actual = index.Head(operand.node);
  if (source.op != nullptr && actual.is_op() && &actual.op() == source.op &&
      operand.output == value.index) {
    return absl::StrCat(which, ": ", CountsText(source, index, operand.node));
  }
  return absl::StrCat(which, " is ", Actual(index, operand), ", not ", Wanted(rule, value));
}

std::string ReaderText(const Substitution& rule, const RuleCondition& condition) {
  const PatternNode& node = rule.source.nodes[condition.node];
  const auto alike = std::count_if(rule.source.nodes.begin(), rule.source.nodes.end(),
                                   [&](const PatternNode& n) { return n.op == node.op; });
  return absl::StrCat(
      alike > 1 ? "no other " : "no ", node.op->name, " reads ",
      NameOf(rule, node.inputs[condition.index]),
      node.inputs.size() == 1 ? "" : absl::StrCat(" as operand ", condition.index + 1));
}

std::string AttributeText(const Substitution& rule, const MatchIndex& index, const Binding& match,
                          const RuleCondition& condition) {
  const PatternNode& node = rule.source.nodes[condition.node];
  const auto& [name, term] = node.attrs[condition.index];
  const auto& actual = index.Head(match.nodes[condition.node]).attrs().at(name);
  return absl::StrCat(name, " of ", node.op->name, " is ", ToString(actual), ", not ",
                      TermText(term, match.symbols));
}

std::string TypeText(const Substitution& rule, const PatternVar& var, const TensorType& type) {
  std::string wanted = "the type of the other operands";
  if (var.dtype) {
    wanted = std::string(Name(*var.dtype));
  } else if (rule.contract != FloatContract::kBitExact && !IsFloat(type.dtype)) {
    wanted = "a float";
  }
  return absl::StrCat(var.name, " is ", std::string(Name(type.dtype)), ", not ", wanted);
}

std::string ConstantText(const Substitution& rule, const Node& constant, const Binding& match,
                         const RuleCondition& condition) {
  const PatternNode& node = rule.source.nodes[condition.node];
  const std::string name = NameOf(rule, {condition.node, 0});
  if (condition.index == kDims) {
    return absl::StrCat(name, " is ", constant.type(0).ToString(), ", not ", node.dims.ToString(),
                        With(SymbolsIn(rule, {node.dims}, match.symbols)));
  }
  return absl::StrCat("the elements of ", name, " are ",
                      ToString(AttrValue(constant.payload().AtDouble(0))), ", not ",
                      TermText(node.fill, match.symbols));
}

}  // namespace

std::string ReasonText(const Substitution& rule, const MatchIndex& index, const Binding& match,
                       const RuleCondition& condition) {
  switch (condition.kind) {
    case Missing::kOperand:
      return OperandText(rule, index, match, condition);
    case Missing::kReader:
      return ReaderText(rule, condition);
    case Missing::kAttribute:
      return AttributeText(rule, index, match, condition);
    case Missing::kConstant:
      return ConstantText(rule, index.Head(match.nodes[condition.node]), match, condition);
    case Missing::kGuard: {
      const Comparison& c = rule.where[condition.index];
      return absl::StrCat(c.lhs.ToString(), " ", Name(c.relation), " ", c.rhs.ToString(),
                          " does not hold", With(SymbolsIn(rule, {c.lhs, c.rhs}, match.symbols)));
    }
    default:
      break;
  }
  const PatternVar& var = rule.vars[condition.index];
  const ValueRef& value = match.vars[condition.index];
  const TensorType& type = index.Head(value.node).type(value.output);
  if (condition.kind == Missing::kType) return TypeText(rule, var, type);
  if (condition.kind == Missing::kShape) {
    return absl::StrCat(var.name, " is ", type.ToString(), ", not ", var.dims.ToString(),
                        With(SymbolsIn(rule, {var.dims}, match.symbols)));
  }
  return absl::StrCat(var.name, index.IsStatic(value.node)
                                    ? " is a weight whose values are not known, not a constant"
                                : var.role == VarRole::kWeight
                                    ? " depends on an input; it has to be a weight"
                                    : " depends on an input; it has to be a constant");
}

int PlaceOf(const Substitution& rule, const Binding& match, const RuleCondition& condition) {
  switch (condition.kind) {
    case Missing::kOperand:
    case Missing::kAttribute:
    case Missing::kConstant:
      return match.nodes[condition.node];
    case Missing::kReader: {
      const PatternValue& value = rule.source.nodes[condition.node].inputs[condition.index];
      return value.is_var() ? match.vars[value.index].node : match.nodes[value.node];
    }
    case Missing::kGuard:
      return match.anchor;
    default:
      return match.vars[condition.index].node;
  }
}

std::string CountsText(const PatternNode& pattern, const MatchIndex& index, int position) {
  const size_t operands = index.Operands(position).size();
  if (operands != pattern.inputs.size()) {
    return absl::StrCat(pattern.op->name, " has ", operands, " operands, not ",
                        pattern.inputs.size());
  }
  return absl::StrCat(pattern.op->name, " has ", index.Head(position).num_outputs(),
                      " outputs, not ", pattern.num_outputs());
}

std::string SymbolsText(const Substitution& rule, const SymbolValues& symbols) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < rule.symbols.size(); ++i) {
    if (!symbols[i]) continue;
    parts.push_back(absl::StrCat(rule.symbols[i].name, " = ", ValueText(*symbols[i])));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace lemma
