// Size formulas: sums of products of open sizes.
#ifndef LEMMA_PET_SYMBOLIC_SIZE_FORMULA_H_
#define LEMMA_PET_SYMBOLIC_SIZE_FORMULA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rewrite/rules/term.h"

namespace lemma::pet {

using Sizes = std::vector<int64_t>;  // by symbol

// Each key lists symbols in ascending order; the formula is the sum of the products of their sizes,
// times the coefficients. So it is linear in each size. The empty formula is 0.
using SizeFormula = std::map<std::vector<size_t>, int64_t>;

int64_t ValueOf(const SizeFormula& formula, const Sizes& sizes);

// The formula over `symbols` with 2^symbols given values: its value is values[set] at the sizes
// `base`, plus 1 for each symbol whose bit is set in `set`.
SizeFormula Interpolated(std::vector<int64_t> values, const Sizes& base,
                         const std::vector<size_t>& symbols);

// The formula over the differences size - base instead of the sizes.
SizeFormula Shifted(const SizeFormula& formula, const Sizes& base);

// Whether the formulas differ, always in the same direction, at all sizes from `base` on.
// Sufficient, not necessary: false means undecided.
bool NeverEqual(const SizeFormula& a, const SizeFormula& b, const Sizes& base);

std::string SizeName(size_t symbol);  // "n0"
Term TermOf(const SizeFormula& formula);

// A range as text: "0:2 * n0", "n1 + -1" for one position, or "0:n0:2". `range` points to three
// formulas: the start, one past the last position, and the step.
std::string RangeText(const SizeFormula* range);

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_SIZE_FORMULA_H_
