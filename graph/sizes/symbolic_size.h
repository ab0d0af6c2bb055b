// Represents symbolic sizes: sizes that are expressions instead of numbers.
//
// A size in a Shape, or among an operator's integer attributes, is a number or a symbolic size: an
// expression over a model's symbolic dimensions, such as `2*seq + 1`. Equal expressions are the
// same symbolic size, so shapes compare as vectors of integers, and graphs with symbolic sizes are
// matched, rewritten and hashed like other graphs. Graphs with symbolic sizes are written only as
// ONNX, and cannot be executed; graph/sizes/specialize.h replaces their symbolic sizes by numbers.
//
// A symbolic size is an int64_t of at least 2^62; its low bits are a hash of the expression. One
// thread-safe table in the process maps symbolic sizes to their expressions. Code must not compute
// with a symbolic size as a number: to add or multiply sizes, convert them to IndexExpr (ToExpr)
// first, as operators' definitions do.
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

// The values that a symbolic dimension may have, from `least` to `most`, both included.
struct SizeRange {
  static constexpr int64_t kNoLimit = INT32_MAX;  // the greatest `most`; it means: no limit
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
// Whether `value` is one of the numbers reserved for symbolic sizes. The ONNX import refuses a
// model with symbolic dimensions that contains such a number where a size may be.
bool MayBeTakenForSymbolic(int64_t value);

// The expression of a size: a constant, or an expression over symbolic dimensions.
IndexExpr ToExpr(int64_t size);
std::vector<IndexExpr> ToExprs(absl::Span<const int64_t> sizes);
// The size that stands for an expression over constants and symbolic dimensions. Expressions with
// equal normal forms (graph/expr/polynomial.h) have the same size. nullopt if the expression
// contains anything else, if a divisor may be less than 1, or if a coefficient overflows.
std::optional<int64_t> ToSize(const IndexExpr& expr);

// Parses an expression of numbers, dimensions, sums, differences, products, quotients rounded down
// ("//"), parentheses, and the functions floor_div, mod, min and max, which SizeName prints. `dim`
// returns the dimension with a name; nullopt if there is none. The result is nullopt if `text` is
// not such an expression or is nested more than 50 deep, or if `dim` returns nullopt for a name.
std::optional<IndexExpr> ParseSize(
    absl::string_view text, const std::function<std::optional<IndexExpr>(const std::string&)>& dim);
// Whether `text` may be the name of a dimension, rather than an expression.
bool IsDimName(absl::string_view text);

// The size as text, without ranges: "seq", "2*seq + 1", "12".
std::string SizeName(int64_t size);
// Adds the names and ranges of the dimensions in `size` to *dims; a name keeps its first range.
void CollectDims(int64_t size, std::map<std::string, SizeRange>* dims);

inline bool IsResultSize(const SizeRange& range) { return range.least == 0; }

// The size to assume for an input's dimension if a number is needed and none is given: 1 for the
// first axis, 224 for the last two axes of four, 128 for other axes.
int64_t UsualSize(size_t axis, size_t rank);
// Whether one of the sizes depends on a result size.
bool HasResultSize(absl::Span<const int64_t> sizes);

// true if a condition on sizes is known to be true for all values of the symbolic dimensions in
// their ranges; false if it is known to be false for all of them; otherwise nullopt.
std::optional<bool> Decide(const Guard& guard);
// Whether two expressions are known to have equal values for all values of their dimensions.
bool AreEqual(const IndexExpr& a, const IndexExpr& b);
// Whether `size` is known to be at least `least`.
bool IsAtLeast(int64_t size, int64_t least);
// The product of `sizes`, which may be symbolic, as a size. INT64_MAX if a number or coefficient
// exceeds 64 bits.
int64_t ProductOf(absl::Span<const int64_t> sizes);
// a / b as a size. nullopt unless b is known to divide a and known not to be 0; if a or b is
// symbolic, b must be known to be positive.
std::optional<int64_t> QuotientOf(int64_t a, int64_t b);
// Whether a tensor of this shape may have no elements at some values of the symbolic dimensions.
bool MayBeEmpty(absl::Span<const int64_t> shape);

// Values of symbolic dimensions, by name.
using DimValues = std::map<std::string, int64_t>;
// The number that a size becomes for these values. It may be negative. If a result size has no
// value, the result is symbolic. InvalidArgument if another dimension has no value, if a value is
// outside the range of its dimension, or if the size is too large.
absl::StatusOr<int64_t> Evaluate(int64_t size, const DimValues& values);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_SYMBOLIC_SIZE_H_
