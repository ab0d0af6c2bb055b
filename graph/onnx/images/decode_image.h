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
// dropped; gamma, color profiles and rotation that the file states are ignored.
//
// Unimplemented, with the kind in the message, for these kinds of images:
//   * TIFF, WebP, GIF and JPEG 2000;
//   * PNG with 16 bits per channel, and JPEG in CMYK;
//   * BMP that is compressed, of OS/2, or has another number of bits per pixel
//     than 1, 4, 8, 24 or 32;
//   * PNM in text, with one bit per pixel, or whose largest value is not 255.
// InvalidArgument for data in any other format, for a file that ends too early
// or is damaged, and for an image without pixels or with more than 2^28 pixels.
// Damage inside the data of a JPEG is no error unless the data end too early:
// the pixels are those that libjpeg makes of the data.
absl::StatusOr<Tensor> DecodeImage(absl::string_view file, PixelFormat format);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_DECODE_IMAGE_H_
