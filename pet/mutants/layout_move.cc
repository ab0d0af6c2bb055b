#include "pet/mutants/layout_move.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"

namespace lemma::pet {

namespace {

// Whether a transpose leaves the elements in place because it moves only dimensions of one element.
bool Stays(const Shape& shape, const std::vector<int64_t>& perm) {
  std::vector<int64_t> moved;
  for (int64_t p : perm) {
    if (shape[static_cast<size_t>(p)] != 1) moved.push_back(p);
  }
  return std::is_sorted(moved.begin(), moved.end());
}

}  // namespace

absl::StatusOr<Value> Rearranged(const Value& x, const Shape& split,
                                 const std::vector<int64_t>& perm, const Shape& shape) {
  if (Stays(split, perm)) return ReshapeTo(x, shape);
  LEMMA_ASSIGN_OR_RETURN(Value y, ReshapeTo(x, split));
  LEMMA_ASSIGN_OR_RETURN(y, Apply1("transpose", {y}, {{"perm", perm}}));
  return ReshapeTo(y, shape);
}

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
  // Makes the digit a dimension, then moves it next to its target dimension.
  Shape split = x.shape();
  const auto from = static_cast<size_t>(move.from);
  split[from] /= move.factor;
  const size_t digit = from + (move.from_inner ? 1 : 0);
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(digit), move.factor);
  std::vector<int64_t> perm;
  for (size_t d = 0; d < x.shape().size(); ++d) {
    const auto kept = static_cast<int64_t>(d < digit ? d : d + 1);
    const bool here = static_cast<int>(d) == move.to;
    if (here && !move.to_inner) perm.push_back(static_cast<int64_t>(digit));
    perm.push_back(kept);
    if (here && move.to_inner) perm.push_back(static_cast<int64_t>(digit));
  }
  return Rearranged(x, split, perm, result);
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

absl::StatusOr<Value> ApplyMove(const Value& x, const DiagonalMove& move) {
  const auto from = static_cast<size_t>(move.from), to = static_cast<size_t>(move.to);
  const int64_t blocks = move.blocks;
  if (from == to || x.shape()[from] % blocks != 0) {
    return absl::InvalidArgumentError(absl::StrCat(blocks, " blocks do not divide dimension ",
                                                   move.from, " of ", x.type().ToString()));
  }
  // [blocks, to, the rest of from, the other dimensions]
  Shape split = x.shape();
  split[from] /= blocks;
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(from), blocks);
  const size_t to_now = to + (to > from);
  std::vector<int64_t> perm = {static_cast<int64_t>(from), static_cast<int64_t>(to_now)};
  for (size_t d = 0; d < split.size(); ++d) {
    if (d != from && d != to_now) perm.push_back(static_cast<int64_t>(d));
  }
  // Extending each row by `blocks` blocks and cutting the flat result into shorter rows shifts each
  // row by one block more than the row before.
  const int64_t row = x.type().num_elements() / blocks;
  LEMMA_ASSIGN_OR_RETURN(Value y, Rearranged(x, split, perm, {blocks, row}));
  Shape square = {blocks};
  for (int64_t p : perm) square.push_back(split[static_cast<size_t>(p)]);
  LEMMA_ASSIGN_OR_RETURN(y, PadDim(y, 1, 0, row * blocks));
  LEMMA_ASSIGN_OR_RETURN(y, ReshapeTo(y, {blocks * row * (blocks + 1)}));
  LEMMA_ASSIGN_OR_RETURN(y, SliceOf(y, {0}, {blocks * blocks * row}));
  // Transposes back, with the second digit in front of `to`.
  std::vector<int64_t> back;
  int64_t other = 3;
  for (size_t d = 0; d < split.size(); ++d) {
    if (d == from) {
      back.push_back(0);
    } else if (d == to_now) {
      back.push_back(1);
      back.push_back(2);
    } else {
      back.push_back(other++);
    }
  }
  Shape result = x.shape();
  result[to] *= blocks;
  return Rearranged(y, square, back, result);
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

}  // namespace lemma::pet
