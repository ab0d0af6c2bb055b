#include "pet/symbolic/size_formula.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lemma::pet {

int64_t ValueOf(const SizeFormula& formula, const Sizes& sizes) {
  int64_t sum = 0;
  for (const auto& [product, coefficient] : formula) {
    int64_t term = coefficient;
    for (size_t s : product) term *= sizes[s];
    sum += term;
  }
  return sum;
}

SizeFormula Interpolated(std::vector<int64_t> values, const Sizes& base,
                         const std::vector<size_t>& symbols) {
  const unsigned all = 1u << symbols.size();
  // These differences are the coefficients of the products of (size - base).
  for (size_t b = 0; b < symbols.size(); ++b) {
    for (unsigned set = 0; set < all; ++set) {
      if ((set >> b) & 1) values[set] -= values[set & ~(1u << b)];
    }
  }
  for (size_t b = 0; b < symbols.size(); ++b) {
    for (unsigned set = 0; set < all; ++set) {
      if (!((set >> b) & 1)) values[set] -= base[symbols[b]] * values[set | (1u << b)];
    }
  }
  SizeFormula formula;
  for (unsigned set = 0; set < all; ++set) {
    if (values[set] == 0) continue;
    std::vector<size_t> product;
    for (size_t b = 0; b < symbols.size(); ++b) {
      if ((set >> b) & 1) product.push_back(symbols[b]);
    }
    formula[product] = values[set];
  }
  return formula;
}

SizeFormula Shifted(const SizeFormula& formula, const Sizes& base) {
  SizeFormula above;
  for (const auto& [product, coefficient] : formula) {
    for (unsigned set = 0; set < 1u << product.size(); ++set) {
      std::vector<size_t> kept;
      int64_t factor = coefficient;
      for (size_t i = 0; i < product.size(); ++i) {
        if ((set >> i) & 1) {
          kept.push_back(product[i]);
        } else {
          factor *= base[product[i]];
        }
      }
      above[kept] += factor;
    }
  }
  for (auto it = above.begin(); it != above.end();) {
    it = it->second == 0 ? above.erase(it) : std::next(it);
  }
  return above;
}

bool NeverEqual(const SizeFormula& a, const SizeFormula& b, const Sizes& base) {
  SizeFormula difference = a;
  for (const auto& [product, coefficient] : b) difference[product] -= coefficient;
  const SizeFormula above = Shifted(difference, base);
  auto it = above.find({});
  const int64_t least = it == above.end() ? 0 : it->second;
  return least != 0 && std::all_of(above.begin(), above.end(), [&](const auto& term) {
           return least > 0 ? term.second >= 0 : term.second <= 0;
         });
}

std::string SizeName(size_t symbol) { return absl::StrCat("n", symbol); }

Term TermOf(const SizeFormula& formula) {
  std::optional<Term> sum;
  for (auto it = formula.rbegin(); it != formula.rend(); ++it) {
    std::optional<Term> term;
    const int64_t c = it->second;
    if (c != 1 || it->first.empty()) term = Term(c);
    for (size_t s : it->first) {
      Term symbol = Term::Symbol(SizeName(s), static_cast<int>(s));
      term = term ? Term::Call(TermFn::kMul, {*term, symbol}) : symbol;
    }
    sum = sum ? Term::Call(TermFn::kAdd, {*sum, *term}) : *term;
  }
  return sum.value_or(Term(0));
}

std::string RangeText(const SizeFormula* range) {
  const std::string start = TermOf(range[0]).ToString();
  SizeFormula last = range[1];
  if (--last[{}] == 0) last.erase(last.find({}));
  if (last == range[0]) return start;
  std::string text = absl::StrCat(start, ":", TermOf(range[1]).ToString());
  const std::string step = TermOf(range[2]).ToString();
  if (step != "1") absl::StrAppend(&text, ":", step);
  return text;
}

}  // namespace lemma::pet
