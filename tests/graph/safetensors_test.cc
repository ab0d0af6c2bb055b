#include "graph/safetensors.h"

#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "gmock/gmock.h"

namespace lemma {
namespace {

using testing::HasSubstr;

std::string Path(const std::string& name) { return absl::StrCat(testing::TempDir(), "/", name); }

// A file with this header, and `data_bytes` zeros after it.
std::string FileOf(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string start(8, '\0');
  std::memcpy(start.data(), &length, 8);
  const std::string path = Path("given.safetensors"), data(data_bytes, '\0');
  EXPECT_TRUE(WriteFileAtomically(path, {start, header, data}).ok());
  return path;
}

std::string ErrorOf(const std::string& header, size_t data_bytes) {
  auto contents = ReadSafetensors(FileOf(header, data_bytes));
  EXPECT_FALSE(contents.ok()) << header;
  return std::string(contents.status().message());
}

TEST(SafetensorsTest, ReadsWhatItWrote) {
  NamedTensors written;
  written.metadata = {{"step", "17"}, {"a \"quoted\\ key\"\n", "ü"}};
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const bool has_name =
        BitsOf(dtype) >= 8 && dtype != DType::kF8E4M3Uz && dtype != DType::kF8E5M2Uz;
    if (!has_name) continue;
    written.tensors[absl::StrCat("layer.", i)] =
        *Tensor::FromInts({dtype, {3, 1}}, {0, 1, dtype == DType::kBool ? 0 : 100});
  }
  written.tensors["scalar"] = Tensor::ScalarF32(-0.5);
  written.tensors["none"] = *Tensor::FromInts({DType::kI64, {0, 7}}, {});
  const std::string path = Path("all.safetensors");
  ASSERT_TRUE(WriteSafetensors(path, written).ok());

  auto read = ReadSafetensors(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->metadata, written.metadata);
  ASSERT_EQ(read->tensors.size(), written.tensors.size());
  for (const auto& [name, tensor] : written.tensors) {
    EXPECT_TRUE(read->tensors[name].SameBytes(tensor)) << name;
  }
}

TEST(SafetensorsTest, TypesThatTheFormatLacksAreRefused) {
  for (const DType dtype : {DType::kI4, DType::kU2, DType::kF8E4M3Uz, DType::kF4E2M1}) {
    NamedTensors contents;
    contents.tensors["w"] = *Tensor::FromInts({dtype, {1}}, {1});
    EXPECT_THAT(WriteSafetensors(Path("none.safetensors"), contents).message(),
                testing::HasSubstr(absl::StrCat("safetensors has no ", Name(dtype))));
  }
  EXPECT_THAT(ErrorOf(R"({"w":{"dtype":"","shape":[1],"data_offsets":[0,1]}})", 1),
              testing::HasSubstr("F8_E4M3, F8_E5M2, F8_E8M0"));
}

TEST(SafetensorsTest, HeaderIsTheFormats) {
  NamedTensors contents;
  contents.tensors["b"] = *Tensor::FromInts({DType::kU8, {3}}, {1, 2, 3});
  contents.tensors["c"] = Tensor::ScalarF32(1);
  const std::string path = Path("small.safetensors");
  ASSERT_TRUE(WriteSafetensors(path, contents).ok());
  const std::string expected =
      "{\"c\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]}}";
  const std::string bytes = *ReadFile(path, 1000);
  const size_t padded = (expected.size() + 7) / 8 * 8;
  ASSERT_EQ(bytes.size(), 8 + padded + 7);
  EXPECT_EQ(static_cast<size_t>(static_cast<unsigned char>(bytes[0])), padded);
  EXPECT_EQ(bytes.substr(8, expected.size()), expected);
  EXPECT_EQ(bytes.substr(8 + padded), std::string("\0\0\x80\x3f\1\2\3", 7));
}

TEST(SafetensorsTest, SaysWhatIsWrong) {
  const char kF32[] = "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]";
  EXPECT_TRUE(ReadSafetensors(FileOf(absl::StrCat("{\"x\":{", kF32, "}}"), 8)).ok());
  EXPECT_THAT(ErrorOf("[1]", 0), HasSubstr("given.safetensors: no valid safetensors file"));
  EXPECT_THAT(ErrorOf("{\"x\":", 0), HasSubstr("header is no JSON object"));
  EXPECT_THAT(ErrorOf("{\"x\":3}", 0), HasSubstr("tensor x: its description is no object"));
  EXPECT_THAT(ErrorOf(absl::StrCat("{\"x\":{", kF32, "}}"), 12),
              HasSubstr("the tensors take 8 bytes, the file has 12"));
  EXPECT_THAT(ErrorOf(absl::StrCat("{\"x\":{", kF32, "}}"), 4),
              HasSubstr("the tensors take 8 bytes, the file has 4"));
  EXPECT_THAT(
      ErrorOf(absl::StrCat("{\"x\":{", kF32, "},\"y\":{", kF32, "}}"), 8),
      HasSubstr("tensor y begins at byte 0 of the data, 8 is where the one before it ends"));
  EXPECT_THAT(ErrorOf("{\"x\":{\"dtype\":\"F8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2),
              HasSubstr("tensor x: dtype \"F8\"; known are F32, "));
  EXPECT_THAT(ErrorOf("{\"x\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8),
              HasSubstr("shape is no list of sizes"));
  EXPECT_THAT(ErrorOf("{\"x\":{\"dtype\":\"F32\",\"shape\":[4e9,4e9],\"data_offsets\":[0,8]}}", 8),
              HasSubstr("data_offsets give 8"));
  EXPECT_THAT(ErrorOf("{\"__metadata__\":{\"a\":1}}", 0), HasSubstr("metadata a is no string"));
}

TEST(SafetensorsTest, RefusesTruthValuesThatAreNone) {
  const std::string header = "{\"x\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}}";
  const std::string path = FileOf(header, 0);
  std::string bytes = *ReadFile(path, 1000);
  ASSERT_TRUE(WriteFileAtomically(path, {bytes, "\2"}).ok());
  auto contents = ReadSafetensors(path);
  ASSERT_FALSE(contents.ok());
  EXPECT_THAT(std::string(contents.status().message()), HasSubstr("tensor x has a truth value 2"));
}

TEST(SafetensorsTest, AFileCutShortIsAnError) {
  NamedTensors contents;
  contents.tensors["x"] = *Tensor::FromInts({DType::kI64, {5}}, {1, 2, 3, 4, 5});
  const std::string path = Path("whole.safetensors"), cut = Path("cut.safetensors");
  ASSERT_TRUE(WriteSafetensors(path, contents).ok());
  const std::string bytes = *ReadFile(path, 1000);
  for (size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_TRUE(WriteFileAtomically(cut, {absl::string_view(bytes).substr(0, length)}).ok());
    auto read = ReadSafetensors(cut);
    ASSERT_FALSE(read.ok()) << length;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("cut.safetensors"));
  }
  EXPECT_EQ(ReadSafetensors(Path("missing")).status().code(), absl::StatusCode::kNotFound);
}

TEST(SafetensorsTest, AnErrorLeavesTheFile) {
  const std::string path = Path("kept.safetensors");
  NamedTensors contents;
  contents.tensors["x"] = Tensor::ScalarF32(1);
  ASSERT_TRUE(WriteSafetensors(path, contents).ok());
  contents.tensors["__metadata__"] = Tensor::ScalarF32(2);
  EXPECT_THAT(std::string(WriteSafetensors(path, contents).message()),
              HasSubstr("no tensor can be named __metadata__"));
  EXPECT_EQ(ReadSafetensors(path)->tensors.size(), 1u);
}

}  // namespace
}  // namespace lemma
