// States a rule's claim for given values of its symbols. Open symbols become symbols of
// expressions.
#include "rewrite/rules/statement.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "graph/expr/compose.h"
#include "rewrite/rules/batch_text.h"
#include "rewrite/rules/zero_signs.h"

namespace lemma {
namespace {

// broadcast(s, t), assuming that sizes are equal where needed. Adds missing equalities to `guards`.
std::optional<ExprAttr> BroadcastAssuming(const Idx& s, const Idx& t, std::vector<Guard>* guards) {
  const Idx &longer = s.size() >= t.size() ? s : t, &shorter = s.size() >= t.size() ? t : s;
  Idx result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const IndexExpr &a = longer[offset + i], &b = shorter[i];
    if (Identical(a, b) || b.AsConst() == 1) continue;
    if (a.AsConst() == 1) {
      result[offset + i] = b;
      continue;
    }
    const Guard equal = Eq(a, b);
    if (equal.is_false()) return std::nullopt;
    if (!equal.is_true()) guards->push_back(equal);
  }
  return ExprAttr(result);
}

std::optional<ExprAttr> EvaluateAssuming(const Term& term, const SymbolValues& symbols,
                                         std::vector<Guard>* guards) {
  if (term.kind() != Term::Kind::kCall || term.fn() != TermFn::kBroadcast) {
    return Evaluate(term, symbols);
  }
  auto s = EvaluateAssuming(term.args()[0], symbols, guards);
  auto t = EvaluateAssuming(term.args()[1], symbols, guards);
  if (!s || !t || !std::holds_alternative<Idx>(*s) || !std::holds_alternative<Idx>(*t)) {
    return std::nullopt;
  }
  return BroadcastAssuming(std::get<Idx>(*s), std::get<Idx>(*t), guards);
}

// Splits a conjunction, so that each conjunct can be solved.
void AddConjuncts(const Guard& guard, std::vector<Guard>* guards) {
  if (guard.kind() == Guard::Kind::kAnd) {
    AddConjuncts(guard.right(), guards);
    AddConjuncts(guard.left(), guards);
  } else if (!guard.is_true()) {
    guards->push_back(guard);
  }
}

Guard Relate(const IndexExpr& a, Relation relation, const IndexExpr& b) {
  switch (relation) {
    case Relation::kEq:
      return Eq(a, b);
    case Relation::kNe:
      return Ne(a, b);
    case Relation::kLt:
      return Lt(a, b);
    case Relation::kLe:
      return Le(a, b);
    case Relation::kGt:
      return Gt(a, b);
    case Relation::kGe:
      return Ge(a, b);
  }
  return true;
}

using Bounds = std::map<std::string, std::pair<double, double>>;

// The comparison of a parameter with a number bounds the parameter.
void AddBound(const ExprAttr& parameter, Relation relation, const ExprAttr& bound, Bounds* bounds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto *x = std::get_if<ScalarExpr>(&parameter), *real = std::get_if<ScalarExpr>(&bound);
  auto* whole = std::get_if<IndexExpr>(&bound);
  if (x == nullptr || x->kind() != ScalarExpr::Kind::kParam) return;
  double number = 0;
  if (whole != nullptr && whole->is_const()) {
    number = static_cast<double>(whole->value());
  } else if (real != nullptr && real->kind() == ScalarExpr::Kind::kConst) {
    number = real->value();
  } else {
    return;
  }
  auto& [low, high] =
      bounds->emplace(x->name(), std::make_pair(-kInfinity, kInfinity)).first->second;
  const bool equal = relation == Relation::kEq;
  if (equal || relation == Relation::kGe || relation == Relation::kGt) low = std::max(low, number);
  if (equal || relation == Relation::kLe || relation == Relation::kLt)
    high = std::min(high, number);
}

Relation Mirrored(Relation relation) {
  switch (relation) {
    case Relation::kLt:
      return Relation::kGt;
    case Relation::kLe:
      return Relation::kGe;
    case Relation::kGt:
      return Relation::kLt;
    case Relation::kGe:
      return Relation::kLe;
    default:
      return relation;
  }
}

// False if it cannot hold. Comparisons of reals only bound parameters.
bool AddComparison(const Comparison& comparison, const SymbolValues& symbols,
                   std::vector<Guard>* guards, Bounds* bounds) {
  auto lhs = EvaluateAssuming(comparison.lhs, symbols, guards);
  auto rhs = EvaluateAssuming(comparison.rhs, symbols, guards);
  if (!lhs || !rhs) return false;
  Guard guard;
  auto *a = std::get_if<IndexExpr>(&*lhs), *b = std::get_if<IndexExpr>(&*rhs);
  auto *x = std::get_if<Idx>(&*lhs), *y = std::get_if<Idx>(&*rhs);
  if (a && b) {
    guard = Relate(*a, comparison.relation, *b);
  } else if (x && y) {
    guard = x->size() == y->size();
    for (size_t i = 0; i < x->size() && i < y->size(); ++i) guard = guard && Eq((*x)[i], (*y)[i]);
    if (comparison.relation == Relation::kNe) guard = !guard;
  } else {
    AddBound(*lhs, comparison.relation, *rhs, bounds);
    AddBound(*rhs, Mirrored(comparison.relation), *lhs, bounds);
    auto constant = Evaluate(comparison, symbols);
    return !constant || *constant;
  }
  if (guard.is_false()) return false;
  AddConjuncts(guard, guards);
  return true;
}

// A constant: every element is the fill.
absl::StatusOr<Definition> ConstantOf(const PatternNode& node, DType common,
                                      const SymbolValues& symbols,
                                      std::vector<Guard>* requirements) {
  auto dims = EvaluateAssuming(node.dims, symbols, requirements);
  auto fill = Evaluate(node.fill, symbols);
  if (!dims || !std::holds_alternative<Idx>(*dims) || !fill) {
    return absl::InvalidArgumentError("a constant has no value");
  }
  Definition definition;
  TensorExpr tensor;
  tensor.dtype = node.dtype.value_or(common);
  for (const IndexExpr& dim : std::get<Idx>(*dims)) {
    tensor.axes.push_back({definition.num_vars++, dim});
  }
  if (auto* index = std::get_if<IndexExpr>(&*fill)) {
    tensor.body = ScalarExpr::Index(*index);
  } else if (auto* real = std::get_if<ScalarExpr>(&*fill)) {
    tensor.body = *real;
  } else {
    return absl::InvalidArgumentError("a constant's fill is no number");
  }
  definition.tensors.push_back(std::move(tensor));
  definition.outputs = {0};
  return definition;
}

absl::StatusOr<Definition> Side(const Pattern& pattern, const std::vector<ExprType>& inputs,
                                DType common, const SymbolValues& symbols,
                                std::vector<Guard>* requirements, std::vector<int>* operators) {
  std::vector<Definition> definitions;
  definitions.reserve(pattern.nodes.size());
  std::vector<ComposeStep> steps;
  auto source = [](const PatternValue& v) {
    return lemma::Source{v.is_var() ? -1 : v.node, v.index};
  };
  auto type_of = [&](const PatternValue& v) {
    if (v.is_var()) return inputs[v.index];
    const Definition& d = definitions[v.node];
    return d.TypeOf(d.outputs[v.index]);
  };
  for (const PatternNode& node : pattern.nodes) {
    ComposeStep step;
    if (node.op == nullptr) {
      LEMMA_ASSIGN_OR_RETURN(Definition constant, ConstantOf(node, common, symbols, requirements));
      definitions.push_back(std::move(constant));
    } else {
      std::vector<ExprType> types;
      for (const PatternValue& v : node.inputs) {
        types.push_back(type_of(v));
        step.inputs.push_back(source(v));
      }
      ExprAttrs attrs;
      for (const auto& [name, term] : node.attrs) {
        auto value = EvaluateAssuming(term, symbols, requirements);
        if (!value) {
          return absl::InvalidArgumentError(absl::StrCat(term.ToString(), " has no value"));
        }
        attrs[name] = *std::move(value);
      }
      LEMMA_ASSIGN_OR_RETURN(attrs, CompleteExprAttrs(*node.op, std::move(attrs)));
      LEMMA_ASSIGN_OR_RETURN(OpMeaning meaning, Define(*node.op, std::move(types), attrs));
      requirements->insert(requirements->end(), meaning.requirements.begin(),
                           meaning.requirements.end());
      if (static_cast<int>(meaning.definition.outputs.size()) != node.num_outputs()) {
        return absl::InvalidArgumentError(
            absl::StrCat(node.op->name, " has another number of outputs"));
      }
      definitions.push_back(std::move(meaning.definition));
    }
    step.definition = &definitions.back();
    steps.push_back(std::move(step));
  }
  std::vector<lemma::Source> outputs;
  for (const PatternValue& v : pattern.outputs) outputs.push_back(source(v));
  return Chain(inputs, steps, outputs, operators);
}

}  // namespace

absl::Status MakeStatement(const Substitution& rule, RuleForm* form, DType common) {
  Statement statement;
  statement.name = rule.name;
  std::vector<ExprType> inputs;
  for (const PatternVar& var : rule.vars) {
    auto dims = EvaluateAssuming(var.dims, form->symbols, &statement.requirements);
    if (!dims || !std::holds_alternative<Idx>(*dims)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the dimensions of ", var.name, " have no value"));
    }
    inputs.push_back({var.dtype.value_or(common), std::get<Idx>(*dims)});
    statement.finite.push_back(var.role != VarRole::kAny);
    statement.typed = statement.typed && var.dtype.has_value();
  }
  for (const Pattern* pattern : {&rule.source, &rule.target}) {
    for (const PatternNode& node : pattern->nodes) {
      statement.typed = statement.typed && (node.op != nullptr || node.dtype.has_value());
    }
  }
  for (const Comparison& comparison : rule.where) {
    if (!AddComparison(comparison, form->symbols, &statement.requirements, &statement.bounds)) {
      return absl::InvalidArgumentError("the precondition does not hold");
    }
  }
  LEMMA_ASSIGN_OR_RETURN(statement.source,
                         Side(rule.source, inputs, common, form->symbols, &statement.requirements,
                              &statement.source_operators));
  LEMMA_ASSIGN_OR_RETURN(statement.target,
                         Side(rule.target, inputs, common, form->symbols, &statement.requirements,
                              &statement.target_operators));
  if (rule.bound) {
    auto bound = EvaluateAssuming(*rule.bound, form->symbols, &statement.requirements);
    if (!bound) return absl::InvalidArgumentError("the bound has no value");
    if (auto* real = std::get_if<ScalarExpr>(&*bound)) {
      statement.within = *real;
    } else if (auto* index = std::get_if<IndexExpr>(&*bound)) {
      statement.within = ScalarExpr::Index(*index);
    } else {
      return absl::InvalidArgumentError("the bound is no number");
    }
  }
  for (const Guard& guard : statement.requirements) {
    if (guard.is_false()) return absl::InvalidArgumentError("a requirement does not hold");
  }
  form->statement = std::move(statement);
  return absl::OkStatus();
}

namespace {

bool UsesType(const Statement& statement, bool (*is_one)(DType)) {
  auto found = [&](const auto& tensor) { return is_one(tensor.dtype); };
  for (const Definition* d : {&statement.source, &statement.target}) {
    if (std::any_of(d->inputs.begin(), d->inputs.end(), found) ||
        std::any_of(d->tensors.begin(), d->tensors.end(), found)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool UsesIntegers(const Statement& statement) { return UsesType(statement, IsInteger); }
bool UsesSmallFloats(const Statement& statement) {
  return UsesType(statement, [](DType dtype) { return IsSmallFloat(dtype); });
}

std::string ProofId(const Statement& statement) {
  const StatementText definitions = TextOf(statement, DType::kF32);
  std::string text = absl::StrCat("lemma proof 4\n", definitions.text, "\n");
  absl::StrAppend(&text, absl::StrJoin(statement.source_operators, " "), " => ",
                  absl::StrJoin(statement.target_operators, " "), "\n");
  for (const std::string& symbol : definitions.symbols) absl::StrAppend(&text, symbol, "\n");
  for (size_t i = 0; i < statement.finite.size(); ++i) {
    if (statement.finite[i]) absl::StrAppend(&text, "finite ", i, "\n");
  }
  for (const Guard& guard : statement.requirements) {
    absl::StrAppend(&text, "where ", guard.ToString(), "\n");
  }
  for (const auto& [name, bound] : statement.bounds) {
    absl::StrAppend(&text, "bound ", name, " ", bound.first, " ", bound.second, "\n");
  }
  if (statement.within) absl::StrAppend(&text, "within ", statement.within->ToString(), "\n");
  if (statement.typed && UsesIntegers(statement)) absl::StrAppend(&text, "typed\n");
  // An older prover proved such statements bit-exact without regard to signs of zeros. This line
  // makes those records stale, and no others.
  if (DividesByZeroOfAnySign(statement.source) || DividesByZeroOfAnySign(statement.target)) {
    absl::StrAppend(&text, "zero signs\n");
  }
  return absl::StrFormat("%016x%016x", HashString(text, 1), HashString(text, 2));
}

}  // namespace lemma
