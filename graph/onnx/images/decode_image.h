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
// Unimplemented for TIFF, WebP, GIF, JPEG 2000 and PNM in text or with one bit per pixel, and for
// these kinds of images: PNG with 16 bits per channel, JPEG in CMYK, BMP that is compressed, of
// OS/2, or with 16 bits per pixel, PNM whose largest value is not 255. The message names the kind.
// InvalidArgument for data in any other format, for a file that ends too early or is damaged, and
// for an image without pixels or with more than 2^28. Damage inside the data of a JPEG is no error
// unless the data end too early: the pixels are those that libjpeg makes of the data.
absl::StatusOr<Tensor> DecodeImage(absl::string_view file, PixelFormat format);

}  // namespace lemma::images

#endif  // LEMMA_GRAPH_ONNX_IMAGES_DECODE_IMAGE_H_
