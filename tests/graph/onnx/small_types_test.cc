// Integers of 4 and 2 bits and floats of 8 and 4 bits in models: how values are packed, and what
// Cast, QuantizeLinear and DequantizeLinear make of them. Expected numbers are ONNX's own or
// computed by hand.
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/proto_conversion.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using Reals = std::vector<double>;
using Ints = std::vector<int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kF8E4M3 = 17, kF8E5M2 = 19, kU4 = 21, kI4 = 22, kF4 = 23, kF8E8M0 = 24, kU2 = 25,
              kI2 = 26;

absl::StatusOr<ImportedModel> Import(const onnx::ModelProto& model) {
  return ImportOnnxBytes(model.SerializeAsString());
}

std::string Bytes(const std::vector<int>& bytes) { return {bytes.begin(), bytes.end()}; }

onnx::TensorProto* AddInitializer(onnx::ModelProto* model, const std::string& name, int type,
                                  const std::vector<int64_t>& dims) {
  onnx::TensorProto* tensor = model->mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (int64_t d : dims) tensor->add_dims(d);
  return tensor;
}

void SetType(onnx::ValueInfoProto* port, int type) {
  port->mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

Tensor Floats(const Reals& values, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  return *Tensor::FromDoubles({DType::kF32, std::move(shape)}, values);
}

// The first output, which both back ends, and the model that Lemma writes, must agree on.
Tensor OutputOf(const onnx::ModelProto& model, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  auto imported = Import(model);
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return Tensor::Ints({});
  EXPECT_TRUE(imported->opaque.empty()) << imported->opaque[0];
  auto written = ExportOnnx(imported->graph);
  EXPECT_TRUE(written.ok()) << written.status();
  auto again = ImportOnnxBytes(written.ok() ? *written : "");
  EXPECT_TRUE(again.ok()) << again.status();
  if (!again.ok()) return Tensor::Ints({});
  for (const Graph* graph : {&imported->graph, &again->graph}) {
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(MakeReferenceBackend());
    backends.push_back(MakeCpuBackend());
    for (const auto& backend : backends) {
      auto executable = backend->Compile(*graph, {});
      EXPECT_TRUE(executable.ok()) << executable.status();
      auto result = (*executable)->Run(inputs);
      EXPECT_TRUE(result.ok()) << result.status();
      outputs.push_back((*result)[0]);
      EXPECT_TRUE(outputs.back().SameBytes(outputs[0])) << backend->name() << PrintGraph(*graph);
    }
  }
  return outputs[0];
}

TEST(SmallTypes, InitializersAreUnpacked) {
  const struct {
    int type;
    std::vector<int> bytes;
    Reals values;
  } cases[] = {
      {kI4, {0x8f, 0x07}, {-1, -8, 7}},
      {kU4, {0x8f, 0x07}, {15, 8, 7}},
      {kI2, {0x1b}, {-1, -2, 1}},
      {kU2, {0x1b}, {3, 2, 1}},
      {kF4, {0xf1, 0x03}, {0.5, -6, 1.5}},
      {kF8E4M3, {0x38, 0xfe, 0x01}, {1, -448, 0x1p-9}},
      {kF8E8M0, {127, 0, 130}, {1, 0x1p-127, 8}},
  };
  for (const auto& c : cases) {
    for (bool raw : {false, true}) {
      SCOPED_TRACE(absl::StrCat(c.type, raw ? " raw_data" : " int32_data"));
      auto model =
          OnnxModel("g (float[3] x) => (float[3] y) { f = Cast<to = 1>(c) y = Add(x, f) }");
      auto* tensor = AddInitializer(&model, "c", c.type, {3});
      if (raw) tensor->set_raw_data(Bytes(c.bytes));
      for (int byte : c.bytes) {
        if (!raw) tensor->add_int32_data(byte);
      }
      EXPECT_EQ(OutputOf(model, {Floats({0, 0, 0})}).ToDoubles(), c.values);
    }
  }
}

TEST(SmallTypes, WrongNumbersOfBytesAreRefused) {
  auto model = OnnxModel("g (float[3] x) => (float[3] y) { f = Cast<to = 1>(c) y = Add(x, f) }");
  auto* tensor = AddInitializer(&model, "c", kI4, {3});
  tensor->set_raw_data(Bytes({1, 2, 3}));
  EXPECT_THAT(Import(model).status().message(), HasSubstr("i4[3] needs 2 bytes, has 3"));
  tensor->clear_raw_data();
  tensor->add_int32_data(1);
  EXPECT_THAT(Import(model).status().message(), HasSubstr("i4[3] needs 2 packed values, has 1"));
}

TEST(SmallTypes, ValuesOutsideTheModelAreUnpacked) {
  const std::string folder = testing::TempDir(), name = "small_types.data";
  auto file = StagedFile::Write(folder + "/" + name, {"abc\x21\x03"});
  ASSERT_TRUE(file.ok() && file->Commit().ok());
  auto model = OnnxModel("g (float[3] x) => (float[3] y) { f = Cast<to = 1>(c) y = Add(x, f) }");
  auto* tensor = AddInitializer(&model, "c", kU4, {3});
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair<const char*, std::string>{"location", name}, {"offset", "3"}, {"length", "2"}}) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  const std::string path = folder + "/small_types.onnx";
  auto staged = StagedFile::Write(path, {model.SerializeAsString()});
  ASSERT_TRUE(staged.ok() && staged->Commit().ok());
  auto imported = ImportOnnx(path);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(PrintGraph(imported->graph), HasSubstr("[1.0, 2.0, 3.0]"));
}

// A file beside the model: packed as in the model.
TEST(SmallTypes, WeightsAreWrittenPacked) {
  GraphBuilder b("g");
  std::vector<int64_t> values;
  values.reserve(5001);
  for (int i = 0; i < 5001; ++i) values.push_back(i % 16 - 8);
  const Value w = b.Weight("w", *Tensor::FromInts({DType::kI4, {5001}}, values));
  b.Output("y", *b.Op("cast", {w}, {{"dtype", std::string("f32")}}));
  b.Output("z", *b.Op("reshape", {w}, {{"shape", Ints{3, 1667}}}));
  const auto graph = std::move(b).Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string path = testing::TempDir() + "/packed.onnx";
  for (const int64_t inline_bytes : {int64_t{100}, int64_t{1} << 30}) {
    ExportOptions options;
    options.max_inline_bytes = inline_bytes;
    ASSERT_TRUE(WriteOnnx(*graph, path, options).ok());
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(*ReadFile(path, INT32_MAX)));
    EXPECT_EQ(model.opset_import(0).version(), 21);
    EXPECT_EQ(model.ir_version(), 10);
    EXPECT_EQ(model.graph().output(1).type().tensor_type().elem_type(), kI4);
    const auto& tensor = model.graph().initializer(0);
    EXPECT_EQ(tensor.data_type(), kI4);
    if (inline_bytes > 100) {
      EXPECT_EQ(tensor.raw_data().size(), 2501u);
    } else {
      EXPECT_EQ(FileSize(path + ".data").value(), 2501 + 59);  // to a multiple of 64
    }
    const auto again = ImportOnnx(path);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PrintGraph(again->graph), PrintGraph(*graph));
  }
}

TEST(SmallTypes, OwnFormsKeepThem) {
  const std::string text = R"(graph g(x: i4[3], y: f8e4m3fn[2,1], w: weight u2[0] = []) {
  a = constant i4[3] [-8, 0, 7]
  b = constant f8e5m2[3] [inf, -0.0, 6e+04]
  c = constant f4e2m1[2] fill -6.0
  return x, y, w, a, b, c
}
)";
  const auto graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(PrintGraph(*graph), text);
  const auto again = DeserializeGraph(*SerializeGraph(*graph));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintGraph(*again), text);
  // NaN, whose bytes have no other form.
  const auto nan = ParseGraph("graph g() { c = constant f8e4m3fn[2] base64 \"f/8=\" return c }");
  ASSERT_TRUE(nan.ok()) << nan.status();
  EXPECT_EQ(PrintGraph(*ParseGraph(PrintGraph(*nan))), PrintGraph(*nan));
  const auto error = [](const std::string& values) {
    return std::string(
        ParseGraph(absl::StrCat("graph g() { c = constant i4[1] ", values, " return c }"))
            .status()
            .message());
  };
  EXPECT_THAT(error("[8]"), HasSubstr("8 does not fit in i4"));
  EXPECT_THAT(error("[0.5]"), HasSubstr("must be an integer"));
  EXPECT_THAT(error("base64 \"CA==\""), HasSubstr("a byte is no value of i4"));
}

TEST(SmallTypes, CastsToIntegersRoundAndWrap) {
  const Reals x = {-9, -8.5, -2.5, -1.5, -0.4, 0.5, 1.5, 2.6, 7.4, 7.5, 15.6, 100};
  const struct {
    int type;
    Reals y;
  } cases[] = {{kI4, {7, -8, -2, -2, 0, 0, 2, 3, 7, -8, 0, 4}},
               {kU4, {7, 8, 14, 14, 0, 0, 2, 3, 7, 8, 0, 4}},
               {kI2, {-1, 0, -2, -2, 0, 0, -2, -1, -1, 0, 0, 0}},
               {kU2, {3, 0, 2, 2, 0, 0, 2, 3, 3, 0, 0, 0}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.type);
    const auto model = OnnxModel(absl::StrCat(
        "g (float[12] x) => (float[12] y) { h = Cast<to = ", c.type, ">(x) y = Cast<to = 1>(h) }"));
    EXPECT_EQ(OutputOf(model, {Floats(x)}).ToDoubles(), c.y);
  }
}

TEST(SmallTypes, CastsToFloatsSaturateOrNot) {
  const Reals x = {448, 465, 1e6, kInf, -kInf, -1e6, -0.3};
  const double nan = std::nan("");
  const struct {
    int type, saturate;
    Reals y;
  } cases[] = {{kF8E4M3, 1, {448, 448, 448, 448, -448, -448, -0.3125}},
               {kF8E4M3, 0, {448, nan, nan, nan, nan, nan, -0.3125}},
               {18, 1, {240, 240, 240, 240, -240, -240, -0.3125}},
               {18, 0, {nan, nan, nan, nan, nan, nan, -0.3125}},
               {kF8E5M2, 1, {448, 448, 57344, 57344, -57344, -57344, -0.3125}},
               {kF8E5M2, 0, {448, 448, kInf, kInf, -kInf, -kInf, -0.3125}},
               {20, 1, {448, 448, 57344, 57344, -57344, -57344, -0.3125}},
               {20, 0, {448, 448, nan, nan, nan, nan, -0.3125}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.type, " saturate ", c.saturate));
    auto model = OnnxModel(absl::StrCat("g (float[7] x) => (float[7] y) { h = Cast<to = ", c.type,
                                        ", saturate = ", c.saturate, ">(x) y = Cast<to = 1>(h) }"));
    const Reals y = OutputOf(model, {Floats(x)}).ToDoubles();
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(y[i] == c.y[i] || (std::isnan(y[i]) && std::isnan(c.y[i])))
          << x[i] << " becomes " << y[i] << ", not " << c.y[i];
    }
  }
}

TEST(SmallTypes, PowersOfTwoAreRoundedAsTheModeSays) {
  const Reals x = {1, 1.25, 1.5, 1.75, 3.5, 1e-45, 3e38, 0x1p-127};
  const double most = 0x1p127, least = 0x1p-127;
  const struct {
    const char* mode;
    int saturate;
    Reals y;
  } cases[] = {{"up", 1, {1, 2, 2, 2, 4, least, most, least}},
               {"down", 1, {1, 1, 1, 1, 2, least, most, least}},
               {"nearest", 1, {1, 1, 2, 2, 4, least, most, least}},
               {"nearest", 0, {1, 1, 2, 2, 4, std::nan(""), std::nan(""), least}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.mode, " saturate ", c.saturate));
    auto model = OnnxModel(absl::StrCat("g (float[8] x) => (float[8] y) { h = Cast<to = 24, ",
                                        "saturate = ", c.saturate, ", round_mode = \"", c.mode,
                                        "\">(x) y = Cast<to = 1>(h) }"));
    const Reals y = OutputOf(model, {Floats(x)}).ToDoubles();
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(y[i] == c.y[i] || (std::isnan(y[i]) && std::isnan(c.y[i])))
          << x[i] << " becomes " << y[i] << ", not " << c.y[i];
    }
  }
}

TEST(SmallTypes, QuantizationSaturates) {
  // ONNX's test_quantizelinear_int2.
  auto model = OnnxModel(R"(g (float[3,4] x) => (float[3,4] y) {
    q = QuantizeLinear<axis = 0>(x, s, z)
    y = Cast<to = 1>(q) })");
  auto* scale = AddInitializer(&model, "s", onnx::TensorProto::FLOAT, {3});
  for (float s : {2.0F, 3.0F, 4.0F}) scale->add_float_data(s);
  AddInitializer(&model, "z", kI2, {3})->set_raw_data(Bytes({0}));
  EXPECT_EQ(OutputOf(model, {Floats({0, 2.5, 4.8, 8.6, -4, -3, 1, 2, 0, -2.5, -4.8, -8.6}, {3, 4})})
                .ToDoubles(),
            Reals({0, 1, 1, 1, -1, -1, 0, 1, 0, -1, -1, -2}));
}

TEST(SmallTypes, QuantizationInBlocksOfOddSize) {
  auto model = OnnxModel(R"(g (float[1,5] x) => (float[1,5] y) {
    q = QuantizeLinear<axis = 1, block_size = 2>(x, s, z)
    y = DequantizeLinear<axis = 1, block_size = 2>(q, s, z) })");
  auto* scale = AddInitializer(&model, "s", onnx::TensorProto::FLOAT, {1, 3});
  for (float s : {0.5F, 1.0F, 2.0F}) scale->add_float_data(s);
  AddInitializer(&model, "z", kU4, {1, 3})->set_raw_data(Bytes({0x81, 0x0f}));  // 1, 8, 15
  // q = 5, 0 (saturated); 11, 0 (saturated); 14
  EXPECT_EQ(OutputOf(model, {Floats({2, -3, 3.2, -9, -2}, {1, 5})}).ToDoubles(),
            Reals({2, -0.5, 3, -8, -2}));
}

TEST(SmallTypes, DequantizationByPowersOfTwo) {
  auto model = OnnxModel(R"(g (float[4] x) => (float[4] y) {
    d = DequantizeLinear<axis = 0, block_size = 2, output_dtype = 1>(q, s)
    y = Add(x, d) })");
  AddInitializer(&model, "q", kF4, {4})->set_raw_data(Bytes({0x21, 0xf7}));    // 0.5, 1, 6, -6
  AddInitializer(&model, "s", kF8E8M0, {2})->set_raw_data(Bytes({128, 125}));  // 2, 1/4
  EXPECT_EQ(OutputOf(model, {Floats({0, 0, 0, 0})}).ToDoubles(), Reals({1, 2, 1.5, -1.5}));
}

// Whatever ONNX lets one do with the values, also with none and with one of them.
TEST(SmallTypes, AreMoved) {
  for (int type : {kI4, kU4, kI2, kU2, kF8E4M3, kF8E5M2, kF4}) {
    for (int64_t size : {0, 1, 3}) {
      SCOPED_TRACE(absl::StrCat(type, " of ", size));
      const std::string n = absl::StrCat(size);
      auto model =
          OnnxModel(absl::StrCat("g (float[", n, ",2] x, int64[2] i) => (float[2,", n,
                                 "] y) { t = Transpose(x) c = Concat<axis = 1>(t, t) ",
                                 "s = Slice(c, zero, many, one) ", "y = Gather<axis = 0>(s, i) }"));
      for (auto* port :
           {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
        SetType(port, type);
      }
      AddInitializer(&model, "zero", onnx::TensorProto::INT64, {1})->add_int64_data(0);
      AddInitializer(&model, "many", onnx::TensorProto::INT64, {1})->add_int64_data(size);
      AddInitializer(&model, "one", onnx::TensorProto::INT64, {1})->add_int64_data(1);
      const auto imported = Import(model);
      ASSERT_TRUE(imported.ok()) << imported.status();
      const Reals values(static_cast<size_t>(2 * size), 1);
      const Tensor x = *Tensor::FromDoubles(imported->graph.inputs()[0].type(), values);
      const Tensor y = OutputOf(model, {x, Tensor::Ints({1, 0})});
      EXPECT_EQ(y.ToDoubles(), values);
      EXPECT_EQ(y.dtype(), x.dtype());
    }
  }
}

TEST(SmallTypes, BitsOfConstantsAreTaken) {
  auto model = OnnxModel(
      "g (float[2] x) => (float[2] y) { b = BitCast<to = 17>(c) "
      "f = Cast<to = 1>(b) y = Add(x, f) }",
      26);
  AddInitializer(&model, "c", onnx::TensorProto::UINT8, {2})->set_raw_data(Bytes({0x38, 0x7e}));
  EXPECT_EQ(OutputOf(model, {Floats({0, 0})}).ToDoubles(), Reals({1, 448}));
  auto unknown = OnnxModel(
      "g (uint8[2] x) => (float[2] y) { b = BitCast<to = 17>(x) "
      "y = Cast<to = 1>(b) }",
      26);
  EXPECT_THAT(Import(unknown).status().message(), HasSubstr("bits of f8e4m3fn"));
}

// In int32_data, any number but 0 is true, as in raw_data.
TEST(BoolValues, AreZeroOrOne) {
  onnx::ModelProto model =
      OnnxModel("g (float[5] x) => (float[5] y) { c = Cast<to = 1>(b) y = Add(x, c) }");
  onnx::TensorProto* bools = AddInitializer(&model, "b", onnx::TensorProto::BOOL, {5});
  for (const int number : {2, 0, 1, -1, 256}) bools->add_int32_data(number);
  EXPECT_EQ(OutputOf(model, {Floats({0, 0, 0, 0, 0})}).ToDoubles(), (Reals{1, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace lemma
