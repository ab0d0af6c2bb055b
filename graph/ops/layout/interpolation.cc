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

absl::StatusOr<std::vector<ResizeAxis>> FromScales(const std::vector<double>& scales,
                                                   const Shape& shape) {
  if (scales.size() != shape.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(scales.size(), " scales for ", shape.size(), " dimensions"));
  }
  std::vector<ResizeAxis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    auto scale = AsFraction(scales[d]);
    if (!scale) return absl::InvalidArgumentError(absl::StrCat("scale ", scales[d]));
    const double size = std::floor(static_cast<double>(shape[d]) * scales[d]);
    if (!(size < 1e9)) return absl::InvalidArgumentError(absl::StrCat("scale ", scales[d]));
    axes.push_back({shape[d], static_cast<int64_t>(size), *scale});
  }
  return axes;
}

absl::StatusOr<std::vector<ResizeAxis>> FromSizes(const std::vector<int64_t>& sizes,
                                                  const Shape& shape) {
  if (sizes.size() != shape.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(sizes.size(), " sizes for ", shape.size(), " dimensions"));
  }
  std::vector<ResizeAxis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (sizes[d] < 1 || shape[d] < 1) {
      return absl::InvalidArgumentError(absl::StrCat("size ", sizes[d], " of dimension ", d));
    }
    const int64_t common = std::gcd(sizes[d], shape[d]);
    axes.push_back({shape[d], sizes[d], {sizes[d] / common, shape[d] / common}});
  }
  return axes;
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
  if (mode == "pytorch_half_pixel") return axis.output > 1 ? (at + 0.5) / scale - 0.5 : 0.0;
  if (mode == "align_corners") {
    const double steps = scale * static_cast<double>(axis.input) - 1;
    return steps > 0 ? at * static_cast<double>(axis.input - 1) / steps : 0.0;
  }
  return node.Unsupported(absl::StrCat("coordinate_transformation_mode ", mode));
}

}  // namespace

absl::StatusOr<std::vector<ResizeAxis>> ReadResizeAxes(OnnxImport& node, const Shape& shape) {
  std::vector<double> scales;
  if (node.op_type() == "Upsample" && node.opset() < 9) {
    LEMMA_ASSIGN_OR_RETURN(scales, node.Floats("scales"));
    return FromScales(scales, shape);
  }
  const bool has_region = node.op_type() == "Resize" && node.opset() >= 11;
  if (has_region && node.HasInput(1)) {
    // The region of interest matters only for tf_crop_and_resize, which is refused.
    LEMMA_RETURN_IF_ERROR(node.Input(1).status());
  }
  const int scales_at = has_region ? 2 : 1;
  if (node.FindAttr("axes") != nullptr) return node.Unsupported("attribute axes");
  LEMMA_ASSIGN_OR_RETURN(std::string policy, node.String("keep_aspect_ratio_policy", "stretch"));
  if (policy != "stretch") return node.Unsupported("keep_aspect_ratio_policy");
  LEMMA_ASSIGN_OR_RETURN(int64_t antialias, node.Int("antialias", 0));
  if (antialias != 0) return node.Unsupported("antialias");
  if (node.HasInput(scales_at)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(scales_at));
    if (given.size() > 0) return FromScales(given.ToDoubles(), shape);
  }
  if (!has_region || !node.HasInput(3))
    return absl::InvalidArgumentError("neither scales nor sizes");
  LEMMA_ASSIGN_OR_RETURN(Tensor sizes, node.ConstantInput(3));
  return FromSizes(sizes.ToInts(), shape);
}

absl::StatusOr<std::vector<double>> InterpolationMatrix(const OnnxImport& node,
                                                        const ResizeAxis& axis,
                                                        const Interpolation& how) {
  std::vector<double> matrix(static_cast<size_t>(axis.input * axis.output), 0);
  const int reach = how.cubic ? 2 : 1;
  for (int64_t i = 0; i < axis.output; ++i) {
    LEMMA_ASSIGN_OR_RETURN(const double at, Position(node, axis, i, how.coordinates));
    const int64_t floor = static_cast<int64_t>(std::floor(at));
    double* row = matrix.data() + i * axis.input;
    double sum = 0;
    for (int64_t j = floor - reach + 1; j <= floor + reach; ++j) {
      if (how.exclude_outside && (j < 0 || j >= axis.input)) continue;
      // Outside, the nearest element inside is used.
      const double weight = Weight(at - static_cast<double>(j), how);
      row[std::min(std::max<int64_t>(j, 0), axis.input - 1)] += weight;
      sum += weight;
    }
    if (!how.exclude_outside) continue;
    for (int64_t j = 0; j < axis.input; ++j) row[j] /= sum;
  }
  return matrix;
}

absl::StatusOr<Value> Interpolate(OnnxImport& node, const Value& x,
                                  const std::vector<ResizeAxis>& axes, const Interpolation& how) {
  if (!IsFloat(x.dtype())) return node.Unsupported("interpolation between integers");
  constexpr int64_t kMaxWeights = int64_t{1} << 24;
  Value y = x;
  for (size_t d = 0; d < axes.size(); ++d) {
    const ResizeAxis& axis = axes[d];
    if (axis.input == axis.output && axis.scale.first == axis.scale.second) continue;
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
    shape[d] = axis.output;
    LEMMA_ASSIGN_OR_RETURN(y, Reshape(node, y, shape));
  }
  return y;
}

}  // namespace lemma::ops
