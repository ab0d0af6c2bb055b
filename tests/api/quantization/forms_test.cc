// The forms: what they compute, how far off they are, and the search within a budget.
#include <algorithm>
#include <cmath>
#include <random>

#include "api/quantize.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/api/quantization/random_net.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma::api {
namespace {

using ::testing::HasSubstr;

std::string Written(const std::string& graph, int opset = 17) {
  return WriteTemp("model.onnx", OnnxModel(graph, opset).SerializeAsString());
}

QuantizeOptions Quick(const std::string& form = "static") {
  QuantizeOptions options;
  options.form = form;
  options.runs = 0;
  options.calibration = "synthetic:4";
  return options;
}

// The outputs of a file on these inputs.
std::vector<Tensor> OutputsOf(const std::string& path, const std::vector<Tensor>& inputs,
                              bool cpu) {
  auto model = ImportOnnx(path);
  EXPECT_TRUE(model.ok()) << model.status();
  auto executable = (cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(model->graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *std::move(outputs);
}

Tensor Floats(Shape shape, const std::vector<double>& values) {
  return *Tensor::FromDoubles({DType::kF32, std::move(shape)}, values);
}

std::string MatMulOf(const std::string& constants, const std::string& body, int depth,
                     int columns) {
  return absl::StrCat("g (float[", depth, ",", depth, "] x) => (float[", depth, ",", columns,
                      "] y) {\n", constants, body, "}");
}

TEST(WeightFormTest, BlocksOfFourBitsRoundEachWeightToItsBlocksSteps) {
  // 40 weights a column are two blocks of 16 and one of 8; a unit matrix shows them.
  constexpr int kDepth = 40, kColumns = 3;
  std::mt19937_64 random(1);
  const std::string constant = RandomConstant("w", "40,3", kDepth * kColumns, &random);
  const std::string model = Written(MatMulOf(constant, "y = MatMul (x, w)", kDepth, kColumns));
  QuantizeOptions options = Quick("weights");
  options.bits = 4;
  options.block = 16;
  const std::string output = NewFolder() + "/q.onnx";
  auto result = Quantize(model, output, options);
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<double> unit(kDepth * kDepth);
  for (int i = 0; i < kDepth; ++i) unit[static_cast<size_t>(i * kDepth + i)] = 1;
  const Tensor x = Floats({kDepth, kDepth}, unit);
  const Tensor w = OutputsOf(model, {x}, false)[0], q = OutputsOf(output, {x}, false)[0];
  EXPECT_TRUE(q.SameBytes(OutputsOf(output, {x}, true)[0]));
  for (int n = 0; n < kColumns; ++n) {
    for (int from = 0; from < kDepth; from += 16) {
      const int to = std::min(from + 16, kDepth);
      double most = 0;
      for (int k = from; k < to; ++k) most = std::max(most, std::abs(w.AtDouble(k * kColumns + n)));
      for (int k = from; k < to; ++k) {
        const double step = most / 7, got = q.AtDouble(k * kColumns + n);
        EXPECT_LE(std::abs(got - w.AtDouble(k * kColumns + n)), step / 2 * 1.00001);
        EXPECT_NEAR(got / step, std::round(got / step), 1e-4) << "not a step";
      }
    }
  }
}

TEST(WeightFormTest, AGemmInBlocksKeepsItsBias) {
  std::mt19937_64 random(2);
  const std::string constants =
      RandomConstant("w", "3,32", 96, &random) + RandomConstant("b", "3", 3, &random);
  const std::string model = Written(MatMulOf(constants, "y = Gemm <transB = 1> (x, w, b)", 32, 3));
  for (const int64_t bits : {4, 8}) {
    QuantizeOptions options = Quick("weights");
    options.bits = bits;
    options.block = 32;
    const std::string output = NewFolder() + "/q.onnx";
    auto result = Quantize(model, output, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_LT(result->worst, bits == 4 ? 0.2 : 0.01);
    // On zeros only the bias is left.
    const Tensor zeros = Floats({32, 32}, std::vector<double>(32 * 32));
    EXPECT_TRUE(OutputsOf(output, {zeros}, true)[0].SameBytes(OutputsOf(model, {zeros}, true)[0]));
  }
}

TEST(DynamicFormTest, SumsAreExactAndEveryBackEndAgrees) {
  // x has a step of exactly 1 and the weights of exactly 1, so nothing is rounded.
  const std::string model = Written(R"(
    g (float[2,3] x) => (float[2,2] y) {
      w = Constant <value = float[3,2] {127.0, -127.0, 3.0, 5.0, -1.0, 2.0}> ()
      b = Constant <value = float[2] {0.5, -0.25}> ()
      y = Gemm (x, w, b)
    })");
  const std::string output = NewFolder() + "/q.onnx";
  auto result = Quantize(model, output, Quick("dynamic"));
  ASSERT_TRUE(result.ok()) << result.status();
  const Tensor x = Floats({2, 3}, {-55, 200, 7, 1, 0, -3});
  const Tensor expected = OutputsOf(model, {x}, false)[0];
  for (const bool cpu : {false, true}) {
    EXPECT_EQ(OutputsOf(output, {x}, cpu)[0].ToDoubles(), expected.ToDoubles()) << cpu;
  }
}

TEST(FormsTest, ConvolutionsWithNormalizationKeepToTheirBounds) {
  for (const char* form : {"static", "clipped", "dynamic", "weights", "bf16", "f16", "tf32"}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(absl::StrCat(form, ", seed ", seed));
      const bool clips = form == std::string("clipped");
      QuantizeOptions options = Quick(clips ? "static" : form);
      if (clips) {
        options.ranges = "percentile";
        options.percentile = 95;
      }
      auto result = Quantize(Written(RandomConvNet(seed)), NewFolder() + "/q.onnx", options);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_LT(result->worst, clips ? 0.8 : 0.1);
      int products = 0;
      for (const OperatorReport& op : result->operators) {
        if (!op.quantized || !op.errors.measured) continue;
        ++products;
        ASSERT_TRUE(op.errors.bound && op.errors.for_inputs) << op.name;
        EXPECT_LE(*op.errors.measured, *op.errors.for_inputs) << op.name;
        EXPECT_LE(*op.errors.for_inputs, *op.errors.bound * 1.0001) << op.name;
        // A bound that is a hundred times too large would be of no use.
        EXPECT_GE(*op.errors.measured * 100, *op.errors.for_inputs) << op.name;
      }
      EXPECT_EQ(products, 3);
    }
  }
}

TEST(FormsTest, EveryRangeAndSignWorks) {
  const std::string model = Written(RandomConvNet(9));
  for (const char* ranges : {"minmax", "percentile", "mse", "entropy"}) {
    for (const bool symmetric : {false, true}) {
      for (const bool per_channel : {false, true}) {
        QuantizeOptions options = Quick();
        options.ranges = ranges;
        options.symmetric = symmetric;
        options.per_channel = options.symmetric_weights = per_channel;
        auto result = Quantize(model, NewFolder() + "/q.onnx", options);
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_LT(result->worst, 0.5) << ranges << symmetric << per_channel;
        EXPECT_GT(result->worst, 0) << ranges << symmetric << per_channel;
        for (const ValueRange& range : result->ranges) {
          EXPECT_EQ(range.type, symmetric ? "i8" : "u8");
        }
      }
    }
  }
}

// x · w in f32, where both are rounded to the form's floats: products of such numbers are exact.
TEST(FloatFormTest, ProductsReadRoundedOperands) {
  std::mt19937_64 random(3);
  const std::string model =
      Written(MatMulOf(RandomConstant("w", "1,5", 5, &random), "y = MatMul (x, w)", 1, 5));
  const Tensor w = OutputsOf(model, {Floats({1, 1}, {1})}, false)[0];
  for (const std::string form : {"bf16", "f16", "tf32"}) {
    const std::string output = NewFolder() + "/q.onnx";
    auto result = Quantize(model, output, Quick(form));
    ASSERT_TRUE(result.ok()) << result.status();
    const double x = 1.2345678;
    const auto rounded = [&](double v) {
      const auto type = ParseDType(form);
      if (type) return Tensor::FromDoubles({*type, {}}, {v})->AtDouble(0);
      const double unit = std::ldexp(1.0, std::ilogb(v) - 10);  // 11 bits, none of them halfway
      return std::round(v / unit) * unit;
    };
    for (const bool cpu : {false, true}) {
      const Tensor y = OutputsOf(output, {Floats({1, 1}, {x})}, cpu)[0];
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(y.AtDouble(i), rounded(x) * rounded(w.AtDouble(i))) << form << cpu;
        EXPECT_NE(y.AtDouble(i), x * w.AtDouble(i)) << form;
      }
    }
    // With tf32, the model gets a function.
    EXPECT_LT(result->bytes_after, result->bytes_before + (form == "tf32" ? 1500 : 400));
  }
}

TEST(FloatFormTest, ProductsOfTwoActivationsAreRounded) {
  const std::string model = Written(R"(
    g (float[2,3] x) => (float[2,2] y) {
      t = Transpose (x)
      y = MatMul (x, t)
    })");
  auto result = Quantize(model, NewFolder() + "/q.onnx", Quick("bf16"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->worst, 0);
  EXPECT_LE(result->worst, 0x1p-6);
}

// 70,000 is infinite in f16, but not in bf16.
TEST(FloatFormTest, WhatF16CannotHoldStaysInF32) {
  const std::string model = Written(R"(
    g (float[2,2] x) => (float[2,2] y) {
      w = Constant <value = float[2,2] {70000.0, 1.0, 2.0, 3.0}> ()
      v = Constant <value = float[2,2] {1.0, -0.5, 0.25, 2.0}> ()
      s = Constant <value = float {100000.0}> ()
      a = MatMul (x, w)
      b = Relu (a)
      c = MatMul (b, v)
      d = Mul (c, s)
      y = MatMul (d, v)
    })");
  auto f16 = Quantize(model, NewFolder() + "/q.onnx", Quick("f16"));
  EXPECT_EQ(f16.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(f16.status().message()),
              HasSubstr("a weight is outside of the range of f16"));
  const std::string values = Written(R"(
    g (float[2,2] x) => (float[2,2] y) {
      v = Constant <value = float[2,2] {1.0, -0.5, 0.25, 2.0}> ()
      s = Constant <value = float {1000000.0}> ()
      b = MatMul (x, v)
      d = Mul (b, s)
      y = MatMul (d, v)
    })");
  f16 = Quantize(values, NewFolder() + "/q.onnx", Quick("f16"));
  ASSERT_TRUE(f16.ok()) << f16.status();
  ASSERT_EQ(f16->operators.size(), 2u);
  EXPECT_TRUE(f16->operators[0].quantized);
  EXPECT_THAT(f16->operators[1].reason, HasSubstr("beyond f16"));
  auto bf16 = Quantize(model, NewFolder() + "/q.onnx", Quick("bf16"));
  ASSERT_TRUE(bf16.ok()) << bf16.status();
  for (const OperatorReport& op : bf16->operators) EXPECT_TRUE(op.quantized) << op.name;
}

// Instructions for bf16 take subnormal numbers as 0.
TEST(FloatFormTest, BoundsHoldForTinyNumbers) {
  for (const char* form : {"bf16", "tf32"})
    for (const auto& [scale, weight] : {std::pair(1e-39F, 1e38F),
                                        {1e37F, 1e-39F},
                                        {1e-39F, 1e-39F},
                                        {1.0F, 1e-39F},
                                        {1e-20F, 1e-20F}}) {
      SCOPED_TRACE(absl::StrCat(scale, " ", weight));
      onnx::ModelProto model = OnnxModel(R"(
      g (float[2,2] x) => (float[2,2] y) {
        w = Constant <value = float[2,2] {1.0, 1.0, 2.0, 3.0}> ()
        s = Constant <value = float[1] {1.0}> ()
        d = Mul (x, s)
        y = MatMul (d, w)
      })");
      // The text form has no subnormal numbers.
      for (auto [node, value] : {std::pair(0, weight), {1, scale}}) {
        auto* tensor = model.mutable_graph()->mutable_node(node)->mutable_attribute(0)->mutable_t();
        ASSERT_GT(tensor->float_data_size(), 0);
        tensor->set_float_data(0, value);
      }
      auto result = Quantize(WriteTemp("model.onnx", model.SerializeAsString()),
                             NewFolder() + "/q.onnx", Quick(form));
      ASSERT_TRUE(result.ok()) << result.status();
      const OperatorErrors& errors = result->operators[0].errors;
      ASSERT_TRUE(errors.measured && errors.for_inputs && errors.bound);
      EXPECT_LE(*errors.measured, *errors.for_inputs);
      EXPECT_LE(*errors.for_inputs, *errors.bound * 1.0001);
    }
}

TEST(FloatFormTest, RaisesOperatorSetsWithoutTheseCasts) {
  const std::string model = Written(R"(
    g (float[2,2] x) => (float[2,2] y) {
      w = Constant <value = float[2,2] {1.0, 1.5, 2.0, 3.0}> ()
      y = MatMul (x, w)
    })",
                                    5);
  auto result = Quantize(model, NewFolder() + "/q.onnx", Quick("f16"));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->notes.size(), 1u);
  EXPECT_THAT(result->notes[0], HasSubstr("values of f16"));
  onnx::ModelProto old;
  old.ParseFromString(ReadAll(model));
  old.set_ir_version(4);
  result = Quantize(WriteTemp("old.onnx", old.SerializeAsString()), NewFolder() + "/q.onnx",
                    Quick("tf32"));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->notes.size(), 2u);
  EXPECT_THAT(result->notes[0], HasSubstr("is of operator set 13, the input of 5: values of tf32"));
  EXPECT_THAT(result->notes[1], HasSubstr("is of IR version 8"));
}

// A function of the model's own that happens to have the name.
TEST(FloatFormTest, LeavesOtherFunctionsAlone) {
  onnx::ModelProto model = OnnxModel(R"(
    g (float[2,2] x) => (float[2,2] y) {
      w = Constant <value = float[2,2] {1.0, 1.5, 2.0, 3.0}> ()
      y = MatMul (x, w)
    })");
  onnx::FunctionProto* function = model.add_functions();
  function->set_domain("lemma");
  function->set_name("RoundTf32");
  function->add_opset_import()->set_version(17);
  model.set_ir_version(8);
  auto result = Quantize(WriteTemp("model.onnx", model.SerializeAsString()),
                         NewFolder() + "/q.onnx", Quick("tf32"));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("the model has another function lemma.RoundTf32; rename it"));
}

TEST(FloatFormTest, RefusesOptionsOfIntegers) {
  const std::string model = Written(RandomConvNet(1));
  QuantizeOptions options = Quick("bf16");
  options.bits = 7;
  auto result = Quantize(model, NewFolder() + "/q.onnx", options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("option bits: form bf16 has no integers"));
}

TEST(SearchTest, KeepsEveryBudget) {
  const std::string model = Written(RandomConvNet(3));
  std::mt19937_64 random(7);
  int written = 0, less = 0;
  for (int i = 0; i < 200; ++i) {
    constexpr const char* kForms[] = {"static", "bf16", "static", "tf32"};
    QuantizeOptions options = Quick(kForms[i % 4]);
    options.calibration = "synthetic:8";
    const double least = i % 2 == 0   ? -3.5
                         : i % 4 == 1 ? -4.5
                                      : -5.5,
                 most = i % 2 == 0   ? 0
                        : i % 4 == 1 ? -1.5
                                     : -2.5;
    options.max_error = std::pow(10, std::uniform_real_distribution<double>(least, most)(random));
    const std::string output = NewFolder() + "/q.onnx";
    auto result = Quantize(model, output, options);
    ASSERT_TRUE(result.ok()) << result.status();
    written += result->written ? 1 : 0;
    if (!result->written) {
      EXPECT_TRUE(FilesIn(output.substr(0, output.rfind('/'))).empty());
      continue;
    }
    EXPECT_LE(result->worst, options.max_error) << i;
    for (const OperatorReport& op : result->operators) {
      if (op.quantized) continue;
      ++less;
      break;
    }
  }
  // Some budgets allow all operators, some a part, some none.
  EXPECT_GT(written, less);
  EXPECT_GT(less, 10);
  EXPECT_LT(written, 200);
}

TEST(SearchTest, ReportsWhatItTriedAndGaveUp) {
  QuantizeOptions options = Quick();
  auto all = Quantize(Written(RandomConvNet(3)), NewFolder() + "/q.onnx", options);
  ASSERT_TRUE(all.ok()) << all.status();
  options.max_error = all->worst * 0.7;
  auto result = Quantize(Written(RandomConvNet(3)), NewFolder() + "/q.onnx", options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_GE(result->tried.size(), 2u);
  EXPECT_EQ(result->tried[0].operators, 3);
  EXPECT_EQ(result->tried[0].error, all->worst);
  const auto given_up =
      std::find_if(result->operators.begin(), result->operators.end(),
                   [](const OperatorReport& op) { return !op.quantized && op.alone; });
  ASSERT_NE(given_up, result->operators.end());
  EXPECT_THAT(given_up->reason, HasSubstr("over the budget"));
}

}  // namespace
}  // namespace lemma::api
