// The places that the CPU planner gives to values. A user that reads a part of a value does not
// dictate its layout, and values written in place do not overlap others.
#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

void ExpectRight(const char* text, int threads = 1) {
  const Graph graph = GraphWithWeights(text);
  ExpectCpuMatchesReference(graph, RandomInputs(graph), threads);
}

TEST(CpuPlaces, AConvolutionReadsASliceThatStartsAtZero) {
  ExpectRight(R"(graph g(x: f32[1,1,2,2], k: f32[1,1,1,1]) {
    p = pad(x) {pads = [0,0,0,1,0,0,0,0]} s = slice(p) {sizes = [1,1,2,2], starts = [0,0,0,0]}
    y = conv2d(s, k) return y })");
}

TEST(CpuPlaces, AProductReadsASliceThatStartsAtZero) {
  ExpectRight(R"(graph g(x: f32[64,130], k: f32[100,8]) {
    p = pad(x) {pads = [0,5,0,0]} s = slice(p) {sizes = [64,100], starts = [0,0]}
    y = matmul(s, k) return y })");
}

TEST(CpuPlaces, ASumReadsASliceOfARunningSum) {
  ExpectRight(R"(graph g(x: f32[64,130]) {
    p = cumsum(x) {axis = 1} s = slice(p) {sizes = [64,100], starts = [0,0]}
    y = reduce_sum(s) {axes = [1]} return y })");
}

TEST(CpuPlaces, TwoThreadsWriteWhatASliceReads) {
  ExpectRight(R"(graph g(x: f32[8,16,128,130], k: f32[8,16,3,3]) {
    p = exp(x) s = slice(p) {sizes = [8,16,128,128], starts = [0,0,0,0]}
    y = conv2d(s, k) return y })",
              2);
}

TEST(CpuPlaces, ACausalShiftBeforeAConvolution) {
  ExpectRight(R"(graph g(x: f32[2,4,1,9], k: f32[4,4,1,2]) {
    p = pad(x) {pads = [0,0,0,1,0,0,0,0]} s = slice(p) {sizes = [2,4,1,9], starts = [0,0,0,0]}
    y = conv2d(s, k) {pads = [0,1,0,0]} return y })");
}

TEST(CpuPlaces, ATransposedSlice) {
  ExpectRight(R"(graph g(x: f32[6,9], k: f32[6,3]) {
    p = tanh(x) t = transpose(p) {perm = [1,0]} s = slice(t) {sizes = [5,6], starts = [0,0]}
    y = matmul(s, k) return y })");
}

// An operand that a kernel only waits for keeps its layout.
TEST(CpuPlaces, AnOperandThatIsOnlyWaitedForKeepsItsOwnLayout) {
  ExpectRight(R"(graph g(x: f32[3,2], z: f32[2,3]) {
    a = gelu(z) b = tanh(x) t = transpose(b) {perm = [1,0]} y = barrier(t, a) return y })");
  ExpectRight(R"(graph g(x: i64[3], z: f32[]) {
    c = concat(x, x) {axis = 0} a = gelu(z) y = barrier(c, a) return y })");
}

// On each axis, with channels last or not.
TEST(CpuPlaces, ABatchNormalizationWritesItsPartOfAConcatenation) {
  for (int axis = 0; axis < 4; ++axis) {
    const std::string at = std::to_string(axis);
    for (const char* before : {"a = relu(x)", "a = conv2d(x, w) {pads = [1,1,1,1]}"}) {
      for (const char* parts : {"n, a", "a, n", "n, a, n"}) {
        ExpectRight((std::string(R"(graph g(x: f32[2,3,4,5], w: weight f32[3,3,3,3],
            s: weight f32[3], b: weight f32[3], m: weight f32[3],
            v: weight f32[3] = [0.5, 1.0, 2.0]) {
            )") + before +
                     " n = batch_norm(a, s, b, m, v) y = concat(" + parts + ") {axis = " + at +
                     "} z = relu(y) return z }")
                        .c_str());
      }
    }
  }
}

}  // namespace
}  // namespace lemma
