// Imports ONNX's Resize, axis by axis.
#ifndef LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_
#define LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// How one axis of Resize's input x becomes one of its result.
struct ResizeAxis {
  int64_t input = 0, output = 0;  // sizes
  // The scale as a fraction num/den in lowest terms. If the node gives sizes, it is output over
  // input; if also its keep_aspect_ratio_policy is not "stretch", it is one such fraction for all
  // resized axes. If the node gives scales, it is the given number, where a float such as 0.6 means
  // 3/5.
  std::pair<int64_t, int64_t> scale = {1, 1};
  // The part of x that the result shows, for tf_crop_and_resize: from 0 to 1 is all of it.
  double begin = 0, end = 1;

  // Whether the axis stays unchanged, in every coordinate mode.
  bool Keeps() const {
    return input == output && scale.first == scale.second && begin == 0 && end == 1;
  }
};

// The position in x of element i along an axis, in ONNX's coordinate_transformation_mode `mode`.
absl::StatusOr<double> ResizePosition(const OnnxImport& node, const ResizeAxis& axis, int64_t i,
                                      const std::string& mode);

// One per dimension of `shape`. Reads the scales or sizes of a Resize or Upsample of any opset
// version, from its attributes or inputs. Unimplemented if a symbolic size does not stay as it is.
absl::StatusOr<std::vector<ResizeAxis>> ReadResizeAxes(OnnxImport& node, const Shape& shape);

struct Interpolation {
  std::string coordinates;  // ONNX's coordinate_transformation_mode
  bool cubic = false;       // otherwise linear
  double cubic_coefficient = -0.75;
  bool exclude_outside = false;
  bool antialias = false;  // where an axis shrinks, the filter is wider by the factor 1 / scale
};

// Each element of the result along an axis is a weighted sum of some of x's.
struct Taps {
  int64_t per_element = 1;
  // [output, per_element]. An element with fewer summands repeats a position with weight 0.
  std::vector<int64_t> positions;
  std::vector<double> weights;
};
absl::StatusOr<Taps> InterpolationTaps(const OnnxImport& node, const ResizeAxis& axis,
                                       const Interpolation& how);

// Resamples x along every axis that changes, one after the other.
absl::StatusOr<Value> Interpolate(OnnxImport& node, const Value& x,
                                  const std::vector<ResizeAxis>& axes, const Interpolation& how);

// Linear interpolation to `sizes`, which may be symbolic, as x's may. The resulting graph computes
// positions and weights from the sizes.
absl::StatusOr<Value> InterpolateAnySize(OnnxImport& node, const Value& x, const Shape& sizes,
                                         const std::string& coordinates);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_
