#include "graph/ops/broadcast.h"

#include <algorithm>

namespace lemma::ops {

bool Repeats(const IndexExpr& dim) { return dim.is_const() && dim.value() == 1; }

absl::StatusOr<Idx> BroadcastDims(OpContext& c, absl::Span<const Idx> shapes) {
  size_t rank = 0;
  for (const Idx& shape : shapes) rank = std::max(rank, shape.size());
  Idx result(rank, 1);
  for (const Idx& shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      IndexExpr& so_far = result[rank - shape.size() + i];
      if (Repeats(shape[i])) continue;
      if (Repeats(so_far)) {
        so_far = shape[i];
        continue;
      }
      LEMMA_REQUIRE(c, Eq(so_far, shape[i]), "the sizes ", so_far.ToString(), " and ",
                    shape[i].ToString(), " in dimension ",
                    static_cast<int>(i) - static_cast<int>(shape.size()),
                    " must be equal, or one of them 1");
      if (shape[i].is_const()) so_far = shape[i];
    }
  }
  return result;
}

absl::StatusOr<Idx> BroadcastDims(OpContext& c) {
  std::vector<Idx> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(c.dims(i));
  return BroadcastDims(c, shapes);
}

Idx BroadcastIndex(const Idx& dims, const Idx& out) {
  Idx index;
  size_t skip = out.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    index.push_back(Repeats(dims[i]) ? IndexExpr(0) : out[skip + i]);
  }
  return index;
}

std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (const Shape* shape : {&a, &b}) {
    for (size_t i = 0; i < shape->size(); ++i) {
      int64_t& so_far = result[result.size() - shape->size() + i];
      int64_t size = (*shape)[i];
      if (size == 1) continue;
      if (so_far != 1 && so_far != size) return std::nullopt;
      so_far = size;
    }
  }
  return result;
}

}  // namespace lemma::ops
