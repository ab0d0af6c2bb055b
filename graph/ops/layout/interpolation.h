// Imports ONNX's Resize, axis by axis.
#ifndef LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_
#define LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_form.h"

namespace lemma::ops {

struct ResizeAxis {
  int64_t input = 0, output = 0;
  // The scale as an exact fraction num/den in lowest terms: output over input if sizes are given,
  // otherwise the given number (every float is a fraction).
  std::pair<int64_t, int64_t> scale = {1, 1};
  // The region of interest, of tf_crop_and_resize, as fractions of the last position.
  double start = 0, end = 1;

  bool changes() const { return input != output || scale.first != scale.second; }
};

// One per dimension of `shape`. Reads scales or sizes, attributes or inputs, of any operator set of
// Resize and Upsample.
absl::StatusOr<std::vector<ResizeAxis>> ReadResizeAxes(OnnxImport& node, const Shape& shape);

struct Interpolation {
  std::string coordinates;  // ONNX's coordinate_transformation_mode
  bool cubic = false;       // otherwise linear
  double cubic_coefficient = -0.75;
  bool exclude_outside = false;
  // Widens the weights where there are fewer results than elements.
  bool antialias = false;
  double extrapolation_value = 0;  // outside x, with tf_crop_and_resize
};

// Row i holds the weights of x's elements in result element i; all are 0 if it is the extrapolation
// value.
absl::StatusOr<std::vector<double>> InterpolationMatrix(const OnnxImport& node,
                                                        const ResizeAxis& axis,
                                                        const Interpolation& how);

// Resamples x along every axis that changes, as products with constant matrices.
absl::StatusOr<Value> Interpolate(OnnxImport& node, const Value& x,
                                  const std::vector<ResizeAxis>& axes, const Interpolation& how);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_LAYOUT_INTERPOLATION_H_
