// The kernels of training steps are right, with state in place and small updates side by side.
#include <string>

#include "graph/grad/training_step.h"
#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"
#include "tests/verifier/kernels/checked_graph.h"

namespace lemma {
namespace {

// The strided convolution and the pooling make kernels of several phases.
constexpr char kConvolutional[] = R"(graph g(x: f32[2,8,16,16], w: weight f32[16,8,3,3],
    g: weight f32[16], b: weight f32[16], v: weight f32[24,16,3,3], u: weight f32[384,10]) {
  a = conv2d(x, w) {pads = [1,1,1,1], strides = [2,2]}
  n, m, s = batch_norm_training(a, g, b)
  r = relu(n)
  q = conv2d(r, v) {pads = [1,1,1,1]}
  p = max_pool2d(q) {kernel = [2,2], strides = [2,2]}
  f = reshape(p) {shape = [2,384]}
  y = matmul(f, u)
  return y
})";

constexpr char kAttention[] = R"(graph g(x: f32[2,20,32], wq: weight f32[32,32],
    wk: weight f32[32,32], wv: weight f32[32,32], g: weight f32[32], b: weight f32[32],
    u: weight f32[32,5]) {
  q = matmul(x, wq)
  k = matmul(x, wk)
  v = matmul(x, wv)
  kt = transpose(k) {perm = [0,2,1]}
  s = matmul(q, kt)
  p = softmax(s)
  o = matmul(p, v)
  r = add(x, o)
  n = layer_norm(r, g, b)
  h = gelu(n)
  y = matmul(h, u)
  t = reshape(y) {shape = [40,5]}
  return t
})";

// The gradient of the bias is one sum per block, whose first thread updates the state in place.
constexpr char kBias[] = R"(graph g(x: f32[1,8,16,16], w: weight f32[16,8,1,1],
    b: weight f32[16,1,1]) {
  a = conv2d(x, w)
  c = add(a, b)
  r = relu(c)
  s = reshape(r) {shape = [16,256]}
  return s
})";

// `least`: the number of kernels, at least.
void ExpectRight(const char* text, UpdateKind update, size_t least = 11) {
  TrainingOptions options;
  options.update.kind = update;
  options.update.momentum = update == UpdateKind::kSgd ? 0.9 : 0;
  auto step = BuildTrainingStep(GraphWithWeights(text), options);
  ASSERT_TRUE(step.ok()) << step.status();
  const StepVerdicts verdicts = CheckSteps(step->graph);
  EXPECT_GE(verdicts.size(), least);
  for (const auto& [operators, verdict] : verdicts) {
    EXPECT_EQ(verdict.kind, kernels::ProgramVerdict::Kind::kAgrees)
        << operators << ": " << verdict.reason;
  }
}

TEST(KernelsOfTraining, Convolutional) {
  ExpectRight(kConvolutional, UpdateKind::kSgd);
  ExpectRight(kConvolutional, UpdateKind::kAdam);
}

TEST(KernelsOfTraining, Bias) {
  ExpectRight(kBias, UpdateKind::kSgd, 9);
  ExpectRight(kBias, UpdateKind::kAdam, 10);
}

TEST(KernelsOfTraining, Attention) {
  ExpectRight(kAttention, UpdateKind::kSgd);
  ExpectRight(kAttention, UpdateKind::kAdamW);
}

}  // namespace
}  // namespace lemma
