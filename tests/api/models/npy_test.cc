// NumPy's files as inputs and outputs.
#include "api/models/npy.h"

#include <string>
#include <vector>

#include "api/models/tensor_files.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "gtest/gtest.h"

namespace lemma::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As numpy.save writes it, version 1.
std::string File(std::string header, const std::string& values, char version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += {version, 0};
  header.resize(118, ' ');
  header.back() = '\n';
  bytes += {static_cast<char>(header.size()), 0};
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + values;
}

TEST(NpyTest, ReadsWhatNumPyWrites) {
  auto x =
      ParseNpy(File("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }",
                    std::string("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\xff\xff\xff\xff", 24)));
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_EQ(x->type().ToString(), "i32[2,3]");
  EXPECT_THAT(x->ToInts(), ElementsAre(1, 2, 3, 4, 5, -1));
  // The same bytes with the first axis running fastest.
  x = ParseNpy(File("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                    std::string("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0", 24), 2));
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_THAT(x->ToInts(), ElementsAre(1, 3, 5, 2, 4, 6));
  x = ParseNpy(
      File("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\2", 3)));
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_THAT(x->ToInts(), ElementsAre(0, 1, 1));
  x = ParseNpy(File("{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                    std::string("\0\0\0\0\0\0\xf8\x3f", 8)));
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_THAT(x->ToDoubles(), ElementsAre(1.5));
}

TEST(NpyTest, EveryTypeReadsBack) {
  for (DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kI64, DType::kI32, DType::kI16, DType::kI8,
        DType::kU64, DType::kU32, DType::kU16, DType::kU8, DType::kBool}) {
    for (const Shape& shape : std::vector<Shape>{{}, {3}, {0}, {2, 1, 3}}) {
      const Tensor x = *Tensor::Filled({dtype, shape}, 1);
      auto bytes = SerializeNpy(x);
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      EXPECT_EQ((bytes->size() - x.type().num_bytes()) % 64, 0u);
      auto again = ParseNpy(*bytes);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_TRUE(again->SameBytes(x)) << x.type().ToString();
    }
  }
  EXPECT_THAT(std::string(SerializeNpy(*Tensor::Filled({DType::kBF16, {2}}, 1)).status().message()),
              HasSubstr("NumPy has no bf16"));
}

TEST(NpyTest, SaysWhatIsWrong) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const std::string good = File(header, std::string(8, '\0'));
  ASSERT_TRUE(ParseNpy(good).ok());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseNpy(absl::string_view(good).substr(0, size)).ok()) << size;
  }
  const auto error = [&](const std::string& text) {
    return std::string(ParseNpy(File(text, std::string(8, '\0'))).status().message());
  };
  EXPECT_THAT(error("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"),
              HasSubstr("element type '>f4'"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"),
              HasSubstr("the size '-2'"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"),
              HasSubstr("has 12 bytes, the file 8"));
  EXPECT_THAT(
      error("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }"),
      HasSubstr("bytes, the file 8"));
  EXPECT_THAT(error("{'descr': '<f4', 'shape': (2,), }"), HasSubstr("lacks an entry"));
}

TEST(NpyTest, OutputsAreInputs) {
  GraphBuilder builder("g");
  const Value x = builder.Input("x", {DType::kF32, {2}});
  builder.Output("x", x);
  const Graph graph = *std::move(builder).Build();
  const std::string folder = testing::TempDir() + "/npy";
  const Tensor values = *Tensor::FromDoubles({DType::kF32, {2}}, {1.5, -2});
  ASSERT_TRUE(SaveOutputs(graph, {values}, folder, TensorFormat::kNpy).ok());
  auto read = ReadTensors({folder}, "output_");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_TRUE((*read)[0].SameBytes(values));
}

}  // namespace
}  // namespace lemma::api
