// Steps of a decoder on an emulated device: one CUDA graph for each token, and a cache of which a
// step writes one position.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "runtime/stepper.h"
#include "runtime/tolerance.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/runtime/runtime_testutil.h"
#if HAVE_CUDA
#include "runtime/cuda/cuda_compiler.h"
#include "runtime/cuda/cuda_executable.h"
#include "runtime/cuda/fusion/store_factors.h"
#include "runtime/cuda/plan_check.h"
#include "tests/runtime/cuda/emulated_device.h"

namespace lemma {
namespace {

// A layer of a decoder for one token of each of two sequences; CAPACITY positions in the cache.
constexpr char kDecoder[] = R"(graph decoder(key: f32[2,3,CAPACITY,8], value: f32[2,3,CAPACITY,8],
    x: f32[2,24], position: i64[2,1,1,1], q: weight f32[24,24], k: weight f32[24,24],
    v: weight f32[24,24], o: weight f32[24,24]) {
  qx = matmul(x, q)
  qh = reshape(qx) {shape = [2,3,1,8]}
  kx = matmul(x, k)
  kh = reshape(kx) {shape = [2,3,1,8]}
  vx = matmul(x, v)
  vh = reshape(vx) {shape = [2,3,1,8]}
  at = expand(position) {shape = [2,3,1,8]}
  key.next = scatter_elements(key, at, kh) {axis = 2}
  value.next = scatter_elements(value, at, vh) {axis = 2}
  kt = transpose(key.next) {perm = [0,1,3,2]}
  s = matmul(qh, kt)
  all = iota() {size = CAPACITY}
  columns = reshape(all) {shape = [1,1,1,CAPACITY]}
  seen = less_equal(columns, position)
  none = constant f32[] fill -1e9
  masked = where(seen, s, none)
  p = softmax(masked) {axis = 3}
  h = matmul(p, value.next)
  f = reshape(h) {shape = [2,24]}
  y = matmul(f, o)
  return y, key.next, value.next
})";

std::string DecoderOf(int capacity) {
  return absl::StrReplaceAll(kDecoder, {{"CAPACITY", std::to_string(capacity)}});
}

class Decoding : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::CompilerVersion().ok()) GTEST_SKIP() << cuda::CompilerVersion().status();
    setenv("HOME", testing::TempDir().c_str(), 1);  // for cubins
  }

  cuda::CudaPlan PlanOf(const Graph& graph) {
    auto plan = cuda::PlanGraph(cuda::StoreFactors(graph, traits_, {}), traits_);
    EXPECT_TRUE(plan.ok()) << plan.status();
    const absl::Status holds = cuda::CheckPlan(cuda::StoreFactors(graph, traits_, {}), *plan);
    EXPECT_TRUE(holds.ok()) << holds;
    return *std::move(plan);
  }

  NodeTraitsCache traits_;
};

int64_t ThreadsThatWrite(const cuda::CudaPlan& plan, int buffer, std::string* schedule) {
  int64_t threads = 0;
  for (const cuda::Launch& launch : plan.launches) {
    const codegen::GridKernel& kernel = plan.KernelOf(launch);
    for (int slot : kernel.writes) {
      if (plan.steps[launch.step].buffers[slot] != buffer) continue;
      threads += kernel.blocks * kernel.threads;
      *schedule = kernel.schedule;
    }
  }
  return threads;
}

TEST_F(Decoding, AStepWritesOnePositionOfTheCacheWhateverItsCapacity) {
  for (const int capacity : {2, 32, 4096}) {
    const cuda::CudaPlan plan = PlanOf(GraphWithWeights(DecoderOf(capacity)));
    ASSERT_EQ(plan.state.size(), 2u);
    for (const StatePair& pair : plan.state) {
      EXPECT_EQ(plan.inputs[pair.input], plan.outputs[pair.output]);
      std::string schedule;
      // 2 x 3 x 8 elements, and threads that do nothing.
      EXPECT_EQ(ThreadsThatWrite(plan, plan.inputs[pair.input], &schedule), 64) << capacity;
      EXPECT_EQ(schedule, "by element at a position");
    }
  }
}

Tensor Numbers(const TensorType& type, double first) {
  std::vector<double> values(type.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(first + static_cast<double>(i));
  return *Tensor::FromDoubles(type, values);
}

TEST_F(Decoding, TokensAreThoseOfTheReference) {
  constexpr int kCapacity = 6;
  const Graph graph = GraphWithWeights(DecoderOf(kCapacity));
  const cuda::CudaPlan plan = PlanOf(graph);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    auto device = EmulatedDevice::Create({&plan}, seed);
    ASSERT_TRUE(device.ok()) << device.status();
    auto loaded = cuda::LoadPlan((*device)->device(), graph, plan, 1, /*libraries=*/false);
    auto reference = MakeReferenceBackend()->Compile(graph, {});
    ASSERT_TRUE(loaded.ok() && reference.ok()) << loaded.status() << reference.status();
    {
      Stepper actual(graph, *std::move(loaded)), expected(graph, *std::move(reference));
      std::vector<Tensor> inputs = RandomInputs(graph);
      ASSERT_TRUE(actual.SetState(inputs).ok() && expected.SetState(RandomInputs(graph)).ok());
      // Positions of both sequences: in turn, again, counted from the end, and outside.
      const std::vector<std::pair<int64_t, int64_t>> positions = {{0, 3},
                                                                  {1, 4},
                                                                  {2, 5},
                                                                  {2, -1},
                                                                  {5, 0},
                                                                  {kCapacity, 1},
                                                                  {-kCapacity - 1, -kCapacity},
                                                                  {INT64_MAX, INT64_MIN}};
      const std::vector<double> tolerances = RelativeTolerances(graph);
      for (const auto& [first, second] : positions) {
        inputs[2] = Numbers(inputs[2].type(), static_cast<double>(first % 100));
        inputs[3] = *Tensor::FromInts(inputs[3].type(), {first, second});
        const int graphs = (*device)->graph_launches();
        const int64_t up = (*device)->copied_to_device(), down = (*device)->copied_to_host();
        auto y = actual.Step(inputs), wanted = expected.Step(inputs);
        ASSERT_TRUE(y.ok() && wanted.ok()) << y.status() << wanted.status();
        const Difference d = Compare((*y)[0], (*wanted)[0], 10 * tolerances[0]);
        EXPECT_TRUE(d.within) << first << ": " << d.ToString();
        // One CUDA graph, and nothing else between the inputs and the logits.
        EXPECT_EQ((*device)->graph_launches(), graphs + 1);
        EXPECT_EQ((*device)->kernel_launches(), 0);
        EXPECT_EQ((*device)->copied_on_device(), 0);
        EXPECT_EQ((*device)->copied_to_device() - up, 2 * 24 * 4 + 2 * 8);
        EXPECT_EQ((*device)->copied_to_host() - down,
                  2 * 24 * 4 + static_cast<int64_t>(4 * plan.launches.size()));
        auto state = actual.State(), wanted_state = expected.State();
        ASSERT_TRUE(state.ok() && wanted_state.ok());
        for (int i = 0; i < 2; ++i) {
          const Difference s = Compare((*state)[i], (*wanted_state)[i], 10 * tolerances[i + 1]);
          EXPECT_TRUE(s.within) << first << ": " << s.ToString();
        }
      }
    }
  }
}

// The caches of an exported decoder have other names, and TensorScatter writes them.
TEST_F(Decoding, CachesOfOnnxModelsAreState) {
  const char* const kModels[] = {
      "g (float[2,3,9,4] past_key, float[2,3,1,4] k, int64[2] at) => (float[2,3,9,4] present_key) "
      "{ present_key = TensorScatter<axis = 2>(past_key, k, at) }",
      "g (float[2,3,9,4] past_key, float[2,3,1,4] k, int64[2] at) => (float[2,3,9,4] present_key) "
      "{ present_key = TensorScatter<axis = 2, mode = \"circular\">(past_key, k, at) }"};
  for (const char* text : kModels) {
    auto imported = ImportOnnxBytes(OnnxModel(text, 24).SerializeAsString());
    ASSERT_TRUE(imported.ok()) << imported.status();
    const cuda::CudaPlan plan = PlanOf(imported->graph);
    ASSERT_EQ(plan.state.size(), 1u);
    EXPECT_EQ(plan.inputs[plan.state[0].input], plan.outputs[plan.state[0].output]);
    EXPECT_EQ(plan.KernelOf(plan.launches.back()).schedule, "by element at a position");
  }
}

struct UpdateCase {
  const char* what;
  const char* text;
  bool partly;  // whether the new state is written in part, in the old one's memory
};
const UpdateCase kUpdates[] = {
    {"an update of one row", R"(graph g(s: f32[5,6], i: i64[1,1], u: f32[1,6]) {
       w = expand(i) {shape = [1,6]}
       s.next = scatter_elements(s, w, u) {axis = 0}
       return s.next })",
     true},
    {"one row by number", R"(graph g(s: f16[5,6], i: i32[1,1], u: f16[1,6]) {
       s.next = scatter_nd(s, i, u)
       return s.next })",
     true},
    {"one element", R"(graph g(s: f32[5,6], i: i64[1,2], u: f32[1]) {
       s.next = scatter_nd(s, i, u)
       return s.next })",
     true},
    {"integers", R"(graph g(s: i64[5,6], i: i64[1,1], u: i64[1,6]) {
       s.next = scatter_nd(s, i, u)
       return s.next })",
     true},
    {"an update that is computed there", R"(graph g(s: f32[5,6], i: i64[1,1], u: f32[1,6]) {
       e = exp(u)
       s.next = scatter_nd(s, i, e)
       return s.next })",
     true},
    {"an update that a table gives", R"(graph g(s: f32[5,6], i: i64[1,1], j: i64[1], t: f32[4,6]) {
       r = gather(t, j) {axis = 0}
       s.next = scatter_nd(s, i, r)
       return s.next })",
     true},
    {"a sum", R"(graph g(s: f32[5,6], i: i64[1,1], u: f32[1,6]) {
       s.next = scatter_nd(s, i, u) {reduction = "add"}
       return s.next })",
     false},
    {"two rows", R"(graph g(s: f32[5,6], i: i64[2,1], u: f32[2,6]) {
       s.next = scatter_nd(s, i, u)
       return s.next })",
     false},
    {"an update that reads the state", R"(graph g(s: f32[5,6], i: i64[1,1]) {
       t = slice(s) {starts = [2,0], sizes = [1,6], steps = [1,1]}
       e = exp(t)
       s.next = scatter_nd(s, i, e)
       return s.next })",
     false},
    {"a later reader", R"(graph g(s: f32[5,6], i: i64[1,1], u: f32[1,6]) {
       s.next = scatter_nd(s, i, u)
       m = reduce_sum(s.next) {axes = [0,1], keepdims = 0}
       y = mul(s, m)
       return s.next, y })",
     false},
    {"an earlier reader", R"(graph g(s: f32[5,6], i: i64[1,1], u: f32[5,6]) {
       v = mul(s, u)
       m = reduce_sum(v) {axes = [0], keepdims = 1}
       s.next = scatter_nd(s, i, m)
       return s.next, m })",
     true},
    {"a reader in the same kernel", R"(graph g(s: f32[5,6], i: i64[1,1], u: f32[5,6]) {
       v = mul(s, u)
       m = reduce_sum(v) {axes = [0], keepdims = 1}
       s.next = scatter_nd(s, i, m)
       return s.next })",
     false},
    {"the state is an output", R"(graph g(s: f32[5,6], i: i64[1,1], u: f32[1,6]) {
       s.next = scatter_nd(s, i, u)
       return s.next, s })",
     false},
    {"no rows", R"(graph g(s: f32[0,6], i: i64[1,1], u: f32[1,6]) {
       s.next = scatter_nd(s, i, u)
       return s.next })",
     false},
};

TEST_F(Decoding, WritesInPartOnlyWhatNothingElseReads) {
  for (const UpdateCase& c : kUpdates) {
    SCOPED_TRACE(c.what);
    const Graph graph = GraphWithWeights(c.text);
    const cuda::CudaPlan plan = PlanOf(graph);
    ASSERT_EQ(plan.state.size(), 1u);
    bool partly = false;
    for (const cuda::CudaStep& step : plan.steps) {
      partly = partly || (step.program != nullptr && step.program->kept >= 0);
    }
    EXPECT_EQ(partly, c.partly) << plan.Describe(graph);
    auto device = EmulatedDevice::Create({&plan}, 1);
    ASSERT_TRUE(device.ok()) << device.status();
    auto loaded = cuda::LoadPlan((*device)->device(), graph, plan, 1, /*libraries=*/false);
    auto reference = MakeReferenceBackend()->Compile(graph, {});
    ASSERT_TRUE(loaded.ok() && reference.ok()) << loaded.status() << reference.status();
    Stepper actual(graph, *std::move(loaded)), expected(graph, *std::move(reference));
    for (int64_t position : {0, 4, -1, -5, 3}) {
      std::vector<Tensor> inputs = RandomInputs(graph, static_cast<uint64_t>(position + 10));
      const TensorType type = inputs[1].type();
      inputs[1] = *Tensor::FromInts(type, std::vector<int64_t>(type.num_elements(), position));
      if (inputs.size() > 2 && inputs[2].dtype() == DType::kF32 && position == 3) {
        std::vector<double> values = inputs[2].ToDoubles();
        values[0] = std::nan("");
        values.back() = -INFINITY;
        inputs[2] = *Tensor::FromDoubles(inputs[2].type(), values);
      }
      const bool first = position == 0;
      if (first) {
        ASSERT_TRUE(actual.SetState(inputs).ok());
        ASSERT_TRUE(expected.SetState(RandomInputs(graph, 10)).ok());
      }
      auto y = actual.Step(inputs), wanted = expected.Step(inputs);
      ASSERT_TRUE(y.ok() && wanted.ok()) << y.status() << wanted.status();
      auto state = actual.State(), wanted_state = expected.State();
      ASSERT_TRUE(state.ok() && wanted_state.ok());
      const Difference d = Compare((*state)[0], (*wanted_state)[0], 1e-5);
      EXPECT_TRUE(d.within) << position << ": " << d.ToString();
    }
  }
}

// Whether the position lies inside the cache or not.
TEST_F(Decoding, ABadIndexOfTheUpdateIsReported) {
  const Graph graph = GraphWithWeights(
      R"(graph g(s: f32[5,6], i: i64[1,1], j: i64[1], t: f32[4,6]) {
       r = gather(t, j) {axis = 0}
       s.next = scatter_nd(s, i, r)
       return s.next })");
  const cuda::CudaPlan plan = PlanOf(graph);
  for (const int64_t position : {1, 7}) {
    auto device = EmulatedDevice::Create({&plan}, 1);
    ASSERT_TRUE(device.ok()) << device.status();
    auto loaded = cuda::LoadPlan((*device)->device(), graph, plan, 1, /*libraries=*/false);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    Stepper stepper(graph, *std::move(loaded));
    std::vector<Tensor> inputs = RandomInputs(graph, 3);
    inputs[1] = *Tensor::FromInts(inputs[1].type(), {position});
    inputs[2] = *Tensor::FromInts(inputs[2].type(), {4});
    ASSERT_TRUE(stepper.SetState(inputs).ok());
    EXPECT_TRUE(absl::IsOutOfRange(stepper.Step(inputs).status())) << position;
  }
}

}  // namespace
}  // namespace lemma

#endif
