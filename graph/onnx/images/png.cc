#include "graph/onnx/images/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::images {
namespace {

struct Source {
  absl::string_view rest;
  char message[128] = "";
};

void Read(png_structp png, png_bytep to, size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (source->rest.size() < count) png_error(png, "the image file ends too early");
  std::memcpy(to, source->rest.data(), count);
  source->rest.remove_prefix(count);
}

[[noreturn]] void Fail(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::snprintf(source->message, sizeof(source->message), "%s", message);
  png_longjmp(png, 1);
}

void Ignore(png_structp, png_const_charp) {}

absl::Status Error(const Source& source) {
  return absl::InvalidArgumentError(absl::StrCat("PNG: ", source.message));
}

}  // namespace

absl::StatusOr<Pixels> ReadPng(absl::string_view file) {
  struct Reader {
    png_structp png = nullptr;
    png_infop info = nullptr;
    ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  };
  Source source{file};
  Reader reader;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, Fail, Ignore);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) return absl::InternalError("libpng does not start");
  // Nothing that has a destructor is created between a setjmp and its longjmp.
  if (setjmp(png_jmpbuf(reader.png)) != 0) return Error(source);
  png_set_read_fn(reader.png, &source, Read);
  png_read_info(reader.png, reader.info);
  const int color = png_get_color_type(reader.png, reader.info);
  if (png_get_bit_depth(reader.png, reader.info) > 8) {
    return absl::UnimplementedError("PNG with 16 bits per channel is not decoded");
  }
  // Palettes become colors, and fewer than 8 bits become 8.
  png_set_expand(reader.png);
  png_set_strip_alpha(reader.png);
  const int passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  const bool is_gray = (color & PNG_COLOR_MASK_COLOR) == 0;
  Pixels pixels{png_get_image_height(reader.png, reader.info),
                png_get_image_width(reader.png, reader.info),
                is_gray ? 1 : 3,
                {}};
  LEMMA_RETURN_IF_ERROR(CheckSizes(pixels.height, pixels.width));
  const int64_t row_bytes = pixels.width * pixels.channels;
  if (static_cast<int64_t>(png_get_rowbytes(reader.png, reader.info)) != row_bytes) {
    return absl::InternalError("libpng gives rows of another length");
  }
  pixels.values.resize(static_cast<size_t>(pixels.height * row_bytes));
  if (setjmp(png_jmpbuf(reader.png)) != 0) return Error(source);
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < pixels.height; ++y) {
      png_read_row(reader.png, pixels.values.data() + y * row_bytes, nullptr);
    }
  }
  png_read_end(reader.png, nullptr);
  return pixels;
}

}  // namespace lemma::images
