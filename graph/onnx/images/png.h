// Reads PNG files with libpng. Internal to graph/onnx/images.
#ifndef LEMMA_GRAPH_ONNX_IMAGES_PNG_H_
#define LEMMA_GRAPH_ONNX_IMAGES_PNG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/onnx/images/pixels.h"

namespace lemma::images {

// A PNG without colors gives one channel, any other PNG three; alpha is dropped. Unimplemented for
// 16 bits per channel. InvalidArgument for a damaged file.
absl::StatusOr<Pixels> ReadPng(absl::string_view file);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_PNG_H_
