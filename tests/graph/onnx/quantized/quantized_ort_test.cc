// Quantized operators against ONNX Runtime, on random integers and on those that saturate: the
// reference, the CPU back end and ONNX Runtime agree bit by bit where docs/quantization.md does not
// say otherwise.
#include <cmath>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/ort/engine.h"

namespace lemma {
namespace {

struct QuantizedCase {
  const char* inputs;  // a float whose name begins with s is a scale
  const char* body;
  const char* outputs = "uint8 y";
  // ONNX Runtime computes differently: some elements may be one step, or a little, off.
  bool nearly = false;
  int opset = 21;
};

onnx::ModelProto ModelOf(const QuantizedCase& c) {
  onnx::ModelProto model =
      OnnxModel(absl::StrCat("g (", c.inputs, ") => (", c.outputs, ") { ", c.body, " }"), c.opset);
  for (auto& output : *model.mutable_graph()->mutable_output()) {
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  auto* entry = model.add_opset_import();
  entry->set_domain("com.microsoft");
  entry->set_version(1);
  static const auto* const of_onnx = new std::set<std::string>{"Constant",
                                                               "QuantizeLinear",
                                                               "DequantizeLinear",
                                                               "DynamicQuantizeLinear",
                                                               "QLinearConv",
                                                               "QLinearMatMul",
                                                               "MatMulInteger",
                                                               "ConvInteger",
                                                               "Add",
                                                               "Conv",
                                                               "Identity",
                                                               "MatMul",
                                                               "MaxPool",
                                                               "Mul",
                                                               "Relu",
                                                               "Transpose"};
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (of_onnx->count(node.op_type()) == 0) node.set_domain("com.microsoft");
  }
  return model;
}

// Numbers of a type, with many at its ends; a third of the floats lie half way between integers.
// `narrow`: integers of 7 bits, since without VNNI ONNX Runtime saturates sums of two products.
Tensor RandomTensor(const TensorType& type, bool scale, bool narrow, std::mt19937_64* random) {
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(*random);
  };
  std::vector<double> values(static_cast<size_t>(type.num_elements()));
  for (double& value : values) {
    if (scale) {
      value = std::ldexp(static_cast<double>(draw(64, 127)), static_cast<int>(draw(-14, -7)));
    } else if (IsFloat(type.dtype)) {
      value = static_cast<double>(draw(-1200, 1200)) / (draw(0, 2) == 0 ? 2 : 7);
    } else if (type.dtype == DType::kI32) {
      value = static_cast<double>(draw(-3000, 3000));
    } else {
      const int64_t low = IsUnsigned(type.dtype) ? 0 : narrow ? -64 : -128;
      const int64_t high = narrow ? low + 127 : low + 255, end = draw(0, 5);
      value = static_cast<double>(end == 0 ? low : end == 1 ? high : draw(low, high));
    }
  }
  return *Tensor::FromDoubles(type, values);
}

// Elements that differ, and the largest difference, relative to the largest element of floats.
struct Difference {
  int64_t elements = 0;
  double largest = 0;
};

Difference Compare(const Tensor& a, const Tensor& b) {
  Difference difference;
  if (a.type() != b.type()) return {a.size() + 1, INFINITY};
  double most = 1;
  for (int64_t i = 0; IsFloat(a.dtype()) && i < a.size(); ++i) {
    most = std::max(most, std::abs(a.AtDouble(i)));
  }
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a.AtDouble(i) == b.AtDouble(i)) continue;
    ++difference.elements;
    difference.largest =
        std::max(difference.largest, std::abs(a.AtDouble(i) - b.AtDouble(i)) / most);
  }
  return difference;
}

void ExpectOrtsOutputs(const std::vector<QuantizedCase>& cases, int draws = 12) {
  auto ort = OrtEngine::Start({"--optimize", "disabled"});
  if (absl::IsFailedPrecondition(ort.status())) GTEST_SKIP() << ort.status().message();
  ASSERT_TRUE(ort.ok()) << ort.status();
  for (const QuantizedCase& c : cases) {
    SCOPED_TRACE(absl::StrCat("(", c.inputs, ") ", c.body));
    const onnx::ModelProto proto = ModelOf(c);
    const std::string bytes = proto.SerializeAsString();
    auto model = ImportOnnxBytes(bytes);
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(model->opaque.empty()) << model->opaque[0];
    auto reference = MakeReferenceBackend()->Compile(model->graph, {});
    ASSERT_TRUE(reference.ok()) << reference.status();
    auto cpu = MakeCpuBackend()->Compile(model->graph, {});
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    Difference all;
    int64_t compared = 0;
    for (int seed = 1; seed <= draws; ++seed) {
      std::mt19937_64 random(seed);
      std::vector<Tensor> inputs;
      for (const Value& input : model->graph.inputs()) {
        const std::string& name = proto.graph().input(static_cast<int>(inputs.size())).name();
        const bool scale = IsFloat(input.dtype()) && name[0] == 's';
        const bool narrow = name == "b" || name == "w";
        inputs.push_back(RandomTensor(input.type(), scale, narrow, &random));
      }
      auto expected = (*ort)->Run(bytes, inputs);
      ASSERT_TRUE(expected.ok()) << expected.status();
      auto defined = (*reference)->Run(inputs);
      ASSERT_TRUE(defined.ok()) << defined.status();
      auto computed = (*cpu)->Run(inputs);
      ASSERT_TRUE(computed.ok()) << computed.status();
      for (size_t i = 0; i < expected->size(); ++i) {
        const Difference ours = Compare((*defined)[i], (*computed)[i]);
        if (!IsFloat((*defined)[i].dtype())) {
          EXPECT_EQ(ours.elements, 0) << "CPU, seed " << seed;
        }
        EXPECT_LE(ours.largest, 1e-5) << "CPU, seed " << seed;
        const Difference theirs = Compare((*defined)[i], (*expected)[i]);
        EXPECT_LE(theirs.largest, !c.nearly                        ? 0
                                  : IsFloat((*defined)[i].dtype()) ? 1e-5
                                                                   : 1)
            << "seed " << seed << ", " << theirs.elements << " of " << (*defined)[i].size();
        if (!IsFloat((*defined)[i].dtype())) all.elements += theirs.elements;
        compared += (*defined)[i].size();
      }
    }
    EXPECT_LE(all.elements * 50, compared) << "more than 2 % of the elements differ";
  }
}

TEST(QuantizedOrtTest, Quantization) {
  ExpectOrtsOutputs({
      {"float[3,40] x, float s, uint8 z", "y = QuantizeLinear(x, s, z)"},
      {"float[3,40] x, float s, int8 z", "y = QuantizeLinear(x, s, z)", "int8 y"},
      {"float[3,40] x, float s", "y = QuantizeLinear(x, s)"},
      {"float[5,3,20] x, float[3] s, int8[3] z", "y = QuantizeLinear<axis = 1>(x, s, z)", "int8 y"},
      {"float[2,12,4] x, float[2,3,4] s, uint8[2,3,4] z",
       "y = QuantizeLinear<axis = 1, block_size = 4>(x, s, z)"},
      {"uint8[3,40] x, float s, uint8 z", "y = DequantizeLinear(x, s, z)", "float y"},
      {"int8[3,40] x, float[3] s, int8[3] z", "y = DequantizeLinear<axis = 0>(x, s, z)", "float y"},
      {"int8[2,12,4] x, float[2,3,4] s", "y = DequantizeLinear<axis = 1, block_size = 4>(x, s)",
       "float y"},
      {"int32[3,40] x, float s", "y = DequantizeLinear(x, s)", "float y"},
      {"float[3,40] x", "y, s, z = DynamicQuantizeLinear(x)", "uint8 y, float s, uint8 z"},
  });
}

TEST(QuantizedOrtTest, ProductsOfMatrices) {
  constexpr char kMatMul[] =
      "uint8[5,70] a, float sa, uint8 za, int8[70,6] b, float sb, int8 zb, float sy, uint8 zy";
  constexpr char kColumns[] =
      "uint8[5,300] a, float sa, uint8 za, int8[300,6] b, float[6] sb, int8[6] zb, float sy, "
      "uint8 zy";
  constexpr char kSigned[] =
      "int8[5,70] a, float sa, int8 za, int8[70,6] b, float sb, int8 zb, float sy, int8 zy";
  constexpr char kOp[] = "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy)";
  ExpectOrtsOutputs({
      {kMatMul, kOp},
      {kColumns, kOp},
      {kSigned, kOp, "int8 y"},
      {"uint8[2,5,30] a, uint8[2,30,6] b", "y = MatMulInteger(a, b)", "int32 y"},
      {"uint8[5,300] a, int8[300,6] b, uint8 za, int8[6] zb", "y = MatMulInteger(a, b, za, zb)",
       "int32 y"},
      {"uint8[5,40] a, float sa, uint8 za, uint8[40,6] b, float sb, uint8 zb, int32[6] c, "
       "float sy, uint8 zy",
       "y = QGemm<alpha = 0.5>(a, sa, za, b, sb, zb, c, sy, zy)"},
      {"uint8[40,5] a, float sa, uint8 za, int8[6,40] b, float[6] sb, int8[6] zb",
       "y = QGemm<transA = 1, transB = 1>(a, sa, za, b, sb, zb)", "float y", true},
      {"uint8[5,40] a, int8[40,6] b, float sa, float[6] sb, uint8 za, int8[6] zb, float[6] c",
       "y = MatMulIntegerToFloat(a, b, sa, sb, za, zb, c)", "float y", true},
      {"float[5,40] a, int8[40,6] b, float[6] sb, int8[6] zb, float[6] c",
       "y = DynamicQuantizeMatMul(a, b, sb, zb, c)", "float y", true},
  });
}

// Each step quantizes the state, so a difference of one rounding in f32 may grow to one step.
TEST(QuantizedOrtTest, Recurrent) {
  constexpr char kOne[] =
      "float[6,3,10] a, uint8[1,10,28] w, uint8[1,7,28] b, float[1] sw, uint8[1] zw, float[1] sr, "
      "uint8[1] zr";
  constexpr char kBoth[] =
      "float[4,2,9] a, int8[2,9,20] w, int8[2,5,20] b, float[2,20] sw, float[2,20] sr, "
      "float[2,40] c, float[2,2,5] h, float[2,2,5] i";
  const std::string scaled =
      "k = Constant<value_float = 0.001>() x = Mul(a, k) m = Constant<value_float = 0.02>() "
      "u = Mul(sw, m) v = Mul(sr, m) ";
  const std::string one =
      scaled +
      "y, l, e = DynamicQuantizeLSTM<hidden_size = 7>(x, w, b, , , , , , u, zw, "
      "v, zr)";
  const std::string both =
      scaled +
      "g = Mul(c, k) n = Mul(h, k) o = Mul(i, k) z = Constant<value = int8[2,20] {0,0,0,0,0,0,0,0,"
      "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}>() "
      "y, l, e = DynamicQuantizeLSTM<hidden_size = 5, direction = \"bidirectional\">(x, w, b, g, , "
      "n, o, , u, z, v, z)";
  ExpectOrtsOutputs({
      {kOne, one.c_str(), "float y, float l, float e", true},
      {kBoth, both.c_str(), "float y, float l, float e", true},
  });
}

// 65,793 products of 255 and -128, and 33,025 of 255 and 255, are the most that 32 bits hold; one
// more wraps. ONNX Runtime saturates pairs of the former without VNNI, so it is asked for the
// latter.
TEST(QuantizedOrtTest, AsManyProductsAs32BitsHold) {
  auto ort = OrtEngine::Start({"--optimize", "disabled"});
  if (absl::IsFailedPrecondition(ort.status())) GTEST_SKIP() << ort.status().message();
  for (const int64_t terms : {65793, 65794, 33025, 33026}) {
    const bool is_signed = terms > 60000;
    const std::string inputs =
        absl::StrCat("uint8[1,", terms, "] a, ", is_signed ? "int8[" : "uint8[", terms, ",2] b");
    const std::string bytes =
        ModelOf({inputs.c_str(), "y = MatMulInteger(a, b)", "int32 y"}).SerializeAsString();
    auto model = ImportOnnxBytes(bytes);
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<Tensor> in = {
        *Tensor::Filled(model->graph.inputs()[0].type(), 255),
        *Tensor::Filled(model->graph.inputs()[1].type(), is_signed ? -128 : 255)};
    const int64_t sum = terms * 255 * (is_signed ? -128 : 255);
    const int64_t wrapped = static_cast<int32_t>(static_cast<uint32_t>(sum));
    EXPECT_EQ(wrapped == sum, terms == 65793 || terms == 33025);
    for (const auto& backend : {MakeReferenceBackend(), MakeCpuBackend()}) {
      auto computed = (*backend->Compile(model->graph, {}))->Run(in);
      ASSERT_TRUE(computed.ok()) << computed.status();
      EXPECT_EQ((*computed)[0].ToInts(), std::vector<int64_t>({wrapped, wrapped}));
    }
    if (is_signed) continue;
    auto expected = (*ort)->Run(bytes, in);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ((*expected)[0].AtInt(0), wrapped);
  }
}

TEST(QuantizedOrtTest, Convolutions) {
  constexpr char kConv[] =
      "uint8[1,3,9,9] x, float sx, uint8 zx, int8[4,3,3,3] w, float sw, int8 zw, float sy, uint8 "
      "zy, int32[4] b";
  constexpr char kChannels[] =
      "uint8[1,40,7,7] x, float sx, uint8 zx, int8[4,40,3,3] w, float[4] sw, int8 zw, float sy, "
      "uint8 zy, int32[4] b";
  constexpr char kGroups[] =
      "uint8[2,6,9,9] x, float sx, uint8 zx, int8[6,1,3,3] w, float[6] sw, int8 zw, float sy, "
      "uint8 zy";
  ExpectOrtsOutputs({
      {kConv, "y = QLinearConv(x, sx, zx, w, sw, zw, sy, zy, b)"},
      {kConv,
       "y = QLinearConv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, sx, zx, w, sw, zw, sy, zy)"},
      {kChannels, "y = QLinearConv<pads = [1, 1, 1, 1]>(x, sx, zx, w, sw, zw, sy, zy, b)"},
      {kGroups, "y = QLinearConv<group = 6, dilations = [2, 2]>(x, sx, zx, w, sw, zw, sy, zy)"},
      {"uint8[1,3,9,9] x, uint8[4,3,3,3] w, uint8 zx", "y = ConvInteger(x, w, zx)", "int32 y"},
      {"uint8[1,60,9,9] x, uint8[4,60,3,3] w, uint8 zx, uint8 zw",
       "y = ConvInteger<pads = [1, 0, 1, 2]>(x, w, zx, zw)", "int32 y"},
      {"uint8[1,300,9] x, uint8[4,300,2] w, uint8 zx", "y = ConvInteger(x, w, zx)", "int32 y"},
  });
}

TEST(QuantizedOrtTest, OperatorsOfMicrosoft) {
  constexpr char kPair[] =
      "uint8[3,40] a, float sa, uint8 za, uint8[3,40] b, float sb, uint8 zb, float sy, uint8 zy";
  constexpr char kRow[] =
      "int8[3,40] a, float sa, int8 za, int8[40] b, float sb, int8 zb, float sy, int8 zy";
  constexpr char kOne[] = "uint8[3,40] a, float sa, uint8 za, float sy, uint8 zy";
  constexpr char kImage[] = "uint8[2,3,5,7] a, float sa, uint8 za, float sy, uint8 zy";
  // Its result's scale is 1/256: ONNX Runtime rounds the inverse down to an integer.
  constexpr char kSoftmax[] = "uint8[2,3,5,7] a, float sa, uint8 za, uint8 zy";
  ExpectOrtsOutputs({
      {kPair, "y = QLinearAdd(a, sa, za, b, sb, zb, sy, zy)", "uint8 y", true},
      {kRow, "y = QLinearAdd(a, sa, za, b, sb, zb, sy, zy)", "int8 y", true},
      {kPair, "y = QLinearMul(a, sa, za, b, sb, zb, sy, zy)", "uint8 y", true},
      {kRow, "y = QLinearMul(a, sa, za, b, sb, zb, sy, zy)", "int8 y", true},
      {kOne, "y = QLinearLeakyRelu<alpha = 0.3>(a, sa, za, sy, zy)"},
      {kOne, "y = QLinearSigmoid(a, sa, za, sy, zy)", "uint8 y", true},
      {kImage, "y = QLinearGlobalAveragePool(a, sa, za, sy, zy)", "uint8 y", true},
      {kImage, "y = QLinearGlobalAveragePool<channels_last = 1>(a, sa, za, sy, zy)", "uint8 y",
       true},
      {kImage, "y = QLinearAveragePool<kernel_shape = [2, 3]>(a, sa, za, sy, zy)", "uint8 y", true},
      {kImage,
       "y = QLinearAveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2], "
       "count_include_pad = 1>(a, sa, za, sy, zy)",
       "uint8 y", true},
      {kImage,
       "y = QLinearAveragePool<kernel_shape = [2, 2], pads = [1, 0, 0, 1], channels_last = 1>"
       "(a, sa, za, sy, zy)",
       "uint8 y", true},
      {kSoftmax,
       "t = Constant<value = float {0.00390625}>() y = QLinearSoftmax<axis = -1, opset = 13>(a, "
       "sa, za, t, zy)",
       "uint8 y", true},
      {kSoftmax,
       "t = Constant<value = float {0.00390625}>() y = QLinearSoftmax<axis = 1, opset = 13>(a, sa, "
       "za, t, zy)",
       "uint8 y", true},
      {kSoftmax,
       "t = Constant<value = float {0.00390625}>() y = QLinearSoftmax<axis = 2, opset = 12>(a, sa, "
       "za, t, zy)",
       "uint8 y", true},
      {kPair, "y = QLinearConcat<axis = -1>(sy, zy, a, sa, za, b, sb, zb)"},
      {kPair, "y = QLinearConcat<axis = 0>(sa, za, a, sa, za, b, sb, zb)"},
      {"bool[3,1] c, uint8[3,40] a, float sa, uint8 za, uint8[40] b, float sb, uint8 zb, float sy, "
       "uint8 zy",
       "y = QLinearWhere(c, a, sa, za, b, sb, zb, sy, zy)"},
      {kOne, "y = DequantizeLinear(a, sa, za) ", "float y"},
  });
}

TEST(QuantizedOrtTest, Attention) {
  constexpr char kPlain[] =
      "uint8[2,5,12] a, int8[12,24] w, float[24] c, float sa, float sw, uint8 za, int8 zw";
  ExpectOrtsOutputs({
      {kPlain, "y = QAttention<num_heads = 2>(a, w, c, sa, sw, , za, zw)", "float y", true},
      {kPlain, "y = QAttention<num_heads = 4, unidirectional = 1>(a, w, c, sa, sw, , za, zw)",
       "float y", true},
      {"uint8[2,5,12] a, uint8[12,24] w, float[24] c, float sa, float[24] sw, uint8 za, "
       "uint8[24] zw",
       "y = QAttention<num_heads = 2>(a, w, c, sa, sw, , za, zw)", "float y", true},
      {"uint8[2,3,12] a, int8[12,24] w, float[24] c, float sa, float sw, int32[2,3] m",
       "y = QAttention<num_heads = 2>(a, w, c, sa, sw, m)", "float y", true},
      {"uint8[2,3,12] a, int8[12,24] w, float[24] c, float sa, float sw, uint8 za, int8 zw, "
       "float[2,2,2,4,4] p",
       "y, n = QAttention<num_heads = 2, unidirectional = 1>(a, w, c, sa, sw, , za, zw, p)",
       "float y, float n", true},
  });
}

TEST(QuantizedOrtTest, WeightsOfFewBits) {
  ExpectOrtsOutputs({
      {"float[3,48] a, uint8[5,2,16] b, float[10] s",
       "y = MatMulNBits<K = 48, N = 5, bits = 4, block_size = 32>(a, b, s)", "float y", true},
      {"float[3,64] a, uint8[5,2,16] b, float[10] s, uint8[5] z",
       "y = MatMulNBits<K = 64, N = 5, bits = 4, block_size = 32>(a, b, s, z)", "float y", true},
      {"float[3,96] a, uint8[5,3,16] b, float[15] s, uint8[10] z",
       "y = MatMulNBits<K = 96, N = 5, bits = 4, block_size = 32>(a, b, s, z)", "float y", true},
      {"float[3,96] a, uint8[5,3,16] b, float[15] s, uint8[10] z, float[5] c",
       "y = MatMulNBits<K = 96, N = 5, bits = 4, block_size = 32>(a, b, s, z, , c)", "float y",
       true},
  });
}

// A chain of a few operators on u8[1,8,6,6], as text. With eight channels, convolutions of 3 x 3
// are large enough for tensor cores.
class RandomChain {
 public:
  explicit RandomChain(uint64_t seed) : random_(seed) {}

  // Between DequantizeLinear and QuantizeLinear, with scales that are powers of two: no sum of
  // floats is rounded, so every engine has to give the same steps.
  std::string Floats() {
    std::string before = "x";
    for (int i = 0; i < 3; ++i) {
      const std::string in = absl::StrCat("f", i), out = absl::StrCat("g", i);
      absl::StrAppend(&body_, in, " = DequantizeLinear(", before, ", s", i, ", z", i, ") ");
      Constants(i, "float", true);
      switch (Draw(0, 5)) {
        case 0:
          absl::StrAppend(&body_, Weight(i, 3), "d", i, " = DequantizeLinear(w", i, ", p", i, ") ",
                          out, " = Conv<pads = [1, 1, 1, 1]>(", in, ", d", i, ") ");
          break;
        case 1:
          absl::StrAppend(&body_, Weight(i, 1), "d", i, " = DequantizeLinear(w", i, ", p", i, ") c",
                          i, " = Conv(", in, ", d", i, ") ", out, " = Relu(c", i, ") ");
          break;
        case 2:
          absl::StrAppend(&body_, out, " = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(",
                          in, ") ");
          break;
        case 3:
          absl::StrAppend(&body_, out, " = Add(", in, ", ", in, ") ");
          break;
        case 4:
          absl::StrAppend(&body_, "t", i, " = Transpose<perm = [0, 1, 3, 2]>(", in, ") ", out,
                          " = Mul(t", i, ", ", in, ") ");
          break;
        default:
          absl::StrAppend(&body_, out, " = MatMul(", in, ", ", in, ") ");
      }
      before = absl::StrCat("q", i);
      absl::StrAppend(&body_, before, " = QuantizeLinear(", out, ", u", i, ", v", i, ") ");
    }
    return absl::StrCat(body_, "y = Identity(", before, ")");
  }

  // QLinear operators with any scales.
  std::string Integers() {
    std::string before = "x";
    for (int i = 0; i < 3; ++i) {
      const std::string out = absl::StrCat("q", i);
      Constants(i, "float", false);
      const std::string from = absl::StrCat(before, ", s", i, ", z", i),
                        to = absl::StrCat("u", i, ", v", i);
      switch (Draw(0, 4)) {
        case 0:
          absl::StrAppend(&body_, Weight(i, 3), out, " = QLinearConv<pads = [1, 1, 1, 1]>(", from,
                          ", w", i, ", p", i, ", o", i, ", ", to, ") ");
          break;
        case 1:
          absl::StrAppend(&body_, Weight(i, 1), out, " = QLinearConv(", from, ", w", i, ", p", i,
                          ", o", i, ", ", to, ") ");
          break;
        case 2:
          absl::StrAppend(&body_, out, " = MaxPool<kernel_shape = [2, 2], pads = [0, 0, 1, 1]>(",
                          before, ") ");
          break;
        case 3:
          absl::StrAppend(&body_, out, " = QLinearLeakyRelu<alpha = 0.25>(", from, ", ", to, ") ");
          break;
        default:
          absl::StrAppend(&body_, out, " = QLinearMatMul(", from, ", ", from, ", ", to, ") ");
      }
      before = out;
    }
    return absl::StrCat(body_, "y = Identity(", before, ")");
  }

 private:
  int64_t Draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  std::string Scale(bool power) {
    const double step = power ? 1 : static_cast<double>(Draw(64, 127)) / 64;
    return absl::StrFormat("%.9g", std::ldexp(step, static_cast<int>(Draw(-6, -1))));
  }
  // Scales and zero points before and behind operator i.
  void Constants(int i, const std::string& type, bool powers) {
    std::string text;
    for (const char* name : {"s", "u"}) {
      absl::StrAppend(&text, name, i, " = Constant<value = ", type, " {", Scale(powers), "}>() ");
    }
    for (const char* name : {"z", "v"}) {
      absl::StrAppend(&text, name, i, " = Constant<value = uint8 {", Draw(0, 3) * 60, "}>() ");
    }
    // What a node reads has to stand before it.
    const size_t at = body_.rfind(absl::StrCat("f", i, " = "));
    body_.insert(at == std::string::npos ? body_.size() : at, text);
  }
  // The weight w of 8 to 8 channels with its scale p and zero point o.
  std::string Weight(int i, int64_t width) {
    std::string values;
    for (int64_t k = 0; k < 64 * width * width; ++k) {
      absl::StrAppend(&values, k == 0 ? "" : ", ", Draw(-64, 63));
    }
    return absl::StrCat("w", i, " = Constant<value = int8[8,8,", width, ",", width, "] {", values,
                        "}>() p", i, " = Constant<value = float {", Scale(true), "}>() o", i,
                        " = Constant<value = int8 {0}>() ");
  }

  std::mt19937_64 random_;
  std::string body_;
};

std::vector<std::string> RandomBodies() {
  std::vector<std::string> bodies;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    bodies.push_back(RandomChain(seed).Floats());
    bodies.push_back(RandomChain(seed).Integers());
  }
  return bodies;
}

std::vector<QuantizedCase> RandomCases(const std::vector<std::string>& bodies) {
  std::vector<QuantizedCase> cases;
  for (const std::string& body : bodies) {
    cases.push_back({"uint8[1,8,6,6] x", body.c_str(), "uint8 y"});
  }
  return cases;
}

TEST(QuantizedOrtTest, RandomGraphs) {
  const std::vector<std::string> bodies = RandomBodies();
  ExpectOrtsOutputs(RandomCases(bodies), 3);
}

// The kernels for CUDA, executed on the host, give the same bits, also where they multiply bytes.
TEST(QuantizedOnCudaTest, RandomGraphs) {
  const std::vector<std::string> bodies = RandomBodies();
  EmulatedPlans plans;
  for (const QuantizedCase& c : RandomCases(bodies)) {
    auto model = ImportOnnxBytes(ModelOf(c).SerializeAsString());
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::Status added = plans.Add(model->graph);
    ASSERT_TRUE(added.ok()) << added;
  }
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  std::mt19937_64 random(1);
  int byte_products = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    byte_products += plans.ByteProductsOf(i);
    const std::vector<Tensor> inputs = {
        RandomTensor(plans.graph(i).inputs()[0].type(), false, false, &random)};
    auto reference = MakeReferenceBackend()->Compile(plans.graph(i), {});
    ASSERT_TRUE(reference.ok()) << reference.status();
    auto expected = (*reference)->Run(inputs);
    auto actual = plans.Run(i, inputs, i);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    EXPECT_EQ(Compare((*expected)[0], (*actual)[0]).elements, 0) << bodies[i];
  }
  EXPECT_GT(byte_products, 20);
}

}  // namespace
}  // namespace lemma
