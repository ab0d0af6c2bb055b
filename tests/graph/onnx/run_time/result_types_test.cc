// Types of results that neither the model nor ONNX's inference gives, and lists and optionals of
// values with result sizes.
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

// The first output for these elements of x, on both back ends.
std::vector<double> RunOn(const absl::StatusOr<ImportedModel>& model,
                          const std::vector<double>& x) {
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {-1};
  std::vector<std::vector<double>> found;
  for (const bool on_cpu : {false, true}) {
    auto executable =
        (on_cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(model->graph, {});
    EXPECT_TRUE(executable.ok()) << executable.status();
    if (!executable.ok()) return {-1};
    auto outputs = (*executable)->Run({*Tensor::FromDoubles(model->graph.inputs()[0].type(), x)});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok()) return {-1};
    found.push_back((*outputs)[0].ToDoubles());
  }
  EXPECT_EQ(found[0], found[1]);
  return found[0];
}

std::vector<double> RunOn(const std::string& text, const std::vector<double>& x, int opset = 17) {
  return RunOn(ImportOnnxBytes(OnnxModel(text, opset).SerializeAsString()), x);
}

TEST(ResultTypesTest, BranchesMayDifferInSizes) {
  for (const int opset : {9, 17}) {
    const std::string text = R"(g (float[2,2] x) => (float[a,b] y) {
      h = Constant <value = float {0}> ()
      s = ReduceMax <keepdims = 0> (x)
      c = Less(h, s)
      z = If (c) <then_branch = t () => (float[p,q] u) { u = Concat <axis = 0> (x, x) },
                  else_branch = e () => (float[p,q] v) { v = Neg(x) }>
      y = Abs(z) })";
    EXPECT_THAT(RunOn(text, {-1, 2, -3, 4}, opset), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
    EXPECT_THAT(RunOn(text, {-1, -2, -3, -4}, opset), ElementsAre(1, 2, 3, 4));
  }
}

// The types of the inner If, whose branches have the sizes of other inputs, were not looked for,
// and the outer If got the type of its first branch.
TEST(ResultTypesTest, BranchesMayDifferInSymbolicSizes) {
  ImportOptions options;
  options.symbolic = true;
  auto model = ImportOnnxBytes(OnnxModel(R"(g (bool c, bool d, float[n] x, float[m] a, float[1] b)
      => (float[k] y) {
    z = If (c) <then_branch = t () => (float[p] u) { u = Identity(x) },
                else_branch = e () => (float[q] v) {
      i = If (d) <then_branch = t2 () => (float[r] ua) { ua = Identity(a) },
                  else_branch = e2 () => (float[s] vb) { vb = Identity(b) }>
      v = Neg(i) }>
    y = Abs(z) })",
                                         17)
                                   .SerializeAsString(),
                               options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(PrintGraph(model->graph), HasSubstr("f32[z.0]"));
  auto sized = Specialize(model->graph, {{"n", 2}, {"m", 3}});
  ASSERT_TRUE(sized.ok()) << sized.status();
  const std::vector<double> values = {-1, 2, -3};
  for (int taken = 0; taken < 3; ++taken) {
    std::vector<Tensor> inputs;
    for (const Value& v : sized->inputs()) {
      const size_t i = inputs.size();
      const std::vector<double> given(values.begin(), values.begin() + v.type().num_elements());
      inputs.push_back(
          i < 2 ? *Tensor::FromDoubles(v.type(), {taken == static_cast<int>(i) ? 1.0 : 0.0})
                : *Tensor::FromDoubles(v.type(), given));
    }
    for (const bool on_cpu : {false, true}) {
      auto executable = (on_cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(*sized, {});
      ASSERT_TRUE(executable.ok()) << executable.status();
      auto outputs = (*executable)->Run(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ((*outputs)[0].size(), taken == 0 ? 2 : taken == 1 ? 3 : 1);
    }
  }
}

// A branch that cannot be imported for all sizes was given the sizes of the other branch, and a
// model that reads nothing but the shape of the result was computed, and proved, from them.
TEST(ResultTypesTest, ABranchThatNeedsNumbersHasItsOwnSizes) {
  ImportOptions options;
  options.symbolic = true;
  auto model = ImportOnnxBytes(OnnxModel(R"(g (bool c, float[n,3] x) => (int64[2] s) {
    begin = Constant <value = int64[1] {0}> ()
    end = Constant <value = int64[1] {1000}> ()
    step = Constant <value = int64[1] {2}> ()
    y = If (c) <then_branch = t () => (float[p,q] u) { u = Slice(x, begin, end, begin, step) },
                else_branch = e () => (float[v,w] z) { z = Neg(x) }>
    s = Shape(y) })",
                                         17)
                                   .SerializeAsString(),
                               options);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string graph = PrintGraph(model->graph);
  EXPECT_THAT(graph, HasSubstr("y.0"));
  auto sized = Specialize(model->graph, {{"n", 5}});
  ASSERT_TRUE(sized.ok()) << sized.status() << graph;
  for (const bool is_taken : {false, true}) {
    std::vector<Tensor> inputs;
    for (const Value& v : sized->inputs()) {
      inputs.push_back(*Tensor::Filled(v.type(), v.dtype() == DType::kBool && !is_taken ? 0 : 1));
    }
    for (const bool on_cpu : {false, true}) {
      auto executable = (on_cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(*sized, {});
      ASSERT_TRUE(executable.ok()) << executable.status();
      auto outputs = (*executable)->Run(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_THAT((*outputs)[0].ToInts(), ElementsAre(is_taken ? 3 : 5, 3));
    }
  }
}

// The rank of the other branch is not known. ONNX's inference takes it for a scalar.
TEST(ResultTypesTest, ABranchOfUnknownRankIsNoScalar) {
  onnx::ModelProto model = OnnxModel(R"(g (bool c, float[3] x) => (int64[k] s) {
    y = If (c) <then_branch = t () => (float u) { u = ReduceMax <keepdims = 0> (x) },
                else_branch = e () => (float v) { v = Unknown(x) }>
    s = Shape(y) })");
  for (auto& branch : *model.mutable_graph()->mutable_node(0)->mutable_attribute()) {
    auto* output = branch.mutable_g()->mutable_output(0);
    output->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  const absl::Status status = ImportOnnxBytes(model.SerializeAsString()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("else_branch"));
}

// A chain of choices, as exporters write a switch: each was imported twice for each around it.
TEST(ResultTypesTest, NestedBranchesAreImportedOnce) {
  constexpr int kDepth = 16;
  std::string body = absl::StrCat("z", kDepth, " = Neg(a)");
  for (int k = kDepth - 1; k >= 0; --k) {
    body = absl::StrCat("y", k, " = If (c) <then_branch = t", k, " () => (float[p", k, "] u", k,
                        ") { u", k, " = Abs(x) }, else_branch = e", k, " () => (float[q", k, "] z",
                        k + 1, ") { ", body, " }> z", k, " = Relu(y", k, ")");
  }
  ImportOptions options;
  options.symbolic = true;
  auto model = ImportOnnxBytes(
      OnnxModel("g (bool c, float[n] x, float[m] a) => (float[k] z0) {" + body + "}", 17)
          .SerializeAsString(),
      options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(PrintGraph(model->graph), HasSubstr("f32[y0.0]"));
}

TEST(ResultTypesTest, AShapeMayHaveAResultSize) {
  const std::string text = R"(g (float[2,2] x) => (float[a,b] y) {
    z = Constant <value = float {0}> ()
    m = ReduceMax <axes = [1], keepdims = 0> (x)
    c = Greater(m, z)
    r = Compress <axis = 0> (x, c)
    pairs = Constant <value = int64[2] {-1, 1}> ()
    f = Reshape(r, pairs)
    n = Neg(f)
    s = Shape(r)
    y = Reshape(n, s) })";
  EXPECT_THAT(RunOn(text, {1, 2, -3, -4}), ElementsAre(-1, -2));
  EXPECT_THAT(RunOn(text, {-1, -2, -3, -4}), IsEmpty());
}

// The bound of the size along the axis was taken for all sizes, and 3 exceeds 2.
TEST(ResultTypesTest, OnlyTheSizeAlongTheAxisIsOpen) {
  const std::string select[] = {
      "w = ReduceMax <keepdims = 1> (x)\n one = Constant <value = int64[1] {1}> ()\n"
      "flat = Reshape(w, one)\n k = Cast <to = 7> (flat)\n r, i = TopK <axis = 0> (x, k)\n",
      "half = Constant <value = float {0.5}> ()\n"
      "m = ReduceMax <axes = [1], keepdims = 0> (x)\n c = Greater(m, half)\n"
      "r = Compress <axis = 0> (x, c)\n",
      "r = Unique <axis = 0> (x)\n"};
  const std::vector<double> x = {0, 0, 0, 0, 1, 0};  // two different rows, one without a 1
  const std::vector<double> expected[] = {{0, 1, 0}, {0, 1, 0}, {0, 0, 0, 0, 1, 0}};
  for (int n = 0; n < 3; ++n) {
    SCOPED_TRACE(select[n]);
    // The whole rows, although two columns are the most if 2 bounds their number.
    const std::string text = "g (float[2,3] x) => (float[a,b] y) {\n" + select[n] + R"(
        s = Constant <value = int64[1] {0}> ()
        two = Constant <value = int64[1] {2}> ()
        e = Constant <value = int64[1] {1}> ()
        t = Slice(r, s, two, e)
        z = Shape(r)
        l = Slice(z, e, two)
        min = Min(l, two)
        rest = Slice(r, min, l, e)
        y = Concat <axis = 1> (t, rest) })";
    EXPECT_THAT(RunOn(text, x), ElementsAreArray(expected[n]));
    auto model = ImportOnnxBytes(OnnxModel(text, 17).SerializeAsString());
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_THAT(PrintGraph(model->graph), HasSubstr(": f32[r.0,3]"));
  }
}

TEST(ResultTypesTest, ListsHoldValuesWithResultSizes) {
  const std::string text = R"(g (float[4] x) => (float[a] y) {
    z = Constant <value = float {0}> ()
    c = Greater(x, z)
    r = Compress(x, c)
    last = Constant <value = int64 {-1}> ()
    list = SequenceConstruct(x, r)
    longer = SequenceInsert(list, r)
    shorter = SequenceErase(longer, last)
    item = SequenceAt(shorter, last)
    all = ConcatFromSequence <axis = 0> (longer)
    y = Concat <axis = 0> (all, item) })";
  EXPECT_THAT(RunOn(text, {1, -2, 3, -4}), ElementsAre(1, -2, 3, -4, 1, 3, 1, 3, 1, 3));
  EXPECT_THAT(RunOn(text, {-1, -2, -3, -4}), ElementsAre(-1, -2, -3, -4));
}

TEST(ResultTypesTest, AnOptionalIsWhatItHolds) {
  EXPECT_THAT(RunOn(R"(g (float[2] x) => (float[2] y) {
    o = Optional(x)
    h = OptionalHasElement(o)
    v = OptionalGetElement(o)
    n = Neg(v)
    y = Where(h, n, v) })",
                    {1, 2}, 16),
              ElementsAre(-1, -2));
  EXPECT_THAT(RunOn(R"(g (float[2] x) => (float[a] y) {
    list = SequenceConstruct(x, x)
    o = Optional(list)
    v = OptionalGetElement(o)
    y = ConcatFromSequence <axis = 0> (v) })",
                    {1, 2}, 16),
              ElementsAre(1, 2, 1, 2));
}

// The body cannot be imported before its sizes are known, but it declares what it gives. A state
// may grow, and has its first size if there is no iteration.
TEST(ResultTypesTest, ABodyDeclaresWhatItGives) {
  const std::string text = R"(g (float[3] x) => (float[k] y) {
    e = Constant <value = float[0] {}> ()
    z = NonZero(x)
    s = Shape(z)
    one = Constant <value = int64 {1}> ()
    n = Gather(s, one)
    c = Constant <value = bool {1}> ()
    zero = Constant <value = int64[1] {0}> ()
    all = Loop (n, c, e) <body = b (int64 i, bool go, float[p] v) => (bool more, float[q] w) {
      more = Identity(go)
      m = Constant <value = int64[1] {1}> ()
      end = Reshape(i, m)
      part = Slice(x, zero, end)
      two = Concat <axis = 0> (part, part)
      w = Concat <axis = 0> (v, two) }>
    y = Abs(all) })";
  EXPECT_THAT(RunOn(text, {-5, 6, 7}), ElementsAre(5, 5, 5, 6, 5, 6));
  EXPECT_THAT(RunOn(text, {0, 6, 0}), IsEmpty());
  EXPECT_THAT(RunOn(text, {0, 0, 0}), IsEmpty());
}

// A weight of a loop's body that lies in another file becomes part of the kept loop.
TEST(ResultTypesTest, BodiesMayHaveWeightsInOtherFiles) {
  onnx::ModelProto model = OnnxModel(R"(g (float[2] x) => (float[2] y) {
    m = ReduceMax <keepdims = 0> (x)
    n = Cast <to = 7> (m)
    y = Loop (n, , x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
      d = Identity(c)
      w = Constant <value = float[2] {1, 10}> ()
      t = Add(s, w) }> })");
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.name() != "body") continue;
      onnx::GraphProto* body = attribute.mutable_g();
      body->mutable_node()->DeleteSubrange(1, 1);  // w
      onnx::TensorProto* w = body->add_initializer();
      w->set_name("w");
      w->set_data_type(onnx::TensorProto::FLOAT);
      w->add_dims(2);
      w->set_data_location(onnx::TensorProto::EXTERNAL);
      auto* entry = w->add_external_data();
      entry->set_key("location");
      entry->set_value("weights_of_body.bin");
    }
  }
  const float values[] = {1, 10};
  const std::string folder = testing::TempDir() + "/";
  std::ofstream(folder + "weights_of_body.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(values), sizeof values);
  std::ofstream(folder + "weights_of_body.onnx", std::ios::binary) << model.SerializeAsString();
  EXPECT_THAT(RunOn(ImportOnnx(folder + "weights_of_body.onnx"), {1, 3}), ElementsAre(4, 33));
}

}  // namespace
}  // namespace lemma
