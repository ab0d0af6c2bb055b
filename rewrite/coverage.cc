#include "rewrite/coverage.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// A value that is not finite is no real number, of which alone most proofs speak.
bool IsFinite(const ExprAttr& value) {
  auto* real = std::get_if<ScalarExpr>(&value);
  return real == nullptr ||
         (real->kind() == ScalarExpr::Kind::kConst && std::isfinite(real->value()));
}

// The first requirement that is not known to hold.
const Guard* Failing(const std::vector<Guard>& requirements,
                     const std::map<std::string, int64_t>& sizes) {
  IndexEnv env;
  env.var = [](VarId) { return std::nullopt; };
  env.symbol = [&](const std::string& name) -> std::optional<int64_t> {
    auto it = sizes.find(name);
    if (it == sizes.end()) return std::nullopt;
    return it->second;
  };
  for (const Guard& guard : requirements) {
    if (!EvaluateGuard(guard, env).value_or(false)) return &guard;
  }
  return nullptr;
}

// Of two sizes that should be equal but are not, the one that is 1; "" if there is none.
std::string UnitSize(const Guard& guard, const std::map<std::string, int64_t>& sizes) {
  if (guard.kind() != Guard::Kind::kEq) return "";
  for (const IndexExpr* side : {&guard.lhs(), &guard.rhs()}) {
    if (side->kind() != IndexExpr::Kind::kSymbol) return "";
  }
  for (const IndexExpr* side : {&guard.lhs(), &guard.rhs()}) {
    auto it = sizes.find(side->name());
    if (it != sizes.end() && it->second == 1) return side->name();
  }
  return "";
}

}  // namespace

Coverage::Coverage(const Substitution& rule, const FormLimits& limits)
    : rule_(rule), limits_(limits) {
  for (size_t i = 0; i < rule.symbols.size(); ++i) {
    known_.push_back(rule.symbols[i].kind == SymbolKind::kString ||
                     MustBeKnown(rule, static_cast<int>(i)));
  }
}

void Coverage::AddForm(const Statement& statement, const StatementText& text) {
  Form form{statement.requirements, {}, {text.erased.begin(), text.erased.end()}};
  for (size_t i = 0; i < text.symbols.size(); ++i) form.numbers[text.symbols[i]] = i;
  forms_[text.text].push_back(std::move(form));
}

void Coverage::ListForms() {
  listed_ = true;
  for (const RuleForm& form : FormsOf(rule_, limits_).forms) {
    // Of forms that say the same the first, which is the smallest, and those that ask for less.
    auto add = [&](const StatementText& text) {
      auto it = forms_.find(text.text);
      if (it != forms_.end()) {
        for (const Form& known : it->second) {
          Sizes ones;
          for (const std::string& name : known.erased) ones[name] = 1;
          if (Failing(known.requirements, ones) == nullptr) return;
        }
      }
      AddForm(form.statement, text);
    };
    add(TextOf(form.statement, DType::kF32));
    add(TextWithoutCarried(form.statement, DType::kF32));
  }
}

std::optional<RuleForm> Coverage::Open(const SymbolValues& symbols, Sizes* sizes,
                                       std::string* key) const {
  RuleForm form;
  form.symbols.resize(rule_.symbols.size());
  for (size_t i = 0; i < rule_.symbols.size(); ++i) {
    const Symbol& symbol = rule_.symbols[i];
    if (!symbols[i]) return std::nullopt;
    const ExprAttr& value = *symbols[i];
    if (rule_.contract != FloatContract::kBitExact && !IsFinite(value)) return std::nullopt;
    if (known_[i]) {
      form.symbols[i] = value;
      auto constant = ToAttrValue(value);
      if (!constant) return std::nullopt;
      absl::StrAppend(key, ToString(*constant), ";");
    } else if (symbol.kind == SymbolKind::kReal) {
      form.symbols[i] = ScalarExpr::Param(symbol.name);
    } else if (symbol.kind == SymbolKind::kList) {
      auto* list = std::get_if<Idx>(&value);
      if (list == nullptr) return std::nullopt;
      Idx open;
      for (size_t j = 0; j < list->size(); ++j) {
        if (!(*list)[j].is_const()) return std::nullopt;
        open.push_back(IndexExpr::Symbol(ElementName(symbol.name, j)));
        (*sizes)[open.back().name()] = (*list)[j].value();
      }
      absl::StrAppend(key, list->size(), ";");
      form.symbols[i] = std::move(open);
    } else {
      auto* index = std::get_if<IndexExpr>(&value);
      if (index == nullptr || !index->is_const()) return std::nullopt;
      form.symbols[i] = IndexExpr::Symbol(symbol.name);
      (*sizes)[symbol.name] = index->value();
    }
  }
  return form;
}

Coverage::Instance& Coverage::Find(const std::string& key, const RuleForm& form, DType common) {
  auto [it, added] = instances_.emplace(key, Instance());
  Instance& instance = it->second;
  if (!added) return instance;
  instance.form = form;
  instance.well_formed = MakeStatement(rule_, &instance.form, common).ok();
  if (!instance.well_formed) return instance;
  for (const StatementText& text : {TextOf(instance.form.statement, common),
                                    TextWithoutCarried(instance.form.statement, common)}) {
    auto found = forms_.find(text.text);
    if (found != forms_.end()) instance.texts.push_back({text.symbols, &found->second});
  }
  return instance;
}

bool Coverage::Holds(const Form& form, const Instance::Text& text, const Sizes& sizes) {
  Sizes named = sizes;
  // Elements of lists are others in the form; the same name means the same for all else.
  for (auto it = named.begin(); it != named.end();) {
    it = it->first.find('[') == std::string::npos ? std::next(it) : named.erase(it);
  }
  for (const auto& [name, number] : form.numbers) {
    auto it = sizes.find(text.symbols[number]);
    if (it == sizes.end()) return false;
    named[name] = it->second;
  }
  for (const std::string& name : form.erased) named[name] = 1;
  return Failing(form.requirements, named) == nullptr;
}

bool Coverage::Covers(const SymbolValues& symbols, DType common) {
  Sizes sizes;
  std::string key = absl::StrCat(Name(common), ":");
  std::optional<RuleForm> form = Open(symbols, &sizes, &key);
  if (!form) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!listed_) ListForms();
  while (true) {
    Instance& instance = Find(key, *form, common);
    if (!instance.well_formed) return false;
    const Guard* failing = Failing(instance.form.statement.requirements, sizes);
    if (failing == nullptr) {
      for (const Instance::Text& text : instance.texts) {
        for (const Form& proved : *text.forms) {
          if (Holds(proved, text, sizes)) return true;
        }
      }
      return false;
    }
    const std::string unit = UnitSize(*failing, sizes);
    if (unit.empty() || !FixToOne(unit, &*form)) return false;
    absl::StrAppend(&key, unit, "=1;");
  }
}

}  // namespace lemma
