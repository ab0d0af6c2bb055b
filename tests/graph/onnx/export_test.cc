#include "graph/onnx/export.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_checker.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

onnx::ModelProto Export(const Graph& graph) {
  auto bytes = ExportOnnx(graph);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(CheckWithOnnx(*bytes), "");
  onnx::ModelProto model;
  model.ParseFromString(*bytes);
  return model;
}

// The text of a graph after a trip through ONNX.
std::string RoundTrip(const Graph& graph) {
  auto model = ImportOnnxBytes(*ExportOnnx(graph));
  return model.ok() ? PrintGraph(model->graph) : std::string(model.status().message());
}

// Names and order of what a model declares.
template <class List>
std::vector<std::string> Names(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name());
  return names;
}

TEST(ExportTest, KeepsInputsAndOutputs) {
  Graph graph = Parse(R"(graph net(b: f32[2,3], a: i64[4], w: weight f32[3,3] = fill 0.5) {
    h = matmul(b, w)
    return h, early = b, count = a, kernel = w
  })");
  onnx::ModelProto model = Export(graph);
  EXPECT_THAT(Names(model.graph().input()), ElementsAre("b", "a"));
  EXPECT_THAT(Names(model.graph().output()), ElementsAre("h", "early", "count", "kernel"));
  EXPECT_THAT(Names(model.graph().initializer()), ElementsAre("w"));
  EXPECT_EQ(model.opset_import(0).version(), 17);
  EXPECT_EQ(RoundTrip(graph), PrintGraph(graph));
}

TEST(ExportTest, KeepsDefaultsOfInputs) {
  ExportOptions options;
  options.info.defaults["w"] = *Tensor::FromDoubles({DType::kF32, {2}}, {3, 4});
  const std::string bytes =
      *ExportOnnx(Parse("graph g(x: f32[2], w: f32[2]) { y = mul(x, w) return y }"), options);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(bytes));
  EXPECT_THAT(Names(model.graph().input()), ElementsAre("x", "w"));
  EXPECT_THAT(Names(model.graph().initializer()), ElementsAre("w"));
  auto again = ImportOnnxBytes(bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->info.defaults["w"].SameBytes(options.info.defaults["w"]));
  EXPECT_EQ(again->graph.inputs().size(), 2u);
}

TEST(ExportTest, WritesOneValueUnderTwoNames) {
  Graph graph = Parse("graph g(x: f32[2]) { y = relu(x) return y, z = y }");
  EXPECT_THAT(Names(Export(graph).graph().output()), ElementsAre("y", "z"));
}

TEST(ExportTest, TellsConstantsFromWeights) {
  Graph graph =
      Parse(R"(graph g(x: f32[2], w: weight f32[] = [2.0], v: weight f32[2] = [1.0, 2.0]) {
    c = constant f32[2] [3.0, 4.0]
    a = add(x, c)
    b = mul(a, w)
    y = mul(b, v)
    return y
  })");
  EXPECT_EQ(RoundTrip(graph), PrintGraph(graph));
}

std::vector<std::string> Nodes(const onnx::ModelProto& model) {
  std::vector<std::string> types;
  for (const auto& node : model.graph().node()) types.push_back(node.op_type());
  return types;
}

TEST(ExportTest, WidensPositionsThatOnnxTakesAsInt64Alone) {
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: f32[2,3], i: i32[2]) "
                                 "{ y = gather_nd(x, i) return y }"))),
              ElementsAre("Cast", "GatherND"));
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: f32[4], i: i32[3,1], u: f32[3]) "
                                 "{ y = scatter_nd(x, i, u) return y }"))),
              ElementsAre("Cast", "ScatterND"));
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: f32[4,2], n: i32[2]) "
                                 "{ y = reverse_sequence(x, n) return y }"))),
              ElementsAre("Cast", "ReverseSequence"));
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: f32[4], i: u8[3]) { y = gather(x, i) return y }"))),
              ElementsAre("Cast", "Gather"));
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: f32[4], i: i32[3]) { y = gather(x, i) return y }"))),
              ElementsAre("Gather"));
}

// ONNX has neither a OneHot nor a Transpose of a scalar nor, in ONNX Runtime, a Slice of one.
// ONNX's Softplus, of which a mish is made, takes no bf16 before operator set 22.
TEST(ExportTest, WritesMishOfBf16InF32) {
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: bf16[2]) { y = mish(x) return y }"))),
              ElementsAre("Cast", "Softplus", "Tanh", "Mul", "Cast"));
}

// ONNX's Conv, MaxPool and Einsum take no bf16 before operator set 22.
TEST(ExportTest, WritesProductsAndPoolsOfBf16InF32) {
  const std::string conv =
      "graph g(x: bf16[1,2,5,5], w: bf16[3,2,3,3], v: bf16[3]) {\n"
      "y = conv2d(x, w, v)\n return y }";
  EXPECT_THAT(Nodes(Export(Parse(conv))), ElementsAre("Cast", "Cast", "Cast", "Conv", "Cast"));
  const auto again = ImportOnnxBytes(*ExportOnnx(Parse(conv), {}));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph.outputs()[0].dtype(), DType::kBF16);
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: bf16[1,2,5,5]) {\n"
                                 "y = max_pool2d(x) {kernel = [2,2]}\n return y }"))),
              ElementsAre("Cast", "MaxPool", "Cast"));
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: bf16[2,3], w: bf16[3,4]) {\n"
                                 "y = einsum(x, w) {equation = \"ij,jk->ki\"}\n return y }"))),
              ElementsAre("Cast", "Cast", "Einsum", "Cast"));
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: bf16[2,3], w: bf16[3,4]) {\n"
                                 "y = matmul(x, w)\n return y }"))),
              ElementsAre("MatMul"));
}

TEST(ExportTest, RefusesBf16WhereOnnxHasNone) {
  const auto why = [](const char* text) {
    return std::string(ExportOnnx(Parse(text)).status().message());
  };
  EXPECT_THAT(why("graph g(x: i64[2], v: bf16[2]) { y = one_hot(x, v) {depth = 3} return y }"),
              HasSubstr("ONNX's one_hot does not take bf16"));
  EXPECT_THAT(why("graph g(x: bf16[4,2], n: i64[2]) { y = reverse_sequence(x, n) return y }"),
              HasSubstr("ONNX's reverse_sequence does not take bf16"));
}

TEST(ExportTest, TakesTheOperatorSetThatAnOutputNeeds) {
  ExportOptions options;
  options.info.opset = 8;
  onnx::ModelProto model;
  ASSERT_TRUE(
      model.ParseFromString(*ExportOnnx(Parse("graph g(x: bf16[2]) { return y = x }"), options)));
  EXPECT_THAT(Nodes(model), ElementsAre("Identity"));
  EXPECT_EQ(model.opset_import(0).version(), 13);  // the first whose Identity takes bf16
}

TEST(ExportTest, WritesOperatorsOfScalars) {
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: i32[], v: i64[2]) "
                                 "{ y = one_hot(x, v) {depth = 2, axis = 0} return y }"))),
              ElementsAre("Reshape", "OneHot", "Squeeze"));
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: f32[]) "
                                 "{ y = slice(x) {starts = [], sizes = []} return y }"))),
              ElementsAre("Identity"));
  EXPECT_THAT(Nodes(Export(Parse("graph g(x: f32[]) "
                                 "{ y = transpose(x) {perm = []} return y }"))),
              ElementsAre("Identity"));
}

// Which ONNX clips to the least finite number where Clip has no bound.
TEST(ExportTest, WritesBoundsThatAreInfinite) {
  const onnx::ModelProto model =
      Export(Parse("graph g(x: f32[3]) { y = clip(x) {max = 2.0} return y }"));
  EXPECT_EQ(model.graph().node(0).input_size(), 3);
  EXPECT_NE(model.graph().node(0).input(1), "");
  const onnx::ModelProto integers =
      Export(Parse("graph g(x: i64[3]) { y = clip(x) {max = 2.0} return y }"));
  EXPECT_EQ(integers.graph().node(0).input(1), "");
}

// ONNX's ceil_mode would give a window in the padding alone.
TEST(ExportTest, WritesPoolsByTheirPaddingWhereCeilModeGivesMoreWindows) {
  constexpr char kPool[] =
      "graph g(x: f32[1,2,7,7]) { y = avg_pool2d(x) {kernel = [3,3], strides = [3,2], "
      "pads = [%s], ceil_mode = 1, count_include_pad = 1} return y }";
  EXPECT_THAT(RoundTrip(Parse(absl::StrFormat(kPool, "1,0,2,0"))),
              HasSubstr("pads = [1, 0, 1, 0]"));
  // The other axis has a window that ends behind its padding.
  auto bytes = ExportOnnx(Parse(absl::StrFormat(kPool, "1,1,2,0")));
  EXPECT_FALSE(bytes.ok());
}

TEST(ExportTest, WeightsWithoutValuesBecomeInputs) {
  Graph graph = Parse("graph g(x: f32[2], w: weight f32[2]) { y = add(x, w) return y }");
  EXPECT_THAT(Names(Export(graph).graph().input()), ElementsAre("x", "w"));
}

// A loop that captures a value, and an operator nobody knows.
TEST(ExportTest, WritesOpaqueNodesBack) {
  auto model = OnnxModel(R"(g (float[2] x, int64 n) => (float[2] y) {
    t = Constant<value = bool {1}>()
    h = Relu(x)
    y = Loop (n, t, x) <body = b (int64 i, bool c, float[2] s) => (bool c_out, float[2] s_out)
        { c_out = Identity(c)  s_out = Add(s, h) }> })");
  auto imported = ImportOnnxBytes(model.SerializeAsString());
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->opaque.size(), 1u);
  onnx::ModelProto exported = Export(imported->graph);
  const auto& loop = exported.graph().node(exported.graph().node_size() - 1);
  EXPECT_EQ(loop.op_type(), "Loop");
  EXPECT_EQ(loop.attribute(0).g().node(1).input(1), "h");
  auto again = ImportOnnxBytes(exported.SerializeAsString());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph.StructuralHash(), imported->graph.StructuralHash());
}

TEST(ExportTest, DrawsStayTwoAndKeepTheirMarks) {
  auto model = OnnxModel(R"(g (float[2] x) => (float[2] y) <float[2] a, float[2] b>
    { a = RandomNormalLike(x)  b = RandomNormalLike(x)  y = Sub(b, a) })");
  auto imported = ImportOnnxBytes(model.SerializeAsString());
  ASSERT_TRUE(imported.ok()) << imported.status();
  auto again = ImportOnnxBytes(Export(imported->graph).SerializeAsString());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph.outputs()[0], imported->graph.outputs()[0]);
}

// A number that ONNX takes for 0 or infinity is not written as such.
TEST(ExportTest, RefusesAttributesThatF32DoesNotHold) {
  for (const char* text : {"graph g(x: f32[2]) { y = scalar_mul(x) {alpha = 1e-60} return y }",
                           "graph g(x: f16[2]) { y = scalar_mul(x) {alpha = 1e-9} return y }",
                           "graph g(x: f32[2]) { y = scalar_mul(x) {alpha = 1e40} return y }",
                           "graph g(x: f64[2]) { y = leaky_relu(x) {alpha = 1e-60} return y }"}) {
    const auto bytes = ExportOnnx(Parse(text));
    EXPECT_TRUE(absl::IsUnimplemented(bytes.status())) << text << bytes.status();
  }
  EXPECT_TRUE(
      ExportOnnx(Parse("graph g(x: f64[2]) { y = scalar_mul(x) {alpha = 1e-60} return y }")).ok());
}

TEST(ExportTest, SaysWhichOldOpaqueNodesHaveChanged) {
  auto model = OnnxModel(R"(g (float[4] x) => (float[4] y) {
    y = Scan <num_scan_inputs = 1, body = b (float s) => (float r) { r = Relu(s) }> (x) })",
                         8);
  auto imported = ImportOnnxBytes(model.SerializeAsString());
  if (!imported.ok() || imported->opaque.empty()) return;  // Scan has got a definition
  EXPECT_THAT(std::string(ExportOnnx(imported->graph).status().message()),
              HasSubstr("kept from operator set 8"));
}

class WriteTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) /
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string Path(const char* name) const { return (directory_ / name).string(); }

  fs::path directory_;
  Graph graph_ =
      Parse("graph g(x: f32[3], w: weight f32[3] = [1.0, 2.0, 3.0]) { y = mul(x, w) return y }");
};

TEST_F(WriteTest, WritesOneFile) {
  ASSERT_TRUE(WriteOnnx(graph_, Path("m.onnx")).ok());
  EXPECT_THAT(Files(), ElementsAre("m.onnx"));
  EXPECT_EQ(PrintGraph(ImportOnnx(Path("m.onnx"))->graph), PrintGraph(graph_));
}

TEST_F(WriteTest, PutsLargeWeightsBeside) {
  ExportOptions options;
  options.max_inline_bytes = 8;
  EXPECT_THAT(std::string(ExportOnnx(graph_, options).status().message()), HasSubstr("12 bytes"));
  ASSERT_TRUE(WriteOnnx(graph_, Path("m.onnx"), options).ok());
  EXPECT_THAT(Files(), ElementsAre("m.onnx", "m.onnx.data"));
  EXPECT_EQ(PrintGraph(ImportOnnx(Path("m.onnx"))->graph), PrintGraph(graph_));
}

TEST_F(WriteTest, LeavesNothingBehind) {
  fs::create_directory(Path("taken"));  // cannot be replaced by a file
  ExportOptions beside;
  beside.max_inline_bytes = 8;
  for (const ExportOptions& options : {ExportOptions(), beside}) {
    EXPECT_THAT(std::string(WriteOnnx(graph_, Path("taken"), options).message()),
                HasSubstr("taken: cannot write"));
    EXPECT_THAT(Files(), ElementsAre("taken"));
  }
  EXPECT_THAT(std::string(WriteOnnx(graph_, Path("none/m.onnx")).message()),
              HasSubstr("none/m.onnx: cannot write (No such file or directory)"));
}

}  // namespace
}  // namespace lemma
