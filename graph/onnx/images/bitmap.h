// Reads image formats without compression. Internal to graph/onnx/images.
#ifndef LEMMA_GRAPH_ONNX_IMAGES_BITMAP_H_
#define LEMMA_GRAPH_ONNX_IMAGES_BITMAP_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/onnx/images/pixels.h"

namespace lemma::images {

// BMP with 1, 4 or 8 bits and a palette, or with 24 or 32 bits. `file` begins with "BM".
absl::StatusOr<Pixels> ReadBmp(absl::string_view file);

// PGM and PPM in binary with values from 0 to 255. `file` begins with "P5" or "P6".
absl::StatusOr<Pixels> ReadPnm(absl::string_view file);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_BITMAP_H_
