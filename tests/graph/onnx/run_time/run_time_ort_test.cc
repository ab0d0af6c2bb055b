// What is known only when a model runs, against ONNX Runtime: sizes of results, iterations, and
// branches. Both of Lemma's back ends import these operators in the same way, so neither can judge
// the other.
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/compare.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/runtime/ort/engine.h"

namespace lemma {
namespace {

// Inputs: x are floats of which some are 0 and some are equal; m and c are truth values, n a count.
constexpr const char* kModels[] = {
    "g (float[5,7] x) => (int64[2,k] y) { y = NonZero(x) }",
    "g (float[5,7] x) => (float y) { i = NonZero(x) t = Transpose<perm = [1, 0]>(i)"
    " v = GatherND(x, t) y = ReduceSum<keepdims = 0>(v) }",
    "g (float[5,7] x) => (float[k] y, int64[k] i, int64[35] j, int64[k] n) {"
    " y, i, j, n = Unique<sorted = 1>(x) }",
    "g (float[5,7] x) => (float[k] y, int64[k] i, int64[35] j, int64[k] n) {"
    " y, i, j, n = Unique<sorted = 0>(x) }",
    "g (float[5,7] x) => (float[5,k] y) { y = Unique<axis = 1>(x) }",
    "g (float[5,7] x, bool[7] m) => (float[5,k] y) { y = Compress<axis = 1>(x, m) }",
    "g (float[5,7] x, bool[5] m) => (float[k,3] y) { a = Compress<axis = 0>(x, m)"
    " w = Constant<value = float[7,3] {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3}>()"
    " b = MatMul(a, w) y = Relu(b) }",
    "g (float[5,7] x, bool[5] m) => (float[7] y) { a = Compress<axis = 0>(x, m)"
    " d = Constant<value = int64[1] {0}>() y = ReduceSum<keepdims = 0>(a, d) }",
    "g (float[5,7] x, int64[1] n) => (float[5,k] y, int64[5,k] i) {"
    " y, i = TopK<axis = 1>(x, n) }",
    "g (float[1,9,4] x, float[1,2,9] s) => (int64[k,3] y) {"
    " o = Constant<value = int64 {3}>() u = Constant<value = float {0.4}>()"
    " t = Constant<value = float {0.1}>() b = Abs(x) y = NonMaxSuppression(b, s, o, u, t) }",
    "g (float[5,7] x, int64 n) => (float[5,7] y, float[k,5,7] all) {"
    " c = Constant<value = bool {1}>() y, all = Loop(n, c, x) <body = b (int64 i, bool c,"
    " float[5,7] s) => (bool d, float[5,7] t, float[5,7] e) { d = Identity(c) f = Cast<to = 1>(i)"
    " e = Add(s, f) h = Constant<value = float {0.5}>() t = Mul(e, h) }> }",
    "g (float[5,7] x, int64 n) => (float[5,7] y) { c = Constant<value = bool {1}>()"
    " y = Loop(n, c, x) <body = b (int64 i, bool c, float[5,7] s) => (bool d, float[5,7] t) {"
    " t = Add(s, s) m = ReduceMax<keepdims = 0>(t) l = Constant<value = float {6}>()"
    " d = Less(m, l) }> }",
    "g (float[5,7] x) => (float[7] y, float[5,7] all) { z = Constant<value = float[7]"
    " {0,0,0,0,0,0,0}>() y, all = Scan<num_scan_inputs = 1, body = b (float[7] s, float[7] e) =>"
    " (float[7] t, float[7] u) { t = Add(s, e) u = Tanh(t) }>(z, x) }",
    "g (float[5,7] x, bool c) => (float[a,b] y) { y = If (c) <then_branch = p () => (float[5,7] q) "
    "{"
    " q = Relu(x) }, else_branch = r () => (float[7,5] s) { s = Transpose<perm = [1, 0]>(x) }> }",
};

// Random values of a type: truth values, counts from 0 to 6, or quarters of which many are 0.
Tensor RandomOf(const TensorType& type, std::mt19937* random) {
  std::vector<double> values(static_cast<size_t>(type.num_elements()));
  for (double& value : values) {
    value = type.dtype == DType::kBool ? static_cast<double>((*random)() % 2)
            : IsFloat(type.dtype)      ? static_cast<double>((*random)() % 9) / 4 - 1
                                       : static_cast<double>((*random)() % 7);
  }
  return *Tensor::FromDoubles(type, values);
}

TEST(RunTimeOrtTest, AgreesWithOnnxRuntime) {
  auto ort = OrtEngine::Start({"--optimize", "disabled"});
  if (absl::IsFailedPrecondition(ort.status())) GTEST_SKIP() << ort.status().message();
  ASSERT_TRUE(ort.ok()) << ort.status();
  const std::unique_ptr<Backend> backends[] = {MakeReferenceBackend(), MakeCpuBackend()};
  std::mt19937 random(26);
  int compared = 0;
  for (const char* text : kModels) {
    SCOPED_TRACE(text);
    onnx::ModelProto model = OnnxModel(text);
    const std::string bytes = model.SerializeAsString();
    auto imported = ImportOnnxBytes(bytes);
    ASSERT_TRUE(imported.ok()) << imported.status();
    for (int round = 0; round < 6; ++round) {
      std::vector<Tensor> inputs;
      for (const Value& input : imported->graph.inputs()) {
        inputs.push_back(RandomOf(input.type(), &random));
      }
      auto expected = (*ort)->Run(bytes, inputs);
      for (const std::unique_ptr<Backend>& backend : backends) {
        auto executable = backend->Compile(imported->graph, {});
        ASSERT_TRUE(executable.ok()) << executable.status();
        auto actual = (*executable)->Run(inputs);
        ASSERT_EQ(actual.ok(), expected.ok()) << actual.status() << expected.status();
        if (!actual.ok()) continue;
        EXPECT_EQ(Mismatch(imported->graph, *actual, *expected, 0, (*executable)->findings()), "")
            << backend->name();
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace lemma
