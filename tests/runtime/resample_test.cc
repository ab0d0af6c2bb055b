// The kernel for interpolation, along every axis and in every layout.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// Constants of `rows` results made of `taps` elements each, for an axis of `size` elements.
std::string Taps(int64_t size, int64_t rows, int64_t taps, const std::string& type) {
  std::vector<std::string> positions, weights;
  for (int64_t i = 0; i < rows * taps; ++i) {
    const int64_t at = (i * 7 + i / 3) % size;
    positions.push_back(absl::StrCat(i % 5 == 0 ? at - size : at));
    weights.push_back(absl::StrCat(static_cast<double>(i % 9) / 4 - 1));
  }
  return absl::StrCat("i: weight i64[", rows, ",", taps, "] = [", absl::StrJoin(positions, ", "),
                      "], w: weight ", type, "[", rows, ",", taps, "] = [",
                      absl::StrJoin(weights, ", "), "]");
}

// The plan of the graph, whose results are compared with the reference.
std::string PlanOf(const std::string& text) {
  const Graph graph = GraphWithWeights(text);
  const std::vector<Tensor> inputs = RandomInputs(graph);
  auto executable = ExpectCpuMatchesReference(graph, inputs, /*threads=*/3);
  return executable == nullptr ? "" : executable->Describe();
}

TEST(Resample, AlongEveryAxisOfEveryLayout) {
  for (const int64_t taps : {1, 2, 4}) {
    for (int axis = 0; axis < 4; ++axis) {
      const int64_t sizes[] = {2, 19, 5, 70};
      const std::string last = absl::StrCat(Taps(sizes[axis], 7, taps, "f32"), ") { y = ");
      const std::string apply = absl::StrCat("resample(X, i, w) {axis = ", axis, "} return y }");
      // Row-major, and channels last as the convolution writes it.
      const std::string plain = absl::StrCat("graph g(x: f32[2,19,5,70], ", last,
                                             absl::StrReplaceAll(apply, {{"X", "x"}}));
      EXPECT_TRUE(absl::StrContains(PlanOf(plain), "resample(")) << plain;
      const std::string image = absl::StrCat(
          "graph g(x: f32[2,3,5,70], k: weight f32[19,3,1,1], ", Taps(sizes[axis], 7, taps, "f32"),
          ") { c = conv2d(x, k) y = ", absl::StrReplaceAll(apply, {{"X", "c"}}));
      EXPECT_TRUE(absl::StrContains(PlanOf(image), "resample(")) << image;
    }
  }
}

// The result is a part of a concatenation, which needs no copy.
TEST(Resample, WritesIntoAConcatenation) {
  const std::string plan = PlanOf(absl::StrCat(
      "graph g(x: f32[2,3,6,5], k: weight f32[8,3,1,1], z: f32[2,4,6,7], ", Taps(5, 7, 2, "f32"),
      ") { c = conv2d(x, k) r = resample(c, i, w) {axis = 3} e = exp(z) y = concat(r, e) {axis = 1}"
      " return y }"));
  EXPECT_TRUE(absl::StrContains(plan, "resample(")) << plan;
  const Graph graph = GraphWithWeights(absl::StrCat(
      "graph g(x: f32[6,5,8], z: f32[6,7,2], ", Taps(5, 7, 2, "f32"),
      ") { r = resample(x, i, w) {axis = 1} e = exp(z) y = concat(r, e) {axis = 2} return y }"));
  auto executable = ExpectCpuMatchesReference(graph, RandomInputs(graph));
  ASSERT_NE(executable, nullptr);
  EXPECT_FALSE(absl::StrContains(executable->Describe(), "copy(")) << executable->Describe();
}

TEST(Resample, OfSixteenBitFloatsIsRoundedOnce) {
  for (const std::string type : {"f16", "bf16"}) {
    const std::string text = absl::StrCat("graph g(x: ", type, "[2,3,9], ", Taps(9, 12, 2, type),
                                          ") { y = resample(x, i, w) {axis = 2} return y }");
    EXPECT_TRUE(absl::StrContains(PlanOf(text), "resample(")) << text;
    // Between library kernels, along both axes: one kernel each, which rounds.
    const std::string image = absl::StrCat(
        "graph g(x: ", type, "[2,3,9,9], k: weight ", type, "[5,3,1,1], l: weight ", type,
        "[3,5,3,3], ", Taps(9, 12, 2, type), ", z: ", type,
        "[2,4,12,12]) { c = conv2d(x, k) a = resample(c, i, w) {axis = 2} "
        "b = resample(a, i, w) {axis = 3} y = conv2d(b, l) e = exp(z) j = concat(b, e) {axis = 1} "
        "return y, j }");
    const std::string plan = PlanOf(image);
    EXPECT_TRUE(absl::StrContains(plan, "resample(i0 i1 i2) axis=2; cast(n0)")) << plan;
    EXPECT_TRUE(absl::StrContains(plan, "resample(i0 i1 i2) axis=3; cast(n0)")) << plan;
  }
}

TEST(Resample, OfOneElementOrOneColumn) {
  PlanOf(absl::StrCat("graph g(x: f32[1,1,1,1], ", Taps(1, 4, 2, "f32"),
                      ") { y = resample(x, i, w) {axis = 2} return y }"));
  PlanOf(absl::StrCat("graph g(x: f32[5], ", Taps(5, 3, 2, "f32"),
                      ") { y = resample(x, i, w) {axis = 0} return y }"));
  PlanOf("graph g(x: f32[5], i: i64[3,2], w: f32[3,2]) { y = resample(x, i, w) return y }");
}

TEST(Resample, APositionOutsideIsAnError) {
  const Graph graph = GraphWithWeights(
      "graph g(x: f32[2,3], i: weight i64[1,2] = [0, 3], w: weight f32[1,2] = [1, 1]) "
      "{ y = resample(x, i, w) {axis = 1} return y }");
  auto executable = MakeCpuBackend()->Compile(graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_FALSE((*executable)->Run(RandomInputs(graph)).ok());
}

}  // namespace
}  // namespace lemma
