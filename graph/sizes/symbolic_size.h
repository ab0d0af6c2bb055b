// Symbolic sizes: sizes that are expressions over a model's dimensions instead of numbers.
//
// A size in a Shape, or among an operator's integer attributes, is a number or a symbolic size: an
// expression over a model's symbolic dimensions, such as `2*seq + 1`. Equal expressions are the
// same symbolic size, so shapes compare as vectors of integers, and graphs with symbolic sizes are
// ordinary graphs: they are matched, rewritten, hashed and written as others are. They cannot be
// executed; graph/sizes/specialize.h gives the graph for numbers.
//
// A symbolic size is an int64_t from 2^62 on whose low bits are a hash of the expression. Nothing
// may compute with it: whoever adds or multiplies sizes converts them to IndexExpr first, as
// operators' definitions do.
#ifndef LEMMA_GRAPH_SIZES_SYMBOLIC_SIZE_H_
#define LEMMA_GRAPH_SIZES_SYMBOLIC_SIZE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/expr/index_expr.h"

namespace lemma {

// The values that a symbolic dimension may have.
struct SizeRange {
  static constexpr int64_t kNoLimit = INT32_MAX;  // no tensor is longer
  int64_t least = 1;
  int64_t most = kNoLimit;

  friend bool operator==(const SizeRange& a, const SizeRange& b) {
    return a.least == b.least && a.most == b.most;
  }
};

// The symbolic dimension `name`. Dimensions of equal names but different ranges are different.
// Requires 0 <= least <= most <= kNoLimit and a name that is not empty. The dimensions of a model's
// inputs are at least 1. A dimension that may be 0 is a *result size*: the size of a result that
// depends on values and is known only at run time.
IndexExpr SymbolicDim(const std::string& name, SizeRange range = {});

// Whether the size, or one of the sizes, is symbolic.
bool IsSymbolic(int64_t size);
bool IsSymbolic(absl::Span<const int64_t> sizes);
// Whether `value` cannot be told from a symbolic size. A file that contains one is refused.
bool MayBeTakenForSymbolic(int64_t value);

// The expression of a size: a constant, or one over symbolic dimensions.
IndexExpr ToExpr(int64_t size);
std::vector<IndexExpr> ToExprs(absl::Span<const int64_t> sizes);
// The size of an expression over constants and symbolic dimensions, whatever form it is written in.
// nullopt if it contains something else, or if its coefficients overflow.
std::optional<int64_t> ToSize(const IndexExpr& expr);

// The expression that `text` writes: numbers, dimensions, sums, differences, products, quotients
// rounded down ("//"), parentheses, and the functions that SizeName writes. `dim` gives the
// dimension of a name. nullopt if `text` is not such an expression, or if `dim` does not know a
// name.
std::optional<IndexExpr> ParseSize(
    absl::string_view text, const std::function<std::optional<IndexExpr>(const std::string&)>& dim);
// Whether `text` may be the name of a dimension, rather than an expression.
bool IsDimName(absl::string_view text);

// "seq", "2*seq + 1", "12".
std::string SizeName(int64_t size);
// The names and ranges of the dimensions in `size`.
void CollectDims(int64_t size, std::map<std::string, SizeRange>* dims);

inline bool IsResultSize(const SizeRange& range) { return range.least == 0; }

// The size that an input's dimension gets if nobody gives one: 1 for the first, 224 for the last
// two of four, 128 for others.
int64_t UsualSize(size_t axis, size_t rank);
// Whether a size depends on a result size.
bool HasResultSize(absl::Span<const int64_t> sizes);

// Whether a condition on sizes holds for all values of the symbolic dimensions in their ranges
// (true), for none (false), or neither is known (nullopt).
std::optional<bool> Decide(const Guard& guard);
// Whether two expressions are known to have equal values.
bool AreEqual(const IndexExpr& a, const IndexExpr& b);
// Whether `size` is known to be at least `least`.
bool IsAtLeast(int64_t size, int64_t least);
// The product of `sizes`, some of them perhaps symbolic, as a size. INT64_MAX if a number exceeds
// 64 bits.
int64_t ProductOf(absl::Span<const int64_t> sizes);
// a / b; nullopt unless b is known to divide a, and not to be 0.
std::optional<int64_t> QuotientOf(int64_t a, int64_t b);
// Whether a tensor of this shape may have no elements at some values of the symbolic dimensions.
bool MayBeEmpty(absl::Span<const int64_t> shape);

// Values of symbolic dimensions, by name.
using DimValues = std::map<std::string, int64_t>;
// The number that a size becomes for these values; result sizes without a value stay.
// InvalidArgument if another dimension has no value, or one has a value outside its range, or if
// the size is negative or too large.
absl::StatusOr<int64_t> Evaluate(int64_t size, const DimValues& values);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_SYMBOLIC_SIZE_H_
