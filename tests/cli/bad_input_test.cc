// Bad input: one clear line on standard error, exit status 2, nothing written.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

std::string Onnx(const std::string& graph) { return OnnxModel(graph).SerializeAsString(); }

std::string GoodModel() {
  onnx::ModelProto model =
      OnnxModel("g (float[1,8] x) => (float[1,8] y) { a = MatMul(x, w) y = Relu(a) }");
  AddOnes(&model, "w", {8, 8});
  return model.SerializeAsString();
}

// Every command refuses the file in the same way; optimize leaves no file behind.
void ExpectRefused(const std::string& path, const std::vector<std::string>& parts) {
  ExpectOneLine(RunLemma({"run", path}), parts);
  ExpectOneLine(RunLemma({"show", path}), parts);
  const std::string folder = NewFolder();
  ExpectOneLine(RunLemma({"optimize", path, "-o", folder + "/out.onnx"}), parts);
  EXPECT_TRUE(FilesIn(folder).empty());
}

TEST(BadInputTest, MissingFile) { ExpectRefused("/nowhere/model.onnx", {"/nowhere/model.onnx"}); }

TEST(BadInputTest, EmptyFile) { ExpectRefused(WriteTemp("m.onnx", ""), {"m.onnx", "empty"}); }

TEST(BadInputTest, Folder) { ExpectRefused(NewFolder(), {"is a folder"}); }

TEST(BadInputTest, TruncatedFile) {
  const std::string model = GoodModel();
  ExpectRefused(WriteTemp("m.onnx", model.substr(0, model.size() / 2)), {"m.onnx"});
}

TEST(BadInputTest, NotOnnx) {
  ExpectRefused(WriteTemp("m.onnx", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16)),
                {"m.onnx", "neither"});
  ExpectRefused(WriteTemp("m.onnx", "Dear model, how are you?"), {"m.onnx:1:"});
}

TEST(BadInputTest, CyclicGraph) {
  ExpectRefused(WriteTemp("m.onnx", Onnx("g (float[2] x) => (float[2] y) "
                                         "{ a = Add(x, b) b = Relu(a) y = Relu(b) }")),
                {"m.onnx", "cycl"});
}

TEST(BadInputTest, MissingInitializer) {
  ExpectRefused(WriteTemp("m.onnx", Onnx("g (float[2] x) => (float[2] y) { y = Add(x, w) }")),
                {"m.onnx", "w"});
}

TEST(BadInputTest, MismatchedShapes) {
  ExpectRefused(
      WriteTemp("m.onnx", Onnx("g (float[2] x, float[3] z) => (float[2] y) { y = Add(x, z) }")),
      {"m.onnx", "Add", "2", "3"});
}

TEST(BadInputTest, UnknownOperatorOfUnknownType) {
  ExpectRefused(WriteTemp("m.onnx", Onnx("g (float[2] x) => (float[2] y) "
                                         "{ a = Frobnicate(x) y = Relu(a) }")),
                {"m.onnx", "Frobnicate"});
}

TEST(BadInputTest, UnknownOperatorCannotBeRun) {
  const std::string path =
      WriteTemp("m.onnx", Onnx("g (float[2] x) => (float[2] y) { y = Frobnicate(x) }"));
  const LemmaResult result = RunLemma({"run", path, "--json"});
  ExpectOneLine(result, {"m.onnx", "unsupported"});
}

TEST(BadInputTest, HugeDeclaredInput) {
  const std::string path =
      WriteTemp("m.onnx", Onnx("g (float[1000000000] x) => (float[1000000000] y) { y = Relu(x) }"));
  ExpectOneLine(RunLemma({"run", path, "--max-memory-gb=2"}), {"m.onnx", "8 GB", "1000000000"});
  const std::string folder = NewFolder();
  ExpectOneLine(RunLemma({"optimize", path, "-o", folder + "/o.onnx", "--max-memory-gb=2"}),
                {"m.onnx", "GB"});
  EXPECT_TRUE(FilesIn(folder).empty());
}

TEST(BadInputTest, HugeDeclaredInputBeyondAnyMachine) {
  const std::string path =
      WriteTemp("m.onnx", Onnx("g (float[1000000,1000000,1000000,1000000] x) => "
                               "(float[1000000,1000000,1000000,1000000] y) { y = Relu(x) }"));
  ExpectOneLine(RunLemma({"run", path}), {"m.onnx"});
}

TEST(BadInputTest, HugeDeclaredInitializer) {
  onnx::ModelProto model =
      OnnxModel("g (float[1000000000] x) => (float[1000000000] y) { y = Add(x, w) }");
  AddOnes(&model, "w", {2});
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 1000000000);
  ExpectRefused(WriteTemp("m.onnx", model.SerializeAsString()), {"m.onnx", "w"});
}

// Larger numbers than the library can count, though no element is ever that far away.
TEST(BadInputTest, StridesAndDilationsOf2To62) {
  for (const std::string op :
       {"conv2d(x, w) {strides = [4611686018427387904, 9223372036854775807]}",
        "max_pool2d(x) {dilations = [4611686018427387904, 1], kernel = [2, 2], "
        "pads = [2305843009213693952, 0, 2305843009213693952, 0]}"}) {
    const std::string model = WriteTemp("m.lemma",
                                        "graph g(x: f32[1,1,8,8], w: weight f32[1,1,3,3]"
                                        " = fill 1.0) { y = " +
                                            op + " return y }");
    ExpectOneLine(RunLemma({"run", model, "--runs=1"}),
                  {"m.lemma", "4611686018427387904", "--backend=reference"});
    ExpectOneLine(RunLemma({"optimize", model, "-o", NewFolder() + "/o.lemma", "--runs=3"}),
                  {"4611686018427387904"});
  }
}

TEST(BadInputTest, UnwritableOutput) {
  const std::string model = WriteTemp("m.onnx", GoodModel());
  const std::string folder = NewFolder();
  ExpectOneLine(RunLemma({"optimize", model, "-o", folder + "/no/such/out.onnx"}),
                {"out.onnx", "cannot be written"});
  ExpectOneLine(RunLemma({"optimize", model, "-o", "/proc/out.onnx"}), {"/proc/out.onnx"});
  ExpectOneLine(RunLemma({"optimize", model, "-o", folder}), {folder});
  EXPECT_TRUE(FilesIn(folder).empty());
}

TEST(BadInputTest, WrongUse) {
  ExpectOneLine(RunLemma({"optimise", "m.onnx"}), {"did you mean optimize?"});
  ExpectOneLine(RunLemma({"run"}), {"which MODEL?"});
  ExpectOneLine(RunLemma({"run", "a", "b"}), {"'b' is one too many"});
  ExpectOneLine(RunLemma({"run", "a", "--thread=2"}), {"did you mean --threads?"});
  ExpectOneLine(RunLemma({"run", "a", "--threads=0"}), {"--threads"});
  ExpectOneLine(RunLemma({"optimize", WriteTemp("m.onnx", GoodModel())}), {"-o OUT"});
}

TEST(BadInputTest, WrongInputs) {
  const std::string model = WriteTemp("m.onnx", GoodModel());
  ExpectOneLine(RunLemma({"run", model, "--inputs=/nowhere.pb"}), {"/nowhere.pb"});
  ExpectOneLine(RunLemma({"run", model, "--inputs=" + model}), {"m.onnx"});
}

TEST(BadInputTest, UnknownRule) {
  const std::string model = WriteTemp("m.onnx", GoodModel());
  const std::string out = NewFolder() + "/o.onnx";
  ExpectOneLine(RunLemma({"optimize", model, "-o", out, "--only=no_such_rule_at_all"}),
                {"no_such_rule_at_all"});
}

TEST(BadInputTest, NoRules) {
  const std::string graph = WriteTemp("g.lemma", "graph g(x: f32[2]) { return x }");
  ExpectOneLine(RunLemma({"optimize", graph, "-o", NewFolder() + "/o.lemma", "--rules", graph}),
                {"g.lemma", "has no rules"});
}

TEST(BadInputTest, IndexOutsideWhenRun) {
  const std::string graph =
      WriteTemp("g.lemma", "graph g(x: f32[5,3], i: i64[2]) { y = gather(x, i) return y }");
  ExpectOneLine(RunLemma({"run", graph, "--int-range=1000000"}), {"g.lemma", "gather"});
  const std::string twice = WriteTemp(
      "t.lemma",
      "graph g(x: f32[5,3], i: i64[2]) { a = gather(x, i) b = relu(a) y = relu(b) return y }");
  ExpectOneLine(RunLemma({"optimize", twice, "-o", NewFolder() + "/o.lemma", "--cost=analytic",
                          "--int-range=1000000"}),
                {"--inputs", "fails on the inputs", "gather: index"});
}

}  // namespace
}  // namespace lemma
