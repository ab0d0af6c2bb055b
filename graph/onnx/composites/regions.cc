// Pooling over regions of images: RoiAlign, MaxRoiPool.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/sampling.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// Of a region along one axis, and of a bin.
constexpr int64_t kMostBins = 4096, kMostSamples = 4096;

// Of an image along one axis.
constexpr int64_t kMostSize = int64_t{1} << 24;

constexpr double kInf = std::numeric_limits<double>::infinity();

Value Vector(OnnxImport& node, OnnxBuild& b, DType dtype, const std::vector<double>& values) {
  auto tensor = b.Take(Tensor::FromDoubles({dtype, {static_cast<int64_t>(values.size())}}, values));
  return b.status().ok() ? node.Constant(std::move(tensor)) : Value();
}

// Column `c` of x, [rows, columns], as [rows, 1].
Value Column(OnnxBuild& b, const Value& x, int64_t c) {
  if (!x) return x;
  return b.Op("slice", {x},
              {{"starts", std::vector<int64_t>{0, c}}, {"sizes", Shape{x.shape()[0], 1}}});
}

struct AlignAttrs {
  int64_t pooled[2], ratio;
  double scale;
  bool half_pixel, takes_max;
};

absl::StatusOr<AlignAttrs> ReadAlign(OnnxImport& node) {
  AlignAttrs a;
  LEMMA_ASSIGN_OR_RETURN(a.pooled[0], node.Int("output_height", 1));
  LEMMA_ASSIGN_OR_RETURN(a.pooled[1], node.Int("output_width", 1));
  LEMMA_ASSIGN_OR_RETURN(a.ratio, node.Int("sampling_ratio", 0));
  LEMMA_ASSIGN_OR_RETURN(a.scale, node.Float("spatial_scale", 1));
  LEMMA_ASSIGN_OR_RETURN(const std::string mode, node.String("mode", "avg"));
  std::string coordinates = "output_half_pixel";
  if (node.opset() >= 16) {
    LEMMA_ASSIGN_OR_RETURN(coordinates,
                           node.String("coordinate_transformation_mode", "half_pixel"));
  }
  if (mode != "avg" && mode != "max") return node.Unsupported(absl::StrCat("mode ", mode));
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return node.Unsupported(absl::StrCat("coordinate_transformation_mode ", coordinates));
  }
  for (int64_t size : a.pooled) {
    if (size < 1 || size > kMostBins) {
      return absl::InvalidArgumentError(absl::StrCat("the output's size is ", size));
    }
  }
  if (a.ratio < 0 || a.ratio > kMostSamples) {
    return absl::InvalidArgumentError(absl::StrCat("sampling_ratio is ", a.ratio));
  }
  a.half_pixel = coordinates == "half_pixel";
  a.takes_max = mode == "max";
  return a;
}

// The samples of all regions along one axis.
struct RegionAxis {
  int64_t samples;             // of each bin; the most of any region
  std::vector<double> counts;  // of each region, if these differ
  SampledAxis elements;        // [regions, bins * samples, 1, K] or [regions, 1, bins * samples, K]
  Value valid;                 // false for the samples that a region does not have
};

// `axis` is 0 for rows and 1 for columns.
absl::StatusOr<RegionAxis> SampleRegions(OnnxImport& node, OnnxBuild& b, const Value& rois,
                                         const AlignAttrs& a, int axis, int64_t size) {
  if (!rois) return b.status();
  const int64_t regions = rois.shape()[0], bins = a.pooled[axis];
  const DType dtype = rois.dtype();
  const double offset = a.half_pixel ? 0.5 : 0;
  auto border = [&](int64_t column) {
    const Value scaled = b.Mul(Column(b, rois, column), a.scale);
    return offset == 0 ? scaled : b.Add(scaled, -offset);
  };
  const Value start = border(1 - axis);
  Value length = b.Sub(border(3 - axis), start);
  if (!a.half_pixel) length = b.Op("max", {length, b.Scalar(dtype, 1)});
  const Value bin = b.Div(length, b.Scalar(dtype, static_cast<double>(bins)));
  RegionAxis out;
  out.samples = a.ratio;
  Value count = b.Scalar(dtype, static_cast<double>(a.ratio));
  if (a.ratio == 0) {  // as many as a bin has elements, rounded up
    LEMMA_ASSIGN_OR_RETURN(const Tensor boxes, node.ConstantInput(1));
    for (int64_t r = 0; r < regions; ++r) {
      auto at = [&](int64_t column) {
        return static_cast<float>(boxes.AtDouble(4 * r + column)) * static_cast<float>(a.scale) -
               static_cast<float>(offset);
      };
      float extent = at(3 - axis) - at(1 - axis);
      if (!a.half_pixel) extent = std::max(extent, 1.0f);
      const float needed = std::ceil(extent / static_cast<float>(bins));
      if (!(needed <= kMostSamples)) return node.Unsupported("regions this large");
      out.counts.push_back(std::max(0.0f, needed));
      out.samples = std::max(out.samples, static_cast<int64_t>(out.counts.back()));
    }
    count = b.Reshape(Vector(node, b, dtype, out.counts), {regions, 1});
  }
  if (out.samples < 1) out.samples = 1;  // all regions are empty: none of their samples is valid
  std::vector<double> bin_of, sample_of;
  for (int64_t i = 0; i < bins * out.samples; ++i) {
    const int64_t number = i / out.samples;
    bin_of.push_back(static_cast<double>(number));
    sample_of.push_back(static_cast<double>(i - number * out.samples));
  }
  const Value within = Vector(node, b, dtype, sample_of);
  // start + bin_of * bin + (sample_of + 1/2) * bin / count
  Value at = b.Add(b.Add(start, b.Mul(bin, Vector(node, b, dtype, bin_of))),
                   b.Div(b.Mul(bin, b.Add(within, 0.5)), count));
  const Shape shape = axis == 0 ? Shape{regions, bins * out.samples, 1, 1}
                                : Shape{regions, 1, bins * out.samples, 1};
  if (a.ratio == 0) out.valid = b.Reshape(b.Op("less", {within, count}), shape);
  at = b.Reshape(at, shape);
  const double end = static_cast<double>(size) - 1;
  out.elements.inside = Within(b, at, -1, static_cast<double>(size));
  const Value held = Clamped(b, at, 0, end);
  const Value floor = b.Op("floor", {held});
  const Value t = b.Sub(held, floor);
  if (!b.status().ok()) return b.status();
  const Value next = b.Op("min", {b.Add(floor, 1), b.Scalar(dtype, end)});
  out.elements.index = b.Op("concat", {floor, next}, {{"axis", int64_t{3}}});
  out.elements.weight = b.Op("concat", {b.Sub(1, t), t}, {{"axis", int64_t{3}}});
  if (!b.status().ok()) return b.status();
  return out;
}

// The mean or the maximum over samples in each bin of a region. As in ONNX, the maximum is that of
// the weighted elements, not of their sums.
Values ImportRoiAlign(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value rois, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(Value images, node.Input(2));
  LEMMA_ASSIGN_OR_RETURN(const AlignAttrs a, ReadAlign(node));
  const int64_t regions = images.type().num_elements();
  const bool fits = x.type().rank() == 4 && x.shape()[2] > 0 && x.shape()[3] > 0 &&
                    rois.shape() == Shape{regions, 4} && images.type().rank() == 1 &&
                    IsFloat(x.dtype()) && IsFloat(rois.dtype());
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("X ", ToString(x.shape()), ", rois ",
                                                   ToString(rois.shape()), " and batch_indices ",
                                                   ToString(images.shape()), " do not fit"));
  }
  const DType dtype = x.dtype();
  const int64_t channels = x.shape()[1];
  OnnxBuild b(node);
  x = Widened(b, x);
  rois = Widened(b, rois);
  RegionAxis axes[2];
  for (int axis = 0; axis < 2; ++axis) {
    LEMMA_ASSIGN_OR_RETURN(axes[axis], SampleRegions(node, b, rois, a, axis, x.shape()[2 + axis]));
  }
  // [regions, rows, columns, corners, channels]
  Value terms = SampledTerms(node, b, x, {axes[0].elements, axes[1].elements}, images);
  Value count = b.Scalar(x.dtype(), static_cast<double>(a.ratio * a.ratio));
  if (a.ratio == 0) {
    std::vector<double> products;
    for (int64_t r = 0; r < regions; ++r) {
      products.push_back(std::max(1.0, axes[0].counts[r] * axes[1].counts[r]));
    }
    count = b.Reshape(Vector(node, b, x.dtype(), products), {regions, 1, 1, 1});
    const Value valid = b.Op("and", {axes[0].valid, axes[1].valid});
    if (!valid) return b.status();
    terms = b.Op("where", {b.Reshape(valid, {regions, valid.shape()[1], valid.shape()[2], 1, 1}),
                           terms, b.Scalar(x.dtype(), a.takes_max ? -kInf : 0)});
  }
  if (!terms) return b.status();
  const int64_t corners = terms.shape()[3];
  const Value split = b.Reshape(terms, {regions, a.pooled[0], axes[0].samples, a.pooled[1],
                                        axes[1].samples, corners, channels});
  Value y = b.Op(a.takes_max ? "reduce_max" : "reduce_sum", {split},
                 {{"axes", std::vector<int64_t>{2, 4, 5}}});
  if (!a.takes_max) y = b.Div(y, count);
  if (a.takes_max && a.ratio == 0) {  // a region without samples
    const Value none = b.Op("equal", {y, b.Scalar(x.dtype(), -kInf)});
    y = b.Op("where", {none, b.Scalar(x.dtype(), 0), y});
  }
  y = b.Cast(b.Transpose(y, {0, 3, 1, 2}), dtype);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// Whether each of `size` positions lies in each bin of each region: [regions, bins, size]; and
// whether a bin has any: [regions, bins].
struct Bins {
  Value holds, any;
};

Bins BinsOf(OnnxImport& node, OnnxBuild& b, const Value& first, const Value& last, int64_t bins,
            int64_t size) {
  if (!first || !last) return {};
  const DType dtype = first.dtype();
  const int64_t regions = first.shape()[0];
  std::vector<double> numbers, positions;
  for (int64_t i = 0; i < bins; ++i) numbers.push_back(static_cast<double>(i));
  for (int64_t i = 0; i < size; ++i) positions.push_back(static_cast<double>(i));
  // At least one element long.
  const Value length = b.Op("max", {b.Add(b.Sub(last, first), 1), b.Scalar(dtype, 1)});
  const Value bin = b.Div(length, b.Scalar(dtype, static_cast<double>(bins)));
  const Value number = Vector(node, b, dtype, numbers);
  auto held = [&](const Value& v) { return Clamped(b, v, 0, static_cast<double>(size)); };
  const Value begin = held(b.Add(b.Op("floor", {b.Mul(bin, number)}), first));
  const Value end = held(b.Add(b.Op("ceil", {b.Mul(bin, b.Add(number, 1))}), first));
  const Value at = Vector(node, b, dtype, positions);
  Bins out;
  out.any = b.Op("less", {begin, end});
  out.holds = b.Op("and", {b.Op("less_equal", {b.Reshape(begin, {regions, bins, 1}), at}),
                           b.Op("less", {at, b.Reshape(end, {regions, bins, 1})})});
  return out;
}

// The maximum over whole elements in each bin of a region, 0 for an empty bin.
Values ImportMaxRoiPool(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value rois, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> pooled, node.Ints("pooled_shape"));
  LEMMA_ASSIGN_OR_RETURN(const double scale, node.Float("spatial_scale", 1));
  const bool fits = x.type().rank() == 4 && rois.type().rank() == 2 && rois.shape()[1] == 5 &&
                    pooled.size() == 2 && pooled[0] > 0 && pooled[1] > 0 &&
                    pooled[0] <= kMostBins && pooled[1] <= kMostBins && IsFloat(x.dtype()) &&
                    x.shape()[2] <= kMostSize && x.shape()[3] <= kMostSize &&
                    IsFloat(rois.dtype()) && x.shape()[2] > 0 && x.shape()[3] > 0;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("X ", ToString(x.shape()), ", rois ",
                                                   ToString(rois.shape()), " and pooled_shape ",
                                                   ToString(pooled), " do not fit"));
  }
  const int64_t regions = rois.shape()[0], channels = x.shape()[1], rows = x.shape()[2],
                columns = x.shape()[3];
  OnnxBuild b(node);
  rois = Widened(b, rois);
  const Value image = b.Cast(b.Reshape(Column(b, rois, 0), {regions}), DType::kI64);
  // Borders are rounded, halves away from 0.
  auto border = [&](int64_t column) {
    const Value scaled = b.Mul(Column(b, rois, column), scale);
    return b.Mul(b.Op("sign", {scaled}), b.Op("floor", {b.Add(b.Op("abs", {scaled}), 0.5)}));
  };
  const Bins across = BinsOf(node, b, border(1), border(3), pooled[1], columns);
  const Bins down = BinsOf(node, b, border(2), border(4), pooled[0], rows);
  const Value least = b.Scalar(x.dtype(), -kInf);
  Value y = b.Op("gather", {x, image}, {{"axis", int64_t{0}}});
  // First along rows, then along columns.
  y = b.Op("where", {b.Reshape(across.holds, {regions, 1, 1, pooled[1], columns}),
                     b.Reshape(y, {regions, channels, rows, 1, columns}), least});
  y = b.Op("reduce_max", {y}, {{"axes", std::vector<int64_t>{4}}});
  y = b.Op("where", {b.Reshape(down.holds, {regions, 1, pooled[0], rows, 1}),
                     b.Reshape(y, {regions, channels, 1, rows, pooled[1]}), least});
  y = b.Op("reduce_max", {y}, {{"axes", std::vector<int64_t>{3}}});
  const Value any = b.Op("and", {b.Reshape(down.any, {regions, 1, pooled[0], 1}),
                                 b.Reshape(across.any, {regions, 1, 1, pooled[1]})});
  y = b.Op("where", {any, y, b.Scalar(x.dtype(), 0)});
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> RegionComposites() {
  return {{"RoiAlign", ImportRoiAlign}, {"MaxRoiPool", ImportMaxRoiPool}};
}

}  // namespace lemma::ops
