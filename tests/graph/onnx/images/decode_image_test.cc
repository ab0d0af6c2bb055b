// DecodeImage against what Pillow decodes (make_data.py), and ImageDecoder in models.
#include "graph/onnx/images/decode_image.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using images::DecodeImage;
using images::PixelFormat;
using testing::HasSubstr;

std::string Data(const std::string& name) {
  auto bytes = ReadFile(absl::StrCat("tests/graph/onnx/images/data/", name), 1 << 20);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}

struct Expected {
  Shape shape;
  std::string rgb, gray;
};

Expected PixelsOf(const std::string& image) {
  const std::string text = Data(absl::StrCat(image, ".pixels"));
  const size_t end = text.find('\n');
  const std::vector<std::string> sizes = absl::StrSplit(text.substr(0, end), ' ');
  Expected expected{{std::stoll(sizes[0]), std::stoll(sizes[1])}, "", ""};
  const auto count = static_cast<size_t>(NumElements(expected.shape));
  expected.rgb = text.substr(end + 1, 3 * count);
  expected.gray = text.substr(end + 1 + 3 * count);
  EXPECT_EQ(expected.gray.size(), count);
  return expected;
}

std::string Bytes(const Tensor& image) {
  const auto bytes = image.data<uint8_t>();
  return std::string(bytes.begin(), bytes.end());
}

class Decoded : public testing::TestWithParam<const char*> {};

TEST_P(Decoded, AsPillowDoes) {
  const std::string file = Data(GetParam());
  const Expected expected = PixelsOf(GetParam());
  const auto rgb = DecodeImage(file, PixelFormat::kRgb);
  ASSERT_TRUE(rgb.ok()) << rgb.status();
  const Shape& size = expected.shape;
  EXPECT_EQ(rgb->shape(), (Shape{size[0], size[1], 3}));
  EXPECT_EQ(Bytes(*rgb), expected.rgb);
  const auto gray = DecodeImage(file, PixelFormat::kGrayscale);
  ASSERT_TRUE(gray.ok()) << gray.status();
  EXPECT_EQ(gray->shape(), (Shape{size[0], size[1], 1}));
  EXPECT_EQ(Bytes(*gray), expected.gray);
  const auto bgr = DecodeImage(file, PixelFormat::kBgr);
  ASSERT_TRUE(bgr.ok()) << bgr.status();
  std::string turned = expected.rgb;
  for (size_t i = 0; i < turned.size(); i += 3) std::swap(turned[i], turned[i + 2]);
  EXPECT_EQ(Bytes(*bgr), turned);
}

// Every end that comes too early is an error, unless only the format's own end is missing.
TEST_P(Decoded, NeedsTheWholeFile) {
  const std::string file = Data(GetParam());
  for (size_t length = 0; length + 12 < file.size(); ++length) {
    EXPECT_FALSE(DecodeImage(file.substr(0, length), PixelFormat::kRgb).ok()) << length;
  }
}

// No damage ends the program.
TEST_P(Decoded, SurvivesDamage) {
  const std::string file = Data(GetParam());
  std::mt19937 random(1);
  int errors = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = file;
    for (int k = 0; k <= i % 3; ++k) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    errors += !DecodeImage(damaged, PixelFormat::kRgb).ok();
  }
  EXPECT_GT(errors, 0);
}

INSTANTIATE_TEST_SUITE_P(, Decoded,
                         testing::Values("half_colors.jpg", "all_colors.jpg", "progressive.jpg",
                                         "gray.jpg", "colors.png", "alpha.png", "gray.png",
                                         "palette.png", "one_bit.png", "transparent.png",
                                         "colors.bmp", "alpha.bmp", "palette.bmp", "gray.bmp",
                                         "one_bit.bmp", "colors.ppm", "gray.pgm"),
                         [](const auto& test) {
                           return absl::StrReplaceAll(test.param, {{".", "_"}});
                         });

TEST(DecodeImageTest, SaysWhatItDoesNotDecode) {
  const auto message = [](absl::string_view file) {
    return std::string(DecodeImage(file, PixelFormat::kRgb).status().message());
  };
  EXPECT_THAT(message(Data("four_inks.jpg")), HasSubstr("CMYK"));
  EXPECT_THAT(message(Data("wide.png")), HasSubstr("16 bits"));
  EXPECT_THAT(message(Data("colors.tiff")), HasSubstr("TIFF is not decoded; JPEG, PNG, BMP"));
  EXPECT_THAT(message(Data("colors.gif")), HasSubstr("GIF"));
  EXPECT_THAT(message(Data("colors.webp")), HasSubstr("WebP"));
  EXPECT_THAT(message(Data("one_bit.pbm")), HasSubstr("one bit per pixel"));
  EXPECT_THAT(message("words"), HasSubstr("no image"));
  EXPECT_THAT(message(""), HasSubstr("no image"));
  EXPECT_THAT(message("P5 70000 70000 255\n"), HasSubstr("1 to 268435456"));
  EXPECT_THAT(message("P5 0 4 255\n"), HasSubstr("1 to 268435456"));
  EXPECT_THAT(message("P5 1 1 65535\n  "), HasSubstr("65535"));
  EXPECT_THAT(message("P5 1 x 255\n "), HasSubstr("header"));
}

// The file is an input of the model, so the image's size is known only when it runs.
TEST(ImageDecoderTest, RunsInAModel) {
  for (const bool is_gray : {false, true}) {
    for (const char* name : {"half_colors.jpg", "palette.png"}) {
      const std::string file = Data(name);
      const auto model = OnnxModel(
          absl::StrCat("g (uint8[", file.size(),
                       "] file) => (uint8[h, w, c] image, float[1, 1, c] mean) "
                       "<int64[2] axes = {0, 1}> { image = ImageDecoder <pixel_format = \"",
                       is_gray ? "Grayscale" : "RGB",
                       "\"> (file) floats = Cast <to = 1> (image) "
                       "mean = ReduceMean (floats, axes) }"),
          20);
      const auto imported = ImportOnnxBytes(model.SerializeAsString(), {});
      ASSERT_TRUE(imported.ok()) << imported.status();
      EXPECT_EQ(imported->graph.outputs()[1].shape().back(), is_gray ? 1 : 3);
      Tensor input = *Tensor::Allocate({DType::kU8, {static_cast<int64_t>(file.size())}});
      std::copy(file.begin(), file.end(), input.mutable_data<uint8_t>().begin());
      const Expected expected = PixelsOf(name);
      const std::string& pixels = is_gray ? expected.gray : expected.rgb;
      const size_t channels = is_gray ? 1 : 3;
      for (const bool on_cpu : {true, false}) {
        const auto backend = on_cpu ? MakeCpuBackend() : MakeReferenceBackend();
        auto executable = backend->Compile(imported->graph, {});
        ASSERT_TRUE(executable.ok()) << executable.status();
        const auto outputs = (*executable)->Run({input});
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        EXPECT_EQ(Bytes((*outputs)[0]), pixels);
        for (size_t c = 0; c < channels; ++c) {
          double sum = 0;
          for (size_t i = c; i < pixels.size(); i += channels) {
            sum += static_cast<uint8_t>(pixels[i]);
          }
          const double mean = sum * static_cast<double>(channels) / pixels.size();
          EXPECT_NEAR((*outputs)[1].AtDouble(static_cast<int64_t>(c)), mean, 1e-3);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lemma
