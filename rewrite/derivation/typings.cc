#include "rewrite/derivation/typings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/coverage.h"

namespace lemma {
namespace {

constexpr int kDraws = 60;
constexpr int64_t kLargestSize = 12;

bool IsWellFormed(const Substitution& rule, const Assignment& assignment) {
  for (const Comparison& c : rule.where) {
    if (!Evaluate(c, assignment.symbols).value_or(false)) return false;
  }
  for (const PatternVar& var : rule.vars) {
    auto type = TypeOf(var, assignment);
    if (!type.ok() || type->num_elements() == 0) return false;
  }
  auto source = Instantiate(rule, rule.source, assignment);
  auto target = Instantiate(rule, rule.target, assignment);
  if (!source.ok() || !target.ok()) return false;
  for (size_t i = 0; i < source->outputs().size(); ++i) {
    if (source->outputs()[i].type() != target->outputs()[i].type()) return false;
  }
  return true;
}

// The symbols in the dimensions of variables.
std::vector<int> SizeSymbols(const Substitution& rule) {
  std::vector<int> symbols;
  for (const PatternVar& var : rule.vars) var.dims.CollectSymbols(&symbols);
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

// A size: a symbol, or an element of a list symbol.
IndexExpr* SizeAt(Assignment* assignment, int symbol, size_t element) {
  ExprAttr& value = *assignment->symbols[symbol];
  if (auto* list = std::get_if<Idx>(&value)) {
    return element < list->size() ? &(*list)[element] : nullptr;
  }
  return element == 0 ? std::get_if<IndexExpr>(&value) : nullptr;
}

// Gives each size in turn the least unused value from `least` on that keeps the rule well-formed.
void MakeDistinct(const Substitution& rule, const std::vector<int>& symbols, int64_t least,
                  Assignment* assignment) {
  std::set<int64_t> used;
  for (int symbol : symbols) {
    for (size_t i = 0; IndexExpr* size = SizeAt(assignment, symbol, i); ++i) {
      const IndexExpr before = *size;
      for (int64_t candidate = least; candidate <= kLargestSize; ++candidate) {
        if (used.count(candidate) > 0) continue;
        *size = IndexExpr(candidate);
        if (IsWellFormed(rule, *assignment)) break;
        *size = before;
      }
      used.insert(size->value());
    }
  }
}

// Number of sizes that are 1 or equal to another size.
int CountRepeated(const std::vector<int>& symbols, Assignment assignment) {
  std::set<int64_t> seen = {1};
  int repeated = 0;
  for (int symbol : symbols) {
    for (size_t i = 0; IndexExpr* size = SizeAt(&assignment, symbol, i); ++i) {
      repeated += seen.insert(size->value()).second ? 0 : 1;
    }
  }
  return repeated;
}

// Lengths of lists; 1 for other symbols.
std::vector<size_t> Lengths(const std::vector<int>& symbols, const Assignment& assignment) {
  std::vector<size_t> lengths;
  for (int symbol : symbols) {
    auto* list = std::get_if<Idx>(&*assignment.symbols[symbol]);
    lengths.push_back(list == nullptr ? 1 : list->size());
  }
  return lengths;
}

std::vector<std::string> TextsOf(const Assignment& assignment) {
  std::vector<std::string> texts;
  for (const auto& value : assignment.symbols) {
    auto constant = value ? ToAttrValue(*value) : std::nullopt;
    texts.push_back(constant ? ToString(*constant) : "");
  }
  return texts;
}

}  // namespace

std::vector<Assignment> DistinctTypings(const Substitution& rule, int count, uint64_t seed) {
  const std::vector<int> symbols = SizeSymbols(rule);
  const std::vector<int> reversed(symbols.rbegin(), symbols.rend());
  InstanceSampler sampler(rule, seed);
  Coverage coverage(rule);
  std::set<std::vector<std::string>> seen;
  // By lengths of lists: assignments with their number of repeated sizes.
  std::map<std::vector<size_t>, std::vector<std::pair<int, Assignment>>> found;
  for (int i = 0; i < kDraws; ++i) {
    auto drawn = sampler.Draw(500);
    if (!drawn) break;
    if (!IsWellFormed(rule, *drawn)) continue;
    // Sizes rise or fall in the order of the symbols, for different quotients and remainders.
    MakeDistinct(rule, i % 2 == 0 ? symbols : reversed, 2 + i % 3, &*drawn);
    if (!seen.insert(TextsOf(*drawn)).second) continue;
    if (!coverage.Covers(drawn->symbols, drawn->dtype)) continue;
    auto& of_lengths = found[Lengths(symbols, *drawn)];
    of_lengths.emplace_back(CountRepeated(symbols, *drawn), *std::move(drawn));
  }
  for (auto& [lengths, of_lengths] : found) {
    std::stable_sort(of_lengths.begin(), of_lengths.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  std::vector<Assignment> chosen;
  for (size_t round = 0; static_cast<int>(chosen.size()) < count; ++round) {
    bool any = false;
    for (const auto& [lengths, of_lengths] : found) {
      if (round >= of_lengths.size() || static_cast<int>(chosen.size()) == count) continue;
      chosen.push_back(of_lengths[round].second);
      any = true;
    }
    if (!any) break;
  }
  return chosen;
}

}  // namespace lemma
