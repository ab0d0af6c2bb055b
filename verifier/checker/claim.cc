#include "verifier/checker/claim.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "verifier/checker/evaluator.h"

namespace lemma::checker {
namespace {

constexpr int64_t kLargestNumber = 1 << 16;
constexpr size_t kLongestList = 16;

bool IsNumberOrName(const Node& node) {
  return !node.is_list &&
         (!node.is_number || (node.number <= kLargestNumber && node.number >= -kLargestNumber));
}
IndexExpr IndexOf(const Node& node) {
  return node.is_number ? IndexExpr(node.number) : IndexExpr::Symbol(node.text);
}
std::optional<int64_t> NumberOf(const Node& node) {
  return node.is_number ? std::optional<int64_t>(node.number) : std::nullopt;
}

// False if the node is not a value.
bool AddSymbol(const Node& node, ExprAttr* value, Fixed* fixed) {
  if (node.Is("real", 1)) {
    *value = ScalarExpr::Param(node.items[0].text);
    return true;
  }
  if (!node.Is("list")) {
    *value = IndexOf(node);
    fixed->number = NumberOf(node);
    return IsNumberOrName(node);
  }
  Idx list;
  fixed->list.emplace();
  for (const Node& item : node.items) {
    list.push_back(IndexOf(item));
    fixed->list->push_back(NumberOf(item));
    if (!IsNumberOrName(item)) return false;
  }
  *value = list;
  return list.size() <= kLongestList;
}

bool Fits(const ExprAttr& form, const ExprAttr& instance) {
  auto fits = [](const IndexExpr& open, const IndexExpr& index) {
    return !open.is_const() || open.value() == index.value();
  };
  if (form.index() != instance.index()) return false;
  if (auto* index = std::get_if<IndexExpr>(&form)) {
    return fits(*index, std::get<IndexExpr>(instance));
  }
  auto* list = std::get_if<Idx>(&form);
  if (list == nullptr) return true;
  const Idx& values = std::get<Idx>(instance);
  return list->size() == values.size() &&
         std::equal(list->begin(), list->end(), values.begin(), fits);
}

}  // namespace

absl::StatusOr<Claim> ClaimOf(const Substitution& rule, const Form& form) {
  Claim claim;
  claim.symbols.resize(rule.symbols.size());
  claim.fixed.resize(rule.symbols.size());
  for (size_t i = 0; i < rule.symbols.size(); ++i) {
    const std::string& name = rule.symbols[i].name;
    auto it = form.symbols.find(name);
    if (it == form.symbols.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the form lacks symbol ", name));
    }
    ExprAttr value;
    if (!AddSymbol(it->second, &value, &claim.fixed[i])) {
      return absl::InvalidArgumentError(absl::StrCat("unknown value of ", name));
    }
    claim.symbols[i] = std::move(value);
  }
  std::vector<ExprType> inputs;
  for (const PatternVar& var : rule.vars) {
    auto dims = Evaluate(var.dims, claim.symbols);
    if (!dims || !std::holds_alternative<Idx>(*dims)) {
      return absl::InvalidArgumentError(absl::StrCat("variable ", var.name, " has no dimensions"));
    }
    inputs.push_back({var.dtype.value_or(DType::kF32), std::get<Idx>(*dims)});
  }
  for (const Pattern* pattern : {&rule.source, &rule.target}) {
    std::vector<Definition> before;
    for (const PatternNode& node : pattern->nodes) {
      auto meaning = MeaningAt(node, inputs, before, claim.symbols);
      if (!meaning) {
        return absl::InvalidArgumentError("the rule is not well-formed for this form");
      }
      claim.guards.insert(claim.guards.end(), meaning->requirements.begin(),
                          meaning->requirements.end());
      before.push_back(std::move(meaning->definition));
    }
  }
  return claim;
}

bool IsAbout(const Claim& claim, const Instance& instance, int64_t* work) {
  for (size_t i = 0; i < claim.symbols.size(); ++i) {
    if (!instance.symbols[i] || !Fits(*claim.symbols[i], *instance.symbols[i])) return false;
  }
  const auto open = OpenSymbols(claim, instance);
  Algebra algebra(Level::kRing, work);
  const Definition none;
  Evaluator evaluator(&algebra, none, {});
  evaluator.SetSymbols(&open);
  return std::all_of(claim.guards.begin(), claim.guards.end(),
                     [&](const Guard& guard) { return evaluator.Holds(guard); }) &&
         algebra.problem().empty();
}

std::map<std::string, int64_t> OpenSymbols(const Claim& claim, const Instance& instance) {
  std::map<std::string, int64_t> values;
  auto add = [&](const IndexExpr& open, const IndexExpr& value) {
    if (open.kind() == IndexExpr::Kind::kSymbol) values[open.name()] = value.value();
  };
  for (size_t i = 0; i < claim.symbols.size(); ++i) {
    auto* index = std::get_if<IndexExpr>(&*claim.symbols[i]);
    auto* list = std::get_if<Idx>(&*claim.symbols[i]);
    if (index != nullptr) add(*index, std::get<IndexExpr>(*instance.symbols[i]));
    for (size_t k = 0; list != nullptr && k < list->size(); ++k) {
      add((*list)[k], std::get<Idx>(*instance.symbols[i])[k]);
    }
  }
  return values;
}

}  // namespace lemma::checker
