// Computes how ONNX's Resize and Upsample change one axis, and implements their linear and cubic
// modes. resize.cc imports the two operators.
#ifndef LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_
#define LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// How Resize changes the length of one axis of its input x.
struct ResizeAxis {
  int64_t input_size = 0, output_size = 0;
  // The scale as a fraction num/den in lowest terms. If the node gives scales, it is the given
  // number; a float such as 0.6 means 3/5. If the node gives sizes, it is the given size divided by
  // `input_size`. With a keep_aspect_ratio_policy other than "stretch", all resized axes have the
  // least of these fractions ("not_larger") or the greatest ("not_smaller").
  std::pair<int64_t, int64_t> scale = {1, 1};
  float given_scale = 0;  // the scale as the node gives it; 0 if the node gives none for this axis
  // The part of x that the result shows, for tf_crop_and_resize: 0 and 1 are the ends of x.
  double begin = 0, end = 1;

  // Whether the axis stays unchanged, in every coordinate mode.
  bool Keeps() const {
    return input_size == output_size && scale.first == scale.second && begin == 0 && end == 1;
  }
};

// The real-valued position along x that element i of the result shows, in ONNX's
// coordinate_transformation_mode `mode`. Unimplemented for an unknown mode, and for
// tf_crop_and_resize if scale * input_size is not the integer `output_size`.
absl::StatusOr<double> ResizePosition(const OnnxImport& node, const ResizeAxis& axis, int64_t i,
                                      const std::string& mode);

// Reads the scales or sizes of a Resize or Upsample of any opset version, from its attributes or
// inputs. `shape` is the shape of x; the result has one element per dimension of x. InvalidArgument
// if the scales or sizes do not fit x. Unimplemented if a symbolic size changes or may change, and
// for an unknown keep_aspect_ratio_policy.
absl::StatusOr<std::vector<ResizeAxis>> ReadResizeAxes(OnnxImport& node, const Shape& shape);

// The options of an interpolation.
struct Interpolation {
  std::string coordinates;  // ONNX's coordinate_transformation_mode
  bool cubic = false;       // otherwise linear
  double cubic_coefficient = -0.75;
  // Positions outside of x get weight 0, and the other weights are scaled to the sum 1. If false,
  // the nearest element of x stands for a position outside.
  bool exclude_outside = false;
  bool antialias = false;  // where an axis shrinks, the filter is wider by the factor 1 / scale
};

// Each element of the result along an axis is a weighted sum of `per_element` elements of x.
struct Taps {
  int64_t per_element = 1;
  // The positions along x and their weights. Both have shape [output_size, per_element], row-major.
  // An element with fewer summands repeats a position with weight 0; in tf_crop_and_resize, an
  // element that lies outside of x has only weights 0.
  std::vector<int64_t> positions;
  std::vector<double> weights;
};
// The Taps of `axis`. Unimplemented as in ResizePosition, and if the axis is too long.
absl::StatusOr<Taps> InterpolationTaps(const OnnxImport& node, const ResizeAxis& axis,
                                       const Interpolation& how);

// Resamples x along every axis that changes, one axis after the other; `axes` has one entry per
// dimension of x. Unimplemented if x has integers, if the result has no elements, and as in
// InterpolationTaps.
absl::StatusOr<Value> Interpolate(OnnxImport& node, const Value& x,
                                  const std::vector<ResizeAxis>& axes, const Interpolation& how);

// Interpolates x linearly to the shape `sizes`; `sizes` and x's sizes may be symbolic. The
// resulting graph computes positions and weights from the sizes. `coordinates`: half_pixel,
// pytorch_half_pixel, align_corners or asymmetric. Unimplemented for any other mode, if x has
// integers, and for pytorch_half_pixel and align_corners if the new size of an axis may be 1.
absl::StatusOr<Value> InterpolateAnySize(OnnxImport& node, const Value& x, const Shape& sizes,
                                         const std::string& coordinates);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_
