// Convolutions that read between elements.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/sampling.h"

namespace lemma::ops {
namespace {

// What DeformConv's attributes and shapes say.
struct Deformed {
  int64_t batch, channels, outputs, group, offset_group;
  int spatial;
  Shape image, kernel, result;
  std::vector<int64_t> strides, dilations, pads;

  int64_t Taps() const { return NumElements(kernel); }
  int64_t Points() const { return NumElements(result); }
};

absl::StatusOr<Deformed> ReadDeformed(OnnxImport& node, const Value& x, const Value& w,
                                      const Value& offset) {
  Deformed d;
  const Shape &image = x.shape(), &weights = w.shape(), &offsets = offset.shape();
  d.spatial = x.type().rank() - 2;
  if (d.spatial < 1 || weights.size() != image.size() || offsets.size() != image.size()) {
    return absl::InvalidArgumentError("X, W and offset must have one rank, 3 or more");
  }
  d.batch = image[0];
  d.channels = image[1];
  d.outputs = weights[0];
  d.image.assign(image.begin() + 2, image.end());
  d.result.assign(offsets.begin() + 2, offsets.end());
  LEMMA_ASSIGN_OR_RETURN(d.group, node.Int("group", 1));
  LEMMA_ASSIGN_OR_RETURN(d.offset_group, node.Int("offset_group", 1));
  const std::vector<int64_t> ones(d.spatial, 1), zeros(2 * static_cast<size_t>(d.spatial), 0);
  LEMMA_ASSIGN_OR_RETURN(d.kernel,
                         node.Ints("kernel_shape", Shape(weights.begin() + 2, weights.end())));
  LEMMA_ASSIGN_OR_RETURN(d.strides, node.Ints("strides", ones));
  LEMMA_ASSIGN_OR_RETURN(d.dilations, node.Ints("dilations", ones));
  LEMMA_ASSIGN_OR_RETURN(d.pads, node.Ints("pads", zeros));
  const size_t rank = static_cast<size_t>(d.spatial);
  bool fits = d.group >= 1 && d.offset_group >= 1 && d.channels % d.group == 0 &&
              d.channels % d.offset_group == 0 && d.outputs % d.group == 0 &&
              weights[1] == d.channels / d.group &&
              d.kernel == Shape(weights.begin() + 2, weights.end()) && d.strides.size() == rank &&
              d.dilations.size() == rank && d.pads.size() == 2 * rank && offsets[0] == d.batch &&
              offsets[1] == d.offset_group * d.Taps() * d.spatial;
  for (size_t i = 0; fits && i < rank; ++i) {
    fits = d.image[i] >= 1 && d.strides[i] >= 1 && d.dilations[i] >= 1 && d.kernel[i] >= 1;
    const int64_t left =
        d.image[i] + d.pads[i] + d.pads[rank + i] - ((d.kernel[i] - 1) * d.dilations[i] + 1);
    fits = fits && left >= 0 && d.result[i] == left / d.strides[i] + 1;
  }
  if (fits) return d;
  return absl::InvalidArgumentError(absl::StrCat("X ", ToString(image), ", W ", ToString(weights),
                                                 " and offset ", ToString(offsets),
                                                 " do not fit each other and the attributes"));
}

// The positions along axis `axis` of each tap's samples: [batch * offset_group, taps * points].
Value TapPositions(OnnxImport& node, OnnxBuild& b, const Deformed& d, const Value& offset,
                   int axis) {
  if (!offset) return offset;
  const int64_t taps = d.Taps(), points = d.Points();
  std::vector<double> regular;  // where offsets are 0: [taps, points]
  int64_t inner_taps = 1, inner_points = 1;
  for (int i = axis + 1; i < d.spatial; ++i) {
    inner_taps *= d.kernel[i];
    inner_points *= d.result[i];
  }
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t p = 0; p < points; ++p) {
      const int64_t tap = t / inner_taps % d.kernel[axis];
      const int64_t point = p / inner_points % d.result[axis];
      regular.push_back(
          static_cast<double>(point * d.strides[axis] - d.pads[axis] + tap * d.dilations[axis]));
    }
  }
  Tensor base = b.Take(Tensor::FromDoubles({offset.dtype(), {1, 1, taps, points}}, regular));
  if (!b.status().ok()) return Value();
  const Shape apart = {d.batch, d.offset_group, taps, d.spatial, points};
  const Value moved = b.Op("slice", {b.Reshape(offset, apart)},
                           {{"starts", std::vector<int64_t>{0, 0, 0, axis, 0}},
                            {"sizes", Shape{d.batch, d.offset_group, taps, 1, points}}});
  const Value at = b.Add(b.Reshape(moved, {d.batch, d.offset_group, taps, points}),
                         node.Constant(std::move(base)));
  return b.Reshape(at, {d.batch * d.offset_group, taps * points});
}

}  // namespace

absl::StatusOr<std::vector<Value>> ImportDeformConv(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value w, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(Value offset, node.Input(2));
  LEMMA_ASSIGN_OR_RETURN(const Deformed d, ReadDeformed(node, x, w, offset));
  if (!IsFloat(x.dtype())) return absl::InvalidArgumentError("X must be floats");
  if (offset.type().num_elements() > (int64_t{1} << 28)) {
    return node.Unsupported("offsets this large");
  }
  const DType dtype = x.dtype();
  const int64_t taps = d.Taps(), points = d.Points(), groups = d.offset_group;
  OnnxBuild b(node);
  x = Widened(b, x);
  offset = Widened(b, offset);
  std::vector<SampledAxis> axes;
  for (int i = 0; i < d.spatial; ++i) {
    axes.push_back(LinearOrZero(b, TapPositions(node, b, d, offset, i), d.image[i]));
  }
  Shape images = d.image;
  images.insert(images.begin(), {d.batch * groups, d.channels / groups});
  // [batch * groups, taps * points, corners, channels / groups]
  Value samples = SampledTerms(node, b, b.Reshape(x, images), axes);
  samples = b.Op("reduce_sum", {samples}, {{"axes", std::vector<int64_t>{2}}});
  samples = b.Reshape(b.Transpose(samples, {0, 2, 1}),
                      {d.batch, groups, d.channels / groups, taps, points});
  if (node.HasInput(4)) {
    const Value mask = Widened(b, b.Input(4));
    samples = b.Mul(samples, b.Reshape(mask, {d.batch, groups, 1, taps, points}));
  }
  samples = b.Reshape(samples, {d.batch, d.group, d.channels / d.group * taps, points});
  const Value kernel =
      b.Reshape(Widened(b, w), {d.group, d.outputs / d.group, d.channels / d.group * taps});
  Value y = b.Reshape(b.Op("matmul", {kernel, samples}), {d.batch, d.outputs, points});
  if (node.HasInput(3)) y = b.Add(y, b.Reshape(Widened(b, b.Input(3)), {d.outputs, 1}));
  Shape result = d.result;
  result.insert(result.begin(), {d.batch, d.outputs});
  y = b.Cast(b.Reshape(y, result), dtype);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace lemma::ops
