#include "graph/ops/indexing/positions.h"

#include "graph/ops/checks.h"

namespace lemma::ops {

absl::Status RequirePositions(OpContext& c, int input) {
  LEMMA_REQUIRE(c, IsInteger(c.dtype(input)), "indices must be integers, not ",
                Name(c.dtype(input)));
  return absl::OkStatus();
}

ScalarExpr Wrapped(const ScalarExpr& position, const IndexExpr& size) {
  return Apply(ScalarFn::kWhere, Apply(ScalarFn::kLess, position, 0),
               position + ScalarExpr::Index(size), position);
}

IndexExpr Position(const ScalarExpr& position, const IndexExpr& size) {
  return IndexExpr::Load(Wrapped(position, size).node());
}

}  // namespace lemma::ops
