// Rules as statements. A list whose length is unknown, or an attribute that an operator needs to
// know, makes one statement for each value tried.
#include "rewrite/statement.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/expr/compose.h"
#include "graph/hash.h"
#include "graph/ops/status_macros.h"

namespace lemma {
namespace {

std::string Element(const std::string& list, size_t i) { return absl::StrCat(list, "[", i, "]"); }

class FormLister {
 public:
  FormLister(const Substitution& rule, const FormLimits& limits)
      : rule_(rule), limits_(limits), values_(rule.symbols.size()) {
    for (size_t i = 0; i < rule.symbols.size(); ++i) values_[i] = Candidates(static_cast<int>(i));
  }

  RuleForms List() {
    if (!unsupported_.empty()) return {{}, false, unsupported_};
    RuleForm form;
    form.symbols.resize(rule_.symbols.size());
    int longest = 0;
    for (const std::vector<Choice>& choices : values_) {
      int most = 0;
      for (const Choice& choice : choices) most = std::max(most, choice.length);
      longest += most;
    }
    // Short lists first, so that a limit cuts off long ones.
    for (int total = 0; total <= longest; ++total) Choose(0, total, &form);
    if (result_.forms.empty()) {
      result_.problem = absl::StrCat("the source is well-formed for no values tried: ", problem_);
    }
    return std::move(result_);
  }

 private:
  struct Choice {
    ExprAttr value;
    std::string text;  // "" if left open
    int length = 0;    // of a list
  };

  // Whether the symbol stands in an attribute that its operator needs to know.
  bool MustBeKnown(int symbol) const {
    for (const Pattern* pattern : {&rule_.source, &rule_.target}) {
      for (const PatternNode& node : pattern->nodes) {
        for (const auto& [name, term] : node.attrs) {
          std::vector<int> used;
          term.CollectSymbols(&used);
          if (std::count(used.begin(), used.end(), symbol) == 0) continue;
          const AttrSpec* spec = node.op->FindAttr(name);
          // len(s) is known once s has a length, whatever its elements are.
          if (spec != nullptr && !spec->symbolic && !OnlyLengths(term, symbol)) return true;
        }
      }
    }
    return false;
  }
  static bool OnlyLengths(const Term& term, int symbol) {
    if (term.kind() == Term::Kind::kSymbol) return term.symbol() != symbol;
    if (term.kind() == Term::Kind::kCall && term.fn() == TermFn::kLen) return true;
    if (term.kind() == Term::Kind::kCall || term.kind() == Term::Kind::kList) {
      for (const Term& arg : term.args()) {
        if (!OnlyLengths(arg, symbol)) return false;
      }
    }
    return true;
  }
  // 0: in no variable's dimensions, 1: all of a variable's, 2: part of them.
  int PlaceInDims(int symbol) const {
    int place = 0;
    for (const PatternVar& var : rule_.vars) {
      std::vector<int> used;
      var.dims.CollectSymbols(&used);
      if (std::count(used.begin(), used.end(), symbol) == 0) continue;
      const bool all = var.dims.kind() == Term::Kind::kSymbol ||
                       (var.dims.kind() == Term::Kind::kList && var.dims.args().size() == 1);
      place = std::max(place, all ? 1 : 2);
    }
    return place;
  }

  std::vector<Choice> Candidates(int symbol) {
    const Symbol& s = rule_.symbols[symbol];
    const bool known = MustBeKnown(symbol);
    std::vector<Choice> choices;
    switch (s.kind) {
      case SymbolKind::kReal:
        if (!known) choices.push_back({ScalarExpr::Param(s.name), ""});
        break;
      case SymbolKind::kString:
        break;
      case SymbolKind::kList: {
        const int place = PlaceInDims(symbol);
        const int longest = place == 2 ? limits_.max_rank : place == 1 ? 3 : 4;
        for (int n = 0; n <= longest; ++n) {
          if (known) {
            if (n > 3) break;
            std::vector<int64_t> list(n);
            std::iota(list.begin(), list.end(), 0);
            do {
              choices.push_back(
                  {ToExprAttr(list), absl::StrCat("[", absl::StrJoin(list, ","), "]"), n});
            } while (std::next_permutation(list.begin(), list.end()));
            continue;
          }
          Idx list;
          for (int i = 0; i < n; ++i) list.push_back(IndexExpr::Symbol(Element(s.name, i)));
          choices.push_back({list, absl::StrCat(n, " elements"), n});
        }
        break;
      }
      default:
        if (!known) {
          choices.push_back({IndexExpr::Symbol(s.name), ""});
        } else {
          for (int64_t v : {0, 1, 2, 3, -1, -2}) choices.push_back({IndexExpr(v), absl::StrCat(v)});
        }
    }
    if (choices.empty()) {
      unsupported_ = absl::StrCat("nothing is known about which values to try for ", s.name);
    }
    return choices;
  }

  // Lists of `length` elements in all.
  void Choose(size_t i, int length, RuleForm* form) {
    if (result_.truncated) return;
    if (i < values_.size()) {
      for (const Choice& choice : values_[i]) {
        if (choice.length > length) continue;
        form->symbols[i] = choice.value;
        if (!choice.text.empty()) form->chosen[rule_.symbols[i].name] = choice.text;
        Choose(i + 1, length - choice.length, form);
      }
      return;
    }
    if (length != 0) return;
    // Symbols that stand for sizes of one dimension may be 1, where it broadcasts.
    std::vector<RuleForm> work;
    if (State(form)) work.push_back(*form);
    std::set<std::string> done;
    while (!work.empty()) {
      if (static_cast<int>(result_.forms.size()) >= limits_.max_forms) {
        result_.truncated = true;
        return;
      }
      RuleForm next = std::move(work.back());
      work.pop_back();
      std::string key;
      for (const auto& [name, value] : next.chosen) absl::StrAppend(&key, name, "=", value, ";");
      if (!done.insert(key).second) continue;
      for (const std::string& name : Broadcast(next.statement)) {
        RuleForm fixed = next;
        if (Fix(name, &fixed) && State(&fixed)) work.push_back(std::move(fixed));
      }
      result_.forms.push_back(std::move(next));
    }
  }

  // Sizes that are required to equal another size as a whole, by an operator of the source alone.
  std::vector<std::string> Broadcast(const Statement& statement) const {
    std::vector<std::string> names;
    for (const Guard& guard : statement.requirements) {
      if (guard.kind() != Guard::Kind::kEq) continue;
      if (guard.lhs().kind() != IndexExpr::Kind::kSymbol ||
          guard.rhs().kind() != IndexExpr::Kind::kSymbol) {
        continue;
      }
      names.push_back(guard.lhs().name());
      names.push_back(guard.rhs().name());
    }
    return names;
  }

  bool Fix(const std::string& name, RuleForm* form) const {
    for (size_t i = 0; i < rule_.symbols.size(); ++i) {
      ExprAttr& value = *form->symbols[i];
      if (auto* index = std::get_if<IndexExpr>(&value)) {
        if (index->kind() != IndexExpr::Kind::kSymbol || index->name() != name) continue;
        *index = 1;
      } else if (auto* list = std::get_if<Idx>(&value)) {
        auto at = std::find_if(list->begin(), list->end(), [&](const IndexExpr& e) {
          return e.kind() == IndexExpr::Kind::kSymbol && e.name() == name;
        });
        if (at == list->end()) continue;
        *at = 1;
      } else {
        continue;
      }
      form->chosen[name] = "1";
      return true;
    }
    return false;
  }

  // Sets the statement; false if the source is well-formed for no sizes.
  bool State(RuleForm* form) {
    Statement statement;
    statement.name = rule_.name;
    std::vector<ExprType> inputs;
    for (const PatternVar& var : rule_.vars) {
      auto dims = Evaluate(var.dims, form->symbols);
      if (!dims || !std::holds_alternative<Idx>(*dims)) return false;
      inputs.push_back({var.dtype.value_or(DType::kF32), std::get<Idx>(*dims)});
    }
    for (const Comparison& comparison : rule_.where) {
      if (!AddComparison(comparison, form->symbols, &statement.requirements)) {
        return false;
      }
    }
    auto source = Side(rule_.source, inputs, form->symbols, &statement.requirements);
    if (!source.ok()) {
      if (problem_.empty()) problem_ = std::string(source.status().message());
      return false;
    }
    auto target = Side(rule_.target, inputs, form->symbols, &statement.requirements);
    if (!target.ok()) {
      problem_ = std::string(target.status().message());
      return false;
    }
    for (const Guard& guard : statement.requirements) {
      if (guard.is_false()) return false;
    }
    statement.source = *std::move(source);
    statement.target = *std::move(target);
    form->statement = std::move(statement);
    return true;
  }

  // False if it cannot hold. One that speaks of reals is not used.
  static bool AddComparison(const Comparison& comparison, const SymbolValues& symbols,
                            std::vector<Guard>* guards) {
    auto lhs = Evaluate(comparison.lhs, symbols), rhs = Evaluate(comparison.rhs, symbols);
    if (!lhs || !rhs) return false;
    auto *a = std::get_if<IndexExpr>(&*lhs), *b = std::get_if<IndexExpr>(&*rhs);
    if (a && b) {
      const Guard guard = Relate(*a, comparison.relation, *b);
      if (guard.is_false()) return false;
      guards->push_back(guard);
      return true;
    }
    auto *x = std::get_if<Idx>(&*lhs), *y = std::get_if<Idx>(&*rhs);
    if (x && y) {
      Guard equal = x->size() == y->size();
      for (size_t i = 0; i < x->size() && i < y->size(); ++i) equal = equal && Eq((*x)[i], (*y)[i]);
      if (comparison.relation == Relation::kNe) equal = !equal;
      if (equal.is_false()) return false;
      // Conjuncts one by one, so that each can be solved.
      std::vector<Guard> work = {equal};
      while (!work.empty()) {
        Guard g = work.back();
        work.pop_back();
        if (g.kind() == Guard::Kind::kAnd) {
          work.push_back(g.left());
          work.push_back(g.right());
        } else {
          guards->push_back(g);
        }
      }
      return true;
    }
    auto constant = Evaluate(comparison, symbols);
    return !constant || *constant;
  }

  static Guard Relate(const IndexExpr& a, Relation relation, const IndexExpr& b) {
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

  // A constant: every element is the fill.
  static absl::StatusOr<Definition> ConstantOf(const PatternNode& node,
                                               const SymbolValues& symbols) {
    auto dims = Evaluate(node.dims, symbols);
    auto fill = Evaluate(node.fill, symbols);
    if (!dims || !std::holds_alternative<Idx>(*dims) || !fill) {
      return absl::InvalidArgumentError("a constant has no value");
    }
    Definition definition;
    TensorExpr tensor;
    tensor.dtype = node.dtype.value_or(DType::kF32);
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
                                  const SymbolValues& symbols, std::vector<Guard>* requirements) {
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
        LEMMA_ASSIGN_OR_RETURN(Definition constant, ConstantOf(node, symbols));
        definitions.push_back(std::move(constant));
      } else {
        std::vector<ExprType> types;
        for (const PatternValue& v : node.inputs) {
          types.push_back(type_of(v));
          step.inputs.push_back(source(v));
        }
        ExprAttrs attrs;
        for (const auto& [name, term] : node.attrs) {
          auto value = Evaluate(term, symbols);
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
    return Chain(inputs, steps, outputs);
  }

  const Substitution& rule_;
  const FormLimits& limits_;
  std::vector<std::vector<Choice>> values_;
  RuleForms result_;
  std::string unsupported_, problem_;
};

}  // namespace

std::string ProofId(const Statement& statement) {
  std::string text = absl::StrCat("lemma proof 1\n", statement.source.ToString(), "=>\n",
                                  statement.target.ToString());
  for (const ExprType& input : statement.source.inputs) {
    absl::StrAppend(&text, "in ", Name(input.dtype));
    for (const IndexExpr& dim : input.dims) absl::StrAppend(&text, ",", dim.ToString());
    text += "\n";
  }
  for (const Guard& guard : statement.requirements) absl::StrAppend(&text, guard.ToString(), "\n");
  return absl::StrFormat("%016x%016x", HashString(text, 1), HashString(text, 2));
}

std::string ProofId(const RuleForms& forms) {
  std::string ids;
  for (const RuleForm& form : forms.forms) ids += ProofId(form.statement);
  if (forms.forms.size() <= 1) return ids;
  return absl::StrFormat("%016x%016x", HashString(ids, 1), HashString(ids, 2));
}

RuleForms FormsOf(const Substitution& rule, const FormLimits& limits) {
  return FormLister(rule, limits).List();
}

}  // namespace lemma
