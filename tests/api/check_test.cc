// Check as a library: certificates of files and of models, and plans.
#include "api/check.h"

#include <string>
#include <vector>

#include "api/models/model_file.h"
#include "api/models/random_values.h"
#include "api/optimize.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/search/certificate.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using Hint = api::CheckResult::Hint;

constexpr char kGraph[] = R"(graph g(x: f32[4,8]) {
  f = constant f32[8,8] fill 0.5
  a = relu(x) b = relu(a) y = matmul(b, f)
  return y
})";

api::Model ModelOf(const std::string& text) {
  api::Model model;
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  model.graph = *graph;
  return model;
}

// The rewritten model with its certificate, accepted whether it is faster or not.
class CheckTest : public testing::Test {
 protected:
  CheckTest() : input_(ModelOf(kGraph)), output_(input_) {
    api::OptimizeOptions options;
    options.costs.measured = false;
    options.execute = false;
    options.only = {"relu_of_relu"};
    auto found = api::Optimize(input_.graph, {}, options);
    EXPECT_TRUE(found.ok()) << found.status();
    output_.graph = found->search.best;
    auto rules = api::LoadRulesFile("");
    auto certificate = Certify(input_.graph, found->search.rewrites, output_.graph, rules->rules,
                               Certificate::Result::kBest);
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    certificate_ = *certificate;
  }

  api::CheckResult Check(const api::CheckOptions& options = {}) {
    auto result = api::CheckCertificate(input_, output_, certificate_, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : api::CheckResult();
  }

  api::Model input_, output_;
  Certificate certificate_;
};

TEST_F(CheckTest, AcceptsWhatIsRight) {
  api::CheckOptions options;
  options.seed = 7;
  const api::CheckResult result = Check(options);
  EXPECT_EQ(result.problem(), "");
  EXPECT_EQ(result.seed, 7);
  EXPECT_EQ(result.certificate.steps.size(), 1);
  EXPECT_EQ(result.check.samples, 1);
}

TEST_F(CheckTest, ProvesRulesAnew) {
  api::CheckOptions options;
  options.prove = true;
  EXPECT_EQ(Check(options).problem(), "");
}

// A step at a size that is known only at run time is read again as it was written.
TEST(CheckOfResultSizesTest, AcceptsAStepWhoseSizeContainsOne) {
  auto imported = ImportOnnxBytes(OnnxModel(R"(g (int64[4] x) => (y) {
    nz = NonZero(x)
    last = Constant <value = int64[1,1] {3}> ()
    one = Constant <value = int64 {1}> ()
    c = Concat <axis = 1> (nz, last)
    y = Mul(c, one)
  })")
                                      .SerializeAsString());
  ASSERT_TRUE(imported.ok()) << imported.status();
  api::Model input, output;
  input.graph = imported->graph;
  api::OptimizeOptions options;
  options.costs.measured = false;
  options.execute = false;
  options.hints = {{}};
  auto found = api::Optimize(input.graph, {}, options);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->search.rewrites.size(), 1);
  output.graph = found->search.best;
  auto rules = api::LoadRulesFile("");
  auto made = Certify(input.graph, found->search.rewrites, output.graph, rules->rules,
                      Certificate::Result::kBest);
  ASSERT_TRUE(made.ok()) << made.status();
  made->input_file = made->output_file = std::string(64, '0');
  const std::string text = PrintCertificate(*made);
  EXPECT_THAT(text, HasSubstr(" + 1}"));
  auto read = ParseCertificate(text);
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
  auto result = api::CheckCertificate(input, output, *read, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->problem(), "");
}

// Whether the check accepts what two rules make of `graph`, a model of operator set `opset`, when
// it is written and read again. `at_least`: the operator set of the result.
std::string ProblemAfterWriting(const std::string& graph, int opset, int at_least) {
  const std::string folder = testing::TempDir();
  const std::string in = folder + "/written_in.onnx", out = folder + "/written_out.onnx";
  const onnx::ModelProto model = OnnxModel(graph, opset);
  EXPECT_TRUE(WriteFileAtomically(in, {model.SerializeAsString()}).ok());
  auto input = api::LoadModel(in);
  EXPECT_TRUE(input.ok()) << input.status();
  api::OptimizeOptions options;
  options.costs.measured = false;
  options.execute = false;
  if (!DimsOf(input->graph).empty()) options.hints = {{}};
  options.only = {"relu_of_relu", "mul_by_scalar", "recognize_hard_swish"};
  auto found = api::Optimize(input->graph, {}, options);
  EXPECT_TRUE(found.ok()) << found.status();
  EXPECT_GE(found->search.rewrites.size(), 2);
  api::Model changed = *input;
  changed.graph = found->search.best;
  EXPECT_TRUE(api::SaveModel(changed, out, api::ModelFormat::kOnnx).ok());
  auto output = api::LoadModel(out);
  EXPECT_TRUE(output.ok()) << output.status();
  EXPECT_GE(output->info.opset, at_least);
  auto rules = api::LoadRulesFile("");
  auto made = Certify(input->graph, found->search.rewrites, changed.graph, rules->rules,
                      Certificate::Result::kBest);
  EXPECT_TRUE(made.ok()) << made.status();
  auto result = api::CheckCertificate(*input, *output, *made, {});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->problem() : "failed";
}

// An operator that is made of others (Resize) is found again by its name in the file, although
// rewrites changed what it reads and what reads it.
TEST(CheckOfNamesTest, FindsAnOperatorBetweenRewrites) {
  EXPECT_EQ(ProblemAfterWriting(R"(g (float[1,2,4,4] x) => (y) {
    two = Constant <value = float {2}> ()
    sizes = Constant <value = int64[4] {1, 2, 7, 7}> ()
    a = Relu(x)
    b = Relu(a)
    c = Sigmoid(b)
    d = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (c, , , sizes)
    y = Mul(d, two)
  })",
                                17, 17),
            "");
}

// Nothing but a barrier says that the size of Compress's result is needed.
TEST(CheckOfNamesTest, KeepsAnOperatorOfWhichOnlyTheSizeIsUsed) {
  EXPECT_EQ(ProblemAfterWriting(R"(g (float[6] x, bool[6] m) => (y, s) {
    two = Constant <value = float {2}> ()
    a = Relu(x)
    b = Relu(a)
    v = Compress(b, m)
    s = Shape(v)
    c = Neg(x)
    d = Relu(c)
    e = Relu(d)
    y = Mul(e, two)
  })",
                                17, 17),
            "");
}

// A Slice of set 9 is written in the form of the later set that the result needs.
TEST(CheckOfNamesTest, RaisesAnOperatorBetweenRewrites) {
  EXPECT_EQ(ProblemAfterWriting(R"(g (float[4,64,64] x) => (y) {
    two = Constant <value = float {2}> ()
    a = Mul(x, two)
    b = Sigmoid(a)
    c = Mul(b, two)
    d = Slice <starts = [1], ends = [3], axes = [0]> (c)
    three = Constant <value = float {3}> ()
    six = Constant <value = float {6}> ()
    e = Add(d, three)
    f = Clip <min = 0.0, max = 6.0> (e)
    h = Mul(d, f)
    y = Div(h, six)
  })",
                                9, 14),
            "");
}

TEST_F(CheckTest, RejectsAnotherOutput) {
  output_.graph = ModelOf("graph g(x: f32[4,8]) { y = relu(x) return y }").graph;
  EXPECT_THAT(Check().problem(), HasSubstr("the output is not the graph of the last step"));
}

TEST_F(CheckTest, RejectsAWrongStepByItsNumber) {
  certificate_.steps[0].after ^= 1;
  const api::CheckResult result = Check();
  EXPECT_EQ(result.check.step, 1);
  EXPECT_THAT(result.problem(), HasSubstr("gives another graph"));
}

TEST_F(CheckTest, SaysWhichOptionMightHelp) {
  const std::string rules = testing::TempDir() + "/rules.txt";
  ASSERT_TRUE(WriteFileAtomically(rules, {R"(rule other(x: [n]) bit_exact {
    a = neg(x) b = neg(a) return b } => { return x })"})
                  .ok());
  api::CheckOptions options;
  options.rules = rules;
  api::CheckResult result = Check(options);
  EXPECT_THAT(result.problem(), HasSubstr("relu_of_relu: it is none of"));
  EXPECT_EQ(result.hint, Hint::kRules);
  certificate_.reseed = 3;
  result = Check();
  EXPECT_THAT(result.problem(), HasSubstr("random weights of seed 3"));
  EXPECT_EQ(result.hint, Hint::kReseed);
}

TEST_F(CheckTest, WrongOptionsAndFiles) {
  api::CheckOptions options;
  options.samples = -1;
  EXPECT_FALSE(api::CheckCertificate(input_, output_, certificate_, options).ok());
  options.samples = 1;
  options.rules = "/no/such/rules";
  EXPECT_FALSE(api::CheckCertificate(input_, output_, certificate_, options).ok());
  auto missing = api::CheckCertificate("/no/model", "/no/output", "/no/certificate", {});
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/no/certificate"));
}

TEST_F(CheckTest, FilesOfOtherModelsAreRejected) {
  const std::string folder = testing::TempDir();
  const std::string in = folder + "/in.lemma", cert = folder + "/c.cert";
  certificate_.input_file = certificate_.output_file = std::string(64, '0');
  ASSERT_TRUE(WriteFileAtomically(in, {kGraph}).ok());
  ASSERT_TRUE(WriteFileAtomically(cert, {PrintCertificate(certificate_)}).ok());
  auto result = api::CheckCertificate(in, in, cert, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->problem(), HasSubstr("is not the file that the certificate is of"));
}

TEST(CheckPlanTest, PlansComputeWhatTheirOperatorsMean) {
  for (const std::string& backend : api::PlanCheckBackends()) {
    auto check = api::CheckPlan(ModelOf(kGraph).graph, {backend, 1});
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_EQ(check->problem, "");
    EXPECT_GT(check->proved + check->compared + check->by_definition, 0) << backend;
    EXPECT_EQ(check->seed, 1);
  }
}

TEST(CheckPlanTest, BlocksAreProved) {
  // The scores take 8.6 MB.
  auto check =
      api::CheckPlan(ModelOf(R"(graph g(q: f32[4,750,8], k: f32[4,8,720], v: f32[4,720,8]) {
    s = matmul(q, k) p = softmax(s) {axis = 2} y = matmul(p, v) return y })")
                         .graph,
                     {"cpu", 1});
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->problem, "");
  EXPECT_GE(check->in_blocks, 6);
}

TEST(CheckPlanTest, ThereIsNoPlanOfOthers) {
  auto check = api::CheckPlan(ModelOf(kGraph).graph, {"reference", 1});
  EXPECT_THAT(std::string(check.status().message()),
              HasSubstr("plans of cpu and of cuda, not of reference"));
}

}  // namespace
}  // namespace lemma
