#include "graph/ops/normalization/moments.h"

#include <algorithm>

namespace lemma::ops {

Moments LocalMoments(OpContext& c, const std::vector<int>& over) {
  const int rank = c.rank(0);
  auto is_over = [&](int axis) { return std::find(over.begin(), over.end(), axis) != over.end(); };
  Idx kept, extents;
  for (int i = 0; i < rank; ++i) (is_over(i) ? extents : kept).push_back(c.Dim(0, i));
  auto join = [&](const Idx& rest, const Idx& r) {
    Idx index;
    size_t next_rest = 0, next_r = 0;
    for (int i = 0; i < rank; ++i) index.push_back(is_over(i) ? r[next_r++] : rest[next_rest++]);
    return index;
  };
  ScalarExpr count = ScalarExpr::Index(Product(extents));
  Moments m;
  m.mean = c.Local(c.dtype(0), kept, [&](const Idx& rest) {
    return c.Sum(extents, [&](const Idx& r) { return c.Read(0, join(rest, r)); }) / count;
  });
  m.variance = c.Local(c.dtype(0), kept, [&](const Idx& rest) {
    return c.Sum(extents, [&](const Idx& r) {
      ScalarExpr difference = c.Read(0, join(rest, r)) - c.Read(m.mean, rest);
      return difference * difference;
    }) / count;
  });
  return m;
}

absl::Status RequireNotEmpty(OpContext& c, const std::vector<int>& over) {
  for (int axis : over) LEMMA_REQUIRE(c, Ge(c.Dim(0, axis), 1), "axis ", axis, " of x is empty");
  return absl::OkStatus();
}

}  // namespace lemma::ops
