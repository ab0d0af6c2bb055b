// Reads JPEG files with libjpeg. Internal to graph/onnx/images.
#ifndef LEMMA_GRAPH_ONNX_IMAGES_JPEG_H_
#define LEMMA_GRAPH_ONNX_IMAGES_JPEG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/onnx/images/pixels.h"

namespace lemma::images {

absl::StatusOr<Pixels> ReadJpeg(absl::string_view file);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_JPEG_H_
