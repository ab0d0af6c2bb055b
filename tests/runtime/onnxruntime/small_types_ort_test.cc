// Integers of 4 and 2 bits and floats of 8 and 4 bits against ONNX Runtime. Skipped where it is not
// installed.
#include <onnx/onnx_pb.h>
#include <pwd.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/onnxruntime/ort_process.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

constexpr int kU4 = 21, kI4 = 22, kU2 = 25, kI2 = 26;  // ONNX's numbers
constexpr int kF8E4M3 = 17, kF8E4M3Uz = 18, kF8E5M2 = 19, kF8E5M2Uz = 20;

class SmallTypesOrtTest : public testing::Test {
 protected:
  void SetUp() override {
    // The library is in the user's home, whose path Bazel hides from tests.
    if (const passwd* user = getpwuid(getuid()); user != nullptr) setenv("HOME", user->pw_dir, 1);
    auto process = OrtProcess::Start({});
    if (!process.ok()) GTEST_SKIP() << process.status();
    ort_ = *std::move(process);
  }

  // Both execute the model; so do they what Lemma writes for it.
  void Compare(onnx::ModelProto model, const std::vector<Tensor>& inputs) {
    const std::string bytes = model.SerializeAsString();
    const auto imported = ImportOnnxBytes(bytes);
    ASSERT_TRUE(imported.ok()) << imported.status();
    ASSERT_TRUE(imported->opaque.empty()) << imported->opaque[0];
    const Graph& graph = imported->graph;
    const auto executable = MakeReferenceBackend()->Compile(graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    const auto actual = (*executable)->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const auto written = ExportOnnx(graph);
    ASSERT_TRUE(written.ok()) << written.status();
    for (const std::string& file : {bytes, *written}) {
      const auto expected =
          ort_->Run({file, graph.input_names(), graph.output_names()}, inputs, "disabled");
      ASSERT_TRUE(expected.ok()) << expected.status();
      ASSERT_EQ((*actual)[0].type(), (*expected)[0].type());
      for (int64_t i = 0; i < (*expected)[0].size(); ++i) {
        const double a = (*actual)[0].AtDouble(i), e = (*expected)[0].AtDouble(i);
        EXPECT_TRUE(a == e || (std::isnan(a) && std::isnan(e)))
            << (file == bytes ? "read: " : "written: ") << "element " << i << " is " << a
            << ", in ONNX Runtime " << e << "; operand "
            << (inputs[0].size() > i ? inputs[0].AtDouble(i) : 0);
      }
    }
  }

  static Tensor Floats(const std::vector<double>& values) {
    return *Tensor::FromDoubles({DType::kF32, {static_cast<int64_t>(values.size())}}, values);
  }

  std::unique_ptr<Engine> ort_;
};

std::string Text(size_t size, const std::string& body) {
  return absl::StrCat("g (float[", size, "] x) => (float[", size, "] y) { ", body, " }");
}

// ONNX Runtime rounds ties away from 0, ONNX documents ties to even: no ties.
TEST_F(SmallTypesOrtTest, CastsToIntegersRoundAndWrap) {
  std::vector<double> values;
  for (double x = -20; x <= 20; x += 0.375) {
    if (std::abs(x - std::trunc(x)) != 0.5) values.push_back(x);
  }
  for (int type : {kU4, kI4, kU2, kI2}) {
    SCOPED_TRACE(type);
    const std::string body = absl::StrCat("h = Cast<to = ", type, ">(x) y = Cast<to = 1>(h)");
    Compare(OnnxModel(Text(values.size(), body), 25), {Floats(values)});
  }
}

// Without saturation, ONNX Runtime 1.30 makes 480 the number 448 of f8e4m3fn, and NaN of numbers
// from 61440 to 65535 as f8e5m2. ONNX's table has NaN and infinity for what is rounded to more than
// the largest number, so these operands are left out.
TEST_F(SmallTypesOrtTest, CastsToFloats) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> values = {
      0,    -0.0,  kInf,  -kInf, std::nan(""), 448,     449,     464,     465,     496,    240,
      247,  248,   249,   57344, 61439,        65536,   1e30,    -1e30,   1e-30,   0.3,    -0.7,
      1e-3, 0.053, 1.063, 1.188, 0x1p-9,       0x1p-10, 0x3p-11, 0x1p-16, 0x1p-17, 0x3p-18};
  for (int i = 0; i < 32 * 33; ++i) {
    const double x = std::ldexp(1.0 + i % 32 / 32.0, i / 32 - 18);
    if ((x < 466 || x > 495) && (x < 61440 || x > 65535)) values.push_back(x);
  }
  for (int type : {kF8E4M3, kF8E4M3Uz, kF8E5M2, kF8E5M2Uz}) {
    for (int saturate : {0, 1}) {
      SCOPED_TRACE(absl::StrCat(type, " saturate ", saturate));
      const std::string body = absl::StrCat("h = Cast<to = ", type, ", saturate = ", saturate,
                                            ">(x) y = Cast<to = 1>(h)");
      Compare(OnnxModel(Text(values.size(), body), 19), {Floats(values)});
    }
  }
}

// An initializer of values that are packed.
void AddPacked(onnx::ModelProto* model, const std::string& name, int type, int64_t count,
               const std::string& bytes) {
  onnx::TensorProto* proto = model->mutable_graph()->add_initializer();
  proto->set_name(name);
  proto->set_data_type(type);
  if (count >= 0) proto->add_dims(count);
  proto->set_raw_data(bytes);
}

std::vector<double> Spread(int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back((i * 37 % 101 - 50) * 0.23);
  return values;
}

TEST_F(SmallTypesOrtTest, Quantization) {
  for (int type : {kI4, kU4}) {
    SCOPED_TRACE(type);
    auto model = OnnxModel(R"(g (float[4,3] x, float[3] s) => (float[4,3] y) {
      q = QuantizeLinear<axis = 1>(x, s, z)
      y = DequantizeLinear<axis = 1>(q, s, z) })",
                           21);
    AddPacked(&model, "z", type, 3, "\x21\x07");  // 1, 2, 7
    Compare(model,
            {*Tensor::FromDoubles({DType::kF32, {4, 3}}, Spread(12)), Floats({0.5, 1.25, 0.125})});
    model = OnnxModel(R"(g (float[5] x, float s) => (float[5] y) {
      q = QuantizeLinear(x, s, z)
      y = DequantizeLinear(q, s, z) })",
                      21);
    AddPacked(&model, "z", type, -1, "\x03");
    Compare(model, {*Tensor::FromDoubles({DType::kF32, {5}}, Spread(5)), Tensor::ScalarF32(0.7)});
  }
}

TEST_F(SmallTypesOrtTest, QuantizationInBlocks) {
  for (const char* type : {"22", "21"}) {
    Compare(OnnxModel(absl::StrCat(R"(g (float[2,5] x, float[2,3] s) => (float[2,5] y) {
      q = QuantizeLinear<axis = 1, block_size = 2, output_dtype = )",
                                   type, R"(>(x, s)
      y = DequantizeLinear<axis = 1, block_size = 2>(q, s) })"),
                      21),
            {*Tensor::FromDoubles({DType::kF32, {2, 5}}, Spread(10)),
             *Tensor::FromDoubles({DType::kF32, {2, 3}}, {0.5, 1, 2, 0.25, 3, 0.125})});
  }
}

TEST_F(SmallTypesOrtTest, QuantizationToFloats) {
  for (int type : {kF8E4M3, kF8E4M3Uz, kF8E5M2, kF8E5M2Uz}) {
    for (int saturate : {0, 1}) {
      SCOPED_TRACE(absl::StrCat(type, " saturate ", saturate));
      auto model = OnnxModel(absl::StrCat(R"(g (float[6] x, float s) => (float[6] y) {
        q = QuantizeLinear<saturate = )",
                                          saturate, R"(>(x, s, z)
        y = DequantizeLinear(q, s, z) })"),
                             19);
      AddPacked(&model, "z", type, -1, std::string(1, '\0'));
      Compare(model, {Floats({0.1, -3, 1e4, 5e5, -7.7, 0}), Tensor::ScalarF32(0.7)});
    }
  }
}

// Inputs and outputs of these types, by the library's interface for C, with odd numbers of
// elements.
TEST_F(SmallTypesOrtTest, TensorsGoInAndOut) {
  for (int type : {kF8E4M3, kF8E5M2Uz, kU4, kI4}) {
    SCOPED_TRACE(type);
    auto model = OnnxModel("g (float[3,1] x) => (float[1,3] y) { y = Transpose(x) }", 21);
    for (auto* port :
         {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
      port->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    }
    const DType dtype = type == kF8E4M3     ? DType::kF8E4M3
                        : type == kF8E5M2Uz ? DType::kF8E5M2Uz
                        : type == kU4       ? DType::kU4
                                            : DType::kI4;
    Compare(model, {*Tensor::FromDoubles({dtype, {3, 1}}, {-3, 5, 7})});
  }
}

// ONNX has no such operators for these types: they are written in wider types. One operator each:
// ONNX Runtime 1.30 computes Cast from i8 to i4 and back wrongly.
TEST_F(SmallTypesOrtTest, OtherOperatorsAreWrittenInWiderTypes) {
  const std::string graphs[] = {
      "graph g(x: i4[2,3]) { a = add(x, x) y = cast(a) {dtype = \"f32\"} return y }",
      "graph g(x: i4[2,3]) { a = slice(x) {starts = [0,1], sizes = [2,2], steps = [1,1]} "
      "y = cast(a) {dtype = \"f32\"} return y }",
      "graph g(x: u4[2,3]) { a = concat(x, x) {axis = 1} y = cast(a) {dtype = \"f32\"} return y }",
      "graph g(x: f8e5m2[2,3]) { a = concat(x, x) {axis = 0} y = cast(a) {dtype = \"f32\"} "
      "return y }",
      "graph g(x: f32[2,3]) { a = cast(x) {dtype = \"i4\"} y = cast(a) {dtype = \"f32\"} return y "
      "}"};
  for (const std::string& text : graphs) {
    SCOPED_TRACE(text);
    const auto graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const std::vector<Tensor> inputs = {
        *Tensor::FromDoubles(graph->inputs()[0].type(), {1, 2.9, 3, 9, -5, 6})};
    const auto executable = MakeReferenceBackend()->Compile(*graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    const auto expected = (*executable)->Run(inputs);
    const auto written = ExportOnnx(*graph);
    ASSERT_TRUE(expected.ok() && written.ok()) << expected.status() << written.status();
    const auto actual =
        ort_->Run({*written, graph->input_names(), graph->output_names()}, inputs, "all");
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ((*actual)[0].ToDoubles(), (*expected)[0].ToDoubles());
  }
}

}  // namespace
}  // namespace lemma
