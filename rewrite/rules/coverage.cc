#include "rewrite/rules/coverage.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/expr/substitute.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

// Most proofs cover real numbers only; a value that is not finite is not one.
bool IsFinite(const ExprAttr& value) {
  auto* real = std::get_if<ScalarExpr>(&value);
  return real == nullptr ||
         (real->kind() == ScalarExpr::Kind::kConst && std::isfinite(real->value()));
}

// The first requirement that is not known to hold: for all values of symbolic sizes, if there are
// any.
const Guard* Failing(const std::vector<Guard>& requirements,
                     const std::map<std::string, IndexExpr>& sizes) {
  const bool is_symbolic = std::any_of(sizes.begin(), sizes.end(),
                                       [](const auto& size) { return !size.second.is_const(); });
  ExprSubstitution substitution;
  if (is_symbolic) substitution.symbols.insert(sizes.begin(), sizes.end());
  IndexEnv env;
  env.var = [](VarId) { return std::nullopt; };
  env.symbol = [&](const std::string& name) -> std::optional<int64_t> {
    auto it = sizes.find(name);
    if (it == sizes.end()) return std::nullopt;
    return it->second.value();
  };
  for (const Guard& guard : requirements) {
    const std::optional<bool> holds =
        is_symbolic ? Decide(Substitute(guard, substitution)) : EvaluateGuard(guard, env);
    if (holds != true) return &guard;
  }
  return nullptr;
}

bool IsSymbolic(const AttrValue& value) {
  auto* size = std::get_if<int64_t>(&value);
  auto* sizes = std::get_if<std::vector<int64_t>>(&value);
  return (size != nullptr && lemma::IsSymbolic(*size)) ||
         (sizes != nullptr && lemma::IsSymbolic(*sizes));
}

// If two sizes should be equal but are not: the one that is 1; "" if there is none.
std::string UnitSize(const Guard& guard, const std::map<std::string, IndexExpr>& sizes) {
  if (guard.kind() != Guard::Kind::kEq) return "";
  for (const IndexExpr* side : {&guard.lhs(), &guard.rhs()}) {
    if (side->kind() != IndexExpr::Kind::kSymbol) return "";
  }
  for (const IndexExpr* side : {&guard.lhs(), &guard.rhs()}) {
    auto it = sizes.find(side->name());
    if (it != sizes.end() && it->second.AsConst() == 1) return side->name();
  }
  return "";
}

// Whether a form, proved for real numbers, holds for another type. It does if the type holds every
// stored value: data may be moved and compared and, in 64 bits, added and multiplied.
bool FitsIntegers(const ScalarExpr& e, DType type) {
  const bool wide = type == DType::kI64;
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return e.value() == 0 || e.value() == 1 ||
             (wide && e.value() == std::floor(e.value()) && std::abs(e.value()) < 0x1p31);
    case ScalarExpr::Kind::kIndex:
      return wide;
    case ScalarExpr::Kind::kParam:  // checked where its value is known
    case ScalarExpr::Kind::kRead:
      return true;
    case ScalarExpr::Kind::kReduce:
      if (e.reduce() != ReduceKind::kMax && e.reduce() != ReduceKind::kMin && !wide) return false;
      break;
    case ScalarExpr::Kind::kSelect:
      break;
    case ScalarExpr::Kind::kApply:
      switch (e.fn()) {
        case ScalarFn::kMin:
        case ScalarFn::kMax:
        case ScalarFn::kWhere:
        case ScalarFn::kLess:
        case ScalarFn::kEqual:
        case ScalarFn::kAnd:
        case ScalarFn::kOr:
        case ScalarFn::kNot:
          break;
        case ScalarFn::kAdd:
        case ScalarFn::kSub:
        case ScalarFn::kMul:
        case ScalarFn::kNeg:
          if (!wide) return false;
          break;
        default:
          return false;
      }
  }
  return std::all_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return FitsIntegers(arg, type); });
}

bool FitsIntegers(const Statement& statement, DType type) {
  if (IsSmallFloat(type)) return false;
  for (const Definition* side : {&statement.source, &statement.target}) {
    for (const TensorExpr& tensor : side->tensors) {
      if (!FitsIntegers(tensor.body, type)) return false;
    }
  }
  return true;
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
  const RuleForms forms = FormsOf(rule_, limits_);
  if (requires_record_) {
    const std::string id = ProofId(forms);
    if (id.empty() || id != rule_.proof.id) return;
  }
  for (const RuleForm& form : forms.forms) {
    // Among forms with equal texts, keeps the first, which is the smallest, and those that require
    // less than it.
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
    add(TextWithoutBatchDims(form.statement, DType::kF32));
  }
}

std::optional<RuleForm> Coverage::Open(const SymbolValues& symbols, DType common, Sizes* sizes,
                                       std::string* key) const {
  RuleForm form;
  form.symbols.resize(rule_.symbols.size());
  for (size_t i = 0; i < rule_.symbols.size(); ++i) {
    const Symbol& symbol = rule_.symbols[i];
    if (!symbols[i]) return std::nullopt;
    const ExprAttr& value = *symbols[i];
    if (rule_.contract != FloatContract::kBitExact && !IsFinite(value)) return std::nullopt;
    if (auto* real = std::get_if<ScalarExpr>(&value); real != nullptr && !IsFloat(common)) {
      if (!FitsIntegers(*real, common)) return std::nullopt;
    }
    if (known_[i]) {
      form.symbols[i] = value;
      auto constant = ToAttrValue(value);
      if (!constant || IsSymbolic(*constant)) return std::nullopt;
      absl::StrAppend(key, ToString(*constant), ";");
    } else if (symbol.kind == SymbolKind::kReal) {
      form.symbols[i] = ScalarExpr::Param(symbol.name);
    } else if (symbol.kind == SymbolKind::kList) {
      auto* list = std::get_if<Idx>(&value);
      if (list == nullptr) return std::nullopt;
      Idx open;
      for (size_t j = 0; j < list->size(); ++j) {
        if (!ToSize((*list)[j])) return std::nullopt;
        open.push_back(IndexExpr::Symbol(ElementName(symbol.name, j)));
        (*sizes)[open.back().name()] = (*list)[j];
      }
      absl::StrAppend(key, list->size(), ";");
      form.symbols[i] = std::move(open);
    } else {
      auto* index = std::get_if<IndexExpr>(&value);
      if (index == nullptr || !ToSize(*index)) return std::nullopt;
      form.symbols[i] = IndexExpr::Symbol(symbol.name);
      (*sizes)[symbol.name] = *index;
    }
  }
  return form;
}

Coverage::OpenMatch& Coverage::Find(const std::string& key, const RuleForm& form, DType common) {
  auto [it, added] = instances_.emplace(key, OpenMatch());
  OpenMatch& instance = it->second;
  if (!added) return instance;
  instance.form = form;
  instance.well_formed = MakeStatement(rule_, &instance.form, common).ok() &&
                         (IsFloat(common) || FitsIntegers(instance.form.statement, common));
  if (!instance.well_formed) return instance;
  for (const StatementText& text : {TextOf(instance.form.statement, common),
                                    TextWithoutBatchDims(instance.form.statement, common)}) {
    auto found = forms_.find(text.text);
    if (found != forms_.end()) instance.texts.push_back({text.symbols, &found->second});
  }
  return instance;
}

bool Coverage::Holds(const Form& form, const OpenMatch::Text& text, const Sizes& sizes) {
  Sizes named = sizes;
  // Elements of lists have other names in the form. All other names mean the same.
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
  std::optional<RuleForm> form = Open(symbols, common, &sizes, &key);
  if (!form) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!listed_) ListForms();
  while (true) {
    OpenMatch& instance = Find(key, *form, common);
    if (!instance.well_formed) return false;
    const Guard* failing = Failing(instance.form.statement.requirements, sizes);
    if (failing == nullptr) {
      for (const OpenMatch::Text& text : instance.texts) {
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
