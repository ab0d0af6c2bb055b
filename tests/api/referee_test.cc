// api::Referee on models with symbolic dimensions: a verdict holds for all sizes, or says for
// which.
#include "api/referee.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma::api {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string File(const std::string& name, const std::string& text) {
  return WriteTemp(name, OnnxModel(text).SerializeAsString());
}

// The verdict on two models with these inputs and outputs, and these nodes.
std::string Verdict(const std::string& interface, const std::string& before,
                    const std::string& after, RefereeOptions options = {}) {
  auto result = Referee(File("before.onnx", "g " + interface + " { " + before + " }"),
                        File("after.onnx", "g " + interface + " { " + after + " }"), options);
  return result.ok() ? TextOf(*result, false) : std::string(result.status().message());
}

constexpr char kRows[] = "(float[n,4] x) => (float[n,4] y)";
constexpr char kMatrix[] = "(float[batch,seq] x) => (float[batch,seq] y)";

TEST(RefereeTest, ProvedForAllSizes) {
  const auto proved =
      AllOf(HasSubstr("proved\ncontract  bit_exact"), HasSubstr("for all 1 <= batch, 1 <= seq"));
  EXPECT_THAT(Verdict(kMatrix, "a = Relu(x) y = Relu(a)", "y = Relu(x)"), proved);
  EXPECT_THAT(Verdict(kMatrix, "a = Transpose(x) b = Neg(a) y = Transpose(b)", "y = Neg(x)"),
              proved);
  EXPECT_THAT(Verdict(kMatrix,
                      "i = Constant<value = int64[1] {0}>() a = Unsqueeze(x, i) b = Exp(a) "
                      "y = Squeeze(b, i)",
                      "y = Exp(x)"),
              proved);
}

TEST(RefereeTest, ACheckDrawsAndKeepsItsSeed) {
  const std::string interface = "g (float[4] x) => (float[4] y) ";
  const std::string before = File("before.onnx", interface + "{ a = Relu(x) y = Relu(a) }");
  const std::string after = File("after.onnx", interface + "{ y = Relu(x) }");
  RefereeOptions options;
  options.certificate = NewFolder() + "/certificate";
  ASSERT_TRUE(Referee(before, after, options).ok());
  const auto drawn = CheckVerdict(before, after, options.certificate);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_TRUE(drawn->ok()) << TextOf(*drawn);
  // A seed of 62 bits (DrawSeed) is less than 2^32 once in 2^30 times.
  EXPECT_GE(drawn->seed, uint64_t{1} << 32);
  VerdictCheckOptions again;
  again.seed = drawn->seed;
  EXPECT_EQ(CheckVerdict(before, after, options.certificate, again)->seed, drawn->seed);
}

// The models cannot be read without the size that the certificate had: it is rejected, which is an
// answer and no error.
TEST(RefereeTest, ACertificateWithoutANeededSizeIsRejected) {
  const std::string
      interface = "g (float[1,1,a] x) => (float[1,1,b] y) ",
      pool = "y = LpPool<kernel_shape = [2], auto_pad = \"SAME_UPPER\", strides = [2]>(r) }";
  const std::string before = File("before.onnx", interface + "{ q = Relu(x) r = Relu(q) " + pool);
  const std::string after = File("after.onnx", interface + "{ r = Relu(x) " + pool);
  RefereeOptions options;
  options.certificate = NewFolder() + "/certificate";
  options.dims = {{"a", 16}};
  const auto result = Referee(before, after, options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(CheckVerdict(before, after, options.certificate)->ok());
  std::string text = ReadAll(options.certificate);
  const size_t line = text.find("\ndim a 16");
  ASSERT_NE(line, std::string::npos) << text;
  text.erase(line, text.find('\n', line + 1) - line);
  text.resize(text.rfind("\nsha256 "));
  const auto checked =
      CheckVerdict(before, after, WriteTemp("v", text + "\nsha256 " + Sha256Of(text) + "\n"));
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_FALSE(checked->ok());
  EXPECT_THAT(TextOf(*checked), HasSubstr("needs numbers for its sizes"));
}

TEST(RefereeTest, TellsItsStages) {
  RefereeOptions options;
  std::vector<std::string> stages;
  int64_t most = 0;
  options.progress = [&](const std::string& stage, int64_t done, int64_t all) {
    EXPECT_LE(done, all);
    if (stage == "proving operators") most = std::max(most, all);
    if (stages.empty() || stages.back() != stage) stages.push_back(stage);
  };
  Verdict("(float[4] x) => (float[4] y)", "a = Relu(x) b = Relu(a) y = Exp(b)",
          "a = Relu(x) y = Exp(a)", options);
  EXPECT_THAT(stages,
              ElementsAre(AllOf(HasSubstr("reading "), HasSubstr("before.onnx")),
                          AllOf(HasSubstr("reading "), HasSubstr("after.onnx")),
                          "executing both models", "comparing weights", "proving operators"));
  EXPECT_GE(most, 2);

  stages.clear();
  Verdict("(float[4] x) => (float[4] y)", "y = Exp(x)", "a = Exp(x) y = Add(a, a)", options);
  EXPECT_THAT(stages, Contains("looking for the difference"));
}

TEST(RefereeTest, ASideWithoutOperators) {
  EXPECT_THAT(Verdict("(float[4] x) => (float[4] y)", "e = Exp(x) y = Sigmoid(e)", "y = Exp(x)"),
              HasSubstr("first     y (sigmoid) and y (no operator) differ by "));
}

TEST(RefereeTest, ThePlaceHasAnotherType) {
  const std::string interface = "(float[3,16] x, float[3,1] s) => (float[3,1] y)";
  const std::string rest =
      "a = Sigmoid(m) b = Tanh(a) c = Exp(b) d = Sigmoid(c) f = Tanh(d) "
      "y = ReduceMax<axes = [1], keepdims = 1>(f)";
  const std::string before = "e = Exp(s) m = Mul(x, e) " + rest;
  const std::string after = "e = Exp(s) m = Mul(e, e) " + rest;
  EXPECT_THAT(
      Verdict(interface, before, after),
      HasSubstr("first     m (mul) and m (mul) have the types f32[3,16] and f32[3,1] on the "
                "same operands\n"));
}

TEST(RefereeTest, ProvedForTheSizesOfARange) {
  RefereeOptions options;
  options.ranges = {{"n", {2, 64}}};
  EXPECT_THAT(Verdict(kRows, "s = Constant<value = int64[2] {-1, 4}>() y = Reshape(x, s)",
                      "y = Identity(x)", options),
              AllOf(HasSubstr("proved"), HasSubstr("for all 2 <= n <= 64")));
}

// A model y = x * k whose input k has this default value, or none.
std::string WithDefault(const std::string& name, std::optional<float> value) {
  onnx::ModelProto model = OnnxModel("g (float[4] x, float k) => (float[4] y) { y = Mul(x, k) }");
  if (value) {
    onnx::TensorProto* k = model.mutable_graph()->add_initializer();
    k->set_name("k");
    k->set_data_type(onnx::TensorProto::FLOAT);
    k->add_float_data(*value);
  }
  return WriteTemp(name, model.SerializeAsString());
}

TEST(RefereeTest, DefaultValuesOfInputsArePartOfTheInterface) {
  auto verdict = [](std::optional<float> before, std::optional<float> after) {
    auto result = Referee(WithDefault("before.onnx", before), WithDefault("after.onnx", after));
    return result.ok() ? TextOf(*result, false) : std::string(result.status().message());
  };
  EXPECT_THAT(verdict(2, 2), HasSubstr("proved"));
  EXPECT_THAT(verdict(std::nullopt, 2), HasSubstr("proved"));
  EXPECT_THAT(verdict(2, 3), HasSubstr("different interface: the default value of input k is 2 "
                                       "before and 3 after, at element 0"));
  EXPECT_THAT(verdict(2, std::nullopt),
              HasSubstr("different interface: input k has a default value before and none after"));
  EXPECT_THAT(verdict(0.0f, -0.0f), HasSubstr("has other bytes before and after"));
}

// An input with a symbolic size may have default values of different sizes.
TEST(RefereeTest, DefaultValuesOfOtherSizesAreOtherInterfaces) {
  auto model = [](const std::string& name, int size) {
    onnx::ModelProto m = OnnxModel(
        "g (float[4] x, float[k] s) => (float[4] y) { r = ReduceSum<keepdims = 0>(s) "
        "y = Mul(x, r) }");
    onnx::TensorProto* s = m.mutable_graph()->add_initializer();
    s->set_name("s");
    s->set_data_type(onnx::TensorProto::FLOAT);
    s->add_dims(size);
    for (int i = 0; i < size; ++i) s->add_float_data(static_cast<float>(i));
    return WriteTemp(name, m.SerializeAsString());
  };
  const auto result = Referee(model("before.onnx", 3), model("after.onnx", 4));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(TextOf(*result, false),
              HasSubstr("different interface: the default value of input s is f32[3] before and "
                        "f32[4] after"));
  const auto same = Referee(model("before.onnx", 3), model("after.onnx", 3));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_THAT(TextOf(*same, false), HasSubstr("proved"));
}

TEST(RefereeTest, ARangeOfOneSizeIsASize) {
  RefereeOptions options;
  options.ranges = {{"n", {3, 3}}};
  EXPECT_THAT(Verdict(kRows, "y = Identity(x)",
                      "s = Constant<value = int64[2] {3, 4}>() y = Reshape(x, s)", options),
              HasSubstr("proved\ncontract  bit_exact\nsizes     the shapes x: f32[3,4]\n"));
}

TEST(RefereeTest, ARangeWithoutASizeIsAnError) {
  RefereeOptions options;
  options.ranges = {{"n", {8, 3}}};
  EXPECT_THAT(Verdict(kRows, "y = Identity(x)", "y = Identity(x)", options),
              HasSubstr("option ranges: n from 8 to 3 has no size"));
}

// A sum over a symbolic dimension, divided by the size.
TEST(RefereeTest, TheMeanOverASymbolicDimension) {
  const std::string interface = "(float[batch,seq] x) => (float[batch,1] y)";
  const std::string mean = "y = ReduceMean<axes = [1]>(x)";
  const std::string axis = "i = Constant<value = int64[1] {1}>() ";
  EXPECT_THAT(Verdict(interface, mean,
                      axis + "s = Shape<start = 1>(x) f = Cast<to = 1>(s) a = ReduceSum(x, i) "
                             "y = Div(a, f)"),
              HasSubstr("proved"));
  // Right at the hint only.
  RefereeOptions options;
  options.hint = {{"seq", 32}};
  EXPECT_THAT(Verdict(interface, mean,
                      axis + "c = Constant<value = float {32.0}>() a = ReduceSum(x, i) "
                             "y = Div(a, c)",
                      options),
              AllOf(HasSubstr("refuted: y["), HasSubstr("seq=")));
}

TEST(RefereeTest, AShapeThatFitsOneSizeOnly) {
  auto reshaped = [](const std::string& rows) {
    return "s = Constant<value = int64[2] {" + rows + ", 4}>() a = Reshape(x, s) y = Add(x, a)";
  };
  EXPECT_THAT(Verdict(kRows, reshaped("-1"), reshaped("1")),
              AllOf(HasSubstr("refuted: at n="), HasSubstr("the second one does not: ")));
  // The output's shape says it too.
  EXPECT_THAT(Verdict(kRows, "y = Identity(x)",
                      "s = Constant<value = int64[2] {1, 4}>() y = Reshape(x, s)"),
              HasSubstr("different interface: output y is f32[n,4] before and f32[1,4] after"));
}

TEST(RefereeTest, ASliceThatCutsLargeSizesOff) {
  const std::string slice =
      "b = Constant<value = int64[1] {0}>() e = Constant<value = int64[1] {140}>() "
      "i = Constant<value = int64[1] {1}>() y = Slice(x, b, e, i)";
  EXPECT_THAT(Verdict("(float[batch,seq] x) => (float[batch,length] y)", "y = Identity(x)", slice),
              ::testing::Not(HasSubstr("proved\n")));
}

// Adding a row that only fits one size, or is broadcast from size 1.
TEST(RefereeTest, ABroadcastThatFitsOneSizeOnly) {
  const std::string row = "z = Constant<value = float[4] {0.0, 0.0, 0.0, 0.0}>() y = Add(x, z)";
  RefereeOptions options;
  options.hint = {{"seq", 4}};
  EXPECT_THAT(Verdict(kMatrix, "y = Identity(x)", row, options),
              ::testing::Not(HasSubstr("proved\n")));
}

TEST(RefereeTest, AnotherSymbolIsAnotherInterface) {
  auto result = Referee(File("before.onnx", "g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"),
                        File("after.onnx", "g (float[2,4] x) => (float[2,4] y) { y = Relu(x) }"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(TextOf(*result, false),
              HasSubstr("different interface: input x is f32[n,4] before and f32[2,4] after"));
}

// Positions beyond the tensor at small sizes, which the first model does not read.
TEST(RefereeTest, AReadBeyondSmallSizes) {
  RefereeOptions options;
  options.hint = {{"n", 128}};
  EXPECT_THAT(Verdict("(float[n,4] x) => (float[n,4] y)", "y = Relu(x)",
                      "r = Relu(x) i = Constant<value = int64[1] {20}>() g = Gather(r, i) "
                      "d = Sub(g, g) y = Add(r, d)",
                      options),
              ::testing::Not(HasSubstr("proved\n")));
}

// f16 holds no integer beyond 2048 exactly, and none beyond 65504.
TEST(RefereeTest, IntegersInHalfPrecision) {
  const std::string compare = "k = Constant<value = int64[1] {2048}>() ";
  EXPECT_THAT(Verdict("(int64[4] x) => (bool[4] y)", compare + "y = Greater(x, k)",
                      compare + "h = Cast<to = 10>(x) l = Cast<to = 10>(k) y = Greater(h, l)"),
              HasSubstr("half precision"));
}

// (h + 1) / 2 and h - h / 2 are equal, but not known to be.
TEST(RefereeTest, SizesThatAreComputedInAnotherWay) {
  const std::string interface = "(float[1,2,h,8] x) => (float[1,2,k,m] y)";
  EXPECT_THAT(Verdict(interface, "y = MaxPool<kernel_shape = [1, 1], strides = [2, 2]>(x)",
                      "y = MaxPool<kernel_shape = [1, 1], strides = [2, 2], ceil_mode = 1>(x)"),
              ::testing::Not(HasSubstr("different interface")));
}

TEST(RefereeTest, AModelWithTheSizeWrittenIntoIt) {
  RefereeOptions options;
  options.dims = {{"n", 7}};
  auto result =
      Referee(File("before.onnx", "g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"),
              File("after.onnx", "g (float[7,4] x) => (float[7,4] y) { y = Relu(x) }"), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(TextOf(*result, false), HasSubstr("proved\n"));
}

TEST(RefereeTest, BadHints) {
  RefereeOptions options;
  options.hint = {{"m", 2}};
  EXPECT_THAT(Verdict(kRows, "y = Relu(x)", "y = Relu(x)", options),
              AllOf(HasSubstr("option hint"), HasSubstr("no dimension is called m")));
}

}  // namespace
}  // namespace lemma::api
