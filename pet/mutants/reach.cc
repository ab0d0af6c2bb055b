#include "pet/mutants/reach.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "pet/regions/polynomial.h"

namespace lemma::pet {
namespace {

std::vector<int64_t> Unravel(int64_t flat, const Shape& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ReachOf(const Value& output, const Value& leaf) {
  Box middle;
  for (int64_t dim : output.shape()) middle.push_back({dim / 2, 1, 1});
  PolynomialReader reader;
  LEMMA_ASSIGN_OR_RETURN(const Family family, reader.Read(output, middle));
  const int number = reader.NumberOf(leaf);
  std::vector<int64_t> low, high;
  for (const auto& [term, coefficient] : family.terms) {
    for (const TermRead& read : term.reads) {
      if (read.leaf != number) continue;
      // Merged axes end where the last of their parts ends.
      int64_t first = read.base, last = read.base;
      for (size_t a = 0; a < term.extents.size(); ++a) {
        (read.inner[a] < 0 ? first : last) += read.inner[a] * (term.extents[a] - 1);
      }
      for (int64_t flat : {first, last}) {
        const std::vector<int64_t> index = Unravel(flat, leaf.shape());
        if (low.empty()) low = high = index;
        for (size_t d = 0; d < index.size(); ++d) {
          low[d] = std::min(low[d], index[d]);
          high[d] = std::max(high[d], index[d]);
        }
      }
    }
  }
  for (size_t d = 0; d < low.size(); ++d) high[d] -= low[d];
  return high;
}

}  // namespace lemma::pet
