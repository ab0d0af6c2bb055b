// Messages between processes.
#include "runtime/onnxruntime/message.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lemma::ort {
namespace {

TEST(MessageTest, ReadsWhatWasWritten) {
  const Tensor tensor = *Tensor::FromDoubles({DType::kF16, {2, 1}}, {0.5, -3});
  const Tensor nothing = *Tensor::FromDoubles({DType::kI64, {0, 7}}, {});
  MessageWriter writer;
  writer.Number(-5);
  writer.Texts({"a", "", "bc"});
  writer.Status(absl::UnimplementedError("no kernel"));
  writer.Tensors({tensor, nothing});
  MessageReader reader(writer.bytes());
  EXPECT_EQ(reader.Number(), -5);
  EXPECT_EQ(reader.Texts(), (std::vector<std::string>{"a", "", "bc"}));
  EXPECT_EQ(reader.Status(), absl::UnimplementedError("no kernel"));
  const auto tensors = reader.Tensors();
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2);
  EXPECT_TRUE((*tensors)[0].SameBytes(tensor));
  EXPECT_EQ((*tensors)[1].type(), nothing.type());
}

TEST(MessageTest, NoticesAMessageThatEndsTooSoon) {
  MessageWriter writer;
  writer.Tensors({*Tensor::FromDoubles({DType::kF32, {3}}, {1, 2, 3})});
  for (size_t size = 0; size < writer.bytes().size(); ++size) {
    const std::string part = writer.bytes().substr(0, size);
    MessageReader reader(part);
    EXPECT_EQ(reader.Tensors().status().code(), absl::StatusCode::kDataLoss) << size;
  }
}

}  // namespace
}  // namespace lemma::ort
