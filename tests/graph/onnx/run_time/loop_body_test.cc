// The body of a loop as a graph: which payloads are refused, and which loops stay as they are.
#include "graph/onnx/run_time/loop_body.h"

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The model's only loop.
NodePtr LoopIn(const onnx::ModelProto& model) {
  auto imported = ImportOnnxBytes(model.SerializeAsString());
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return nullptr;
  for (const NodePtr& node : imported->graph.nodes()) {
    if (IsOpaqueLoop(*node)) return node;
  }
  ADD_FAILURE() << "no loop";
  return nullptr;
}

constexpr char kLoop[] = R"(g (int64 n, float[4] x, float[4] k) => (float[4] y) {
  y = Loop (n, , x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t) {
    d = Identity(c)
    e = Add(s, k)
    t = Neg(e) }>
})";

TEST(LoopBodyTest, IsOneIteration) {
  const NodePtr loop = LoopIn(OnnxModel(kLoop));
  auto body = ImportLoopBody(LoopNodeOf(*loop), loop->inputs());
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_THAT(body->graph.input_names(), ElementsAre("b0", "b1", "b2", "v2"));
  EXPECT_EQ(body->graph.num_ops(), 2);
  // Written again, it is the same node.
  auto again = WithBody(LoopNodeOf(*loop), loop->inputs(), *body, body->graph);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->reads, ElementsAre(0, 1, 2));
  auto same = ImportLoopBody(*again, loop->inputs());
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->graph.StructuralHash(), body->graph.StructuralHash());
  EXPECT_EQ(same->frame, body->frame);
}

// The status for kLoop's payload after `change` of its body.
absl::Status Changed(const std::function<void(onnx::GraphProto*)>& change) {
  const NodePtr loop = LoopIn(OnnxModel(kLoop));
  LoopNode node = LoopNodeOf(*loop);
  onnx::ModelProto payload;
  EXPECT_TRUE(payload.ParseFromString(node.payload));
  change(payload.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g());
  node.payload = payload.SerializeAsString();
  return ImportLoopBody(node, loop->inputs()).status();
}

// A value by a name under which the reader knows another value, or a name that is defined twice.
TEST(LoopBodyTest, RefusesNamesThatMeanTwoThings) {
  EXPECT_TRUE(Changed([](onnx::GraphProto*) {}).ok());
  const auto initializer = [](const std::string& name) {
    return [name](onnx::GraphProto* body) {
      auto* tensor = body->add_initializer();
      tensor->set_name(name);
      tensor->set_data_type(onnx::TensorProto::FLOAT);
      tensor->add_dims(4);
      for (int i = 0; i < 4; ++i) tensor->add_float_data(100);
    };
  };
  for (const char* name : {"b2", "v2", "c2", "l2", "own"}) {
    const absl::Status status = Changed(initializer(name));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << ": " << status;
    const absl::Status read = Changed([&](onnx::GraphProto* body) {
      initializer(name)(body);
      for (auto& node : *body->mutable_node()) {
        if (node.op_type() == "Add") node.set_input(1, name);
      }
    });
    EXPECT_TRUE(absl::IsInvalidArgument(read)) << name << ": " << read;
  }
  for (const char* name : {"b2", "v2", "v9", "c9"}) {
    const absl::Status status = Changed([&](onnx::GraphProto* body) {
      for (auto& node : *body->mutable_node()) {
        if (node.op_type() == "Add") node.set_input(1, name);
      }
    });
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << ": " << status;
  }
}

// The types that a body declares decide the shape of what no iteration computes.
TEST(LoopBodyTest, DeclaredTypesBelongToTheFrame) {
  const NodePtr loop = LoopIn(OnnxModel(kLoop));
  const LoopNode node = LoopNodeOf(*loop);
  const auto with_shape = [&](const std::vector<int64_t>& shape) {
    onnx::ModelProto payload;
    EXPECT_TRUE(payload.ParseFromString(node.payload));
    auto* body = payload.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
    auto* type = body->mutable_output(1)->mutable_type()->mutable_tensor_type();
    type->clear_shape();
    for (int64_t size : shape) type->mutable_shape()->add_dim()->set_dim_value(size);
    return ImportLoopBody({payload.SerializeAsString(), node.reads}, loop->inputs());
  };
  auto same = with_shape({4}), open = with_shape({});
  ASSERT_TRUE(same.ok()) << same.status();
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(same->frame, ImportLoopBody(node, loop->inputs())->frame);
  EXPECT_NE(same->frame, open->frame);
  EXPECT_FALSE(with_shape({5}).ok());
  EXPECT_FALSE(with_shape({4, 4}).ok());
}

TEST(LoopBodyTest, RefusesOtherOperands) {
  const NodePtr loop = LoopIn(OnnxModel(kLoop));
  for (const std::vector<int>& reads :
       {std::vector<int>{}, {0}, {1, 0, 2}, {0, 1, 1}, {0, 1, 3}, {0, 1, -1}, {0, 2, 1}}) {
    LoopNode node = LoopNodeOf(*loop);
    node.reads = reads;
    EXPECT_FALSE(ImportLoopBody(node, loop->inputs()).ok()) << testing::PrintToString(reads);
  }
}

// Back ends differ in what they pass to a body that declares a vector of one element.
TEST(LoopBodyTest, WantsScalarsForTheNumberAndTheCondition) {
  const char* const kVectors[] = {
      "g (int64 n, bool[1] h, float[4] x) => (float[4] y) { y = Loop (n, h, x) <body = b (int64 i,"
      " bool c, float[4] s) => (bool d, float[4] t) { d = Identity(c) t = Neg(s) }> }",
      "g (int64 n, float[4] x) => (float[4] y) { y = Loop (n, , x) <body = b (int64[1] i,"
      " bool c, float[4] s) => (bool d, float[4] t) { d = Identity(c) t = Neg(s) }> }",
      "g (int64 n, float[4] x) => (float[4] y) { y = Loop (n, , x) <body = b (int64 i,"
      " bool[1] c, float[4] s) => (bool d, float[4] t) { d = Identity(c) t = Neg(s) }> }",
      "g (int64 n, float[4] x) => (float[4] y) { y = Loop (n, , x) <body = b (int64 i,"
      " bool c, float[4] s) => (bool[1] d, float[4] t) { d = Identity(c) t = Neg(s) }> }"};
  for (const char* text : kVectors) {
    const NodePtr loop = LoopIn(OnnxModel(text));
    const absl::Status status = ImportLoopBody(LoopNodeOf(*loop), loop->inputs()).status();
    EXPECT_THAT(status.message(), HasSubstr("is no scalar")) << text;
  }
}

}  // namespace
}  // namespace lemma
