// Against ONNX Runtime's library. Skipped where it is not installed.
#include "runtime/onnxruntime/ort_backend.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

class OrtBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    // The library is in the user's home, whose path Bazel hides from tests.
    if (const passwd* user = getpwuid(getuid()); user != nullptr) setenv("HOME", user->pw_dir, 1);
    if (const absl::Status s = CheckOrtLibrary(""); !s.ok()) GTEST_SKIP() << s;
  }

  static Graph Parsed(const std::string& text) {
    auto graph = ParseGraph(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *std::move(graph);
  }

  // Signatures of the planned kernels.
  static std::vector<std::string> Planned(const Graph& graph) {
    const auto plan = MakeOrtMeasurer()->Plan(graph);
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<std::string> signatures;
    for (const PlannedKernel& kernel : plan->kernels) signatures.push_back(kernel.signature);
    return signatures;
  }

  static double MsOf(const std::string& text) {
    const std::unique_ptr<KernelMeasurer> measurer = MakeOrtMeasurer();
    const auto plan = measurer->Plan(Parsed(text));
    EXPECT_TRUE(plan.ok()) << plan.status();
    double sum = 0;
    for (const PlannedKernel& kernel : plan->kernels) {
      const auto ms = measurer->MeasureMs(kernel);
      EXPECT_TRUE(ms.ok()) << ms.status();
      sum += *ms;
    }
    return sum;
  }
};

TEST_F(OrtBackendTest, ComputesWhatTheDefinitionsSay) {
  const Graph graph = Parsed(R"(graph g(x: f32[1,2,3,3], i: i64[2]) {
    f = constant f32[1,2,1,1] [2.0, -3.0]
    y = conv2d(x, f) z = relu(y) j = add(i, i) return z, j })");
  std::vector<double> values;
  for (int k = 0; k < 18; ++k) values.push_back(k % 5);
  const std::vector<Tensor> inputs = {*Tensor::FromDoubles({DType::kF32, {1, 2, 3, 3}}, values),
                                      Tensor::Ints({3, 4})};
  std::vector<std::vector<Tensor>> outputs;
  for (const auto& backend : {MakeOrtBackend(), MakeReferenceBackend()}) {
    auto executable = backend->Compile(graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    auto result = (*executable)->Run(inputs);
    ASSERT_TRUE(result.ok()) << result.status();
    outputs.push_back(*std::move(result));
  }
  for (int k = 0; k < 2; ++k) EXPECT_EQ(outputs[0][k].ToDoubles(), outputs[1][k].ToDoubles());
}

TEST_F(OrtBackendTest, WrongInputsAreRefused) {
  auto executable =
      MakeOrtBackend()->Compile(Parsed("graph g(x: f32[2]) { y = relu(x) return y }"), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_TRUE(absl::IsInvalidArgument((*executable)->Run({Tensor::Ints({1, 2})}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument((*executable)->Run({}).status()));
}

// Between convolutions channels are in blocks; an operator in between that needs them otherwise
// gets them from memory of another order.
TEST_F(OrtBackendTest, PlansFollowTheLayoutOfChannels) {
  const std::string head = R"(graph g(x: f32[1,16,8,8]) {
    f = constant f32[16,16,3,3] fill 0.5
    a = conv2d(x, f) {pads = [1,1,1,1]} )";
  const auto direct = Planned(Parsed(head + "b = conv2d(a, f) return b }"));
  ASSERT_EQ(direct.size(), 2);
  EXPECT_THAT(direct[1], HasSubstr("f32[1,16,8,8] blocked"));
  const auto moved =
      Planned(Parsed(head + "t = transpose(a) {perm = [0,1,3,2]} b = conv2d(t, f) return b }"));
  ASSERT_EQ(moved.size(), 3);
  EXPECT_THAT(moved[1], HasSubstr("transpose(f32[1,16,8,8] blocked)"));
  EXPECT_THAT(moved[2], testing::Not(HasSubstr("blocked")));
}

TEST_F(OrtBackendTest, MoreWorkTakesMoreTime) {
  auto conv = [](int channels) {
    const std::string c = std::to_string(channels);
    return MsOf("graph g(x: f32[1," + c + ",28,28]) { f = constant f32[" + c + "," + c +
                ",3,3] fill 0.5 a = conv2d(x, f) b = relu(a) return b }");
  };
  EXPECT_GT(conv(256), 3 * conv(64));
  auto product = [](int n) {
    const std::string k = std::to_string(n);
    return MsOf("graph g(x: f32[" + k + "," + k + "]) { y = matmul(x, x) return y }");
  };
  EXPECT_GT(product(512), 3 * product(128));
}

// ONNX Runtime computes hard_swish inside the convolution, and its parts, written out, outside.
TEST_F(OrtBackendTest, WhatTheLibraryFusesIsPriced) {
  const std::string head = R"(graph g(x: f32[1,32,64,64]) {
    f = constant f32[32,32,1,1] fill 0.5
    c = conv2d(x, f) )";
  const double fused = MsOf(head + "y = hard_swish(c) return y }");
  const double apart =
      MsOf(head + R"(three = constant f32[1] fill 3.0 six = constant f32[1] fill 6.0
    a = add(c, three) b = clip(a) {max = 6.0, min = 0.0} m = mul(c, b) y = div(m, six) return y })");
  EXPECT_LT(fused, apart);
}

}  // namespace
}  // namespace lemma
