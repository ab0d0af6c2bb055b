// Executables on an emulated device: state stays there, in place if it can.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "graph/barrier.h"
#include "graph/grad/training_step.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "runtime/stepper.h"
#include "runtime/tolerance.h"
#include "tests/base/repetitions.h"
#include "tests/runtime/runtime_testutil.h"
#if HAVE_CUDA
#include "runtime/cuda/cuda_backend.h"
#include "runtime/cuda/cuda_compiler.h"
#include "runtime/cuda/cuda_executable.h"
#include "tests/runtime/cuda/emulated_device.h"

namespace lemma {
namespace {

constexpr char kNetwork[] = R"(graph network(x: f32[4,3,8,8], w: weight f32[6,3,3,3],
    b: weight f32[6], u: weight f32[96,5], c: weight f32[5]) {
  a = conv2d(x, w, b) {pads = [1,1,1,1], strides = [2,2]}
  r = relu(a)
  f = reshape(r) {shape = [4,96]}
  y = matmul(f, u)
  z = add(y, c)
  return z
})";

// A step and its plan on an emulated device.
class Loaded {
 public:
  explicit Loaded(const Graph& graph, uint64_t seed = 1, const cuda::PlanOptions& options = {})
      : graph_(graph) {
    auto plan = cuda::PlanGraph(graph_, traits_, options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    plan_ = *std::move(plan);
    auto device = EmulatedDevice::Create({&plan_}, seed);
    EXPECT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    auto executable = cuda::LoadPlan(device_->device(), graph_, plan_, 1, /*libraries=*/false);
    EXPECT_TRUE(executable.ok()) << executable.status();
    stepper_ = std::make_unique<Stepper>(graph_, *std::move(executable));
  }
  ~Loaded() {
    stepper_.reset();
    EXPECT_EQ(device_->allocated(), 0);
  }

  const Graph& graph() const { return graph_; }
  const cuda::CudaPlan& plan() const { return plan_; }
  EmulatedDevice& device() { return *device_; }
  Stepper& stepper() { return *stepper_; }

  int InPlace() const {
    int count = 0;
    for (const StatePair& pair : plan_.state) {
      count += plan_.inputs[pair.input] == plan_.outputs[pair.output] ? 1 : 0;
    }
    return count;
  }
  int64_t StateBytes() const {
    int64_t bytes = 0;
    for (const StatePair& pair : plan_.state) {
      bytes += graph_.inputs()[pair.input].type().num_bytes();
    }
    return bytes;
  }

 private:
  const Graph graph_;
  NodeTraitsCache traits_;
  cuda::CudaPlan plan_;
  std::unique_ptr<EmulatedDevice> device_;
  std::unique_ptr<Stepper> stepper_;
};

class CudaExecutable : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::CompilerVersion().ok()) GTEST_SKIP() << cuda::CompilerVersion().status();
    setenv("HOME", testing::TempDir().c_str(), 1);  // for cubins
  }
};

int64_t ErrorBytes(const cuda::CudaPlan& plan) {
  return static_cast<int64_t>(4 * plan.launches.size());
}

// Runs both for some steps, and expects equal outputs and equal state.
void ExpectSameSteps(Loaded* loaded, std::vector<Tensor> inputs, int steps) {
  const Graph& graph = loaded->graph();
  auto reference = MakeReferenceBackend()->Compile(graph, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  Stepper expected(graph, *std::move(reference));
  ASSERT_TRUE(expected.SetState(inputs).ok());
  ASSERT_TRUE(loaded->stepper().SetState(inputs).ok());
  const std::vector<double> tolerances = RelativeTolerances(graph);
  for (int step = 0; step < steps; ++step) {
    auto actual = loaded->stepper().Step(inputs);
    auto wanted = expected.Step(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    for (size_t k = 0; k < wanted->size(); ++k) {
      ASSERT_EQ((*actual)[k].empty_handle(), (*wanted)[k].empty_handle()) << k;
      if ((*wanted)[k].empty_handle()) continue;
      const Difference d = Compare((*actual)[k], (*wanted)[k], 10 * tolerances[k]);
      EXPECT_TRUE(d.within) << graph.output_names()[k] << ": " << d.ToString();
    }
  }
  auto actual = loaded->stepper().State();
  auto wanted = expected.State();
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  for (const StatePair& pair : expected.pairs()) {
    const Difference d =
        Compare((*actual)[pair.input], (*wanted)[pair.input], 10 * tolerances[pair.output]);
    EXPECT_TRUE(d.within) << graph.input_names()[pair.input] << ": " << d.ToString();
  }
}

std::vector<Tensor> InputsOf(const TrainingStep& step) {
  std::vector<Tensor> inputs = RandomInputs(step.graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto state = step.state.find(step.graph.input_names()[i]);
    if (state != step.state.end()) inputs[i] = state->second;
  }
  return inputs;
}

TrainingStep StepWith(UpdateKind kind, double momentum) {
  TrainingOptions options;
  options.update.kind = kind;
  options.update.momentum = momentum;
  options.update.epsilon = 0.1;  // a quotient of two gradients that are nearly 0 has no digits
  auto step = BuildTrainingStep(GraphWithWeights(kNetwork), options);
  EXPECT_TRUE(step.ok()) << step.status();
  return *std::move(step);
}

TEST_F(CudaExecutable, StateStaysOnTheDevice) {
  for (const UpdateKind kind : {UpdateKind::kSgd, UpdateKind::kAdam}) {
    const TrainingStep step = StepWith(kind, kind == UpdateKind::kSgd ? 0.9 : 0);
    Loaded loaded(step.graph);
    ASSERT_NE(loaded.stepper().executable().state_keeper(), nullptr);
    EXPECT_EQ(loaded.InPlace(), static_cast<int>(loaded.plan().state.size()))
        << loaded.plan().Describe(step.graph);
    const std::vector<Tensor> inputs = InputsOf(step);
    ExpectSameSteps(&loaded, inputs, 4);
    // A step copies neither the state, nor other values that are not needed there.
    const int64_t up = loaded.device().copied_to_device(), down = loaded.device().copied_to_host();
    ASSERT_TRUE(loaded.stepper().Step(inputs).ok());
    int64_t batch = 0;
    for (const Tensor& t : inputs) batch += t.type().num_bytes();
    EXPECT_EQ(loaded.device().copied_to_device() - up, batch - loaded.StateBytes());
    EXPECT_EQ(loaded.device().copied_to_host() - down,
              4 + ErrorBytes(loaded.plan()));  // 4 of the loss
    EXPECT_EQ(loaded.device().copied_on_device(), 0);
  }
}

TEST_F(CudaExecutable, RunIsOneStepFromItsInputs) {
  const TrainingStep step = StepWith(UpdateKind::kSgd, 0.9);
  Loaded loaded(step.graph);
  const std::vector<Tensor> inputs = InputsOf(step);
  Executable& executable = loaded.stepper().executable();
  auto once = executable.Run(inputs), again = executable.Run(inputs);
  ASSERT_TRUE(once.ok() && again.ok()) << once.status() << again.status();
  for (size_t k = 0; k < once->size(); ++k) {
    EXPECT_TRUE((*once)[k].SameBytes((*again)[k])) << step.graph.output_names()[k];
  }
  std::vector<KernelTiming> timings;
  auto timed = executable.RunTimed(inputs, &timings);
  ASSERT_TRUE(timed.ok()) << timed.status();
  for (size_t k = 0; k < once->size(); ++k) EXPECT_TRUE((*once)[k].SameBytes((*timed)[k]));
}

struct StateCase {
  const char* what;
  const char* text;
  int in_place;
  bool kept;
};
const StateCase kStateCases[] = {
    {"element by element", R"(graph g(s: f32[6,4], x: f32[6,4]) {
       s.next = add(s, x)
       return s.next })",
     1, true},
    {"an operand that is read elsewhere too", R"(graph g(s: f32[6,4], x: f32[6,4]) {
       t = transpose(s) {perm = [1,0]}
       u = reshape(t) {shape = [6,4]}
       v = mul(u, x)
       s.next = add(s, v)
       return s.next })",
     0, true},
    {"a reader behind the writer", R"(graph g(s: f32[6,4], x: f32[6,4]) {
       s.next = add(s, x)
       m = reduce_sum(s.next) {axes = [0,1], keepdims = 0}
       y = mul(s, m)
       return s.next, y })",
     0, true},
    {"the old value is an output", R"(graph g(s: f32[6,4], x: f32[6,4]) {
       s.next = add(s, x)
       y = reshape(s) {shape = [6,4]}
       return s.next, y })",
     0, true},
    {"a row of a reduction", R"(graph g(s: f32[6,4], x: f32[6,4]) {
       m = reduce_sum(s) {axes = [1], keepdims = 1}
       d = sub(s, m)
       s.next = add(d, x)
       return s.next })",
     0, true},
    {"two that change places", R"(graph g(s: f32[6,4], t: f32[6,4], x: f32[6,4]) {
       s.next = reshape(t) {shape = [6,4]}
       t.next = reshape(s) {shape = [6,4]}
       y = add(s, x)
       return s.next, t.next, y })",
     0, false},
    {"side by side with a reader", R"(graph g(s: f32[6,4], t: f32[6,4], x: f32[6,4]) {
       s.next = add(s, x)
       t.next = mul(t, s)
       return s.next, t.next })",
     1, true},
    {"unchanged", R"(graph g(s: f32[6,4], x: f32[6,4]) {
       s.next = reshape(s) {shape = [6,4]}
       y = add(s, x)
       return s.next, y })",
     1, true},
    {"an image of a product", R"(graph g(s: f32[32,32], x: f32[32,16]) {
       xt = transpose(x) {perm = [1,0]}
       g = matmul(x, xt)
       s.next = sub(s, g)
       return s.next })",
     1, true},
};

// Other kernels read the memory of state variables; the graph's nodes run in random orders.
TEST_F(CudaExecutable, WritesOverStateOnlyWhatNothingElseReads) {
  for (const StateCase& c : kStateCases) {
    SCOPED_TRACE(c.what);
    for (int seed = 1; seed <= WholeOr(3, 1); ++seed) {
      Loaded loaded(GraphWithWeights(c.text), seed);
      ASSERT_FALSE(loaded.plan().state.empty());
      EXPECT_EQ(loaded.InPlace(), c.in_place) << loaded.plan().Describe(loaded.graph());
      EXPECT_EQ(loaded.stepper().executable().state_keeper() != nullptr, c.kept);
      ExpectSameSteps(&loaded, RandomInputs(loaded.graph()), 3);
    }
  }
}

constexpr char kOffloads[] = R"(graph offloads(x: f32[64,64]) {
  a = tanh(x)
  h = offload(a)
  b = matmul(a, a)
  c = matmul(b, b)
  d = matmul(c, c)
  e = reduce_sum(d) {axes = [0,1], keepdims = 0}
  f = barrier(h, e)
  y = mul(f, e)
  return y
})";

int CopiesIn(const cuda::CudaPlan& plan) {
  int copies = 0;
  for (const cuda::Launch& launch : plan.launches) copies += plan.IsCopy(launch) ? 1 : 0;
  return copies;
}

void ExpectMatchesReference(Loaded* loaded,
                            codegen::ProductPrecision precision = codegen::ProductPrecision::kF32) {
  const std::vector<Tensor> inputs = RandomInputs(loaded->graph());
  auto reference = MakeReferenceBackend()->Compile(loaded->graph(), {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  auto wanted = (*reference)->Run(inputs);
  std::vector<KernelTiming> timings;
  auto actual = loaded->stepper().executable().Run(inputs);
  auto timed = loaded->stepper().executable().RunTimed(inputs, &timings);
  ASSERT_TRUE(wanted.ok() && actual.ok() && timed.ok()) << actual.status() << timed.status();
  const std::vector<double> tolerances = RelativeTolerances(loaded->graph(), {}, precision);
  for (size_t k = 0; k < wanted->size(); ++k) {
    const Difference d = Compare((*actual)[k], (*wanted)[k], tolerances[k]);
    EXPECT_TRUE(d.within) << d.ToString() << "\n" << loaded->plan().Describe(loaded->graph());
    EXPECT_TRUE((*timed)[k].SameBytes((*actual)[k]));
  }
  EXPECT_EQ(timings.size(), loaded->plan().steps.size());
}

TEST_F(CudaExecutable, ProvidesSharedMemory) {
  const Graph graph = GraphWithWeights(
      "graph g(x: f32[260,64], w: f32[64,132]) { y = matmul(x, w) z = relu(y) return z }");
  cuda::PlanOptions options;
  options.grid.precision = codegen::ProductPrecision::kBf16;
  options.grid.tile = codegen::TileChoice{0, 1};
  Loaded loaded(graph, 1, options);
  // More than a launch gets without asking.
  EXPECT_GT(loaded.plan().KernelOf(loaded.plan().launches[0]).shared_bytes, 48 * 1024);
  ExpectMatchesReference(&loaded, options.grid.precision);
}

TEST_F(CudaExecutable, OffloadsToTheHost) {
  const Graph graph = GraphWithWeights(kOffloads);
  NodeTraitsCache traits;
  auto plain = cuda::PlanGraph(WithoutBarriers(graph), traits);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(CopiesIn(*plain), 0);
  EXPECT_EQ(plain->memory.host_bytes, 0);
  constexpr int64_t kBytes = 64 * 64 * 4;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Loaded loaded(graph, seed);
    EXPECT_EQ(CopiesIn(loaded.plan()), 2) << loaded.plan().Describe(graph);
    EXPECT_EQ(loaded.plan().memory.host_bytes, kBytes);
    EXPECT_LE(loaded.plan().memory.planned_bytes, plain->memory.planned_bytes - kBytes / 2);
    ExpectMatchesReference(&loaded);
    EXPECT_EQ(loaded.device().copied_to_host(), 2 * (2 * kBytes + ErrorBytes(loaded.plan())));
    EXPECT_EQ(loaded.device().copied_to_device(), 2 * 2 * kBytes);
  }
}

struct StaysCase {
  const char* what;
  const char* text;
};
const StaysCase kStaysCases[] = {
    {"read by others than barriers", R"(graph g(x: f32[8,8]) {
       a = tanh(x)
       h = offload(a)
       b = relu(h)
       f = barrier(h, b)
       y = add(f, b)
       return y })"},
    {"an output", R"(graph g(x: f32[8,8]) {
       a = tanh(x)
       h = offload(a)
       f = barrier(h, a)
       y = sqrt(f)
       return y, h })"},
    {"what a barrier waits for", R"(graph g(x: f32[8,8]) {
       a = tanh(x)
       h = offload(a)
       f = barrier(a, h)
       y = add(f, x)
       return y })"},
    {"read by nothing", R"(graph g(x: f32[8,8]) {
       a = tanh(x)
       h = offload(a)
       y = relu(a)
       return y })"},
};

TEST_F(CudaExecutable, WhatOthersReadIsNotOffloaded) {
  for (const StaysCase& c : kStaysCases) {
    SCOPED_TRACE(c.what);
    Loaded loaded(GraphWithWeights(c.text));
    EXPECT_EQ(CopiesIn(loaded.plan()), 0) << loaded.plan().Describe(loaded.graph());
    ExpectMatchesReference(&loaded);
  }
}

TEST(CudaMeasurer, TellsLifetimesOnTheDevice) {
  const auto measurer = MakeCudaMeasurer();
  EXPECT_TRUE(measurer->CanOffload());
  const Graph graph = GraphWithWeights(kOffloads);
  auto with = measurer->Timeline(graph), without = measurer->Timeline(WithoutBarriers(graph));
  ASSERT_TRUE(with.ok() && without.ok()) << with.status() << without.status();
  EXPECT_LT(with->peak_bytes, without->peak_bytes);
  for (const MemoryTimeline* timeline : {&*with, &*without}) {
    const std::vector<int64_t> live = LiveBytes(timeline->buffers, timeline->kernels.size());
    const int64_t most = *std::max_element(live.begin(), live.end());
    EXPECT_LE(most, timeline->peak_bytes);
    EXPECT_GE(2 * most, timeline->peak_bytes);
    ASSERT_EQ(timeline->reads.size(), timeline->kernels.size());
    for (size_t k = 0; k < timeline->kernels.size(); ++k) {
      for (const auto* buffers : {&timeline->reads[k], &timeline->writes[k]}) {
        for (int b : *buffers) {
          EXPECT_LE(timeline->buffers[b].first, static_cast<int>(k));
          EXPECT_GE(timeline->buffers[b].last, static_cast<int>(k));
        }
      }
    }
  }
  EXPECT_EQ(with->kernels[1].signature, "offload f32[64,64]");
  // The host's memory counts 60 times as much as the device's.
  EXPECT_EQ(measurer->WorkOf(with->kernels[1]).bytes_read, 60 * 64 * 64 * 4.0);
}

TEST_F(CudaExecutable, MissingStateIsNamed) {
  const TrainingStep step = StepWith(UpdateKind::kSgd, 0.9);
  Loaded loaded(step.graph);
  std::vector<Tensor> inputs = InputsOf(step);
  inputs[static_cast<size_t>(loaded.plan().state[0].input)] = Tensor();
  EXPECT_TRUE(absl::IsFailedPrecondition(loaded.stepper().Step(inputs).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(loaded.stepper().State().status()));
  const absl::Status s = loaded.stepper().SetState(inputs);
  EXPECT_TRUE(absl::IsInvalidArgument(s)) << s;
  EXPECT_NE(s.message().find(step.graph.input_names()[loaded.plan().state[0].input]),
            std::string::npos)
      << s;
}

}  // namespace
}  // namespace lemma

#endif
