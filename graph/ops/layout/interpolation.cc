#include "graph/ops/layout/interpolation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/onnx/composites/axes.h"
#include "graph/ops/checks.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 30;

// A float of moderate size as an exact fraction; nullopt if there is none with small terms.
std::optional<std::pair<int64_t, int64_t>> AsFraction(double scale) {
  if (!(scale > 0) || !std::isfinite(scale)) return std::nullopt;
  // A scale such as 0.6 means 3/5, which is the nearest small fraction.
  for (int64_t den = 1; den <= 64; ++den) {
    const double num = std::round(scale * static_cast<double>(den));
    if (num >= 1 &&
        static_cast<float>(num / static_cast<double>(den)) == static_cast<float>(scale)) {
      return std::make_pair(static_cast<int64_t>(num), den);
    }
  }
  constexpr int64_t kDen = int64_t{1} << 24;
  const double num = std::round(scale * static_cast<double>(kDen));
  if (num < 1 || num > static_cast<double>(int64_t{1} << 40)) return std::nullopt;
  const int64_t common = std::gcd(static_cast<int64_t>(num), kDen);
  return std::make_pair(static_cast<int64_t>(num) / common, kDen / common);
}

// `axes` are the dimensions of `shape` that scales or sizes name, in order.
absl::StatusOr<std::vector<ResizeAxis>> FromScales(const std::vector<double>& scales,
                                                   const std::vector<int64_t>& axes,
                                                   std::vector<ResizeAxis> result) {
  if (scales.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(scales.size(), " scales for ", axes.size(), " dimensions"));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = result[axes[i]];
    if (IsSymbolic(axis.input_size)) {
      if (scales[i] == 1) continue;
      return absl::UnimplementedError("unsupported: a symbolic size is scaled");
    }
    auto scale = AsFraction(scales[i]);
    if (!scale) return absl::InvalidArgumentError(absl::StrCat("scale ", scales[i]));
    // In f32, as in ONNX: 10 elements with the scale 0.7, which is less than 7/10 in f32, become 7.
    const float size =
        std::floor(static_cast<float>(axis.input_size) * static_cast<float>(scales[i]));
    if (!(size < 1e9f)) return absl::InvalidArgumentError(absl::StrCat("scale ", scales[i]));
    axis.output_size = static_cast<int64_t>(size);
    axis.scale = *scale;
    axis.given_scale = static_cast<float>(scales[i]);
  }
  return result;
}

// With a policy other than stretch, all axes have the least or the greatest of their scales.
absl::StatusOr<std::vector<ResizeAxis>> FromSizes(const std::vector<int64_t>& sizes,
                                                  const std::vector<int64_t>& axes,
                                                  const std::string& policy,
                                                  std::vector<ResizeAxis> result) {
  if (sizes.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(sizes.size(), " sizes for ", axes.size(), " dimensions"));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = result[axes[i]];
    if (IsSymbolic({sizes[i], axis.input_size})) {
      if (sizes[i] == axis.input_size && policy == "stretch") continue;
      return absl::UnimplementedError("unsupported: a symbolic size is given");
    }
    if (sizes[i] < 1 || sizes[i] > kMaxLength || axis.input_size < 1 ||
        axis.input_size > kMaxLength) {
      return absl::InvalidArgumentError(absl::StrCat("size ", sizes[i], " of dimension ", axes[i],
                                                     ", which is ", axis.input_size));
    }
    const int64_t common = std::gcd(sizes[i], axis.input_size);
    axis.output_size = sizes[i];
    axis.scale = {sizes[i] / common, axis.input_size / common};
  }
  if (policy == "stretch" || axes.empty()) return result;
  std::pair<int64_t, int64_t> chosen = result[axes[0]].scale;
  for (int64_t d : axes) {
    const auto [num, den] = result[d].scale;
    const bool less = num * chosen.second < chosen.first * den;
    if (less == (policy == "not_larger")) chosen = result[d].scale;
  }
  for (int64_t d : axes) {
    ResizeAxis& axis = result[d];
    axis.scale = chosen;
    // Rounded to nearest, halves up; the scale and the product are f32, as in ONNX.
    const float scale = static_cast<float>(chosen.first) / static_cast<float>(chosen.second);
    axis.output_size =
        static_cast<int64_t>(std::round(scale * static_cast<float>(axis.input_size)));
    if (axis.output_size > kMaxLength) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", d, " becomes ", axis.output_size));
    }
  }
  return result;
}

// The dimensions that the node's inputs are about.
absl::StatusOr<std::vector<int64_t>> ReadAxes(OnnxImport& node, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  LEMMA_ASSIGN_OR_RETURN(axes, node.Ints("axes", axes));
  std::vector<bool> named(rank, false);
  for (int64_t& axis : axes) {
    LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, static_cast<int>(rank)));
    if (named[axis])
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is named twice"));
    named[axis] = true;
  }
  return axes;
}

// The region of interest: all begins, then all ends.
absl::Status ReadRegion(OnnxImport& node, const std::vector<int64_t>& axes,
                        std::vector<ResizeAxis>* result) {
  LEMMA_ASSIGN_OR_RETURN(const Tensor region, node.ConstantInput(1));
  const int64_t count = static_cast<int64_t>(axes.size());
  if (region.size() != 2 * count) {
    return absl::InvalidArgumentError(
        absl::StrCat("roi has ", region.size(), " elements, not ", 2 * count));
  }
  for (int64_t i = 0; i < count; ++i) {
    (*result)[axes[i]].begin = region.AtDouble(i);
    (*result)[axes[i]].end = region.AtDouble(count + i);
  }
  return absl::OkStatus();
}

// The weight of the element at distance `d` from the position.
double Weight(double d, const Interpolation& how) {
  const double x = std::fabs(d);
  if (!how.cubic) return std::max(0.0, 1 - x);
  const double a = how.cubic_coefficient;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

}  // namespace

absl::StatusOr<double> ResizePosition(const OnnxImport& node, const ResizeAxis& axis, int64_t i,
                                      const std::string& mode) {
  const double scale =
      static_cast<double>(axis.scale.first) / static_cast<double>(axis.scale.second);
  const double at = static_cast<double>(i);
  if (mode == "asymmetric") return at / scale;
  if (mode == "half_pixel") return (at + 0.5) / scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    // The middle of the result is that of x, also where the size is not exactly scale * input.
    const double input = static_cast<double>(axis.input_size),
                 size = static_cast<double>(axis.output_size);
    return input / 2 * (1 - size / (scale * input)) + (at + 0.5) / scale - 0.5;
  }
  if (mode == "pytorch_half_pixel") return axis.output_size > 1 ? (at + 0.5) / scale - 0.5 : 0.0;
  if (mode == "align_corners") {
    const double steps = scale * static_cast<double>(axis.input_size) - 1;
    return steps > 0 ? at * static_cast<double>(axis.input_size - 1) / steps : 0.0;
  }
  if (mode == "tf_crop_and_resize") {
    const double last = static_cast<double>(axis.input_size - 1), length = axis.end - axis.begin;
    const double steps = scale * static_cast<double>(axis.input_size) - 1;
    // Whether `steps` is that number or the size less 1 is told differently.
    if (axis.scale.first * axis.input_size != axis.output_size * axis.scale.second) {
      return node.Unsupported("tf_crop_and_resize by a scale that gives no whole size");
    }
    const double along = steps > 0 ? at * length * last / steps : length * last / 2;
    return along + axis.begin * last;
  }
  return node.Unsupported(absl::StrCat("coordinate_transformation_mode ", mode));
}

absl::StatusOr<std::vector<ResizeAxis>> ReadResizeAxes(OnnxImport& node, const Shape& shape) {
  std::vector<ResizeAxis> all;
  for (int64_t size : shape) all.push_back({size, size, {1, 1}});
  LEMMA_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ReadAxes(node, shape.size()));
  if (node.op_type() == "Upsample" && node.opset() < 7) {
    LEMMA_ASSIGN_OR_RETURN(const double height, node.Float("height_scale"));
    LEMMA_ASSIGN_OR_RETURN(const double width, node.Float("width_scale"));
    return FromScales({1, 1, height, width}, axes, std::move(all));
  }
  if (node.op_type() == "Upsample" && node.opset() < 9) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<double> scales, node.Floats("scales"));
    return FromScales(scales, axes, std::move(all));
  }
  const bool has_region = node.op_type() == "Resize" && node.opset() >= 11;
  LEMMA_ASSIGN_OR_RETURN(const std::string mode,
                         node.String("coordinate_transformation_mode", "half_pixel"));
  if (has_region && mode == "tf_crop_and_resize") {
    LEMMA_RETURN_IF_ERROR(ReadRegion(node, axes, &all));
  } else if (has_region && node.HasInput(1)) {
    LEMMA_RETURN_IF_ERROR(node.Input(1).status());  // unused in the other modes
  }
  const int scales_at = has_region ? 2 : 1;
  LEMMA_ASSIGN_OR_RETURN(const std::string policy,
                         node.String("keep_aspect_ratio_policy", "stretch"));
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return node.Unsupported(absl::StrCat("keep_aspect_ratio_policy ", policy));
  }
  if (node.HasInput(scales_at)) {
    LEMMA_ASSIGN_OR_RETURN(const Tensor given, node.ConstantInput(scales_at));
    if (given.size() > 0) return FromScales(given.ToDoubles(), axes, std::move(all));
  }
  if (!has_region || !node.HasInput(3))
    return absl::InvalidArgumentError("neither scales nor sizes");
  LEMMA_ASSIGN_OR_RETURN(const Tensor sizes, node.ConstantInput(3));
  return FromSizes(sizes.ToInts(), axes, policy, std::move(all));
}

absl::StatusOr<Taps> InterpolationTaps(const OnnxImport& node, const ResizeAxis& axis,
                                       const Interpolation& how) {
  constexpr int64_t kMaxTaps = int64_t{1} << 24;
  const double last = static_cast<double>(axis.input_size - 1);
  // With antialias, weights reach as much further as a reduced image's elements are apart in x.
  const double scale =
      static_cast<double>(axis.scale.first) / static_cast<double>(axis.scale.second);
  const double narrow = how.antialias ? std::min(1.0, scale) : 1.0;
  const double reach_of_one = std::ceil((how.cubic ? 2 : 1) / narrow);
  if (2 * reach_of_one * static_cast<double>(axis.output_size) > static_cast<double>(kMaxTaps)) {
    return node.Unsupported("interpolation of axes this long");
  }
  const int64_t reach = static_cast<int64_t>(reach_of_one);
  std::vector<std::vector<std::pair<int64_t, double>>> rows(static_cast<size_t>(axis.output_size));
  Taps taps;
  for (int64_t i = 0; i < axis.output_size; ++i) {
    LEMMA_ASSIGN_OR_RETURN(const double at, ResizePosition(node, axis, i, how.coordinates));
    if (how.coordinates == "tf_crop_and_resize" && !(at >= 0 && at <= last)) continue;
    const int64_t floor = static_cast<int64_t>(std::floor(at));
    auto& row = rows[i];
    double sum = 0;
    for (int64_t j = floor - reach + 1; j <= floor + reach; ++j) {
      if (how.exclude_outside && (j < 0 || j >= axis.input_size)) continue;
      const double weight = Weight((at - static_cast<double>(j)) * narrow, how);
      if (weight == 0) continue;
      // Outside, the nearest element inside is used.
      row.emplace_back(std::min(std::max<int64_t>(j, 0), axis.input_size - 1), weight);
      sum += weight;
    }
    if (how.exclude_outside || narrow != 1) {
      for (auto& [j, weight] : row) weight /= sum;
    }
    taps.per_element = std::max(taps.per_element, static_cast<int64_t>(row.size()));
  }
  for (const auto& row : rows) {
    int64_t position = 0;
    auto tap = row.begin();
    for (int64_t k = 0; k < taps.per_element; ++k) {
      const bool more = tap != row.end();
      if (more) position = tap->first;
      taps.positions.push_back(position);
      taps.weights.push_back(more ? tap->second : 0);
      if (more) ++tap;
    }
  }
  return taps;
}

absl::StatusOr<Value> Interpolate(OnnxImport& node, const Value& x,
                                  const std::vector<ResizeAxis>& axes, const Interpolation& how) {
  if (!IsFloat(x.dtype())) return node.Unsupported("interpolation between integers");
  Value y = x;
  for (size_t d = 0; d < axes.size(); ++d) {
    const ResizeAxis& axis = axes[d];
    if (axis.Keeps()) continue;
    if (axis.output_size < 1) return node.Unsupported("interpolation that gives no elements");
    LEMMA_ASSIGN_OR_RETURN(Taps taps, InterpolationTaps(node, axis, how));
    const Shape shape = {axis.output_size, taps.per_element};
    LEMMA_ASSIGN_OR_RETURN(Tensor positions,
                           Tensor::FromInts({DType::kI64, shape}, taps.positions));
    LEMMA_ASSIGN_OR_RETURN(Tensor weights, Tensor::FromDoubles({x.dtype(), shape}, taps.weights));
    LEMMA_ASSIGN_OR_RETURN(
        y, node.Op("resample",
                   {y, node.Constant(std::move(positions)), node.Constant(std::move(weights))},
                   {{"axis", static_cast<int64_t>(d)}}));
  }
  return y;
}

absl::StatusOr<Value> InterpolateAnySize(OnnxImport& node, const Value& x, const Shape& sizes,
                                         const std::string& coordinates) {
  if (!IsFloat(x.dtype())) return node.Unsupported("interpolation between integers");
  const bool from_middle = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
  const bool corners = coordinates == "align_corners";
  if (!from_middle && !corners && coordinates != "asymmetric") {
    return node.Unsupported(absl::StrCat("linear, ", coordinates, ", of symbolic sizes"));
  }
  Value y = x;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t size = y.shape()[d], grown = sizes[d];
    if (size == grown) continue;
    // These modes have a case of their own for a result of one element.
    if (coordinates != "half_pixel" && coordinates != "asymmetric" && !IsAtLeast(grown, 2)) {
      return node.Unsupported(absl::StrCat(coordinates, ", of size ", SizeName(grown),
                                           ", which may be 1: a range excludes that"));
    }
    absl::Status failed;
    auto op = [&](const char* name, std::vector<Value> inputs, Attrs attrs = {}) {
      if (!failed.ok()) return Value();
      auto made = node.Op(name, std::move(inputs), std::move(attrs));
      if (made.ok()) return *made;
      failed = made.status();
      return Value();
    };
    auto number = [&](double value) {
      return node.Constant(*Tensor::FromDoubles({DType::kF64, {}}, {value}));
    };
    auto cast = [&](const Value& v, DType to) {
      return op("cast", {v}, {{"dtype", std::string(Name(to))}});
    };
    auto length = [&](int64_t of) {
      return cast(op("sizes", {}, {{"sizes", Shape{of}}}), DType::kF64);
    };
    // By how much the axis grows: a number, or a quotient of sizes.
    auto scale = [&] {
      const auto factor = QuotientOf(grown, size);
      if (factor && !IsSymbolic(*factor)) return number(static_cast<double>(*factor));
      return op("div", {length(grown), length(size)});
    };
    // The same arithmetic as ResizePosition's and Weight's, in the same order.
    const Value last = op("sub", {length(size), number(1)});
    Value at = cast(op("iota", {}, {{"size", grown}}), DType::kF64);
    if (corners) {
      at = op("div", {op("mul", {at, last}), op("sub", {length(grown), number(1)})});
    } else {
      if (from_middle) at = op("add", {at, number(0.5)});
      at = op("div", {at, scale()});
      if (from_middle) at = op("sub", {at, number(0.5)});
    }
    const Value low = op("floor", {at}), high = op("add", {low, number(1)});
    std::vector<Value> positions, weights;
    for (const bool is_low : {true, false}) {
      const Value inside = op("min", {op("max", {is_low ? low : high, number(0)}), last});
      const Value distance = is_low ? op("sub", {at, low}) : op("sub", {high, at});
      const Attrs column = {{"shape", Shape{grown, 1}}};
      positions.push_back(op("reshape", {cast(inside, DType::kI64)}, column));
      weights.push_back(op("reshape", {cast(op("sub", {number(1), distance}), x.dtype())}, column));
    }
    y = op("resample",
           {y, op("concat", positions, {{"axis", int64_t{1}}}),
            op("concat", weights, {{"axis", int64_t{1}}})},
           {{"axis", static_cast<int64_t>(d)}});
    if (!failed.ok()) return failed;
  }
  return y;
}

}  // namespace lemma::ops
