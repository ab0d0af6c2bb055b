#include "graph/onnx/images/jpeg.h"

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it

// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::images {
namespace {

// libjpeg must not return from an error. `manager` is first, since libjpeg knows its address only.
struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void Fail(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->back, 1);
}

// Warnings have the level -1. A file that ends too early is an error; other damage is repaired as
// libjpeg does it.
void OnMessage(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) Fail(info);
}

absl::Status Error(const Errors& errors) {
  return absl::InvalidArgumentError(absl::StrCat("JPEG: ", errors.message));
}

}  // namespace

absl::StatusOr<Pixels> ReadJpeg(absl::string_view file) {
  jpeg_decompress_struct info;
  Errors errors;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = Fail;
  errors.manager.emit_message = OnMessage;
  struct Closer {
    jpeg_decompress_struct* info;
    ~Closer() { jpeg_destroy_decompress(info); }
  };
  // Nothing that has a destructor is created between a setjmp and its longjmp.
  if (setjmp(errors.back) != 0) return Error(errors);
  jpeg_create_decompress(&info);
  const Closer closer{&info};
  if (setjmp(errors.back) != 0) return Error(errors);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  const bool is_gray = info.jpeg_color_space == JCS_GRAYSCALE;
  if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK) {
    return absl::UnimplementedError("JPEG in CMYK is not decoded");
  }
  info.out_color_space = is_gray ? JCS_GRAYSCALE : JCS_RGB;
  Pixels pixels{info.image_height, info.image_width, is_gray ? 1 : 3, {}};
  LEMMA_RETURN_IF_ERROR(CheckSizes(pixels.height, pixels.width));
  pixels.values.resize(static_cast<size_t>(pixels.height * pixels.width * pixels.channels));
  if (setjmp(errors.back) != 0) return Error(errors);
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row =
        pixels.values.data() + int64_t{info.output_scanline} * pixels.width * pixels.channels;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return pixels;
}

}  // namespace lemma::images
