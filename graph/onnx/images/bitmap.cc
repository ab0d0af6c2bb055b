#include "graph/onnx/images/bitmap.h"

#include <cctype>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::images {
namespace {

absl::Status TooShort() { return absl::InvalidArgumentError("the image file ends too early"); }

uint8_t Byte(absl::string_view file, int64_t at) {
  return static_cast<uint8_t>(file[static_cast<size_t>(at)]);
}

// A little-endian number of `bytes` bytes. The file must contain them.
int64_t Number(absl::string_view file, int64_t at, int bytes) {
  int64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value * 256 + Byte(file, at + i);
  return value;
}

int64_t SignedNumber(absl::string_view file, int64_t at) {
  return static_cast<int32_t>(static_cast<uint32_t>(Number(file, at, 4)));
}

}  // namespace

absl::StatusOr<Pixels> ReadBmp(absl::string_view file) {
  constexpr int64_t kFileHeader = 14, kHeader = 40;
  const auto size = static_cast<int64_t>(file.size());
  if (size < kFileHeader + kHeader) return TooShort();
  const int64_t start = Number(file, 10, 4), header = Number(file, kFileHeader, 4);
  if (header < kHeader) return absl::UnimplementedError("BMP of OS/2 is not decoded");
  const int64_t width = SignedNumber(file, 18), signed_height = SignedNumber(file, 22);
  const int64_t bits = Number(file, 28, 2), compression = Number(file, 30, 4);
  int64_t colors = Number(file, 46, 4);
  const bool from_top = signed_height < 0;
  const int64_t height = from_top ? -signed_height : signed_height;
  LEMMA_RETURN_IF_ERROR(CheckSizes(height, width));
  if (compression != 0) {
    return absl::UnimplementedError(
        absl::StrCat("compressed BMP (kind ", compression, ") is not decoded"));
  }
  const bool has_palette = bits == 1 || bits == 4 || bits == 8;
  if (!has_palette && bits != 24 && bits != 32) {
    return absl::UnimplementedError(absl::StrCat("BMP with ", bits, " bits is not decoded"));
  }
  if (colors == 0 && has_palette) colors = int64_t{1} << bits;
  const int64_t palette = kFileHeader + header;
  const int64_t row_bytes = (width * bits + 31) / 32 * 4;
  if (has_palette && (colors > 256 || size < palette + 4 * colors)) return TooShort();
  if (start < palette || size - start < height * row_bytes) return TooShort();

  Pixels pixels{height, width, 3, {}};
  pixels.values.reserve(static_cast<size_t>(height * width * 3));
  for (int64_t y = 0; y < height; ++y) {
    const int64_t row = start + (from_top ? y : height - 1 - y) * row_bytes;
    for (int64_t x = 0; x < width; ++x) {
      int64_t color = row + x * (bits / 8);
      if (has_palette) {
        const int64_t bit = x * bits;
        const int64_t shift = 8 - bits - bit % 8;
        const int64_t index =
            Byte(file, row + bit / 8) >> shift & static_cast<int64_t>((1 << bits) - 1);
        if (index >= colors) return absl::InvalidArgumentError("a color is not in BMP's palette");
        color = palette + 4 * index;
      }
      for (int c = 2; c >= 0; --c) pixels.values.push_back(Byte(file, color + c));
    }
  }
  return pixels;
}

absl::StatusOr<Pixels> ReadPnm(absl::string_view file) {
  const bool is_gray = file[1] == '5';
  size_t at = 2;
  // The next number of the header, behind white space and comments.
  const auto next = [&]() -> std::optional<int64_t> {
    const auto is_space = [&] { return std::isspace(static_cast<unsigned char>(file[at])) != 0; };
    while (at < file.size() && (is_space() || file[at] == '#')) {
      if (file[at] == '#') {
        at = std::min(file.find('\n', at), file.size());
      } else {
        ++at;
      }
    }
    const size_t begin = at;
    while (at < file.size() && !is_space() && file[at] != '#') ++at;
    int64_t value;
    if (!absl::SimpleAtoi(file.substr(begin, at - begin), &value)) return std::nullopt;
    return value;
  };
  const auto width = next(), height = next(), most = next();
  if (!width || !height || !most) {
    return absl::InvalidArgumentError("the header of the PNM image is damaged");
  }
  LEMMA_RETURN_IF_ERROR(CheckSizes(*height, *width));
  if (*most != 255) {
    return absl::UnimplementedError(
        absl::StrCat("PNM with values up to ", *most, " is not decoded, only up to 255"));
  }
  Pixels pixels{*height, *width, is_gray ? 1 : 3, {}};
  const auto count = static_cast<size_t>(pixels.height * pixels.width * pixels.channels);
  ++at;  // one white space
  if (at > file.size() || file.size() - at < count) return TooShort();
  pixels.values.assign(file.begin() + at, file.begin() + at + count);
  return pixels;
}

}  // namespace lemma::images
