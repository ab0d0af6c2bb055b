// Small inputs, valid or not, whose processing would take unbounded time without a limit. Limits
// count processor time, so that other work on the machine does not matter.
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

LemmaResult RunWithin(int seconds, const std::vector<std::string>& arguments) {
  return RunLemmaUnder(Ulimit("-t " + std::to_string(seconds)), arguments);
}

TEST(BoundedTimeTest, AChainOfThousandsIsCertifiedInSeconds) {
  std::string text = "graph g(x: f32[4]) { v0 = relu(x)";
  for (int i = 1; i < 4000; ++i) {
    text += " v" + std::to_string(i) + " = relu(v" + std::to_string(i - 1) + ")";
  }
  const std::string model = WriteTemp("chain.lemma", text + " return v3999 }");
  const std::string out = NewFolder() + "/o.lemma";
  const LemmaResult result =
      RunWithin(10, {"optimize", model, "-o", out, "--cost=analytic", "--runs=3"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("3999 x relu_of_relu"));
  EXPECT_THAT(ReadAll(out + ".cert"), HasSubstr("rule relu_of_relu"));
  // The check makes a graph for each step, so its time grows with the square of their number.
  const LemmaResult checked = RunWithin(10, {"check", model, out, out + ".cert"});
  EXPECT_EQ(checked.exit_status, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("3999 steps"));
}

// All parts differ, and each takes most of a second.
TEST(BoundedTimeTest, SecondsBoundTheLookForMutants) {
  std::string text = "graph g(x: f32[1,8,32,32], w: weight f32[8,8,3,3] = fill 0.01) {",
              value = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i), d = std::to_string(1 + i % 3);
    const std::string p = std::to_string(3 + i / 3);
    text += " c" + n + " = slice(" + value + ") {starts = [0,0,0,0], sizes = [1,8,20,20]} d" + n +
            " = conv2d(c" + n + ", w) {dilations = [" + d + "," + d + "], pads = [6," + p + ",6," +
            p + "]}";
    value = "d" + n;
  }
  const std::string model = WriteTemp("pet.lemma", text + " return " + value + " }");
  const std::string out = NewFolder() + "/o.lemma";
  const LemmaResult result = RunWithin(
      12, {"optimize", model, "-o", out, "--pet=on", "--seconds=2", "--cost=analytic", "--runs=3"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
}

// Each kernel differs, and is measured for six milliseconds at least.
TEST(BoundedTimeTest, SecondsBoundTheMeasuringOfKernels) {
  std::string text = "graph g(x: f32[1,300]) { v0 = relu(x)";
  for (int i = 1; i <= 250; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    text += " s" + n + " = slice(v" + before + ") {starts = [0,0], sizes = [1," +
            std::to_string(300 - i) + "]} v" + n + " = softmax(s" + n + ") {axis = 1}";
  }
  const std::string model = WriteTemp("kernels.lemma", text + " return v250 }");
  const std::string out = NewFolder() + "/o.lemma";
  const LemmaResult result = RunLemma(
      {"optimize", model, "-o", out, "--seconds=0.5", "--runs=3", "--cost-db=" + out + ".db"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the time was up before all kernels were measured"));
}

// At each of the many siblings the rule applies together with many others.
TEST(BoundedTimeTest, SecondsBoundWhyARuleWasNotApplied) {
  std::string text = "graph g(x: f32[8,8]) {", outputs;
  for (int i = 0; i < 12000; ++i) {
    const std::string n = std::to_string(i);
    text += " w" + n + " = constant f32[8,8] fill " + n + ".5 m" + n + " = matmul(x, w" + n + ")";
    outputs += (i > 0 ? ", m" : "m") + n;
  }
  const std::string model = WriteTemp("siblings.lemma", text + " return " + outputs + " }");
  const LemmaResult result =
      RunWithin(6, {"optimize", model, "--why-not=merge_matmul_rhs", "--only=relu_of_relu",
                    "--seconds=1", "--cost=analytic"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("input: 12000 x matmul\n"));
  EXPECT_THAT(result.out, HasSubstr(" of them were not looked at: the time is up\n"));
}

// The model has a thousand operators, and a limit that it cannot reach.
TEST(BoundedTimeTest, SecondsBoundWhatKeepsToALimitOfMemory) {
  constexpr int kDepth = 300;
  std::string text = "graph g(x: f32[16,16]) { a0 = matmul(x, x)";
  for (int i = 1; i <= kDepth; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    text += " b" + n + " = matmul(a" + before + ", x) a" + n + " = tanh(b" + n + ")";
  }
  text += " g" + std::to_string(kDepth) + " = sqrt(a" + std::to_string(kDepth) + ")";
  for (int i = kDepth; i-- > 0;) {
    const std::string n = std::to_string(i);
    text += " g" + n + " = matmul(g" + std::to_string(i + 1) + ", a" + n + ")";
  }
  const std::string model = WriteTemp("deep.lemma", text + " return g0 }");
  const LemmaResult result = RunWithin(
      8, {"optimize", model, "-o", NewFolder() + "/o.lemma", "--cost=analytic", "--runs=3",
          "--budget=1", "--numerics=exact", "--memory-limit=4K", "--seconds=1"});
  EXPECT_EQ(result.exit_status, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("nothing that was found keeps to --memory-limit, 4096"));
}

TEST(BoundedTimeTest, AProofWithThousandsOfSymbolsKeepsToItsWork) {
  std::string inputs, operands;
  for (int i = 0; i < 3000; ++i) {
    const std::string n = std::to_string(i);
    inputs += (i ? ", x" : "x") + n + ": f32[n" + n + "]";
    operands += (i ? ", x" : "x") + n;
  }
  const std::string graph = WriteTemp(
      "s.lemma", "graph g(" + inputs + ") { y = concat(" + operands + ") {axis = 0} return y }");
  const LemmaResult result = RunWithin(15, {"prove", graph, graph, "--work=30000000"});
  EXPECT_EQ(result.exit_status, 4) << result.err;
  EXPECT_THAT(result.out, HasSubstr("unknown: work limit of 30000000 steps reached"));
}

TEST(BoundedTimeTest, AHeaderNestedDeeplyIsRefusedAtOnce) {
  std::string header(8, '\0');
  const std::string nested(40000, '[');
  header[0] = static_cast<char>(nested.size() & 0xff);
  header[1] = static_cast<char>(nested.size() >> 8);
  const std::string file = WriteTemp("deep.safetensors", header + nested);
  const std::string step = WriteTemp("s.lemma", R"(graph s(w: f32[2]) {
    "w.next" = relu(w) return "w.next" })");
  ExpectOneLine(RunWithin(3, {"run", step, "--steps=1", "--state", file}),
                {"deep.safetensors", "nests"});
}

TEST(BoundedTimeTest, AConcatenationOfManyIsReadAndRun) {
  std::string operands = "x";
  for (int i = 1; i < 20000; ++i) operands += ", x";
  const std::string model = WriteTemp(
      "c.lemma", "graph g(x: f32[1]) { y = concat(" + operands + ") {axis = 0} return y }");
  EXPECT_EQ(RunWithin(10, {"show", model}).exit_status, 0);
  EXPECT_EQ(RunWithin(20, {"run", model, "--runs=1"}).exit_status, 0);
}

TEST(BoundedTimeTest, ASumOfManyIsShown) {
  onnx::ModelProto model = OnnxModel("g (float[1] x) => (float[1] y) { y = Sum(x) }");
  for (int i = 1; i < 100000; ++i) model.mutable_graph()->mutable_node(0)->add_input("x");
  const LemmaResult result =
      RunWithin(10, {"show", WriteTemp("s.onnx", model.SerializeAsString())});
  EXPECT_EQ(result.exit_status, 0) << result.err;
}

// Each kernel takes a while to measure, and none is in the database.
TEST(BoundedTimeTest, CtrlCIsObeyedWhileKernelsAreMeasured) {
  std::string text = "graph g(x: f32[1,64,64,64], w: weight f32[64,64,3,3] = fill 0.01) {";
  std::string outputs;
  for (int i = 1; i < 60; ++i) {
    const std::string p = std::to_string(i);
    text += " c" + p + " = conv2d(x, w) {pads = [" + p + "," + p + "," + p + "," + p + "]}";
    outputs += (i > 1 ? ", c" : "c") + p;
  }
  const std::string model = WriteTemp("m.lemma", text + " return " + outputs + " }");
  const std::string folder = NewFolder(), db = folder + "/costs.sqlite";
  std::chrono::steady_clock::time_point pressed;
  const LemmaResult result =
      InterruptLemma({"optimize", model, "-o", folder + "/o.lemma", "--cost-db", db}, [&] {
        pressed = std::chrono::steady_clock::now();
        std::ifstream file(db);
        return file.good() && ReadAll(db + "-wal").size() > 20000;  // some were measured
      });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - pressed;
  EXPECT_EQ(result.exit_status, 130) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted"));
  EXPECT_LT(took.count(), 10);  // a kernel or two; all of them take minutes
}

}  // namespace
}  // namespace lemma
