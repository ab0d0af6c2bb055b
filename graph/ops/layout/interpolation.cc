#include "graph/ops/layout/interpolation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/onnx/composites/axes.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

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

// All axes, unchanged.
std::vector<ResizeAxis> Unchanged(const Shape& shape) {
  std::vector<ResizeAxis> axes;
  for (int64_t size : shape) axes.push_back({size, size, {1, 1}});
  return axes;
}

// `named`: the dimensions that the scales are for.
absl::StatusOr<std::vector<ResizeAxis>> FromScales(const std::vector<double>& scales,
                                                   const std::vector<size_t>& named,
                                                   const Shape& shape) {
  if (scales.size() != named.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(scales.size(), " scales for ", named.size(), " dimensions"));
  }
  std::vector<ResizeAxis> axes = Unchanged(shape);
  for (size_t i = 0; i < scales.size(); ++i) {
    const size_t d = named[i];
    auto scale = AsFraction(scales[i]);
    if (!scale) return absl::InvalidArgumentError(absl::StrCat("scale ", scales[i]));
    const double size = std::floor(static_cast<double>(shape[d]) * scales[i]);
    if (!(size < 1e9)) return absl::InvalidArgumentError(absl::StrCat("scale ", scales[i]));
    axes[d].output = static_cast<int64_t>(size);
    axes[d].scale = *scale;
  }
  return axes;
}

absl::StatusOr<std::vector<ResizeAxis>> FromSizes(const std::vector<int64_t>& sizes,
                                                  const std::vector<size_t>& named,
                                                  const std::string& policy, const Shape& shape) {
  if (sizes.size() != named.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(sizes.size(), " sizes for ", named.size(), " dimensions"));
  }
  std::vector<ResizeAxis> axes = Unchanged(shape);
  std::optional<std::pair<int64_t, int64_t>> common_scale;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t d = named[i];
    if (sizes[i] < 1 || shape[d] < 1 || sizes[i] > (int64_t{1} << 31) ||
        shape[d] > (int64_t{1} << 31)) {
      return absl::InvalidArgumentError(absl::StrCat("size ", sizes[i], " of dimension ", d));
    }
    const int64_t common = std::gcd(sizes[i], shape[d]);
    axes[d].output = sizes[i];
    axes[d].scale = {sizes[i] / common, shape[d] / common};
    const auto [num, den] = axes[d].scale;
    const bool less = common_scale && num * common_scale->second < common_scale->first * den;
    if (!common_scale || less == (policy == "not_larger")) common_scale = axes[d].scale;
  }
  if (policy == "stretch" || !common_scale) return axes;
  if (policy != "not_larger" && policy != "not_smaller") {
    return absl::InvalidArgumentError(absl::StrCat("keep_aspect_ratio_policy ", policy));
  }
  // One scale for all, with which no size is larger, or none smaller, than the given one.
  const auto [num, den] = *common_scale;
  for (size_t d : named) {
    axes[d].scale = {num, den};
    axes[d].output = (2 * shape[d] * num + den) / (2 * den);
  }
  return axes;
}

// The dimensions that scales, sizes and regions are for.
absl::StatusOr<std::vector<size_t>> NamedDims(OnnxImport& node, size_t rank) {
  std::vector<size_t> named;
  if (node.FindAttr("axes") == nullptr) {
    for (size_t d = 0; d < rank; ++d) named.push_back(d);
    return named;
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.Ints("axes"));
  for (int64_t axis : axes) {
    LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, static_cast<int>(rank)));
    named.push_back(static_cast<size_t>(axis));
  }
  return named;
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

absl::StatusOr<double> Position(const OnnxImport& node, const ResizeAxis& axis, int64_t i,
                                const std::string& mode) {
  const double scale =
      static_cast<double>(axis.scale.first) / static_cast<double>(axis.scale.second);
  const double at = static_cast<double>(i);
  if (mode == "asymmetric") return at / scale;
  if (mode == "half_pixel") return (at + 0.5) / scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    // The middle of x is the middle of the result, where the scale gives no whole size.
    const double whole =
        static_cast<double>(axis.output) / (scale * static_cast<double>(axis.input));
    return static_cast<double>(axis.input) / 2 * (1 - whole) + (at + 0.5) / scale - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    const double last = static_cast<double>(axis.input - 1);
    const double steps = scale * static_cast<double>(axis.input) - 1;
    const double inside = steps > 0 ? at * (axis.end - axis.start) * last / steps
                                    : (axis.end - axis.start) * last / 2;
    return axis.start * last + inside;
  }
  if (mode == "pytorch_half_pixel") return axis.output > 1 ? (at + 0.5) / scale - 0.5 : 0.0;
  if (mode == "align_corners") {
    const double steps = scale * static_cast<double>(axis.input) - 1;
    return steps > 0 ? at * static_cast<double>(axis.input - 1) / steps : 0.0;
  }
  return node.Unsupported(absl::StrCat("coordinate_transformation_mode ", mode));
}

// The region of interest, which matters only for tf_crop_and_resize: all starts, then all ends.
absl::Status ReadRegion(OnnxImport& node, const std::vector<size_t>& named,
                        std::vector<ResizeAxis>* axes) {
  LEMMA_ASSIGN_OR_RETURN(std::string mode,
                         node.String("coordinate_transformation_mode", "half_pixel"));
  if (mode != "tf_crop_and_resize") return node.Input(1).status();
  LEMMA_ASSIGN_OR_RETURN(Tensor region, node.ConstantInput(1));
  const size_t count = named.size();
  if (region.size() != static_cast<int64_t>(2 * count)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the region has ", region.size(), " numbers, not ", 2 * count));
  }
  for (size_t i = 0; i < count; ++i) {
    (*axes)[named[i]].start = region.AtDouble(static_cast<int64_t>(i));
    (*axes)[named[i]].end = region.AtDouble(static_cast<int64_t>(count + i));
  }
  return absl::OkStatus();
}

bool IsOutside(const ResizeAxis& axis, const Interpolation& how, double at) {
  return how.coordinates == "tf_crop_and_resize" &&
         (at < 0 || at > static_cast<double>(axis.input - 1));
}

}  // namespace

absl::StatusOr<std::vector<ResizeAxis>> ReadResizeAxes(OnnxImport& node, const Shape& shape) {
  std::vector<double> scales;
  if (node.op_type() == "Upsample" && node.opset() < 9) {
    LEMMA_ASSIGN_OR_RETURN(scales, node.Floats("scales"));
    LEMMA_ASSIGN_OR_RETURN(std::vector<size_t> all, NamedDims(node, shape.size()));
    return FromScales(scales, all, shape);
  }
  const bool has_region = node.op_type() == "Resize" && node.opset() >= 11;
  const int scales_at = has_region ? 2 : 1;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<size_t> named, NamedDims(node, shape.size()));
  LEMMA_ASSIGN_OR_RETURN(std::string policy, node.String("keep_aspect_ratio_policy", "stretch"));
  std::vector<ResizeAxis> axes;
  Tensor given;
  if (node.HasInput(scales_at)) {
    LEMMA_ASSIGN_OR_RETURN(given, node.ConstantInput(scales_at));
  }
  if (!given.empty_handle() && given.size() > 0) {
    LEMMA_ASSIGN_OR_RETURN(axes, FromScales(given.ToDoubles(), named, shape));
  } else if (has_region && node.HasInput(3)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor sizes, node.ConstantInput(3));
    LEMMA_ASSIGN_OR_RETURN(axes, FromSizes(sizes.ToInts(), named, policy, shape));
  } else {
    return absl::InvalidArgumentError("neither scales nor sizes");
  }
  if (has_region && node.HasInput(1)) LEMMA_RETURN_IF_ERROR(ReadRegion(node, named, &axes));
  return axes;
}

absl::StatusOr<std::vector<double>> InterpolationMatrix(const OnnxImport& node,
                                                        const ResizeAxis& axis,
                                                        const Interpolation& how) {
  std::vector<double> matrix(static_cast<size_t>(axis.input * axis.output), 0);
  const double scale =
      static_cast<double>(axis.scale.first) / static_cast<double>(axis.scale.second);
  const double density = how.antialias ? std::min(scale, 1.0) : 1.0;
  const int64_t reach = static_cast<int64_t>(std::ceil((how.cubic ? 2 : 1) / density));
  const bool normalize = how.exclude_outside || density < 1;
  for (int64_t i = 0; i < axis.output; ++i) {
    LEMMA_ASSIGN_OR_RETURN(const double at, Position(node, axis, i, how.coordinates));
    if (IsOutside(axis, how, at)) continue;
    const int64_t floor = static_cast<int64_t>(std::floor(at));
    double* row = matrix.data() + i * axis.input;
    double sum = 0;
    for (int64_t j = floor - reach + 1; j <= floor + reach; ++j) {
      if (how.exclude_outside && (j < 0 || j >= axis.input)) continue;
      // Outside, the nearest element inside is used.
      const double weight = Weight((at - static_cast<double>(j)) * density, how);
      row[std::min(std::max<int64_t>(j, 0), axis.input - 1)] += weight;
      sum += weight;
    }
    if (!normalize) continue;
    for (int64_t j = 0; j < axis.input; ++j) row[j] /= sum;
  }
  return matrix;
}

namespace {

// y [before, output, after] with the extrapolation value where the position is outside.
absl::StatusOr<Value> Extrapolated(OnnxImport& node, const Value& y, const ResizeAxis& axis,
                                   const Interpolation& how) {
  std::vector<double> outside(static_cast<size_t>(axis.output), 0);
  bool any = false;
  for (int64_t i = 0; i < axis.output; ++i) {
    LEMMA_ASSIGN_OR_RETURN(const double at, Position(node, axis, i, how.coordinates));
    if (!IsOutside(axis, how, at)) continue;
    outside[static_cast<size_t>(i)] = 1;
    any = true;
  }
  if (!any) return y;
  LEMMA_ASSIGN_OR_RETURN(Tensor where,
                         Tensor::FromDoubles({DType::kBool, {axis.output, 1}}, outside));
  LEMMA_ASSIGN_OR_RETURN(Value value, node.Scalar(y.dtype(), how.extrapolation_value));
  return node.Op("where", {node.Constant(std::move(where)), value, y});
}

}  // namespace

absl::StatusOr<Value> Interpolate(OnnxImport& node, const Value& x,
                                  const std::vector<ResizeAxis>& axes, const Interpolation& how) {
  if (!IsFloat(x.dtype())) return node.Unsupported("interpolation between integers");
  constexpr int64_t kMaxWeights = int64_t{1} << 24;
  Value y = x;
  for (size_t d = 0; d < axes.size(); ++d) {
    const ResizeAxis& axis = axes[d];
    if (!axis.changes() && how.coordinates != "tf_crop_and_resize") continue;
    if (axis.output < 1 || axis.input > kMaxWeights / axis.output) {
      return node.Unsupported("interpolation of axes this long");
    }
    LEMMA_ASSIGN_OR_RETURN(std::vector<double> weights, InterpolationMatrix(node, axis, how));
    LEMMA_ASSIGN_OR_RETURN(Tensor matrix,
                           Tensor::FromDoubles({x.dtype(), {axis.output, axis.input}}, weights));
    // [before, size, after]: the matrix applies to the middle.
    Shape shape = y.shape();
    const auto middle = shape.begin() + static_cast<int64_t>(d);
    const int64_t before = NumElements(Shape(shape.begin(), middle));
    const int64_t after = NumElements(Shape(middle + 1, shape.end()));
    LEMMA_ASSIGN_OR_RETURN(y, Reshape(node, y, {before, axis.input, after}));
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("matmul", {node.Constant(std::move(matrix)), y}));
    LEMMA_ASSIGN_OR_RETURN(y, Extrapolated(node, y, axis, how));
    shape[d] = axis.output;
    LEMMA_ASSIGN_OR_RETURN(y, Reshape(node, y, shape));
  }
  return y;
}

}  // namespace lemma::ops
