#include "pet/layout_move.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/ops/status_macros.h"

namespace lemma {
namespace {

absl::StatusOr<Value> Transposed(const Value& x, const std::vector<int64_t>& perm) {
  // Where only dimensions of one element move, the elements stay where they are.
  std::vector<int64_t> moved;
  Shape shape;
  for (int64_t p : perm) {
    shape.push_back(x.shape()[static_cast<size_t>(p)]);
    if (shape.back() != 1) moved.push_back(p);
  }
  if (std::is_sorted(moved.begin(), moved.end())) return ReshapeTo(x, shape);
  return Apply1("transpose", {x}, {{"perm", perm}});
}

}  // namespace

std::string DigitMove::ToString() const {
  return absl::StrCat(from_inner ? "last" : "first", " digit ", factor, " of dim ", from,
                      " to dim ", to, to_inner ? " (last)" : " (first)");
}

std::string BlockMove::ToString() const {
  return absl::StrCat(blocks, " blocks of dim ", from, ", overlapping by ", overlap, ", to dim ",
                      to);
}

absl::StatusOr<Value> ReshapeTo(const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return Apply1("reshape", {x}, {{"shape", shape}});
}

Shape ShapeAfter(Shape shape, const DigitMove& move) {
  int64_t& from = shape[static_cast<size_t>(move.from)];
  if (from % move.factor != 0) return {};
  from /= move.factor;
  shape[static_cast<size_t>(move.to)] *= move.factor;
  return shape;
}

absl::StatusOr<Value> ApplyMove(const Value& x, const DigitMove& move) {
  const Shape result = ShapeAfter(x.shape(), move);
  if (result.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(move.factor, " does not divide dimension ",
                                                   move.from, " of ", x.type().ToString()));
  }
  // The digit as a dimension of its own, then beside the dimension that it goes to.
  Shape split = x.shape();
  const auto from = static_cast<size_t>(move.from);
  split[from] /= move.factor;
  const size_t digit = from + (move.from_inner ? 1 : 0);
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(digit), move.factor);
  LEMMA_ASSIGN_OR_RETURN(Value y, ReshapeTo(x, split));
  std::vector<int64_t> perm;
  for (size_t d = 0; d < x.shape().size(); ++d) {
    const auto kept = static_cast<int64_t>(d < digit ? d : d + 1);
    const bool here = static_cast<int>(d) == move.to;
    if (here && !move.to_inner) perm.push_back(static_cast<int64_t>(digit));
    perm.push_back(kept);
    if (here && move.to_inner) perm.push_back(static_cast<int64_t>(digit));
  }
  LEMMA_ASSIGN_OR_RETURN(y, Transposed(y, perm));
  return ReshapeTo(y, result);
}

absl::StatusOr<Value> ApplyMove(const Value& x, const BlockMove& move) {
  const auto from = static_cast<size_t>(move.from);
  const int64_t whole = x.shape()[from] - move.overlap;
  if (whole <= 0 || whole % move.blocks != 0) {
    return absl::InvalidArgumentError(absl::StrCat(move.blocks, " blocks do not divide dimension ",
                                                   move.from, " of ", x.type().ToString()));
  }
  std::vector<Value> blocks;
  Shape sizes = x.shape();
  sizes[from] = whole / move.blocks + move.overlap;
  for (int64_t b = 0; b < move.blocks; ++b) {
    Shape starts(sizes.size(), 0);
    starts[from] = b * (whole / move.blocks);
    LEMMA_ASSIGN_OR_RETURN(Value block, SliceOf(x, starts, sizes));
    blocks.push_back(std::move(block));
  }
  return Apply1("concat", std::move(blocks), {{"axis", int64_t{move.to}}});
}

absl::StatusOr<Value> PadDim(const Value& x, int dim, int64_t before, int64_t after) {
  if (before == 0 && after == 0) return x;
  const auto rank = static_cast<size_t>(x.type().rank());
  std::vector<int64_t> pads(2 * rank, 0);
  pads[static_cast<size_t>(dim)] = before;
  pads[rank + static_cast<size_t>(dim)] = after;
  return Apply1("pad", {x}, {{"pads", pads}});
}

absl::StatusOr<Value> SliceOf(const Value& x, const Shape& starts, const Shape& sizes,
                              const Shape& steps) {
  const bool unit = std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
  if (unit && sizes == x.shape()) return x;
  return Apply1("slice", {x},
                {{"starts", starts}, {"sizes", sizes}, {"steps", unit ? Shape() : steps}});
}

}  // namespace lemma
