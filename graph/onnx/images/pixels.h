// The decoded image that the readers of the file formats give. Internal to graph/onnx/images.
#ifndef LEMMA_GRAPH_ONNX_IMAGES_PIXELS_H_
#define LEMMA_GRAPH_ONNX_IMAGES_PIXELS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace lemma::images {

struct Pixels {
  int64_t height = 0, width = 0;
  int channels = 0;             // 1 (gray) or 3 (red, green, blue)
  std::vector<uint8_t> values;  // [height, width, channels], row-major, from top to bottom
};

// InvalidArgument unless both sizes are at least 1 and there are at most 2^28
// pixels. Every reader returns this error. Defined in decode_image.cc.
absl::Status CheckSizes(int64_t height, int64_t width);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_PIXELS_H_
