// Values of which a model uses nothing but the size.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_checker.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::ElementsAreArray;

struct SizeCase {
  const char* name;
  const char* body;
  std::vector<double> expected;       // for x = {1, 0, 2, 0, 3, 4}
  std::vector<double> expected_none;  // for x = {0, 0, 0, 0, 0, 0}
};

class SizeOnlyTest : public testing::TestWithParam<SizeCase> {
 protected:
  onnx::ModelProto Model() const {
    return OnnxModel(absl::StrCat("g (float[6] x) => (float[k] y) {\n", GetParam().body, "}"));
  }
  static ImportedModel Import(const onnx::ModelProto& model) {
    auto imported = ImportOnnxBytes(model.SerializeAsString());
    EXPECT_TRUE(imported.ok()) << imported.status();
    return imported.ok() ? *std::move(imported) : ImportedModel();
  }
  static std::vector<double> RunOn(Backend& backend, const Graph& graph,
                                   const std::vector<double>& x) {
    auto executable = backend.Compile(graph, {});
    EXPECT_TRUE(executable.ok()) << executable.status();
    if (!executable.ok()) return {-1};
    auto outputs = (*executable)->Run({*Tensor::FromDoubles({DType::kF32, {6}}, x)});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? (*outputs)[0].ToDoubles() : std::vector<double>{-1};
  }
  static void Check(const Graph& graph) {
    for (Backend* backend : {MakeReferenceBackend().release(), MakeCpuBackend().release()}) {
      const std::unique_ptr<Backend> owned(backend);
      EXPECT_THAT(RunOn(*owned, graph, {1, 0, 2, 0, 3, 4}), ElementsAreArray(GetParam().expected));
      EXPECT_THAT(RunOn(*owned, graph, std::vector<double>(6, 0)),
                  ElementsAreArray(GetParam().expected_none));
    }
  }
};

TEST_P(SizeOnlyTest, TheValueIsComputed) { Check(Import(Model()).graph); }

TEST_P(SizeOnlyTest, AlsoInTheFileThatIsWritten) {
  const ImportedModel model = Import(Model());
  ExportOptions options;
  options.info = model.info;
  for (const bool keeps_nodes : {true, false}) {
    if (!keeps_nodes) options.info.origin = nullptr;
    auto bytes = ExportOnnx(model.graph, options);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    onnx::ModelProto written;
    ASSERT_TRUE(written.ParseFromString(*bytes));
    EXPECT_EQ(CheckWithOnnx(*bytes), "");
    Check(Import(written).graph);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Uses, SizeOnlyTest,
    testing::Values(
        SizeCase{"Shape", "n = NonZero(x)\n s = Shape(n)\n y = Cast <to = 1> (s)", {1, 4}, {1, 0}},
        SizeCase{"ShapeOfWhatReadsIt",
                 "n = NonZero(x)\n m = Neg(n)\n s = Shape(m)\n y = Cast <to = 1> (s)",
                 {1, 4},
                 {1, 0}},
        SizeCase{"Size",
                 "n = NonZero(x)\n s = Size(n)\n c = Cast <to = 1> (s)\n"
                 "y = Add(c, x)",
                 {5, 4, 6, 4, 7, 8},
                 {0, 0, 0, 0, 0, 0}},
        SizeCase{"Expand",
                 "n = Unique(x)\n s = Shape(n)\n"
                 "one = Constant <value = float[1] {1}> ()\n y = Expand(one, s)",
                 {1, 1, 1, 1, 1},
                 {1}},
        SizeCase{"Range",
                 "n = NonZero(x)\n s = Size(n)\n"
                 "zero = Constant <value = int64 {0}> ()\n"
                 "one = Constant <value = int64 {1}> ()\n"
                 "r = Range(zero, s, one)\n y = Cast <to = 1> (r)",
                 {0, 1, 2, 3},
                 {}},
        SizeCase{"Loop",
                 "n = NonZero(x)\n s = Size(n)\n"
                 "z = Constant <value = float[1] {0}> ()\n"
                 "y = Loop (s, , z) <body = b (int64 i, bool c, float[1] v) =>\n"
                 "(bool more, float[1] w) {\n more = Identity(c)\n"
                 "one = Constant <value = float[1] {1}> ()\n w = Add(v, one) }>",
                 {4},
                 {0}},
        SizeCase{"Branch",
                 "t = ReduceSum <keepdims = 0> (x)\n"
                 "h = Constant <value = float {1}> ()\n c = Less(h, t)\n"
                 "y = If (c) <then_branch = a () => (float[6] p) {\n"
                 "n = NonZero(x)\n s = Size(n)\n f = Cast <to = 1> (s)\n"
                 "p = Mul(f, x) },\n else_branch = b () => (float[6] q) {\n"
                 "q = Sub(x, h) }>",
                 {4, 0, 8, 0, 12, 16},
                 {-1, -1, -1, -1, -1, -1}}),
    [](const auto& info) { return info.param.name; });

TEST(ResultSizeTest, AnOperandThatHasTheSizeIsEnough) {
  auto model = ImportOnnxBytes(OnnxModel(R"(g (float[6] x) => (int64[1,k] y, int64[2] s) {
    n = NonZero(x)
    y = Neg(n)
    s = Shape(y) })")
                                   .SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->graph.outputs()[0].node().IsOp("barrier"));
  EXPECT_TRUE(model->graph.outputs()[1].node().IsOp("barrier"));
}

}  // namespace
}  // namespace lemma
