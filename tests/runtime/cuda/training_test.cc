// Training steps on the CUDA back end: planned with the stated peak, emulated and compared with the
// reference.
#include "absl/strings/str_cat.h"
#include "graph/grad/training_step.h"
#include "gtest/gtest.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

constexpr char kConvolutional[] = R"(graph convolutional(x: f32[4,3,12,12],
    w: weight f32[8,3,3,3], g: weight f32[8], b: weight f32[8], v: weight f32[6,8,3,3],
    u: weight f32[54,10], c: weight f32[10]) {
  a = conv2d(x, w) {pads = [1,1,1,1]}
  n, m, s = batch_norm_training(a, g, b)
  r = relu(n)
  p = max_pool2d(r) {kernel = [2,2], strides = [2,2]}
  q = conv2d(p, v) {pads = [1,1,1,1], strides = [2,2]}
  t = relu(q)
  f = reshape(t) {shape = [4,54]}
  y = matmul(f, u)
  z = add(y, c)
  return z
})";

constexpr char kAttention[] = R"(graph attention(x: f32[2,9,16], wq: weight f32[16,16],
    wk: weight f32[16,16], wv: weight f32[16,16], g: weight f32[16], b: weight f32[16],
    u: weight f32[16,24], d: weight f32[24,5]) {
  q = matmul(x, wq)
  k = matmul(x, wk)
  v = matmul(x, wv)
  kt = transpose(k) {perm = [0,2,1]}
  s = matmul(q, kt)
  p = softmax(s)
  o = matmul(p, v)
  r = add(x, o)
  n = layer_norm(r, g, b)
  h = matmul(n, u)
  a = gelu(h)
  y = matmul(a, d)
  t = reshape(y) {shape = [18,5]}
  return t
})";

struct Case {
  const char* text;
  UpdateKind update;
  double momentum;
};
const Case kCases[] = {
    {kConvolutional, UpdateKind::kSgd, 0.9},
    {kConvolutional, UpdateKind::kAdam, 0},
    {kAttention, UpdateKind::kSgd, 0},
    {kAttention, UpdateKind::kAdamW, 0},
};

TEST(CudaTraining, StepsMatchReference) {
  EmulatedPlans plans;
  std::vector<std::vector<Tensor>> inputs;
  for (const Case& c : kCases) {
    TrainingOptions options;
    options.update.kind = c.update;
    options.update.momentum = c.momentum;
    // Where a gradient is nearly 0, Adam's quotient with a small one has no correct digits.
    options.update.epsilon = 0.1;
    auto step = BuildTrainingStep(GraphWithWeights(c.text), options);
    ASSERT_TRUE(step.ok()) << step.status();
    const absl::Status added = plans.Add(step->graph);
    ASSERT_TRUE(added.ok()) << added;
    inputs.push_back(RandomInputs(step->graph));
    for (size_t i = 0; i < inputs.back().size(); ++i) {
      const auto state = step->state.find(step->graph.input_names()[i]);
      if (state != step->state.end()) inputs.back()[i] = state->second;
    }
    const cuda::CudaPlan& plan = plans.plan(plans.size() - 1);
    EXPECT_GE(plan.memory.planned_bytes, plan.memory.live_bytes);
    EXPECT_LT(plan.launches.size(), static_cast<size_t>(step->graph.num_ops()));
  }
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (size_t i = 0; i < plans.size(); ++i) plans.ExpectMatchesReference(i, inputs[i]);
}

}  // namespace
}  // namespace lemma
