// Reads image formats without compression. Internal to graph/onnx/images.
#ifndef LEMMA_GRAPH_ONNX_IMAGES_BITMAP_H_
#define LEMMA_GRAPH_ONNX_IMAGES_BITMAP_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/onnx/images/pixels.h"

namespace lemma::images {

// A BMP with 1, 4 or 8 bits per pixel and a palette, or with 24 or 32 bits per pixel; always three
// channels. `file` begins with "BM". Unimplemented for other kinds, InvalidArgument for a damaged
// file.
absl::StatusOr<Pixels> ReadBmp(absl::string_view file);

// A binary PGM (one channel) or PPM (three channels) whose largest value is 255. `file` begins with
// "P5" or "P6". Errors as for ReadBmp.
absl::StatusOr<Pixels> ReadPnm(absl::string_view file);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_BITMAP_H_
