#include <algorithm>
#include <tuple>
#include <utility>

#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// y[i…] = x[starts + i*steps …].
absl::Status DefineSlice(OpContext& c) {
  const size_t rank = static_cast<size_t>(c.rank(0));
  const Idx &starts = c.Sizes("starts"), &sizes = c.Sizes("sizes"), &given = c.Sizes("steps");
  LEMMA_REQUIRE(c, starts.size() == rank && sizes.size() == rank,
                "starts and sizes take one entry for each of ", rank, " dimensions");
  LEMMA_REQUIRE(c, given.empty() || given.size() == rank,
                "steps takes one entry for each dimension, or none");
  const Idx steps = given.empty() ? Idx(rank, 1) : given;
  for (size_t d = 0; d < rank; ++d) {
    const IndexExpr& size = sizes[d];
    LEMMA_REQUIRE(c, Ge(size, 0), "the size ", size.ToString(), " is negative");
    IndexExpr last = starts[d] + (size - 1) * steps[d];
    const IndexExpr& extent = c.Dim(0, static_cast<int>(d));
    // One condition if possible: with step 1, only the ends can lie outside.
    Guard inside = steps[d].is_const() && steps[d].value() == 1
                       ? Ge(starts[d], 0) && Le(starts[d] + size, extent)
                       : InRange(starts[d], extent) && InRange(last, extent);
    if (!inside.is_true()) inside = Eq(size, 0) || inside;
    LEMMA_REQUIRE(c, inside, "elements ", starts[d].ToString(), " to ", last.ToString(),
                  " of dimension ", d, " are not inside its size ", extent.ToString());
  }
  c.Output(c.dtype(0), sizes, [&](const Idx& out) {
    Idx at;
    for (size_t d = 0; d < rank; ++d) at.push_back(starts[d] + out[d] * steps[d]);
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

// x with steps - 1 zeros after each element.
Value Interleaved(Formula& f, const Value& x, const std::vector<int64_t>& steps) {
  if (!x) return x;
  Shape dims, sizes;
  std::vector<int64_t> pads(2 * steps.size(), 0);
  for (size_t d = 0; d < steps.size(); ++d) {
    dims.insert(dims.end(), {x.shape()[d], 1});
    pads.insert(pads.end(), {0, steps[d] - 1});
    sizes.push_back(x.shape()[d] * steps[d]);
  }
  return f.Reshape(f.Op("pad", {f.Reshape(x, dims)}, {{"pads", pads}}), sizes);
}

// dx[starts + i*steps …] = dy[i…], 0 elsewhere. Along each dimension, dy is summed if the step is
// 0, reversed if it is negative, spaced with zeros if it is not 1 or -1, and padded to x's size.
std::vector<Value> SliceGradient(GradientBuilder& f) {
  const Shape& shape = f.Input(0).shape();
  const size_t rank = shape.size();
  Shape sizes = f.node().Ints("sizes");
  std::vector<int64_t> starts = f.node().Ints("starts"), steps = f.node().Ints("steps");
  if (f.Output().type().num_elements() == 0) return {Value()};
  if (steps.empty()) steps.assign(rank, 1);
  std::vector<int64_t> repeated, firsts(rank, 0), directions(rank, 1), pads(2 * rank);
  for (size_t d = 0; d < rank; ++d) {
    if (steps[d] == 0) {
      if (sizes[d] > 1) repeated.push_back(static_cast<int64_t>(d));
      sizes[d] = steps[d] = 1;
    } else if (steps[d] < 0) {
      firsts[d] = sizes[d] - 1;
      directions[d] = -1;
      starts[d] += firsts[d] * steps[d];
      steps[d] = -steps[d];
    }
  }
  Value dx = f.Sum(f.ResultGradient(), repeated, /*keepdims=*/true);
  auto all = [](const std::vector<int64_t>& v, int64_t number) {
    return std::count(v.begin(), v.end(), number) == static_cast<int64_t>(v.size());
  };
  if (!all(directions, 1)) {
    dx = f.Op("slice", {dx}, {{"starts", firsts}, {"sizes", sizes}, {"steps", directions}});
  }
  if (!all(steps, 1)) dx = Interleaved(f, dx, steps);
  for (size_t d = 0; d < rank; ++d) {
    pads[d] = starts[d];
    pads[rank + d] = shape[d] - starts[d] - dx.shape()[d];
  }
  return {all(pads, 0) ? dx : f.Op("pad", {dx}, {{"pads", pads}})};
}

struct Ranges {
  std::vector<int64_t> starts, ends, axes, steps;
};

absl::StatusOr<Ranges> ReadRanges(OnnxImport& node, int rank) {
  Ranges r;
  if (node.opset() < 10) {
    LEMMA_ASSIGN_OR_RETURN(r.starts, node.Ints("starts"));
    LEMMA_ASSIGN_OR_RETURN(r.ends, node.Ints("ends"));
    LEMMA_ASSIGN_OR_RETURN(r.axes, node.Ints("axes", std::vector<int64_t>{}));
  } else {
    std::vector<int64_t>* lists[] = {&r.starts, &r.ends, &r.axes, &r.steps};
    for (int i = 0; i < 4; ++i) {
      if (i >= 2 && !node.HasInput(i + 1)) continue;
      LEMMA_ASSIGN_OR_RETURN(Tensor values, node.ConstantInput(i + 1));
      *lists[i] = values.ToInts();
    }
  }
  const size_t count = r.starts.size();
  if (r.axes.empty()) {
    for (size_t i = 0; i < count; ++i) r.axes.push_back(static_cast<int64_t>(i));
  }
  if (r.steps.empty()) r.steps.assign(count, 1);
  if (r.ends.size() != count || r.axes.size() != count || r.steps.size() != count) {
    return absl::InvalidArgumentError("starts, ends, axes and steps differ in length");
  }
  for (int64_t& axis : r.axes) {
    LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, rank));
  }
  return r;
}

// The start and the size of a slice whose extent or positions are symbolic. Where a position is
// clamped must not depend on the sizes, except at the end, where the smaller one is taken.
absl::StatusOr<std::pair<int64_t, int64_t>> SymbolicRange(const OnnxImport& node, int64_t start,
                                                          int64_t end, int64_t step,
                                                          int64_t extent) {
  const IndexExpr size = ToExpr(extent);
  auto place = [&](int64_t given) -> std::optional<IndexExpr> {
    constexpr int64_t kBeyond = INT64_MAX / 2;  // no tensor is longer
    if (given >= kBeyond && !IsSymbolic(given)) return size;
    IndexExpr position = ToExpr(given);
    auto is_negative = Decide(Lt(position, 0));
    if (!is_negative) return std::nullopt;
    if (*is_negative) position = given < -kBeyond ? IndexExpr(0) : position + size;
    return Min(Max(position, 0), size);
  };
  if (step > 0 && !IsSymbolic(step)) {
    auto first = place(start), last = place(end);
    if (first && last && Decide(Le(*first, *last)) == true) {
      auto from = ToSize(*first);
      auto count = ToSize(CeilDiv(*last - *first, step));
      if (from && count) return std::make_pair(*from, *count);
    }
  }
  return node.Unsupported(absl::StrCat("positions ", SizeName(start), " to ", SizeName(end),
                                       " of a dimension of size ", SizeName(extent),
                                       " depend on the size in another way than by a minimum"));
}

// Python's slices: negative positions count from the end, and positions outside are clamped.
absl::StatusOr<std::vector<Value>> ImportSlice(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Ranges r, ReadRanges(node, x.type().rank()));
  std::vector<int64_t> starts(x.shape().size(), 0), sizes = x.shape(), steps(x.shape().size(), 1);
  for (size_t i = 0; i < r.starts.size(); ++i) {
    const int64_t axis = r.axes[i], extent = x.shape()[axis], step = r.steps[i];
    if (step == 0 || step == INT64_MIN) return absl::InvalidArgumentError("a step is 0");
    if (IsSymbolic(extent) || IsSymbolic(r.starts[i]) || IsSymbolic(r.ends[i])) {
      LEMMA_ASSIGN_OR_RETURN(auto range, SymbolicRange(node, r.starts[i], r.ends[i], step, extent));
      std::tie(starts[axis], sizes[axis]) = range;
      steps[axis] = step;
      continue;
    }
    auto clamp = [&](int64_t position) {
      if (position < 0) position = position < -extent ? -1 : position + extent;
      const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
      return std::min(std::max(position, low), high);
    };
    const int64_t start = clamp(r.starts[i]);
    const int64_t length = step > 0 ? clamp(r.ends[i]) - start : start - clamp(r.ends[i]);
    const int64_t stride = step > 0 ? step : -step;
    sizes[axis] = length <= 0 ? 0 : (length - 1) / stride + 1;
    starts[axis] = sizes[axis] == 0 ? 0 : start;
    steps[axis] = sizes[axis] <= 1 ? 1 : step;
  }
  if (sizes == x.shape() && steps == std::vector<int64_t>(steps.size(), 1)) {
    return std::vector<Value>{x};
  }
  if (steps == std::vector<int64_t>(steps.size(), 1)) steps.clear();
  return node.Ops("slice", {x}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
}

absl::Status ExportSlice(OnnxExport& out) {
  const Node& node = out.node();
  if (node.type(0).rank() == 0) {  // ONNX Runtime refuses to slice it
    out.Emit("Identity", {out.Input(0)}, {out.Output(0)});
    return absl::OkStatus();
  }
  const std::vector<int64_t>&starts = node.Ints("starts"), &sizes = node.Ints("sizes");
  std::vector<int64_t> ends, axes, steps = node.Ints("steps");
  if (steps.empty()) steps.assign(starts.size(), 1);
  for (size_t d = 0; d < starts.size(); ++d) {
    if (IsSymbolic(starts[d]) || IsSymbolic(sizes[d])) {
      const auto symbolic = ToSize(ToExpr(starts[d]) + ToExpr(sizes[d]) * IndexExpr(steps[d]));
      if (!symbolic || steps[d] < 0) {
        return absl::UnimplementedError("unsupported: slices backwards of symbolic sizes");
      }
      ends.push_back(*symbolic);
      axes.push_back(static_cast<int64_t>(d));
      continue;
    }
    int64_t end = starts[d] + sizes[d] * steps[d];
    // The range goes down past element 0; a negative end would count from the back.
    if (end < 0) end = INT64_MIN;
    ends.push_back(sizes[d] == 0 ? starts[d] : end);
    axes.push_back(static_cast<int64_t>(d));
  }
  auto constant = [&](const std::vector<int64_t>& v) { return out.Constant(Tensor::Ints(v)); };
  out.Emit("Slice",
           {out.Input(0), constant(starts), constant(ends), constant(axes), constant(steps)},
           {out.Output(0)});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_slice() {
  OpDef op;
  op.name = "slice";
  op.group = "layout";
  op.equation = "y[i…] = x[starts + i*steps …], i < sizes";
  op.doc = "All attributes have one entry for each dimension of x. Steps may be negative.";
  op.input_names = {"x"};
  op.attrs = {{"starts", AttrKind::kInts, std::nullopt, true, "position of the first element"},
              {"sizes", AttrKind::kInts, std::nullopt, true, "shape of the result"},
              {"steps", AttrKind::kInts, std::vector<int64_t>{}, true,
               "distances between the elements; none: all are 1"}};
  op.define = DefineSlice;
  op.gradient = SliceGradient;
  op.examples = {"(f32[4,5]) {starts = [1,0], sizes = [2,5]}",
                 "(f32[4,5]) {starts = [3,1], sizes = [4,2], steps = [-1,2]}",
                 "(f32[7]) {starts = [6], sizes = [3], steps = [-3]}",
                 "(i64[3]) {starts = [0], sizes = [0]}", "(f32[]) {starts = [], sizes = []}"};
  op.onnx_import = {{"Slice", ImportSlice}};
  op.onnx_export = ExportSlice;
  return op;
}

}  // namespace lemma::ops
