#include "graph/onnx/images/decode_image.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/images/bitmap.h"
#include "graph/onnx/images/jpeg.h"
#include "graph/onnx/images/png.h"

namespace lemma::images {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;

absl::StatusOr<Pixels> Read(absl::string_view file) {
  using absl::StartsWith;
  if (StartsWith(file, "\xff\xd8")) return ReadJpeg(file);
  if (StartsWith(file, "\x89PNG\r\n\x1a\n")) return ReadPng(file);
  if (StartsWith(file, "BM")) return ReadBmp(file);
  if (StartsWith(file, "P5") || StartsWith(file, "P6")) return ReadPnm(file);
  absl::string_view known;
  if (StartsWith(file, absl::string_view("II*\0", 4)) ||
      StartsWith(file, absl::string_view("MM\0*", 4))) {
    known = "TIFF";
  } else if (StartsWith(file, "RIFF") && file.substr(0, 12).substr(8) == "WEBP") {
    known = "WebP";
  } else if (StartsWith(file, absl::string_view("\0\0\0\x0cjP  ", 8)) ||
             StartsWith(file, "\xff\x4f\xff\x51")) {
    known = "JPEG 2000";
  } else if (StartsWith(file, "GIF8")) {
    known = "GIF";
  } else if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '4') {
    known = "PNM in text, or with one bit per pixel,";
  }
  if (known.empty()) {
    return absl::InvalidArgumentError("the data is no image; JPEG, PNG, BMP and PNM are decoded");
  }
  return absl::UnimplementedError(
      absl::StrCat(known, " is not decoded; JPEG, PNG, BMP and binary PNM are"));
}

uint8_t Gray(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

}  // namespace

absl::Status CheckSizes(int64_t height, int64_t width) {
  if (height > 0 && width > 0 && height <= kMostPixels / width) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("an image of ", height, " x ", width,
                                                 " pixels is not decoded: it must have 1 to ",
                                                 kMostPixels));
}

absl::StatusOr<Tensor> DecodeImage(absl::string_view file, PixelFormat format) {
  LEMMA_ASSIGN_OR_RETURN(const Pixels pixels, Read(file));
  const int channels = format == PixelFormat::kGrayscale ? 1 : 3;
  LEMMA_ASSIGN_OR_RETURN(Tensor image,
                         Tensor::Allocate({DType::kU8, {pixels.height, pixels.width, channels}}));
  uint8_t* to = image.mutable_data<uint8_t>().data();
  const uint8_t* from = pixels.values.data();
  for (int64_t i = 0; i < pixels.height * pixels.width; ++i) {
    for (int c = 0; c < channels; ++c) {
      if (pixels.channels == 1) {
        to[c] = from[0];
      } else if (channels == 1) {
        to[c] = Gray(from);
      } else {
        to[c] = from[format == PixelFormat::kBgr ? 2 - c : c];
      }
    }
    to += channels;
    from += pixels.channels;
  }
  return image;
}

}  // namespace lemma::images
