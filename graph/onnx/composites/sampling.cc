// Sampling of images at computed positions: GridSample, AffineGrid.
#include "graph/onnx/composites/sampling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/composites.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// [first, first + 1, …] as a vector of floats.
Value Offsets(OnnxImport& node, OnnxBuild& b, DType dtype, int64_t first, int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(first + i));
  auto tensor = b.Take(Tensor::FromDoubles({dtype, {count}}, values));
  return b.status().ok() ? node.Constant(std::move(tensor)) : Value();
}

Value WithLastAxis(OnnxBuild& b, const Value& x) {
  if (!x) return x;
  Shape shape = x.shape();
  shape.push_back(1);
  return b.Reshape(x, shape);
}

// An i64 scalar with the value of a size.
Value SizeOf(OnnxBuild& b, int64_t size) {
  if (!IsSymbolic(size)) return b.Scalar(DType::kI64, static_cast<double>(size));
  return b.Reshape(b.Op("sizes", {}, {{"sizes", Shape{size}}}), {});
}

Value Clamped(OnnxBuild& b, const Value& x, const Value& low, const Value& high) {
  const Value above = b.Op("where", {b.Op("greater_equal", {x, low}), x, low});
  return b.Op("min", {above, high});
}

Value Within(OnnxBuild& b, const Value& x, const Value& low, const Value& high) {
  return b.Op("and", {b.Op("greater_equal", {x, low}), b.Op("less_equal", {x, high})});
}

// How GridSample finds elements along an axis of `size` elements.
struct GridAxis {
  std::string mode, padding;
  bool align_corners;
  int64_t size;

  double Low() const { return align_corners ? 0 : -0.5; }
  // times * size + plus, as a scalar of x's element type.
  Value Number(OnnxBuild& b, const Value& x, double times, double plus) const {
    if (!x) return x;
    if (!IsSymbolic(size)) {
      return b.Scalar(x.dtype(), times * static_cast<double>(size) + plus);
    }
    Value number = b.Cast(SizeOf(b, size), x.dtype());
    if (times != 1) number = b.Mul(number, times);
    return plus == 0 ? number : b.Add(number, plus);
  }
  Value Lowest(OnnxBuild& b, const Value& x) const { return Number(b, x, 0, Low()); }
  Value Highest(OnnxBuild& b, const Value& x) const {
    return Number(b, x, 1, align_corners ? -1 : -0.5);
  }
};

// x mirrored at both borders until it lies between them.
Value Reflected(OnnxBuild& b, const Value& x, const GridAxis& axis) {
  const double less = axis.align_corners ? 1 : 0;  // the borders are size - less apart
  if (!x || axis.size == less) return Clamped(b, x, axis.Low(), axis.Low());
  const Value turn = axis.Number(b, x, 2, -2 * less);
  const Value along = b.Op("mod", {b.Add(x, -axis.Low()), turn});
  const Value back = b.Op("greater", {along, axis.Number(b, x, 1, -less)});
  return b.Add(b.Op("where", {back, b.Sub(turn, along), along}), axis.Low());
}

// The weights of the elements at distances -1 - t, -t, 1 - t and 2 - t.
Value CubicWeights(OnnxBuild& b, const Value& t) {
  constexpr double kA = -0.75;
  auto far = [&](const Value& d) {  // ((a d - 5a) d + 8a) d - 4a
    return b.Add(b.Mul(b.Add(b.Mul(b.Add(b.Mul(d, kA), -5 * kA), d), 8 * kA), d), -4 * kA);
  };
  auto near = [&](const Value& d) {  // ((a + 2) d - (a + 3)) d² + 1
    return b.Add(b.Mul(b.Mul(b.Add(b.Mul(d, kA + 2), -(kA + 3)), d), d), 1);
  };
  const Value rest = b.Sub(1, t);
  std::vector<Value> weights = {far(b.Add(t, 1)), near(t), near(rest), far(b.Add(rest, 1))};
  for (const Value& weight : weights) {
    if (!weight) return Value();
  }
  return b.Concat(std::move(weights), t.type().rank() - 1);
}

// The elements for `grid`, [N,P], which has -1 and 1 at the borders.
SampledAxis SampleGrid(OnnxImport& node, OnnxBuild& b, const Value& grid, const GridAxis& axis) {
  const auto number = [&](double times, double plus) { return axis.Number(b, grid, times, plus); };
  const Value first = number(0, 0), last = number(1, -1);
  // (n + 1) / 2 * (size - 1), or ((n + 1) * size - 1) / 2
  Value x = b.Add(grid, 1);
  x = axis.align_corners ? b.Mul(b.Mul(x, 0.5), last)
                         : b.Mul(b.Add(b.Mul(x, number(1, 0)), -1), 0.5);
  if (axis.mode == "nearest") x = b.Op("round", {x});
  // Cubic weights reach inwards from outside the border, so only the elements are clamped.
  if (axis.padding == "reflection" || (axis.padding == "border" && axis.mode != "cubic")) {
    const Value moved =
        axis.padding == "border" ? Clamped(b, x, first, last) : Reflected(b, x, axis);
    x = b.Op("where", {Within(b, x, axis.Lowest(b, x), axis.Highest(b, x)), x, moved});
  }
  x = WithLastAxis(b, x);
  if (!x) return {};
  SampledAxis sampled;
  Value at = x;
  if (axis.mode != "nearest") {
    const Value floor = b.Op("floor", {x});
    const Value t = b.Sub(x, floor);
    const bool cubic = axis.mode == "cubic";
    at = b.Add(floor, Offsets(node, b, x.dtype(), cubic ? -1 : 0, cubic ? 4 : 2));
    sampled.weight = cubic ? CubicWeights(b, t)
                           : b.Op("concat", {b.Sub(1, t), t},
                                  {{"axis", static_cast<int64_t>(x.type().rank() - 1)}});
  }
  if (axis.padding == "zeros") sampled.inside = Within(b, at, first, last);
  if (axis.padding == "reflection") at = Reflected(b, at, axis);
  sampled.index = Clamped(b, at, first, last);
  return sampled;
}

Values ImportGridSample(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value grid, node.Input(1));
  GridAxis axis;
  LEMMA_ASSIGN_OR_RETURN(int64_t align, node.Int("align_corners", 0));
  LEMMA_ASSIGN_OR_RETURN(axis.padding, node.String("padding_mode", "zeros"));
  LEMMA_ASSIGN_OR_RETURN(axis.mode, node.String("mode", "linear"));
  if (axis.mode == "bilinear") axis.mode = "linear";
  if (axis.mode == "bicubic") axis.mode = "cubic";
  axis.align_corners = align != 0;
  const int rank = x.type().rank(), spatial = rank - 2;
  const Shape &shape = x.shape(), &at = grid.shape();
  if (spatial < 1 || grid.type().rank() != rank || at[0] != shape[0] || at.back() != spatial) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X ", ToString(shape), " and the grid ", ToString(at), " must be [N,C,D…] and [N,…,rank]"));
  }
  if (axis.mode != "linear" && axis.mode != "nearest" && axis.mode != "cubic") {
    return node.Unsupported(absl::StrCat("mode ", axis.mode));
  }
  if (axis.padding != "zeros" && axis.padding != "border" && axis.padding != "reflection") {
    return node.Unsupported(absl::StrCat("padding_mode ", axis.padding));
  }
  if (axis.mode != "nearest" && !IsFloat(x.dtype())) {
    return node.Unsupported("interpolation between integers");
  }
  if (!IsSymbolic(shape[0]) && shape[0] > (int64_t{1} << 24)) {
    return node.Unsupported("batches this large");
  }
  const bool reflects_between_ends = axis.padding == "reflection" && axis.align_corners;
  for (int d = 2; d < rank; ++d) {
    if (shape[d] < 1) return absl::InvalidArgumentError("X has an empty axis");
    if (!IsSymbolic(shape[d])) continue;
    if (!IsAtLeast(shape[d], reflects_between_ends ? 2 : 1)) {
      return node.Unsupported(
          absl::StrCat("a symbolic size that may be ", reflects_between_ends ? 1 : 0));
    }
  }
  OnnxBuild b(node);
  const int64_t points = ProductOf(Shape(at.begin() + 1, at.end() - 1));
  grid = b.Reshape(Widened(b, grid), {at[0], points, spatial});
  std::vector<SampledAxis> axes;
  for (int d = 0; d < spatial; ++d) {
    // The grid names the last axis first.
    const Value coordinate =
        b.Reshape(b.Op("slice", {grid},
                       {{"starts", std::vector<int64_t>{0, 0, spatial - 1 - d}},
                        {"sizes", Shape{at[0], points, 1}}}),
                  {at[0], points});
    axis.size = shape[2 + d];
    axes.push_back(SampleGrid(node, b, coordinate, axis));
  }
  const bool sums = axis.mode != "nearest";
  Value y = SampledTerms(node, b, sums ? Widened(b, x) : x, axes);
  if (sums) {
    y = b.Op("reduce_sum", {y}, {{"axes", std::vector<int64_t>{2}}});
  } else {
    y = b.Reshape(y, {shape[0], points, shape[1]});
  }
  Shape result = {shape[0], shape[1]};
  result.insert(result.end(), at.begin() + 1, at.end() - 1);
  y = b.Reshape(b.Transpose(b.Cast(y, x.dtype()), {0, 2, 1}), result);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// grid[n,p…,r] = sum(s) theta[n,r,s] * base[p…,s], where base holds the coordinates of position p…,
// the last axis' first, and 1.
Values ImportAffineGrid(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value theta, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(1));
  LEMMA_ASSIGN_OR_RETURN(int64_t align, node.Int("align_corners", 0));
  const std::vector<int64_t> size = given.ToInts();
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  const bool fits =
      (spatial == 2 || spatial == 3) && theta.shape() == Shape{size[0], spatial, spatial + 1};
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("theta ", ToString(theta.shape()), " and size ",
                                                   ToString(size), " do not fit"));
  }
  int64_t points = 1;
  for (int64_t d = 0; d < spatial; ++d) {
    if (size[2 + d] < 1 || points > (int64_t{1} << 24) / size[2 + d]) {
      return absl::InvalidArgumentError(absl::StrCat("size ", ToString(size)));
    }
    if (align != 0 && size[2 + d] == 1) {  // which position that is, ONNX leaves open
      return node.Unsupported("align_corners along an axis of one element");
    }
    points *= size[2 + d];
  }
  std::vector<double> base;
  for (int64_t p = 0; p < points; ++p) {
    int64_t rest = p;
    for (int64_t d = spatial - 1; d >= 0; --d) {
      const int64_t count = size[2 + d], i = rest % count;
      rest /= count;
      const double steps = static_cast<double>(align != 0 ? count - 1 : count);
      base.push_back((2 * static_cast<double>(i) + (align != 0 ? 0 : 1)) / steps - 1);
    }
    base.push_back(1);
  }
  OnnxBuild b(node);
  const DType dtype = theta.dtype();
  Tensor matrix = b.Take(Tensor::FromDoubles({dtype, {points, spatial + 1}}, base));
  if (!b.status().ok()) return b.status();
  Value y = b.Op("matmul", {node.Constant(std::move(matrix)), b.Transpose(theta, {0, 2, 1})});
  Shape result = size;
  result.erase(result.begin() + 1);
  result.push_back(spatial);
  y = b.Reshape(y, result);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

Value Clamped(OnnxBuild& b, const Value& x, double low, double high) {
  if (!x) return x;
  return Clamped(b, x, b.Scalar(x.dtype(), low), b.Scalar(x.dtype(), high));
}

Value Within(OnnxBuild& b, const Value& x, double low, double high) {
  if (!x) return x;
  return Within(b, x, b.Scalar(x.dtype(), low), b.Scalar(x.dtype(), high));
}

SampledAxis LinearOrZero(OnnxBuild& b, const Value& positions, int64_t size) {
  const Value x = WithLastAxis(b, positions);
  if (!x) return {};
  const int64_t last = x.type().rank() - 1;
  const Value floor = b.Op("floor", {x});
  const Value t = b.Sub(x, floor);
  const Value at = b.Op("concat", {floor, b.Add(floor, 1)}, {{"axis", last}});
  const double end = static_cast<double>(size) - 1;
  SampledAxis sampled;
  sampled.inside = Within(b, at, 0, end);
  sampled.index = Clamped(b, at, 0, end);
  sampled.weight = b.Op("concat", {b.Sub(1, t), t}, {{"axis", last}});
  return sampled;
}

Value Widened(OnnxBuild& b, const Value& x) {
  const bool half = x && IsHalfFloat(x.dtype());
  return half ? b.Cast(x, DType::kF32) : x;
}

Value SampledTerms(OnnxImport& node, OnnxBuild& b, const Value& x,
                   const std::vector<SampledAxis>& axes, const Value& images) {
  for (const SampledAxis& axis : axes) {
    if (!x || !axis.index) return Value();
  }
  const Shape& shape = x.shape();
  const int64_t channels = shape[1], elements = ProductOf(Shape(shape.begin() + 2, shape.end()));
  // Rows of the channels of one element.
  std::vector<int64_t> perm = {0};
  for (int d = 2; d < x.type().rank(); ++d) perm.push_back(d);
  perm.push_back(1);
  const Value rows = b.Reshape(b.Transpose(x, perm), {ProductOf({shape[0], elements}), channels});

  // [B,P…,K_d] as [B,P…,1,…,K_d,…,1]: one dimension for each axis' K.
  const size_t before = axes[0].index.shape().size() - 1;
  auto apart = [&](const Value& v, size_t d) {
    if (!v) return v;
    Shape wide(v.shape().begin(), v.shape().end() - 1);
    wide.resize(before + axes.size(), 1);
    wide[before + d] = v.shape().back();
    return b.Reshape(v, wide);
  };
  Value row, weight, inside;
  for (size_t d = 0; d < axes.size(); ++d) {
    const int64_t stride =
        ProductOf(Shape(shape.begin() + 3 + static_cast<std::ptrdiff_t>(d), shape.end()));
    Value step = apart(b.Cast(axes[d].index, DType::kI64), d);
    if (stride != 1) step = b.Mul(step, SizeOf(b, stride));
    row = d == 0 ? step : b.Add(row, step);
    if (axes[d].weight) {
      const Value w = apart(axes[d].weight, d);
      weight = weight ? b.Mul(weight, w) : w;
    }
    if (axes[d].inside) {
      const Value in = apart(axes[d].inside, d);
      inside = inside ? b.Op("and", {inside, in}) : in;
    }
  }
  if (!row) return Value();
  // The first row of each batch's image.
  const int64_t batches = row.shape()[0];
  Value first = images;
  if (!first && IsSymbolic(batches)) first = b.Op("iota", {}, {{"size", batches}});
  if (!first) {
    std::vector<int64_t> numbers;
    for (int64_t n = 0; n < batches; ++n) numbers.push_back(n);
    first = node.Constant(Tensor::Ints(numbers));
  }
  Shape per_batch(row.shape().size(), 1);
  per_batch[0] = batches;
  if (batches != 1 || images) {
    first = b.Mul(b.Cast(first, DType::kI64), SizeOf(b, elements));
    row = b.Add(row, b.Reshape(first, per_batch));
  }
  // [B,P…,K,C]
  auto merged = [&](const Value& v, int64_t last) {
    if (!v) return v;
    Shape merged(v.shape().begin(), v.shape().begin() + static_cast<std::ptrdiff_t>(before));
    merged.push_back(
        ProductOf(Shape(v.shape().begin() + static_cast<std::ptrdiff_t>(before), v.shape().end())));
    if (last > 0) merged.push_back(last);
    return b.Reshape(v, merged);
  };
  Value terms = b.Op("gather", {rows, merged(row, 0)}, {{"axis", int64_t{0}}});
  if (inside && terms) {
    terms = b.Op("where", {merged(inside, 1), terms, b.Scalar(terms.dtype(), 0)});
  }
  if (weight && terms) terms = b.Mul(terms, b.Cast(merged(weight, 1), terms.dtype()));
  return terms;
}

std::vector<OnnxImporter> SamplingComposites() {
  return {{"GridSample", ImportGridSample},
          {"AffineGrid", ImportAffineGrid},
          {"DeformConv", ImportDeformConv}};
}

}  // namespace lemma::ops
