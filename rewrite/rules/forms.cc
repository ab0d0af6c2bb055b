// Chooses the values of a rule's symbols to try: each choice makes a form
// (rewrite/rules/statement.h).
#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "rewrite/rules/statement.h"

namespace lemma {
namespace {

bool OnlyLengths(const Term& term, int symbol) {
  if (term.kind() == Term::Kind::kSymbol) return term.symbol() != symbol;
  if (term.kind() == Term::Kind::kCall && term.fn() == TermFn::kLen) return true;
  if (term.kind() == Term::Kind::kCall || term.kind() == Term::Kind::kList) {
    for (const Term& arg : term.args()) {
      if (!OnlyLengths(arg, symbol)) return false;
    }
  }
  return true;
}

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
    // Short lists first, so that a limit cuts off the long ones.
    for (int total = 0; total <= longest; ++total) Choose(0, total, &form);
    if (result_.forms.empty()) {
      result_.problem = absl::StrCat("the source is well-formed for no values tried: ", problem_);
    }
    return std::move(result_);
  }

 private:
  struct Choice {
    ExprAttr value;
    std::string text;  // "" if it is open
    int length = 0;    // of a list
  };

  // 0: in no variable's dimensions; 1: all dimensions of a variable; 2: part of them.
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
    const bool known = MustBeKnown(rule_, symbol);
    std::vector<Choice> choices;
    switch (s.kind) {
      case SymbolKind::kReal:
        if (!known) choices.push_back({ScalarExpr::Param(s.name), ""});
        break;
      case SymbolKind::kString:
        break;
      case SymbolKind::kList: {
        const int place = PlaceInDims(symbol);
        const auto is_list = [](const Symbol& other) { return other.kind == SymbolKind::kList; };
        const bool only = std::count_if(rule_.symbols.begin(), rule_.symbols.end(), is_list) == 1;
        const int longest = place == 2 ? limits_.max_rank : place == 1 && !only ? 3 : 4;
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
          for (int i = 0; i < n; ++i) list.push_back(IndexExpr::Symbol(ElementName(s.name, i)));
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

  // Chooses lists with `length` elements in total.
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
    // Symbols that are the size of one dimension may be 1 where it broadcasts.
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
        if (FixToOne(name, &fixed) && State(&fixed)) work.push_back(std::move(fixed));
      }
      result_.forms.push_back(std::move(next));
    }
  }

  // Symbols that an operator of the source requires to equal another symbol.
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

  // False if the source is not well-formed for any sizes.
  bool State(RuleForm* form) {
    const absl::Status status = MakeStatement(rule_, form);
    if (!status.ok() && problem_.empty()) problem_ = std::string(status.message());
    return status.ok();
  }

  const Substitution& rule_;
  const FormLimits& limits_;
  std::vector<std::vector<Choice>> values_;
  RuleForms result_;
  std::string unsupported_, problem_;
};

}  // namespace

std::string ElementName(const std::string& list, size_t i) {
  return absl::StrCat(list, "[", i, "]");
}

bool MustBeKnown(const Substitution& rule, int symbol) {
  for (const Pattern* pattern : {&rule.source, &rule.target}) {
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

bool FixToOne(const std::string& name, RuleForm* form) {
  auto is_it = [&](const IndexExpr& e) {
    return e.kind() == IndexExpr::Kind::kSymbol && e.name() == name;
  };
  for (std::optional<ExprAttr>& value : form->symbols) {
    if (auto* index = std::get_if<IndexExpr>(&*value)) {
      if (!is_it(*index)) continue;
      *index = 1;
    } else if (auto* list = std::get_if<Idx>(&*value)) {
      auto at = std::find_if(list->begin(), list->end(), is_it);
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
