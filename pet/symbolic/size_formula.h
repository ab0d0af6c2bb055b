// Size formulas: sums of products of open sizes.
#ifndef LEMMA_PET_SYMBOLIC_SIZE_FORMULA_H_
#define LEMMA_PET_SYMBOLIC_SIZE_FORMULA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rewrite/rules/term.h"

namespace lemma::pet {

using Sizes = std::vector<int64_t>;  // the size of each symbol, by its number

// Maps products of sizes to their coefficients; the formula is the sum of coefficient * product. A
// key lists the symbols of a product in ascending order, each once, so the formula is linear in
// each size. The empty formula is 0.
using SizeFormula = std::map<std::vector<size_t>, int64_t>;

int64_t ValueOf(const SizeFormula& formula, const Sizes& sizes);

// The formula in the sizes of `symbols` that has the given 2^symbols.size() values. values[set] is
// the formula's value at these sizes: symbol symbols[b] has its size in `base`, plus 1 if bit b of
// `set` is set.
SizeFormula Interpolated(std::vector<int64_t> values, const Sizes& base,
                         const std::vector<size_t>& symbols);

// The same function, written as a formula in the differences size - base instead of the sizes.
SizeFormula Shifted(const SizeFormula& formula, const Sizes& base);

// True: one of the formulas is larger than the other at all sizes that are at least those of
// `base`. False: undecided.
bool NeverEqual(const SizeFormula& a, const SizeFormula& b, const Sizes& base);

std::string SizeName(size_t symbol);  // the name of a symbol: "n0"
// The formula as a term of a rule; symbol i of the formula is symbol i of the rule.
Term TermOf(const SizeFormula& formula);

// A range as text: "0:2 * n0", "n1 + -1" for one position, or "0:n0:2". `range` points to three
// formulas: the start, one past the last position, and the step.
std::string RangeText(const SizeFormula* range);

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_SIZE_FORMULA_H_
