// The arithmetic of ONNX's Resize and Upsample along one axis, and their linear and cubic modes.
// The import is in resize.cc.
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
  int64_t input = 0, output = 0;  // sizes of the axis before and after
  // The scale as a fraction num/den in lowest terms. If the node gives scales, it is the given
  // number, where a float such as 0.6 means 3/5. If the node gives sizes, it is the given size
  // divided by `input`. With keep_aspect_ratio_policy "not_larger" all resized axes have the least
  // of these fractions, with "not_smaller" the greatest.
  std::pair<int64_t, int64_t> scale = {1, 1};
  // The part of the axis that the result shows, for tf_crop_and_resize: 0 is the first element, 1
  // the last one.
  double begin = 0, end = 1;

  // Whether the result is x along this axis, in every coordinate mode.
  bool Keeps() const {
    return input == output && scale.first == scale.second && begin == 0 && end == 1;
  }
};

// The position along x (0 is the first element) that element i of the result shows, in ONNX's
// coordinate_transformation_mode `mode`. Unimplemented for an unknown mode, and for
// tf_crop_and_resize if scale * input is not the output size.
absl::StatusOr<double> ResizePosition(const OnnxImport& node, const ResizeAxis& axis, int64_t i,
                                      const std::string& mode);

// Reads the scales or sizes of a Resize or Upsample of any opset version, from its attributes or
// inputs. Returns one element per dimension of x, whose shape is `shape`. InvalidArgument if they
// do not fit x; Unimplemented if a symbolic size changes or they are not known at import.
absl::StatusOr<std::vector<ResizeAxis>> ReadResizeAxes(OnnxImport& node, const Shape& shape);

// The attributes of ONNX's Resize for mode "linear" or "cubic".
struct Interpolation {
  std::string coordinates;           // coordinate_transformation_mode
  bool cubic = false;                // otherwise linear
  double cubic_coefficient = -0.75;  // cubic_coeff_a
  bool exclude_outside = false;  // elements outside x have weight 0, else the nearest one counts
  bool antialias = false;  // where an axis shrinks, the filter is wider by the factor 1 / scale
};

// Each element of the result along an axis is a weighted sum of `per_element` elements of x.
struct Taps {
  int64_t per_element = 1;
  // Both [output, per_element], row-major; positions are in [0, input). An element with fewer
  // summands repeats a position with weight 0; in tf_crop_and_resize, an element outside x has only
  // weights 0.
  std::vector<int64_t> positions;
  std::vector<double> weights;
};
// Unimplemented for an unknown coordinate mode, and if there would be more than 2^24 taps.
absl::StatusOr<Taps> InterpolationTaps(const OnnxImport& node, const ResizeAxis& axis,
                                       const Interpolation& how);

// Resamples x along every axis that changes, one after the other; `axes` has one element per
// dimension. Unimplemented unless x is of a float type, and for a result without elements.
absl::StatusOr<Value> Interpolate(OnnxImport& node, const Value& x,
                                  const std::vector<ResizeAxis>& axes, const Interpolation& how);

// Linear interpolation to `sizes`, one per dimension; these and x's sizes may be symbolic. The
// graph computes positions and weights from the sizes. Unimplemented unless x is of a float type,
// and for `coordinates` (a coordinate_transformation_mode) that would need to know the sizes.
absl::StatusOr<Value> InterpolateAnySize(OnnxImport& node, const Value& x, const Shape& sizes,
                                         const std::string& coordinates);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_
