#include "api/models/sizes.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/execution/running_sizes.h"
#include "api/models/tensor_files.h"
#include "base/file.h"
#include "graph/builder.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

Graph Symbolic(const std::string& text, std::map<std::string, SizeRange> ranges = {}) {
  ImportOptions options;
  options.symbolic = true;
  options.ranges = std::move(ranges);
  auto imported = ImportOnnxBytes(OnnxModel(text).SerializeAsString(), options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  return imported->graph;
}

Graph WithCache() {
  return Symbolic(
      "g (float[batch,sequence_length,8] x, float[batch,2,past_sequence_length,4] p, "
      "float[batch,total_sequence_length] m) => (a, b, c) "
      "{ a = Relu(x) b = Relu(p) c = Relu(m) }");
}

TEST(SizesTest, TotalsAreSums) {
  const Graph graph = WithCache();
  const DimValues usual = api::DefaultSizes(graph);
  EXPECT_EQ(usual.at("total_sequence_length"),
            usual.at("past_sequence_length") + usual.at("sequence_length"));
  const DimValues longer = api::DefaultSizes(graph, 512);
  EXPECT_EQ(longer.at("total_sequence_length"), 1024);
}

TEST(SizesTest, GivenSizesStayAndOthersFit) {
  const Graph graph = WithCache();
  auto sizes = api::CompleteSizes(graph, {{"total_sequence_length", 300}});
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  EXPECT_EQ(sizes->at("total_sequence_length"), 300);
  EXPECT_EQ(sizes->at("past_sequence_length") + sizes->at("sequence_length"), 300);
  sizes = api::CompleteSizes(graph, {{"past_sequence_length", 7}, {"sequence_length", 1}});
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  EXPECT_EQ(sizes->at("total_sequence_length"), 8);
}

TEST(SizesTest, SizesAreThoseThatTheGraphAssumes) {
  const Graph graph = Symbolic(
      "g (float[n,a,4] x, float[n,b,4] y, float[n,4,c] z) => (r) "
      "{ s = Concat <axis = 1> (x, y) t = Transpose <perm = [0,2,1]> (s) "
      "u = Transpose <perm = [0,2,1]> (z) r = MatMul(t, u) }",
      {{"a", {2, 9999}}, {"b", {2, 9999}}, {"c", {2, 9999}}});
  const DimValues usual = api::DefaultSizes(graph);
  EXPECT_EQ(usual.at("c"), usual.at("a") + usual.at("b"));
  auto sizes = api::CompleteSizes(graph, {{"a", 5}, {"b", 6}});
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  EXPECT_EQ(sizes->at("c"), 11);
}

// Both branches of the kept If need a size of 1 that no name gives away, and a window needs more
// than the usual size.
TEST(SizesTest, AKeptOperatorIsTriedAtSizesOfOne) {
  api::Model model;
  ImportOptions options;
  options.symbolic = true;
  auto imported = ImportOnnxBytes(OnnxModel(R"(g (float[n,1,l] x, float[2,m,8] z, bool c) =>
      (float[p,q] y) {
    y = If (c) <then_branch = t () => (a) {
                  s = Constant<value_ints = [2, 8]>() r = Reshape(z, s)
                  u = AveragePool<kernel_shape = [200]>(x) v = Squeeze(u, s1) w = ReduceMax(v)
                  s1 = Constant<value_ints = [1]>() a = Add(r, w) },
                else_branch = f () => (b) {
                  s = Constant<value_ints = [1, 16]>() b = Reshape(z, s) }> })")
                                      .SerializeAsString(),
                                  options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  model.graph = imported->graph;
  model.info = imported->info;
  const DimValues sizes = api::RunningSizes(model, {}, {});
  EXPECT_EQ(sizes.at("m"), 1);
  EXPECT_EQ(sizes.at("n"), 1);
}

// A model that is read with symbolic sizes, or why its sizes are fixed.
api::Model WithSymbolicSizes(const std::string& text, api::LoadOptions options, std::string* note) {
  const std::string path = testing::TempDir() + "/symbolic_sizes.onnx";
  EXPECT_TRUE(WriteFileAtomically(path, {OnnxModel(text).SerializeAsString()}).ok());
  auto model = api::LoadWithSymbolicSizes(path, std::move(options), note);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *model : api::Model();
}

TEST(LoadWithSymbolicSizesTest, KeepsThemWhereItCan) {
  std::string note = "old";
  const char* relu = "g (float[n] x) => (float[n] y) { y = Relu(x) }";
  EXPECT_TRUE(IsSymbolic(WithSymbolicSizes(relu, {}, &note).graph));
  EXPECT_EQ(note, "");
}

// An RNN has a definition only where the number of its steps is a number.
TEST(LoadWithSymbolicSizesTest, FixesThemToThoseOfTheInputsIfFewerOperatorsAreUnknown) {
  const char* rnn =
      "g (float[n,2,3] x, float[1,4,3] w, float[1,4,4] r) => (float[n,1,2,4] y) "
      "{ y = RNN<hidden_size = 4>(x, w, r) }";
  std::string note;
  EXPECT_TRUE(IsSymbolic(WithSymbolicSizes(rnn, {}, &note).graph));
  EXPECT_EQ(note, "");
  const std::string folder = testing::TempDir() + "/inputs";
  GraphBuilder builder("g");
  std::vector<Tensor> values;
  api::LoadOptions options;
  for (const Shape& shape : {Shape{5, 2, 3}, Shape{1, 4, 3}, Shape{1, 4, 4}}) {
    values.push_back(*Tensor::Filled({DType::kF32, shape}, 1));
    const std::string name = absl::StrCat("output_", values.size() - 1);
    builder.Output(name, builder.Input(absl::StrCat("of_", name), values.back().type()));
    options.input_files.push_back(absl::StrCat(folder, "/", name, ".pb"));
  }
  ASSERT_TRUE(api::SaveOutputs(*std::move(builder).Build(), values, folder).ok());
  const Graph sized = WithSymbolicSizes(rnn, options, &note).graph;
  EXPECT_FALSE(IsSymbolic(sized));
  EXPECT_TRUE(UnknownOperators(sized).empty());
  EXPECT_TRUE(absl::StartsWith(note, "sizes are fixed to those of --inputs, since ")) << note;
  options.ranges["n"] = {1, 8};
  EXPECT_TRUE(IsSymbolic(WithSymbolicSizes(rnn, options, &note).graph));
  EXPECT_EQ(note, "");
}

TEST(LoadWithSymbolicSizesTest, ARangeThatCannotBeKeptIsAnError) {
  const std::string path = testing::TempDir() + "/pool.onnx";
  const char* pool = "g (float[4,4,l] x) => (float[4,4,k] y) { y = LpPool<kernel_shape = [2]>(x) }";
  ASSERT_TRUE(WriteFileAtomically(path, {OnnxModel(pool).SerializeAsString()}).ok());
  api::LoadOptions options;
  options.ranges["l"] = {4, 8};
  std::string note;
  EXPECT_FALSE(api::LoadWithSymbolicSizes(path, options, &note).ok());
}

}  // namespace
}  // namespace lemma
