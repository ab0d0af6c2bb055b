// Products of integers in ONNX models run on the tensor cores of the CUDA back end: their kernels
// pass the check, and give the reference's bits on the emulator.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/verifier/kernels/checked_graph.h"

namespace lemma {
namespace {

struct Model {
  std::string text;  // of the graph
  int products;      // of bytes
};

std::mt19937_64& Random() {
  static auto* const random = new std::mt19937_64(3);
  return *random;
}

// "w = Constant<…>()" with random integers.
std::string Weight(const std::string& name, const std::vector<int64_t>& dims, bool is_signed) {
  int64_t size = 1;
  for (int64_t dim : dims) size *= dim;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < size; ++i) {
    values.push_back(static_cast<int64_t>(Random()() % 256) - (is_signed ? 128 : 0));
  }
  return absl::StrCat(name, " = Constant<value = ", is_signed ? "int8" : "uint8", "[",
                      absl::StrJoin(dims, ","), "] {", absl::StrJoin(values, ", "), "}>() ");
}
std::string Number(const std::string& name, const std::string& type, const std::string& value) {
  return absl::StrCat(name, " = Constant<value = ", type, " {", value, "}>() ");
}

std::vector<Model> Models() {
  const std::string z = Number("z", "uint8", "77"), o = Number("o", "int8", "0"),
                    s = Number("s", "float", "0.0123"), p = Number("p", "float", "0.0071"),
                    u = Number("u", "float", "3.7"), v = Number("v", "uint8", "120");
  const std::string convolution = "QLinearConv<pads = [1, 1, 1, 1]>(x, s, z, w, p, o, u, v";
  return {
      {absl::StrCat("g (uint8[20,70] x) => (int32[20,24] y) {", z, Weight("w", {70, 24}, true),
                    "y = MatMulInteger(x, w, z) }"),
       1},
      {absl::StrCat("g (uint8[20,700] x) => (int32[20,24] y) {", z, Weight("w", {700, 24}, false),
                    "y = MatMulInteger(x, w, z) }"),
       1},
      // The import subtracts the weight's zero point, and the difference has nine bits.
      {absl::StrCat("g (uint8[20,70] x) => (int32[20,24] y) {", z, Number("k", "uint8", "200"),
                    Weight("w", {70, 24}, false), "y = MatMulInteger(x, w, z, k) }"),
       0},
      // Two computed operands, with computed zero points.
      {"g (uint8[2,20,64] x, int8[2,64,24] w, uint8 z, int8 k) => (int32[2,20,24] y) {"
       "y = MatMulInteger(x, w, z, k) }",
       1},
      {absl::StrCat("g (uint8[1,9,11,10] x) => (int32[1,16,12,10] y) {", z,
                    Weight("w", {16, 9, 3, 3}, true),
                    "y = ConvInteger<pads = [1, 1, 2, 1]>(x, w, z) }"),
       1},
      {absl::StrCat("g (uint8[1,9,11,10] x) => (uint8[1,16,11,10] y) {", s, z, p, o, u, v,
                    Weight("w", {16, 9, 3, 3}, true), "y = ", convolution, ") }"),
       1},
      // Sums in i32; two products share an operand.
      {absl::StrCat("g (uint8[1,64,6,6] x) => (uint8[1,16,6,6] y, uint8[1,24,6,6] r) {", s, z, p, o,
                    u, v, Weight("w", {16, 64, 3, 3}, true), "y = ", convolution, ") ",
                    Weight("q", {24, 64, 1, 1}, true), "r = QLinearConv(x, s, z, q, p, o, u, v) }"),
       2},
      {absl::StrCat("g (uint8[20,70] x) => (uint8[20,24] y) {", s, z, p, o, u, v,
                    Weight("w", {70, 24}, true), "y = QLinearMatMul(x, s, z, w, p, o, u, v) }"),
       1},
      // Only the product reads what is quantized, with a zero point that is known, or not.
      {absl::StrCat("g (float[1,9,11,10] f) => (uint8[1,16,11,10] y) {", s, z, p, o, u, v,
                    Weight("w", {16, 9, 3, 3}, true),
                    "x = QuantizeLinear(f, s, z) y = ", convolution, ") }"),
       1},
      {absl::StrCat("g (float[1,9,11,10] f, uint8 z) => (uint8[1,16,11,10] y) {", s, p, o, u, v,
                    Weight("w", {16, 9, 3, 3}, true),
                    "x = QuantizeLinear(f, s, z) y = ", convolution, ") }"),
       1},
      {absl::StrCat("g (float[20,70] f) => (uint8[20,24] y) {", s, z, p, o, u, v,
                    Weight("w", {70, 24}, true),
                    "x = QuantizeLinear(f, s, z) "
                    "y = QLinearMatMul(x, s, z, w, p, o, u, v) }"),
       1},
      // As lemma quantize --form=dynamic writes it.
      {absl::StrCat("g (float[20,70] f) => (float[20,24] y) {", Weight("w", {70, 24}, true), p,
                    "x, s, z = DynamicQuantizeLinear(f) c = MatMulInteger(x, w, z) "
                    "d = Cast<to = 1>(c) e = Mul(s, p) y = Mul(d, e) }"),
       1},
      // Each column has a zero point of its own.
      {absl::StrCat("g (uint8[20,70] x, int8[70,24] w, int8[24] k) => (int32[20,24] y) {", z,
                    "y = MatMulInteger(x, w, z, k) }"),
       0},
  };
}

Tensor RandomInput(const TensorType& type) {
  std::vector<double> values;
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    const int64_t drawn = static_cast<int64_t>(Random()() % 256);
    values.push_back(type.dtype == DType::kU8   ? static_cast<double>(drawn)
                     : type.dtype == DType::kI8 ? static_cast<double>(drawn - 128)
                                                : static_cast<double>(drawn - 100) / 64);
  }
  return *Tensor::FromDoubles(type, values);
}

TEST(ByteProductsOfModels, GiveTheReferencesBits) {
  EmulatedPlans plans;
  std::vector<Model> models = Models();
  for (const Model& m : models) {
    SCOPED_TRACE(m.text);
    auto model = ImportOnnxBytes(OnnxModel(m.text).SerializeAsString());
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::Status added = plans.Add(model->graph);
    ASSERT_TRUE(added.ok()) << added;
    EXPECT_EQ(plans.ByteProductsOf(plans.size() - 1), m.products);
    for (const auto& [operators, verdict] : CheckSteps(model->graph)) {
      EXPECT_EQ(verdict.kind, kernels::ProgramVerdict::Kind::kAgrees)
          << operators << ": " << verdict.reason;
    }
  }
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (size_t i = 0; i < plans.size(); ++i) {
    SCOPED_TRACE(models[i].text);
    std::vector<Tensor> inputs;
    for (const Value& input : plans.graph(i).inputs()) inputs.push_back(RandomInput(input.type()));
    auto reference = MakeReferenceBackend()->Compile(plans.graph(i), {});
    ASSERT_TRUE(reference.ok()) << reference.status();
    auto expected = (*reference)->Run(inputs);
    auto actual = plans.Run(i, inputs, i);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    for (size_t k = 0; k < expected->size(); ++k) {
      for (int64_t e = 0; e < (*expected)[k].size(); ++e) {
        ASSERT_EQ((*expected)[k].AtDouble(e), (*actual)[k].AtDouble(e)) << "element " << e;
      }
    }
  }
}

}  // namespace
}  // namespace lemma
