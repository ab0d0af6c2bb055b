// Quantized models as files: what is measured, kept and refused.
#include "api/quantize.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "api/models/model_file.h"
#include "api/models/tensor_files.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/api/quantization/npz_file.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma::api {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

// A product, a product whose result is a large number of times the other's, and their sum.
constexpr char kNet[] = R"(
  g (float[1,3] x) => (float[1,2] y) {
    v = Constant <value = float[3,2] {0.3, -0.7, 0.2, 0.9, -0.4, 0.5}> ()
    w = Constant <value = float[2,2] {0.6, -0.1, 0.35, 0.8}> ()
    h = MatMul (x, v)
    r = Relu (h)
    y = MatMul (r, w)
  })";

std::string Written(const char* graph, int opset = 17) {
  return WriteTemp("model.onnx", OnnxModel(graph, opset).SerializeAsString());
}

QuantizeOptions Quick() {
  QuantizeOptions options;
  options.runs = 0;
  return options;
}

absl::StatusOr<QuantizeResult> QuantizeAt(const std::string& model, const QuantizeOptions& options,
                                          std::string* output = nullptr) {
  const std::string path = NewFolder() + "/q.onnx";
  if (output != nullptr) *output = path;
  return Quantize(model, path, options);
}

std::string ErrorOf(const std::string& model, const QuantizeOptions& options) {
  std::string output;
  auto result = QuantizeAt(model, options, &output);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(FilesIn(output.substr(0, output.rfind('/'))), ElementsAre())
      << "something is written";
  return std::string(result.status().message());
}

Tensor Floats(Shape shape, std::vector<double> values) {
  return *Tensor::FromDoubles({DType::kF32, std::move(shape)}, values);
}

TEST(QuantizeTest, MeasuresTheFileThatItWrote) {
  const std::string model = Written(kNet);
  const Tensor samples =
      Floats({5, 1, 3}, {1, -2, 3, 0.5, 0.25, -1, 2, 2, 2, -3, 1, 0, 0.1, 0.2, 0.3});
  QuantizeOptions options = Quick();
  options.calibration = WriteTemp("samples.npz", NpzFile({{"x", samples}}));
  std::string output;
  auto result = QuantizeAt(model, options, &output);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->written);
  EXPECT_EQ(result->calibration_samples, 4);
  EXPECT_EQ(result->held_out_samples, 1);
  EXPECT_FALSE(result->synthetic);
  // The same by hand: both models, on the four samples.
  auto before = ImportOnnx(model), after = ImportOnnx(output);
  ASSERT_TRUE(before.ok() && after.ok()) << after.status();
  auto f32 = MakeReferenceBackend()->Compile(before->graph, {});
  auto quantized = MakeCpuBackend()->Compile(after->graph, {});
  ASSERT_TRUE(f32.ok() && quantized.ok());
  double difference = 0, expected = 0;
  for (int s = 0; s < 4; ++s) {
    std::vector<double> x(3);
    for (int i = 0; i < 3; ++i) x[i] = samples.AtDouble(3 * s + i);
    const auto y = *(*f32)->Run({Floats({1, 3}, x)}), q = *(*quantized)->Run({Floats({1, 3}, x)});
    for (int i = 0; i < 2; ++i) {
      difference += std::pow(y[0].AtDouble(i) - q[0].AtDouble(i), 2);
      expected += std::pow(y[0].AtDouble(i), 2);
    }
  }
  ASSERT_EQ(result->errors.size(), 1u);
  EXPECT_NEAR(result->errors[0].relative, std::sqrt(difference / expected), 1e-6);
  EXPECT_GT(result->errors[0].relative, 0);
  EXPECT_LT(result->errors[0].relative, 0.02);
  EXPECT_NEAR(result->errors[0].snr_db, -20 * std::log10(result->errors[0].relative), 1e-9);
}

TEST(QuantizeTest, RangesAreThoseOfTheCalibrationSamples) {
  QuantizeOptions options = Quick();
  // The last sample is held out.
  options.calibration =
      WriteTemp("s.npz", NpzFile({{"x", Floats({3, 3}, {0, 1, -1, 0.5, 4, 0, 100, 100, 100})}}));
  auto result = QuantizeAt(Written(kNet), options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->ranges.size(), 2u);
  const ValueRange& x = result->ranges[1];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.least, -1);
  EXPECT_EQ(x.most, 4);
  EXPECT_NEAR(x.scale, 5.0 / 255, 1e-7);
  EXPECT_EQ(x.zero_point, 51);
  EXPECT_EQ(x.clipped, 0);
  EXPECT_EQ(result->ranges[0].name, "r");
  EXPECT_EQ(result->ranges[0].zero_point, 0);
}

TEST(QuantizeTest, KeepsOperatorsByNameAndType) {
  onnx::ModelProto model = OnnxModel(kNet);
  model.mutable_graph()->mutable_node(2)->set_name("first_layer");
  const std::string path = WriteTemp("model.onnx", model.SerializeAsString());
  QuantizeOptions options = Quick();
  options.keep = {"first_layer"};
  auto result = QuantizeAt(path, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->operators[0].quantized);
  EXPECT_EQ(result->operators[0].reason, "kept by --keep");
  EXPECT_TRUE(result->operators[1].quantized);
  options.keep = {"MatMul"};
  EXPECT_THAT(ErrorOf(path, options),
              HasSubstr("no operator can be quantized (MatMul 'first_layer': kept by --keep)"));
  options.keep = {"first_later"};
  EXPECT_THAT(ErrorOf(path, options),
              HasSubstr("no node and no type of operator is called 'first_later'; did you mean "
                        "first_layer?"));
}

TEST(QuantizeTest, RefusesBadSamplesAndWritesNothing) {
  const std::string model = Written(kNet);
  QuantizeOptions options = Quick();
  auto with = [&](const std::string& bytes) {
    options.calibration = WriteTemp("s.npz", bytes);
    return ErrorOf(model, options);
  };
  EXPECT_THAT(with(NpzFile({{"x", Floats({1, 3}, {1, NAN, 2})}})),
              HasSubstr("s.npz: sample 0 of input 'x' has an infinite or NaN value"));
  EXPECT_THAT(with(NpzFile({{"z", Floats({1, 3}, {1, 1, 2})}})),
              HasSubstr("s.npz: has no array for input 'x'"));
  EXPECT_THAT(with(NpzFile({{"x", Floats({1, 3}, {1, 1, 2})}, {"z", Floats({1}, {1})}})),
              HasSubstr("has an array 'z', but no input has this name"));
  EXPECT_THAT(with(NpzFile({{"x", *Tensor::FromInts({DType::kI64, {1, 3}}, {1, 1, 2})}})),
              HasSubstr("input 'x' is f32[1,3], the array is i64[1,3]"));
  EXPECT_THAT(with(NpzFile({{"x", Floats({1, 4}, {1, 1, 2, 3})}})), HasSubstr("[1,3]"));
  EXPECT_THAT(with(NpzFile({{"x", Floats({0, 1, 3}, {})}})), HasSubstr("has no samples"));
  EXPECT_THAT(with("nothing"), HasSubstr("s.npz: the .npz file is truncated or damaged"));
  options.calibration = NewFolder();
  EXPECT_THAT(ErrorOf(model, options), HasSubstr("has no samples"));
  options.calibration = "synthetic:0";
  EXPECT_THAT(ErrorOf(model, options), HasSubstr("synthetic:N takes a number from 1"));
}

TEST(QuantizeTest, ReadsFoldersOfSamples) {
  const std::string folder = NewFolder();
  auto graph = ImportOnnx(Written(kNet));
  ASSERT_TRUE(graph.ok());
  for (const char* name : {"a.npz", "b.npz"}) {
    FILE* file = std::fopen((folder + "/" + name).c_str(), "wb");
    const std::string bytes = NpzFile({{"x", Floats({2, 1, 3}, {1, 2, 3, 4, 5, 6})}});
    ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
  }
  QuantizeOptions options = Quick();
  options.calibration = folder;
  auto result = QuantizeAt(Written(kNet), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->calibration_samples + result->held_out_samples, 4);
}

TEST(QuantizeIfFasterTest, KeepsModelsThatCannotBeQuantizedOnly) {
  const std::string folder = NewFolder(), output = folder + "/q.onnx", model = Written(kNet);
  QuantizeOptions options;
  options.runs = 1;
  options.max_error = 0.1;
  const auto error_of = [&] {
    auto result = QuantizeIfFaster(model, output, options);
    EXPECT_FALSE(result.ok());
    EXPECT_THAT(FilesIn(folder), ElementsAre());
    return std::string(result.status().message());
  };
  options.calibration = WriteTemp("s.npz", NpzFile({{"z", Floats({1, 3}, {1, 1, 2})}}));
  EXPECT_THAT(error_of(), HasSubstr("s.npz: has no array for input 'x'"));
  options.calibration = "synthetic";
  options.keep = {"nothing"};
  EXPECT_THAT(error_of(), HasSubstr("option keep: no node"));
  options.keep = {};
  const std::string relu = Written("g (float[2] x) => (float[2] y) {y = Relu (x)}");
  const std::string quantized = Written(R"(
    g (float[2] x) => (uint8[2] y) {
      s = Constant <value = float {0.5}> ()
      y = QuantizeLinear (x, s)
    })");
  const std::pair<std::string, std::string> kKept[] = {{relu, "no operator can be quantized"},
                                                       {quantized, "is quantized already"}};
  for (const auto& [path, reason] : kKept) {
    auto result = QuantizeIfFaster(path, output, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(result->kept, HasSubstr(reason));
    EXPECT_FALSE(result->quantized);
    EXPECT_EQ(ReadAll(output), ReadAll(path));
  }
}

TEST(QuantizeTest, OtherElementTypesStay) {
  EXPECT_THAT(ErrorOf(Written(R"(
    g (double[1,2] x) => (double[1,2] y) {
      w = Constant <value = double[2,2] {1.0, 2.0, 3.0, 4.0}> ()
      y = MatMul (x, w)
    })"),
                      Quick()),
              HasSubstr("no operator can be quantized"));
  auto result = QuantizeAt(Written(R"(
    g (double[2,2] x, float[2,2] z) => (double[2,2] y, float[2,2] u) {
      y = MatMul (x, x)
      u = MatMul (z, z)
    })"),
                           Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->operators[0].reason, "value 'x' is f64, not f32");
  EXPECT_TRUE(result->operators[1].quantized);
}

// By value: the scale with which the model is quantized.
std::map<std::string, double> ScalesOf(const std::string& model,
                                       const QuantizeOptions& options = Quick()) {
  auto result = QuantizeAt(model, options);
  EXPECT_TRUE(result.ok()) << result.status();
  std::map<std::string, double> scales;
  if (!result.ok()) return scales;
  for (const ValueRange& range : result->ranges) scales[range.name] = range.scale;
  return scales;
}

// Padding is quantized if what it adds is in the operand's range. Then the result has its scale.
TEST(QuantizeTest, PadsWithZerosOrCopies) {
  const std::pair<const char*, bool> kPads[] = {{"(r, k)", true},
                                                {"(r, k, zero)", true},
                                                {"<mode = \"reflect\"> (r, k)", true},
                                                {"(r, k, hundred)", false}};
  for (const auto& [pad, is_quantized] : kPads) {
    SCOPED_TRACE(pad);
    const std::string model = Written(absl::StrCat(R"(
      g (float[1,1,2,3] x) => (float[1,1,3,3] y) {
        v = Constant <value = float[1,1,1,1] {0.7}> ()
        w = Constant <value = float[1,1,1,1] {-0.4}> ()
        k = Constant <value = int64[8] {0, 0, 1, 0, 0, 0, 0, 0}> ()
        zero = Constant <value = float {0.0}> ()
        hundred = Constant <value = float {100.0}> ()
        r = Conv (x, v)
        p = Pad )",
                                                   pad, R"(
        y = Conv (p, w)
      })")
                                          .c_str());
    std::map<std::string, double> scales = ScalesOf(model);
    ASSERT_TRUE(scales.count("r") > 0 && scales.count("p") > 0);
    EXPECT_EQ(scales["r"] == scales["p"], is_quantized);
  }
}

// What meets in a concatenation has one scale, unless its range is far smaller.
TEST(QuantizeTest, ConcatenatedValuesShareAScale) {
  for (const char* factor : {"0.6", "0.1"}) {
    SCOPED_TRACE(factor);
    const std::string model = Written(absl::StrCat(R"(
      g (float[1,1,4,4] x) => (float[1,1,2,2] y) {
        v = Constant <value = float[1,1,1,1] {1.0}> ()
        u = Constant <value = float[1,1,1,1] {)",
                                                   factor, R"(}> ()
        w = Constant <value = float[1,3,1,1] {0.2, -0.4, 0.3}> ()
        a = Conv (x, v)
        b = Conv (x, u)
        c = Concat <axis = 1> (a, b)
        m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (c)
        n = MaxPool <kernel_shape = [2,2], strides = [2,2]> (b)
        d = Concat <axis = 1> (m, n)
        y = Conv (d, w)
      })")
                                          .c_str());
    std::map<std::string, double> scales = ScalesOf(model);
    ASSERT_THAT(scales, Contains(Key("b")));
    for (const char* name : {"c", "m", "d"}) EXPECT_EQ(scales[name], scales["a"]) << name;
    EXPECT_EQ(scales["n"], scales["b"]);
    EXPECT_EQ(scales["b"] == scales["a"], std::string(factor) == "0.6");
    // A shared scale is no larger than the widest range needs, also without a zero point.
    QuantizeOptions symmetric = Quick();
    symmetric.symmetric = true;
    auto ranged = QuantizeAt(model, symmetric);
    ASSERT_TRUE(ranged.ok()) << ranged.status();
    for (const ValueRange& range : ranged->ranges) {
      if (range.name != "a") continue;
      const double largest = std::max(-range.least, range.most);
      EXPECT_NEAR(range.scale, largest / 127, 1e-6 * largest);
    }
  }
}

TEST(QuantizeTest, ConstantZerosStayZeros) {
  QuantizeOptions options = Quick();
  options.calibration =
      WriteTemp("s.npz", NpzFile({{"x", Floats({2, 3}, std::vector<double>(6))}}));
  auto result = QuantizeAt(Written(kNet), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->errors[0].relative, 0);
  EXPECT_TRUE(std::isinf(result->errors[0].snr_db));
}

TEST(QuantizeTest, SymbolicSizesStay) {
  const std::string model = Written(R"(
    g (float[N,3] x) => (float[N,2] y) {
      v = Constant <value = float[3,2] {0.3, -0.7, 0.2, 0.9, -0.4, 0.5}> ()
      y = MatMul (x, v)
    })");
  QuantizeOptions options = Quick();
  options.calibration =
      WriteTemp("s.npz", NpzFile({{"x", Floats({2, 1, 3}, {1, -2, 3, 0.5, 0.25, -1})}}));
  std::string output;
  auto result = QuantizeAt(model, options, &output);
  ASSERT_TRUE(result.ok()) << result.status();
  ImportOptions import;
  import.dims["N"] = 5;
  auto at_five = ImportOnnx(output, import);
  ASSERT_TRUE(at_five.ok()) << at_five.status();
  EXPECT_EQ(at_five->graph.outputs()[0].type().ToString(), "f32[5,2]");
}

TEST(QuantizeTest, SubgraphsReadWhatTheyRead) {
  // The branches read a value that becomes integers: they read the floats that these stand for.
  const std::string model = Written(R"(
    g (float[1,2] x, bool c) => (float[1,2] y) {
      w = Constant <value = float[2,2] {0.5, 0.25, -0.5, 1.0}> ()
      h = MatMul (x, w)
      k = MatMul (h, w)
      y = If (c) <then_branch = t () => (float[1,2] a) { a = Add (h, k) },
                  else_branch = e () => (float[1,2] a) { a = MatMul (h, w) }>
    })");
  std::string output;
  auto result = QuantizeAt(model, Quick(), &output);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->operators.size(), 3u);
  EXPECT_EQ(result->operators[2].reason, "it has subgraphs, which stay as they are");
  for (const OutputError& error : result->errors) EXPECT_LT(error.relative, 0.05);
  EXPECT_TRUE(ImportOnnx(output).ok());
}

TEST(QuantizeTest, OldOperatorSets) {
  for (const int opset : {9, 10, 11, 12}) {
    auto result = QuantizeAt(Written(kNet, opset), Quick());
    ASSERT_TRUE(result.ok()) << opset << result.status();
    for (const OutputError& error : result->errors) EXPECT_LT(error.relative, 0.05);
    EXPECT_THAT(result->notes, ElementsAre(HasSubstr("the result is of operator set 13")));
  }
}

TEST(QuantizeTest, HalfFloatsStay) {
  EXPECT_THAT(ErrorOf(Written(R"(
    g (float16[1,2] x) => (float16[1,2] y) { y = MatMul (x, x) })"),
                      Quick()),
              HasSubstr("model.onnx"));
  auto result = QuantizeAt(Written(R"(
    g (float16[2,2] x, float[2,2] z) => (float16[2,2] y, float[2,2] u) {
      y = MatMul (x, x)
      u = MatMul (z, z)
    })"),
                           Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->operators[0].reason, "value 'x' is f16, not f32");
}

TEST(QuantizeTest, TensorsWithoutElements) {
  auto result = QuantizeAt(Written(R"(
    g (float[0,2] x, float[1,2] z) => (float[0,2] y, float[1,2] u) {
      w = Constant <value = float[2,2] {0.5, 0.25, -0.5, 1.0}> ()
      y = MatMul (x, w)
      u = MatMul (z, w)
    })"),
                           Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  for (const OutputError& error : result->errors) EXPECT_LT(error.relative, 0.05);
}

TEST(QuantizeTest, WeightsThatAreNotFiniteAreAnError) {
  onnx::ModelProto model = OnnxModel(kNet);
  auto* weight = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  weight->set_float_data(0, INFINITY);
  const std::string path = WriteTemp("model.onnx", model.SerializeAsString());
  EXPECT_THAT(ErrorOf(path, Quick()), HasSubstr("model.onnx"));
}

TEST(QuantizeTest, ConstantsInFilesAreReadAndWritten) {
  onnx::ModelProto model =
      OnnxModel("g (float[1,2] x) => (float[1,2] y) { h = MatMul (x, w) y = Add (h, b) }");
  const std::string folder = NewFolder();
  FILE* file = std::fopen((folder + "/weights").c_str(), "wb");
  const float numbers[6] = {0.5F, -1, 2, 0.25F, 3, -4};
  ASSERT_EQ(std::fwrite(numbers, sizeof(float), 6, file), 6u);
  std::fclose(file);
  for (const bool bias : {false, true}) {
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(bias ? "b" : "w");
    tensor->set_data_type(1);
    if (!bias) tensor->add_dims(2);
    tensor->add_dims(2);
    tensor->set_data_location(std::decay_t<decltype(*tensor)>::EXTERNAL);
    for (const auto& [key, value] : {std::pair<const char*, const char*>("location", "weights"),
                                     {"offset", bias ? "16" : "0"},
                                     {"length", bias ? "8" : "16"}}) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }
  const std::string path = folder + "/model.onnx", bytes = model.SerializeAsString();
  file = std::fopen(path.c_str(), "wb");
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fclose(file);
  std::string output;
  auto result = QuantizeAt(path, Quick(), &output);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const OutputError& error : result->errors) EXPECT_LT(error.relative, 0.05);
  // Another folder: the constants have come along.
  auto after = ImportOnnx(output);
  ASSERT_TRUE(after.ok()) << after.status();
  auto executable = MakeReferenceBackend()->Compile(after->graph, {});
  ASSERT_TRUE(executable.ok());
  auto outputs = (*executable)->Run({Floats({1, 2}, {0, 0})});
  ASSERT_TRUE(outputs.ok());
  // The bias is rounded to steps of the sums of products.
  EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(DoubleNear(3, 1e-4), DoubleNear(-4, 1e-4)));
}

TEST(QuantizeTest, ChecksOptions) {
  const std::string model = Written(kNet);
  QuantizeOptions options = Quick();
  options.ranges = "widest";
  EXPECT_THAT(ErrorOf(model, options), HasSubstr("option ranges: 'widest' is none of: minmax"));
  options = Quick();
  options.bits = 5;
  EXPECT_THAT(ErrorOf(model, options), HasSubstr("option bits"));
  options = Quick();
  options.symmetric_weights = false;
  EXPECT_THAT(ErrorOf(model, options), HasSubstr("option symmetric_weights"));
  EXPECT_THAT(Quantize(model, NewFolder() + "/q.pb", Quick()).status().message(),
              HasSubstr("written as ONNX"));
  EXPECT_THAT(Quantize(model, model, Quick()).status().message(), HasSubstr("model.onnx"));
}

}  // namespace
}  // namespace lemma::api
