#include "pet/correctors/corrector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "pet/mutants/layout_move.h"
#include "pet/regions/region.h"

namespace lemma::pet {
namespace {

absl::StatusOr<Value> Sliced(const Value& value, const Box& box) {
  Shape starts, sizes, steps;
  for (const Range& r : box) {
    starts.push_back(r.start);
    sizes.push_back(r.count);
    steps.push_back(r.count == 1 ? 1 : r.step);
  }
  return SliceOf(value, starts, sizes, steps);
}

// Bounds of the positions that a body reads from input `tensor`; ignores guards.
class ReadBounds {
 public:
  ReadBounds(TensorId tensor, std::vector<std::optional<Interval>> vars)
      : tensor_(tensor), vars_(std::move(vars)) {}

  // Returns false if a position has no bounds.
  bool Visit(const ScalarExpr& e) {
    for (const Axis& axis : e.axes()) {
      auto extent = Bound(axis.extent);
      if (!extent) return false;
      vars_[static_cast<size_t>(axis.var)] = Interval{0, extent->hi - 1};
    }
    for (const ScalarExpr& arg : e.args()) {
      if (!Visit(arg)) return false;
    }
    if (e.kind() != ScalarExpr::Kind::kRead || e.tensor() != tensor_) return true;
    for (size_t d = 0; d < e.indices().size(); ++d) {
      auto bounds = Bound(e.indices()[d]);
      if (!bounds) return false;
      if (bounds_.size() <= d) bounds_.push_back(*bounds);
      bounds_[d] = {std::min(bounds_[d].lo, bounds->lo), std::max(bounds_[d].hi, bounds->hi)};
    }
    return true;
  }
  const std::vector<Interval>& bounds() const { return bounds_; }

 private:
  std::optional<Interval> Bound(const IndexExpr& e) const {
    return BoundIndex(e, [&](VarId v) { return vars_[static_cast<size_t>(v)]; });
  }

  const TensorId tensor_;
  std::vector<std::optional<Interval>> vars_;
  std::vector<Interval> bounds_;
};

// Positions [lo, hi] of each dimension, with zeros outside the value.
absl::StatusOr<Value> Window(const Value& value, const std::vector<Interval>& bounds) {
  Box inside;
  for (size_t d = 0; d < bounds.size(); ++d) {
    const int64_t lo = std::max<int64_t>(bounds[d].lo, 0);
    const int64_t hi = std::min(bounds[d].hi, value.shape()[d] - 1);
    if (lo > hi) return absl::InvalidArgumentError("nothing is read");
    inside.push_back({lo, hi - lo + 1, 1});
  }
  LEMMA_ASSIGN_OR_RETURN(Value window, Restricted(value, inside));
  for (size_t d = 0; d < bounds.size(); ++d) {
    LEMMA_ASSIGN_OR_RETURN(window,
                           PadDim(window, static_cast<int>(d), inside[d].start - bounds[d].lo,
                                  bounds[d].hi - inside[d].last()));
  }
  return window;
}

// Applies one operator to windows of its operands; fails if the result has another shape than the
// box.
absl::StatusOr<Value> OverWindows(const Node& node, int output, const Box& box) {
  LEMMA_ASSIGN_OR_RETURN(const Definition definition, DefinitionOf(node));
  if (definition.outputs.size() != 1 || definition.tensors.size() != 1 || output != 0) {
    return absl::InvalidArgumentError("more than one tensor");
  }
  const TensorExpr& tensor = definition.tensors[0];
  std::vector<std::optional<Interval>> vars(static_cast<size_t>(definition.num_vars));
  Shape shape;
  for (size_t d = 0; d < box.size(); ++d) {
    vars[static_cast<size_t>(tensor.axes[d].var)] = Interval{box[d].start, box[d].last()};
    shape.push_back(box[d].count);
  }
  std::vector<Value> operands;
  for (int i = 0; i < definition.num_inputs(); ++i) {
    ReadBounds reads(i, vars);
    const Value& operand = node.inputs()[static_cast<size_t>(i)];
    if (!reads.Visit(tensor.body) ||
        reads.bounds().size() != static_cast<size_t>(operand.type().rank())) {
      return absl::InvalidArgumentError("positions without bounds");
    }
    LEMMA_ASSIGN_OR_RETURN(Value window, Window(operand, reads.bounds()));
    operands.push_back(std::move(window));
  }
  Attrs attrs = node.attrs();
  // The windows include the padding.
  if (auto pads = attrs.find("pads"); pads != attrs.end()) {
    auto* list = std::get_if<std::vector<int64_t>>(&pads->second);
    if (list != nullptr) list->assign(list->size(), 0);
  }
  LEMMA_ASSIGN_OR_RETURN(Value result,
                         Apply1(node.op().name, std::move(operands), std::move(attrs)));
  if (result.shape() != shape) return absl::InvalidArgumentError("another shape");
  return result;
}

}  // namespace

absl::StatusOr<Value> Restricted(const Value& value, const Box& box) {
  if (!value.node().is_op()) return Sliced(value, box);
  if (box == WholeBox(value.shape())) return value;
  const bool dense = std::all_of(box.begin(), box.end(),
                                 [](const Range& r) { return r.count == 1 || r.step == 1; });
  if (dense) {
    LEMMA_ASSIGN_OR_RETURN(const Value slice, Sliced(value, box));
    auto result = OverWindows(value.node(), value.output(), box);
    // The result can differ: a mean that counts padding, for example, divides differently if the
    // padding is explicit.
    if (!result.ok() || !AgreeEverywhere(*result, slice).value_or(false)) return slice;
    return result;
  }
  // Takes all positions from the first to the last, then slices them with steps.
  Box hull, part;
  for (const Range& r : box) {
    hull.push_back({r.start, r.last() - r.start + 1, 1});
    part.push_back({0, r.count, r.count == 1 ? 1 : r.step});
  }
  LEMMA_ASSIGN_OR_RETURN(const Value around, Restricted(value, hull));
  return Sliced(around, part);
}

namespace {

// The positions that two ranges share; they must have one step, or one must contain the other.
std::optional<Range> Common(const Range& a, const Range& b) {
  std::optional<Range> common;
  for (int64_t i = 0; i < a.count; ++i) {
    const int64_t at = a.start + i * a.step;
    if (!b.Contains(at)) continue;
    if (!common) {
      common = Range{at, 1, 1};
    } else if (common->count == 1) {
      *common = {common->start, 2, at - common->start};
    } else {
      ++common->count;
    }
  }
  return common;
}

class Assembly {
 public:
  Assembly(const Value& original, const Value& mutant) : original_(original), mutant_(mutant) {}

  absl::StatusOr<Value> Run(const Box& box, const std::vector<Box>& bad) {
    if (bad.empty()) return Sliced(mutant_, box);
    if (std::find(bad.begin(), bad.end(), box) != bad.end()) return Restricted(original_, box);
    // Splits along the dimension with the fewest parts.
    size_t dim = box.size();
    std::vector<Range> parts;
    bool interleaved = false;
    for (size_t d = 0; d < box.size(); ++d) {
      bool steps = false;
      std::vector<Range> found = PartsOf(box[d], d, bad, &steps);
      if (found.size() < 2 || (dim < box.size() && found.size() >= parts.size())) continue;
      dim = d;
      parts = std::move(found);
      interleaved = steps;
    }
    if (dim == box.size()) return absl::InternalError("boxes that cannot be told apart");
    std::vector<Value> values;
    for (const Range& part : parts) {
      Box inside = box;
      inside[dim] = part;
      std::vector<Box> rest;
      for (const Box& b : bad) {
        auto common = Common(part, b[dim]);
        if (!common) continue;
        rest.push_back(b);
        rest.back()[dim] = *common;
      }
      LEMMA_ASSIGN_OR_RETURN(Value value, Run(inside, rest));
      values.push_back(std::move(value));
    }
    return interleaved ? Interleaved(values, dim) : Concat(values, dim);
  }

 private:
  // Splits the range where bad boxes begin and end, or into residues if bad boxes have steps.
  static std::vector<Range> PartsOf(const Range& range, size_t d, const std::vector<Box>& bad,
                                    bool* interleaved) {
    int64_t step = 1;
    std::vector<int64_t> cuts = {0, range.count};
    for (const Box& b : bad) {
      auto common = Common(range, b[d]);
      if (!common) continue;
      const int64_t first = (common->start - range.start) / range.step;
      if (common->count > 1) step = std::max(step, common->step / range.step);
      cuts.push_back(first);
      cuts.push_back(first + common->count);
    }
    std::vector<Range> parts;
    if (step > 1 && range.count % step == 0) {
      *interleaved = true;
      for (int64_t r = 0; r < step; ++r) parts.push_back(range.Residue(r, step));
      return parts;
    }
    if (step > 1) {
      cuts.clear();
      for (int64_t i = 0; i <= range.count; ++i) cuts.push_back(i);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      parts.push_back(range.Part(cuts[i], cuts[i + 1] - cuts[i]));
    }
    return parts;
  }

  static absl::StatusOr<Value> Concat(const std::vector<Value>& values, size_t dim) {
    return Apply1("concat", values, {{"axis", static_cast<int64_t>(dim)}});
  }

  // With n values, element i of the result is element i div n of value i mod n.
  static absl::StatusOr<Value> Interleaved(const std::vector<Value>& values, size_t dim) {
    std::vector<Value> columns;
    for (const Value& value : values) {
      Shape shape = value.shape();
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, 1);
      LEMMA_ASSIGN_OR_RETURN(Value column, ReshapeTo(value, shape));
      columns.push_back(std::move(column));
    }
    LEMMA_ASSIGN_OR_RETURN(const Value joined, Concat(columns, dim + 1));
    Shape shape = values[0].shape();
    shape[dim] *= static_cast<int64_t>(values.size());
    return ReshapeTo(joined, shape);
  }

  const Value &original_, &mutant_;
};

}  // namespace

absl::StatusOr<Value> Overwritten(const Value& original, const Value& mutant,
                                  absl::Span<const Box> boxes) {
  return Assembly(original, mutant).Run(WholeBox(original.shape()), {boxes.begin(), boxes.end()});
}

}  // namespace lemma::pet
