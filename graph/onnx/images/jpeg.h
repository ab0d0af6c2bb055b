// Reads JPEG files with libjpeg. Internal to graph/onnx/images.
#ifndef LEMMA_GRAPH_ONNX_IMAGES_JPEG_H_
#define LEMMA_GRAPH_ONNX_IMAGES_JPEG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/onnx/images/pixels.h"

namespace lemma::images {

// A JPEG in gray gives one channel, any other JPEG three. Unimplemented for CMYK. InvalidArgument
// if the file or one of its data segments ends too early, or if libjpeg reports an error; other
// damage is repaired as libjpeg does it.
absl::StatusOr<Pixels> ReadJpeg(absl::string_view file);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_JPEG_H_
