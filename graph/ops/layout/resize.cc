// Resizing. Nearest-neighbor is an operator. Linear and cubic interpolation are weighted sums with
// constant weights, built at import.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/axis_map.h"
#include "graph/ops/checks.h"
#include "graph/ops/layout/interpolation.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

constexpr int64_t kMaxPosition = int64_t{1} << 62;

// y[i…] = x[min(max((i*mul + add) div by, 0), size - 1) …].
absl::Status DefineResizeNearest(OpContext& c) {
  const Idx &sizes = c.Sizes("sizes"), &mul = c.Sizes("mul"), &add = c.Sizes("add"),
            &by = c.Sizes("by");
  const size_t rank = static_cast<size_t>(c.rank(0));
  LEMMA_REQUIRE(
      c, sizes.size() == rank && mul.size() == rank && add.size() == rank && by.size() == rank,
      "sizes, mul, add and by take one entry for each of ", rank, " dimensions");
  for (size_t d = 0; d < rank; ++d) {
    LEMMA_REQUIRE(c, Ge(sizes[d], 0) && Ge(mul[d], 0) && Ge(by[d], 1),
                  "sizes and mul must not be negative, by positive");
    LEMMA_REQUIRE(c, Le(sizes[d] * mul[d] + add[d], kMaxPosition), "positions leave 64 bits");
    LEMMA_REQUIRE(c, Ge(c.Dim(0, static_cast<int>(d)), 1), "dimension ", d, " is empty");
  }
  c.Output(c.dtype(0), sizes, [&](const Idx& out) {
    Idx at;
    for (size_t d = 0; d < rank; ++d) {
      const IndexExpr& size = c.Dim(0, static_cast<int>(d));
      IndexExpr from = FloorDiv(out[d] * mul[d] + add[d], by[d]);
      // Clamp only if a position can lie outside.
      auto source = [&](int64_t i) {
        IndexEnv env;
        env.var = [i](VarId) { return std::optional(i); };
        return EvaluateIndex(from, env);
      };
      auto first = source(0), last = sizes[d].is_const() ? source(sizes[d].value() - 1) : first;
      const bool inside = first && last && *first >= 0 && sizes[d].is_const() && size.is_const() &&
                          *last < size.value();
      at.push_back(inside ? from : Min(Max(from, 0), size - 1));
    }
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

// dx[j…] = sum(i… that come from j…) dy[i…]. Along a dimension enlarged by a whole factor, this is
// a sum over blocks; otherwise dy * Mᵀ, where M is the operator's result for the identity matrix.
std::vector<Value> ResizeNearestGradient(GradientBuilder& f) {
  const Shape& shape = f.Input(0).shape();
  Value dx = f.ResultGradient();
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t mul = f.node().Ints("mul")[d], add = f.node().Ints("add")[d],
                  by = f.node().Ints("by")[d], size = f.node().Ints("sizes")[d];
    if (mul == 1 && add == 0 && size == shape[d] * by) {
      Shape blocks = dx.shape();
      blocks[d] = shape[d];
      const int64_t inside = static_cast<int64_t>(d) + 1;
      blocks.insert(blocks.begin() + inside, by);
      if (by > 1) dx = f.Sum(f.Reshape(dx, blocks), {inside});
      continue;
    }
    using Ints = std::vector<int64_t>;  // rows stay, columns have x's size along d
    const Attrs attrs = {{"sizes", Ints{shape[d], size}},
                         {"mul", Ints{1, mul}},
                         {"add", Ints{0, add}},
                         {"by", Ints{1, by}}};
    const Value identity = Identity(f, dx.dtype(), shape[d]);
    dx = TransposedAlongAxis(f, dx, static_cast<int64_t>(d),
                             f.Op("resize_nearest", {identity}, attrs));
  }
  return {dx};
}

// The nearest_mode of Upsample, and of Resize in set 10.
constexpr char kSimple[] = "simple";

// The element that a position p/q is rounded to, always as floor((i*mul + add) / by).
struct Linear {
  int64_t mul = 1, add = 0, by = 1;
  int64_t At(int64_t i) const {
    const int64_t n = i * mul + add;
    return n >= 0 ? n / by : -((-n + by - 1) / by);
  }
};

absl::StatusOr<Linear> Rounded(const OnnxImport& node, const Linear& position,
                               const std::string& rounding) {
  const auto [mul, add, by] = position;
  if (rounding == "floor") return position;
  if (rounding == "ceil") return Linear{mul, add + by - 1, by};
  // Nearest, ties up: floor(p + 1/2); ties down: ceil(p - 1/2).
  if (rounding == "round_prefer_ceil") return Linear{2 * mul, 2 * add + by, 2 * by};
  if (rounding == "round_prefer_floor") return Linear{2 * mul, 2 * add + by - 1, 2 * by};
  return node.Unsupported(absl::StrCat("nearest_mode ", rounding));
}

// The position in x of element i, as a fraction. The scale is num/den.
absl::StatusOr<Linear> SourcePosition(const OnnxImport& node, const ResizeAxis& axis,
                                      const std::string& mode) {
  const auto [num, den] = axis.scale;
  if (mode == "asymmetric") return Linear{den, 0, num};
  if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && axis.output_size > 1)) {
    // (i + 1/2) * den/num - 1/2
    return Linear{2 * den, den - num, 2 * num};
  }
  if (mode == "pytorch_half_pixel") return Linear{0, 0, 1};
  if (mode == "half_pixel_symmetric") {
    // input_size/2 - output_size/2 * den/num + (i + 1/2) * den/num - 1/2
    return Linear{2 * den, axis.input_size * num - axis.output_size * den + den - num, 2 * num};
  }
  if (mode == "tf_half_pixel_for_nn") return Linear{2 * den, den, 2 * num};
  if (mode == "align_corners") {
    // i * (input_size - 1) / (scale*input_size - 1), where scale*input_size need not be whole.
    const int64_t steps = num * axis.input_size - den;
    return steps > 0 ? Linear{(axis.input_size - 1) * den, 0, steps} : Linear{0, 0, 1};
  }
  return node.Unsupported(absl::StrCat("coordinate_transformation_mode ", mode));
}

// The simplest form with the same elements: different ways to say that every element is doubled
// should look the same to the optimizer.
Linear Simplest(const Linear& given, int64_t input, int64_t output) {
  auto source = [input](const Linear& l, int64_t i) {
    return std::min(std::max<int64_t>(l.At(i), 0), input - 1);
  };
  auto same = [&](const Linear& other) {
    for (int64_t i = 0; i < output; ++i) {
      if (source(given, i) != source(other, i)) return false;
    }
    return true;
  };
  if (same(Linear())) return Linear();
  const int64_t common = std::gcd(input, output);
  const Linear proportional{input / common, 0, output / common};
  return same(proportional) ? proportional : given;
}

// The element that ONNX Runtime shows as element i: it computes positions in f32. nullopt for a
// mode in which positions do not depend on the given scale alone.
std::optional<int64_t> InFloats(const ResizeAxis& axis, int64_t i, const std::string& mode,
                                const std::string& rounding) {
  const float scale = axis.given_scale;
  float at = static_cast<float>(i);
  if (mode == "asymmetric") {
    at = at / scale;
  } else if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && axis.output_size > 1)) {
    at = (at + 0.5f) / scale - 0.5f;
  } else if (mode == "tf_half_pixel_for_nn") {
    at = (at + 0.5f) / scale;
  } else {
    return std::nullopt;
  }
  if (rounding == "floor") at = std::floor(at);
  if (rounding == "ceil") at = std::ceil(at);
  if (rounding == "round_prefer_ceil") at = std::floor(at + 0.5f);
  if (rounding == "round_prefer_floor") at = std::ceil(at - 0.5f);
  return static_cast<int64_t>(at);
}

// The elements along an axis by InFloats, if some are not those of `form`.
std::optional<std::vector<int64_t>> OtherInFloats(const ResizeAxis& axis, const Linear& form,
                                                  const std::string& mode,
                                                  const std::string& rounding) {
  constexpr int64_t kMost = int64_t{1} << 26;
  if (axis.given_scale == 0 || axis.output_size > kMost) return std::nullopt;
  std::vector<int64_t> elements;
  bool differ = false;
  for (int64_t i = 0; i < axis.output_size; ++i) {
    const std::optional<int64_t> element = InFloats(axis, i, mode, rounding);
    if (!element) return std::nullopt;
    const auto inside = [&](int64_t k) {
      return std::min(std::max<int64_t>(k, 0), axis.input_size - 1);
    };
    elements.push_back(inside(*element));
    differ = differ || elements.back() != inside(form.At(i));
  }
  if (!differ) return std::nullopt;
  return elements;
}

absl::StatusOr<Value> ResizeNearest(OnnxImport& node, const Value& x,
                                    const std::vector<ResizeAxis>& axes,
                                    const std::string& coordinates, const std::string& rounding) {
  std::vector<int64_t> sizes, mul, add, by;
  std::map<int64_t, std::vector<int64_t>> gathered;  // by axis
  for (size_t d = 0; d < axes.size(); ++d) {
    const ResizeAxis& axis = axes[d];
    Linear form;
    int64_t size = axis.output_size;
    if (!axis.Keeps()) {
      // Before set 11, the greater position counts where the axis shrinks.
      std::string how = rounding;
      if (rounding == kSimple) how = axis.scale.first < axis.scale.second ? "ceil" : "floor";
      LEMMA_ASSIGN_OR_RETURN(Linear position, SourcePosition(node, axis, coordinates));
      LEMMA_ASSIGN_OR_RETURN(form, Rounded(node, position, how));
      form = Simplest(form, axis.input_size, axis.output_size);
      if (auto elements = OtherInFloats(axis, form, coordinates, how)) {
        gathered[static_cast<int64_t>(d)] = *std::move(elements);
        form = Linear();
        size = axis.input_size;
      }
    }
    sizes.push_back(size);
    mul.push_back(form.mul);
    add.push_back(form.add);
    by.push_back(form.by);
  }
  Value y = x;
  if (gathered.empty() || sizes != x.shape()) {
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("resize_nearest", {x},
                                      {{"sizes", sizes}, {"mul", mul}, {"add", add}, {"by", by}}));
  }
  for (auto& [axis, elements] : gathered) {
    LEMMA_ASSIGN_OR_RETURN(
        y, node.Op("gather", {y, node.Constant(Tensor::Ints(elements))}, {{"axis", axis}}));
  }
  return y;
}

// The element nearest to a position that need not be a small fraction.
absl::StatusOr<int64_t> Nearest(const OnnxImport& node, double at, const std::string& rounding) {
  double nearest = 0;
  if (rounding == "floor") {
    nearest = std::floor(at);
  } else if (rounding == "ceil") {
    nearest = std::ceil(at);
  } else if (rounding == "round_prefer_ceil") {
    nearest = std::floor(at + 0.5);
  } else if (rounding == "round_prefer_floor") {
    nearest = std::ceil(at - 0.5);
  } else {
    return node.Unsupported(absl::StrCat("nearest_mode ", rounding));
  }
  return static_cast<int64_t>(nearest);
}

// Reads the nearest elements of a part of x, a gather along each axis.
absl::StatusOr<Value> CropNearest(OnnxImport& node, Value y, const std::vector<ResizeAxis>& axes,
                                  const std::string& coordinates, const std::string& rounding) {
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].Keeps()) continue;
    if (axes[d].output_size > (int64_t{1} << 26)) return node.Unsupported("axes this long");
    std::vector<int64_t> from;
    for (int64_t i = 0; i < axes[d].output_size; ++i) {
      LEMMA_ASSIGN_OR_RETURN(double at, ResizePosition(node, axes[d], i, coordinates));
      at = std::min(std::max(at, 0.0), static_cast<double>(axes[d].input_size - 1));
      LEMMA_ASSIGN_OR_RETURN(const int64_t nearest, Nearest(node, at, rounding));
      from.push_back(nearest);
    }
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("gather", {y, node.Constant(Tensor::Ints(from))},
                                      {{"axis", static_cast<int64_t>(d)}}));
  }
  return y;
}

// y with `value` where its position is outside x.
absl::StatusOr<Value> Extrapolated(OnnxImport& node, Value y, const std::vector<ResizeAxis>& axes,
                                   const std::string& coordinates, double value) {
  LEMMA_ASSIGN_OR_RETURN(const Value outside, node.Scalar(y.dtype(), value));
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].Keeps()) continue;
    std::vector<double> inside;
    for (int64_t i = 0; i < axes[d].output_size; ++i) {
      LEMMA_ASSIGN_OR_RETURN(const double at, ResizePosition(node, axes[d], i, coordinates));
      inside.push_back(at >= 0 && at <= static_cast<double>(axes[d].input_size - 1));
    }
    if (std::find(inside.begin(), inside.end(), 0.0) == inside.end()) continue;
    Shape shape(axes.size(), 1);
    shape[d] = axes[d].output_size;
    LEMMA_ASSIGN_OR_RETURN(Tensor mask, Tensor::FromDoubles({DType::kBool, shape}, inside));
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("where", {node.Constant(std::move(mask)), y, outside}));
  }
  return y;
}

// The sizes that dimensions of x get if some are symbolic: those that are given, or x's times whole
// numbers.
absl::StatusOr<Shape> SymbolicSizes(OnnxImport& node, const Shape& x) {
  Shape sizes;
  if (node.op_type() == "Resize" && node.opset() >= 11 && node.HasInput(3)) {
    for (int i : {1, 2}) {
      if (node.HasInput(i)) LEMMA_RETURN_IF_ERROR(node.Input(i).status());
    }
    LEMMA_ASSIGN_OR_RETURN(const Tensor given, node.ConstantInput(3));
    sizes = given.ToInts();
    if (sizes.size() != x.size()) {
      return node.Unsupported("sizes of some axes where others are symbolic");
    }
    for (int64_t size : sizes) {
      if (!node.IsAtLeast(size, 1, OnnxImport::ShorterMeans::kAnError)) {
        return node.Unsupported("a size that may be 0");
      }
    }
    return sizes;
  }
  Shape any = x;  // scales say the same for every size
  for (int64_t& size : any) size = IsSymbolic(size) ? 1 : size;
  LEMMA_ASSIGN_OR_RETURN(std::vector<ResizeAxis> axes, ReadResizeAxes(node, any));
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].scale.second != 1) {
      return node.Unsupported(
          absl::StrCat("symbolic sizes ", ToString(x), " that do not grow by whole numbers"));
    }
    sizes.push_back(ProductOf({x[d], axes[d].scale.first}));
  }
  return sizes;
}

// Repeats elements of an x with symbolic sizes.
absl::StatusOr<std::vector<Value>> ResizeSymbolic(OnnxImport& node, const Value& x,
                                                  const std::string& coordinates,
                                                  const std::string& rounding) {
  for (const char* unused :
       {"cubic_coeff_a", "exclude_outside", "extrapolation_value", "keep_aspect_ratio_policy"}) {
    node.FindAttr(unused);
  }
  LEMMA_ASSIGN_OR_RETURN(std::string mode, node.String("mode", "nearest"));
  if (mode == "linear" || mode == "bilinear") {
    for (const char* other : {"exclude_outside", "antialias"}) {
      LEMMA_ASSIGN_OR_RETURN(const int64_t value, node.Int(other, 0));
      if (value != 0) return node.Unsupported(absl::StrCat(other, " of symbolic sizes"));
    }
    LEMMA_ASSIGN_OR_RETURN(const Shape sizes, SymbolicSizes(node, x.shape()));
    LEMMA_ASSIGN_OR_RETURN(Value y, InterpolateAnySize(node, x, sizes, coordinates));
    return std::vector<Value>{y};
  }
  // In other modes, positions depend on the size.
  const bool is_local = coordinates == "asymmetric" || coordinates == "half_pixel" ||
                        coordinates == "tf_half_pixel_for_nn";
  if (mode != "nearest" || !is_local) {
    return node.Unsupported(absl::StrCat("mode ", mode, ", ", coordinates, ", of symbolic sizes"));
  }
  LEMMA_ASSIGN_OR_RETURN(const Shape sizes, SymbolicSizes(node, x.shape()));
  std::vector<int64_t> mul, by;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto factor = QuotientOf(sizes[d], x.shape()[d]);
    if (!factor || IsSymbolic(*factor)) {
      // Element i shows floor(i * input / output).
      if (coordinates != "asymmetric" || rounding != "floor") {
        return node.Unsupported(absl::StrCat("nearest_mode ", rounding, ", ", coordinates,
                                             ", of symbolic sizes ", ToString(x.shape()),
                                             " that do not grow by whole numbers"));
      }
      mul.push_back(x.shape()[d]);
      by.push_back(sizes[d]);
      continue;
    }
    // Positions repeat after each element of x, so some elements show all of them.
    constexpr int64_t kSome = 16;
    const ResizeAxis some{kSome, kSome * *factor, {*factor, 1}};
    LEMMA_ASSIGN_OR_RETURN(const Linear position, SourcePosition(node, some, coordinates));
    LEMMA_ASSIGN_OR_RETURN(const Linear rounded, Rounded(node, position, rounding));
    const Linear form = Simplest(rounded, some.input_size, some.output_size);
    if (form.mul != 1 || form.add != 0 || form.by != *factor) {
      return node.Unsupported(
          absl::StrCat("nearest_mode ", rounding, ", ", coordinates, ", of symbolic sizes"));
    }
    mul.push_back(1);
    by.push_back(*factor);
  }
  if (sizes == x.shape()) return std::vector<Value>{x};
  const std::vector<int64_t> zeros(sizes.size(), 0);
  return node.Ops("resize_nearest", {x},
                  {{"sizes", sizes}, {"mul", mul}, {"add", zeros}, {"by", by}});
}

absl::StatusOr<std::vector<Value>> ImportResize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(std::string mode, node.String("mode", "nearest"));
  const bool old = node.op_type() == "Upsample" || node.opset() < 11;
  LEMMA_ASSIGN_OR_RETURN(std::string coordinates, node.String("coordinate_transformation_mode",
                                                              old ? "asymmetric" : "half_pixel"));
  LEMMA_ASSIGN_OR_RETURN(std::string rounding,
                         node.String("nearest_mode", old ? kSimple : "round_prefer_floor"));
  if (!old && rounding == kSimple) return node.Unsupported("nearest_mode simple");
  auto read = ReadResizeAxes(node, x.shape());
  if (absl::IsUnimplemented(read.status()) && IsSymbolic(x.shape())) {
    return ResizeSymbolic(node, x, coordinates, rounding == kSimple ? "floor" : rounding);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, std::move(read));
  LEMMA_ASSIGN_OR_RETURN(const double outside, node.Float("extrapolation_value", 0));
  bool changes = false;
  for (const ResizeAxis& axis : axes) {
    if (axis.input_size < 1) return absl::InvalidArgumentError("x is empty");
    changes = changes || !axis.Keeps();
  }
  Interpolation how;
  how.coordinates = coordinates;
  LEMMA_ASSIGN_OR_RETURN(how.cubic_coefficient, node.Float("cubic_coeff_a", -0.75));
  LEMMA_ASSIGN_OR_RETURN(int64_t exclude, node.Int("exclude_outside", 0));
  how.exclude_outside = exclude != 0;
  LEMMA_ASSIGN_OR_RETURN(int64_t antialias, node.Int("antialias", 0));
  how.antialias = antialias != 0;
  how.cubic = mode == "cubic";
  if (!changes) return std::vector<Value>{x};
  Shape result;
  for (const ResizeAxis& axis : axes) result.push_back(axis.output_size);
  if (NumElements(result) == 0) {
    LEMMA_ASSIGN_OR_RETURN(Tensor nothing, Tensor::Filled({x.dtype(), result}, 0));
    return std::vector<Value>{node.Constant(std::move(nothing))};
  }
  const bool crops = coordinates == "tf_crop_and_resize";
  Value y;
  if (mode == "nearest" && how.antialias) return node.Unsupported("antialias of nearest elements");
  if (mode == "nearest" && crops) {
    LEMMA_ASSIGN_OR_RETURN(y, CropNearest(node, x, axes, coordinates, rounding));
  } else if (mode == "nearest") {
    LEMMA_ASSIGN_OR_RETURN(y, ResizeNearest(node, x, axes, coordinates, rounding));
  } else if (mode == "linear" || mode == "bilinear" || mode == "cubic") {
    LEMMA_ASSIGN_OR_RETURN(y, Interpolate(node, x, axes, how));
  } else {
    return node.Unsupported(absl::StrCat("mode ", mode));
  }
  if (crops) {
    LEMMA_ASSIGN_OR_RETURN(y, Extrapolated(node, y, axes, coordinates, outside));
  }
  return std::vector<Value>{y};
}

// Emits the positions i * mul / by along a dimension of symbolic size.
absl::StatusOr<std::string> EmitSources(OnnxExport& out, size_t d) {
  const Node& node = out.node();
  const int64_t size = node.Ints("sizes")[d], mul = node.Ints("mul")[d], by = node.Ints("by")[d];
  const int64_t input = node.inputs()[0].shape()[d];
  const bool repeats = mul == 1 && size == ProductOf({input, by});
  if (node.Ints("add")[d] != 0 || (!repeats && (mul != input || by != size))) {
    return absl::UnimplementedError(absl::StrCat("unsupported: positions i * ", SizeName(mul),
                                                 " / ", SizeName(by), " of symbolic sizes"));
  }
  auto number = [&](int64_t value) {
    return out.Constant(*Tensor::FromInts({DType::kI64, {}}, {value}));
  };
  const std::string limit = out.Temporary(), all = out.Temporary(), moved = out.Temporary(),
                    from = out.Temporary();
  out.Emit("Squeeze", {out.Constant(Tensor::Ints({size}))}, {limit});
  out.Emit("Range", {number(0), limit, number(1)}, {all});
  out.Emit("Mul", {all, out.Constant(Tensor::Ints({mul}))}, {moved});
  out.Emit("Div", {moved, out.Constant(Tensor::Ints({by}))}, {from});
  return from;
}

// Exports enlargement by whole factors as Resize, and anything else as one Gather per axis, which
// floating-point rounding cannot change.
absl::Status ExportResizeNearest(OnnxExport& out) {
  const Node& node = out.node();
  const std::vector<int64_t>&sizes = node.Ints("sizes"), &mul = node.Ints("mul"),
        &add = node.Ints("add"), &by = node.Ints("by");
  const Shape& input = node.inputs()[0].shape();
  bool whole = true;
  std::vector<double> scales;
  for (size_t d = 0; d < sizes.size(); ++d) {
    whole = whole && mul[d] == 1 && add[d] == 0 && sizes[d] == ProductOf({input[d], by[d]});
    scales.push_back(static_cast<double>(by[d]));
  }
  if (whole) {
    const TensorType type{DType::kF32, {static_cast<int64_t>(scales.size())}};
    LEMMA_ASSIGN_OR_RETURN(Tensor factors, Tensor::FromDoubles(type, scales));
    out.Emit("Resize", {out.Input(0), "", out.Constant(std::move(factors))}, {out.Output(0)},
             {{"mode", std::string("nearest")},
              {"coordinate_transformation_mode", std::string("asymmetric")},
              {"nearest_mode", std::string("floor")}});
    return absl::OkStatus();
  }
  std::vector<std::pair<int64_t, std::string>> gathers;  // by axis
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == input[d] && mul[d] == by[d] && add[d] == 0) continue;
    if (IsSymbolic({sizes[d], input[d], mul[d], add[d], by[d]})) {
      LEMMA_ASSIGN_OR_RETURN(std::string from, EmitSources(out, d));
      gathers.emplace_back(static_cast<int64_t>(d), std::move(from));
      continue;
    }
    const Linear form{mul[d], add[d], by[d]};
    std::vector<int64_t> from;
    for (int64_t i = 0; i < sizes[d]; ++i) {
      from.push_back(std::min(std::max<int64_t>(form.At(i), 0), input[d] - 1));
    }
    gathers.emplace_back(static_cast<int64_t>(d), out.Constant(Tensor::Ints(from)));
  }
  std::string current = out.Input(0);
  if (gathers.empty()) out.Emit("Identity", {current}, {out.Output(0)});
  for (size_t i = 0; i < gathers.size(); ++i) {
    const std::string next = i + 1 == gathers.size() ? out.Output(0) : out.Temporary();
    out.Emit("Gather", {current, gathers[i].second}, {next}, {{"axis", gathers[i].first}});
    current = next;
  }
  return absl::OkStatus();
}

}  // namespace

OpDef Make_resize_nearest() {
  OpDef op;
  op.name = "resize_nearest";
  op.group = "layout";
  op.equation = "y[i…] = x[min(max((i*mul + add) div by, 0), size - 1) …], i < sizes";
  op.doc =
      "All attributes have one entry for each dimension. Every way in which ONNX's Resize finds "
      "the "
      "nearest element is such a quotient: enlarging by s is mul = 1, add = 0, by = s.";
  op.input_names = {"x"};
  op.attrs = {{"sizes", AttrKind::kInts, std::nullopt, true, "shape of the result"},
              {"mul", AttrKind::kInts, std::nullopt, true, "numerator of the step through x"},
              {"add", AttrKind::kInts, std::nullopt, true, "numerator of the offset"},
              {"by", AttrKind::kInts, std::nullopt, true, "common denominator, positive"}};
  op.define = DefineResizeNearest;
  op.gradient = ResizeNearestGradient;
  op.examples = {
      "(f32[1,2,2,3]) {sizes = [1,2,4,6], mul = [1,1,1,1], add = [0,0,0,0], by = [1,1,2,2]}",
      "(f32[5]) {sizes = [3], mul = [5], add = [0], by = [3]}",
      "(f32[2,4]) {sizes = [2,6], mul = [1,8], add = [0,-1], by = [1,12]}",
      "(i64[3]) {sizes = [7], mul = [1], add = [3], by = [2]}"};
  op.onnx_import = {{"Resize", ImportResize}, {"Upsample", ImportResize}};
  op.onnx_export = ExportResizeNearest;
  return op;
}

}  // namespace lemma::ops
