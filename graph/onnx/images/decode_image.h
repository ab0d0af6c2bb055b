// Decodes images, as ONNX's ImageDecoder defines it.
#ifndef LEMMA_GRAPH_ONNX_IMAGES_DECODE_IMAGE_H_
#define LEMMA_GRAPH_ONNX_IMAGES_DECODE_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace lemma::images {

enum class PixelFormat { kRgb, kBgr, kGrayscale };

// The pixels of a JPEG, PNG, BMP or PNM file as u8 [height, width, channels], from top to bottom
// and left to right. There are 3 channels, or 1 for kGrayscale. Gray pixels get three equal
// channels. Colors become gray with the weights 0.299, 0.587 and 0.114. An alpha channel is
// dropped; notes on gamma, color profiles and rotation in the file are ignored.
//
// Unimplemented for other formats, and for kinds of images that are not read (the message names
// them): more than 8 bits per channel, CMYK, compressed BMP, PNM in text. InvalidArgument if the
// file is damaged or ends too early, or if the image has no pixels or more than 2^28.
absl::StatusOr<Tensor> DecodeImage(absl::string_view file, PixelFormat format);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_DECODE_IMAGE_H_
