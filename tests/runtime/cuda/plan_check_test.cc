// The check of CUDA plans accepts the planner's plans and finds each fault put into them.
#include "runtime/cuda/plan_check.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/substitute.h"
#include "graph/examples/random_graph.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cuda/cuda_plan.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using cuda::CudaPlan;

CudaPlan PlanOf(const Graph& graph, bool late = false) {
  NodeTraitsCache traits;
  cuda::PlanOptions options;
  options.reuse_late = late;
  auto plan = cuda::PlanGraph(graph, traits, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// Branches, products with a bias and with an added matrix, reshapes, reductions, state, small
// updates. There are `batch` matrices of m x k, and weights of k x n.
Graph Example(int64_t batch = 2, int64_t m = 24, int64_t k = 32, int64_t n = 40) {
  const std::string text = R"(graph g(x: f32[$0,$1,$2], s: f32[$4,$2], m: f32[$2],
                            w: weight f32[$2,$3], v: weight f32[$3,$2], b: weight f32[$3]) {
    p = matmul(x, w)
    q = add(p, b)
    r = matmul(q, v)
    z = add(r, x)
    flat = reshape(z) {shape = [$4,$2]}
    t = transpose(flat) {perm = [1,0]}
    e = exp(s)
    g = matmul(t, e)
    h = softmax(g) {axis = 1}
    i = matmul(e, h)
    s.next = sub(s, i)
    k = reduce_sum(i) {axes = [0], keepdims = 0}
    m.next = sub(m, k)
    return z, g, h, s.next, m.next
  })";
  return GraphWithWeights(absl::Substitute(text, batch, m, k, n, batch * m));
}

TEST(CudaPlanCheck, PlansHold) {
  for (bool late : {false, true}) {
    const Graph graph = Example();
    const CudaPlan plan = PlanOf(graph, late);
    EXPECT_TRUE(cuda::CheckPlan(graph, plan).ok()) << cuda::CheckPlan(graph, plan);
    auto products = cuda::CheckProducts(plan, 1);
    ASSERT_TRUE(products.ok()) << products.status();
    EXPECT_GE(products->launches, 3) << plan.Describe(graph);
  }
}

void ExpectPlanHolds(const Graph& graph, uint64_t seed, int64_t* products) {
  for (bool late : {false, true}) {
    const CudaPlan plan = PlanOf(graph, late);
    const absl::Status holds = cuda::CheckPlan(graph, plan);
    ASSERT_TRUE(holds.ok()) << holds << "\n" << PrintGraph(graph) << plan.Describe(graph);
    const auto checked = cuda::CheckProducts(plan, seed);
    ASSERT_TRUE(checked.ok()) << checked.status() << "\n" << plan.Describe(graph);
    *products += checked->launches;
  }
}

TEST(CudaPlanCheck, PlansOfRandomGraphsHold) {
  int64_t products = 0;  // the graphs are small: few have one that the library computes
  for (uint64_t seed = 1; seed <= 2000 && !HasFatalFailure(); ++seed) {
    ExpectPlanHolds(MakeRandomGraph(seed).graph, seed, &products);
  }
}

TEST(CudaPlanCheck, PlansOfProductsOfRandomSizesHold) {
  std::mt19937 random(1);
  const auto size = [&random] { return static_cast<int64_t>(20 + random() % 60); };
  int64_t products = 0;
  constexpr int kGraphs = 40;
  for (uint64_t seed = 1; seed <= kGraphs && !HasFatalFailure(); ++seed) {
    const int64_t batch = static_cast<int64_t>(1 + random() % 3), m = size(), k = size();
    ExpectPlanHolds(Example(batch, m, k, size()), seed, &products);
  }
  EXPECT_GE(products, 2 * 3 * kGraphs);
}

struct Fault {
  std::string name;
  std::function<bool(CudaPlan*)> put;  // whether there was a place for it
};

// The last launch that waits for others.
bool ForgetToWait(CudaPlan* plan) {
  for (auto launch = plan->launches.rbegin(); launch != plan->launches.rend(); ++launch) {
    if (launch->after.empty()) continue;
    launch->after.pop_back();
    return true;
  }
  return false;
}

bool MoveOntoAnother(CudaPlan* plan) {
  for (const cuda::Launch& launch : plan->launches) {
    const std::vector<int> arguments = plan->Arguments(launch);
    cuda::Buffer& written = plan->buffers[arguments.back()];
    const cuda::Buffer& read = plan->buffers[arguments.front()];
    if (read.kind != cuda::Buffer::Kind::kInput || arguments.back() == arguments.front()) continue;
    written.offset = read.offset;
    return true;
  }
  return false;
}

bool SwapOperands(CudaPlan* plan) {
  for (cuda::CudaStep& step : plan->steps) {
    if (step.operators.find("matmul") == std::string::npos) continue;
    std::swap(step.buffers[0], step.buffers[1]);
    return true;
  }
  return false;
}

bool ReadOldState(CudaPlan* plan) {
  for (const StatePair& pair : plan->state) {
    const int old_value = plan->inputs[pair.input], new_value = plan->outputs[pair.output];
    if (old_value != new_value) continue;
    // Moves the step that writes the value to the front.
    for (size_t l = 1; l < plan->launches.size(); ++l) {
      if (plan->Arguments(plan->launches[l]).back() != new_value) continue;
      std::rotate(plan->launches.begin(), plan->launches.begin() + static_cast<int64_t>(l),
                  plan->launches.begin() + static_cast<int64_t>(l) + 1);
      for (size_t k = 0; k < plan->launches.size(); ++k) {
        plan->launches[k].after.clear();
        for (size_t j = 0; j < k; ++j) plan->launches[k].after.push_back(static_cast<int>(j));
      }
      return true;
    }
  }
  return false;
}

TEST(CudaPlanCheck, FindsFaultsOfPlanners) {
  const std::vector<Fault> faults = {
      {"a launch does not wait", ForgetToWait},
      {"a result lies on its operand", MoveOntoAnother},
      {"operands are swapped", SwapOperands},
      {"state is written before it is read", ReadOldState},
      {"the arena is too small",
       [](CudaPlan* plan) { return plan->memory.planned_bytes -= 256, true; }},
      {"weights have too little memory",
       [](CudaPlan* plan) { return plan->memory.weight_bytes -= 256, true; }},
      {"outputs are swapped",
       [](CudaPlan* plan) { return std::swap(plan->outputs[0], plan->outputs[1]), true; }},
      {"inputs are swapped",
       [](CudaPlan* plan) { return std::swap(plan->inputs[0], plan->inputs[1]), true; }},
      {"weights are swapped",
       [](CudaPlan* plan) {
         return std::swap(plan->static_buffers[0], plan->static_buffers[1]), true;
       }},
      {"an output is stored in another type",
       [](CudaPlan* plan) {
         DType& dtype = plan->buffers[plan->outputs[0]].type.dtype;
         return dtype = DType::kBF16, true;
       }},
      {"a weight is stored in another type",
       [](CudaPlan* plan) {
         return plan->buffers[plan->static_buffers[0]].type.dtype = DType::kBF16, true;
       }},
      {"two weights share a place",
       [](CudaPlan* plan) {
         plan->buffers[plan->static_buffers[1]].offset =
             plan->buffers[plan->static_buffers[0]].offset;
         return true;
       }},
      {"two inputs share a place",
       [](CudaPlan* plan) {
         plan->buffers[plan->inputs[1]].offset = plan->buffers[plan->inputs[0]].offset;
         return true;
       }},
      {"a state is forgotten",
       [](CudaPlan* plan) {
         plan->state.pop_back();
         return true;
       }},
      {"a launch is missing",
       [](CudaPlan* plan) {
         plan->launches.pop_back();
         return true;
       }},
      {"launches are in another order",
       [](CudaPlan* plan) {
         std::swap(plan->launches.front(), plan->launches.back());
         return true;
       }},
  };
  const Graph graph = Example();
  for (const Fault& fault : faults) {
    CudaPlan plan = PlanOf(graph);
    const std::string before = plan.Describe(graph);
    ASSERT_TRUE(fault.put(&plan)) << fault.name << "\n" << before;
    EXPECT_FALSE(cuda::CheckPlan(graph, plan).ok()) << fault.name << "\n" << before;
  }
}

TEST(CudaPlanCheck, FindsFaultsOfProducts) {
  using codegen::GemmCall;
  const std::vector<std::pair<std::string, std::function<void(GemmCall*)>>> faults = {
      {"a transposed", [](GemmCall* call) { call->a.transposed = !call->a.transposed; }},
      {"b transposed", [](GemmCall* call) { call->b.transposed = !call->b.transposed; }},
      {"factors swapped", [](GemmCall* call) { std::swap(call->a, call->b); }},
      {"a moved", [](GemmCall* call) { call->a.offset += 1; }},
      {"another leading dimension", [](GemmCall* call) { call->b.leading += 1; }},
      {"a result's leading dimension", [](GemmCall* call) { call->d.leading -= 1; }},
      {"a shorter sum", [](GemmCall* call) { call->k -= 1; }},
      {"fewer rows", [](GemmCall* call) { call->m -= 1; }},
      {"fewer columns", [](GemmCall* call) { call->n -= 1; }},
      {"nothing added", [](GemmCall* call) { call->c.argument = call->bias_argument = -1; }},
  };
  const Graph graph =
      GraphWithWeights(R"(graph g(x: f32[24,32], y: f32[24,40], w: weight f32[32,40]) {
    p = matmul(x, w) q = add(p, y) return q })");
  for (const auto& [name, put] : faults) {
    CudaPlan plan = PlanOf(graph);
    ASSERT_EQ(plan.steps.size(), 1u);
    ASSERT_TRUE(cuda::CheckProducts(plan, 1).ok());
    codegen::GridProgram program = *plan.steps[0].program;
    ASSERT_TRUE(program.kernels[0].gemm.has_value());
    put(&*program.kernels[0].gemm);
    plan.steps[0].program = std::make_shared<const codegen::GridProgram>(std::move(program));
    EXPECT_FALSE(cuda::CheckProducts(plan, 1).ok()) << name;
  }
}

}  // namespace
}  // namespace lemma
