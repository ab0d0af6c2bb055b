// Statements of the CPU back end's library kernels, read back from the library's descriptors, agree
// with the meaning of the kernels' nodes; faults put into a plan are found.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/builder.h"
#include "graph/examples/random_graph.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/plan_check.h"
#include "runtime/cpu/plan_claims.h"
#include "runtime/cpu/planner.h"
#include "runtime/cpu/statement.h"
#include "runtime/reference/static_evaluator.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// The number of statements; all must hold.
int Stated(const Graph& graph) {
  auto claims = ClaimsOfPlan(graph);
  EXPECT_TRUE(claims.ok()) << claims.status();
  if (!claims.ok()) return 0;
  int stated = 0;
  for (const KernelClaim& claim : *claims) {
    const absl::Status holds = CheckClaim(claim, 1);
    EXPECT_TRUE(holds.ok()) << holds;
    stated += claim.statement ? 1 : 0;
  }
  return stated;
}

constexpr const char* kGraphs[] = {
    R"(graph g(x: f32[3,7], w: weight f32[7,5], v: weight f32[5], r: f32[3,5]) {
      p = matmul(x, w) a = add(p, v) b = add(a, r) c = relu(b) y = scalar_mul(c) {alpha = 3.0}
      return y })",
    R"(graph g(x: f32[2,3,7,4], z: f32[2,3,4,5]) {
      p = matmul(x, z) q = transpose(p) {perm = [0,1,3,2]} y = matmul(q, x) return y })",
    R"(graph g(x: f32[1,4,6,5], w: weight f32[6,2,3,3], b: weight f32[6], s: weight f32[6],
      m: weight f32[6], q: weight f32[6] = [0.5, 1.0, 2.0, 0.25, 1.5, 3.0]) {
      p = conv2d(x, w, b) {pads = [1,0,2,1], strides = [2,1], groups = 2}
      n = batch_norm(p, s, b, m, q) y = hard_swish(n) return y })",
    R"(graph g(x: f32[2,3,4,5], w: weight f32[7,3,1,1], r: f32[2,7,4,5]) {
      p = conv2d(x, w) a = add(p, r) y = clip(a) {min = -0.5, max = 0.75} return y })",
    R"(graph g(x: f32[2,16,9,7], w: weight f32[16,16,3,3], b: weight f32[16]) {
      p = conv2d(x, w, b) {pads = [1,1,1,1]} a = add(p, x) y = relu(a) return y })",
    R"(graph g(x: f32[1,8,6,5], w: weight f32[9,8,3,2], s: weight f32[9], b: weight f32[9],
      m: weight f32[9], q: weight f32[9] = [0.5, 1.0, 2.0, 0.25, 1.5, 3.0, 1.0, 0.75, 2.5]) {
      p = conv2d(x, w) {pads = [1,0,2,1], dilations = [2,1]} n = batch_norm(p, s, b, m, q)
      y = relu(n) return y })",
    R"(graph g(x: f32[2,3,6,7], w: f32[5,7], v: f32[5], r: f32[2,3,6,5]) {
      t = transpose(w) {perm = [1,0]} p = matmul(x, t) a = add(p, v) b = add(a, r) y = gelu(b)
      return y })",
    R"(graph g(x: f32[2,3,6,7], w: weight f32[5,7], v: weight f32[5], r: f32[2,3,6,5]) {
      t = transpose(w) {perm = [1,0]} p = matmul(x, t) a = add(p, v) b = add(a, r) y = gelu(b)
      return y })",
    R"(graph g(x: f32[1,4,3,3], w: weight f32[4,2,3,3], b: weight f32[4]) {
      p = conv_transpose2d(x, w, b) {groups = 2, dilations = [2,1], pads = [1,1,2,1]}
      y = tanh(p) return y })",
    R"(graph g(x: f32[1,3,9,8]) {
      p = max_pool2d(x) {kernel = [3,2], strides = [2,2], pads = [1,0,1,1]}
      y = avg_pool2d(p) {kernel = [2,2], pads = [0,1,0,1], count_include_pad = 1} return y })",
    R"(graph g(x: f32[3,5,8], s: weight f32[8], b: weight f32[8]) {
      n = layer_norm(x, s, b) y = softmax(n) {axis = 1} return y })",
    R"(graph g(x: f32[3,20,5]) { n = neg(x) y = softmax(n) {axis = 1} return y })",
    R"(graph g(x: f32[3,5,20]) { y = softmax(x) {axis = 2} return y })",
    R"(graph g(x: f32[2,3,5,20], m: f32[2,1,5,20]) {
      t = neg(x) s = add(t, m) y = softmax(s) {axis = 3} return y })",
    R"(graph g(x: f32[2,3,5,20], m: f32[3,1,20]) {
      t = neg(x) k = reshape(m) {shape = [1,3,1,20]} s = add(k, t) y = softmax(s) {axis = 3}
      return y })",
    R"(graph g(x: f32[2,3,5,20], m: f32[3,1,20]) {
      t = neg(x) e = expand(m) {shape = [2,3,5,20]} s = add(t, e) y = softmax(s) {axis = 3}
      return y })",
    R"(graph g(x: f32[2,3,5,20], m: f32[1,3,1,20]) {
      t = neg(x) e = expand(m) {shape = [1,3,5,20]} s = add(t, e) y = softmax(s) {axis = 3}
      return y })",
    R"(graph g(x: f32[1,6,3,2]) { y = lrn(x) {size = 3} return y })",
    R"(graph g(x: f32[4,3], w: weight f32[3,5]) {
      k = constant f32[] fill 8.0 p = matmul(x, w) y = div(p, k) return y })",
};

TEST(Statements, SayWhatTheirNodesMean) {
  for (const char* text : kGraphs) EXPECT_GT(Stated(GraphWithWeights(text)), 0) << text;
}

// Operators that the library computes, and operators that it fuses behind them.
bool IsOfLibrary(const OpDef& op) {
  for (const char* name : {"conv", "matmul", "pool", "softmax", "norm", "lrn"}) {
    if (absl::StrContains(op.name, name)) return true;
  }
  for (const char* name : {"relu", "clip", "add", "mul", "tanh", "sigmoid", "scalar_mul", "gelu"}) {
    if (op.name == name) return true;
  }
  return false;
}

TEST(Statements, OfRandomGraphsHold) {
  RandomGraphOptions options;
  options.allowed = IsOfLibrary;
  options.allowed_type = [](DType dtype) { return dtype == DType::kF32; };
  int stated = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const RandomGraph random = MakeRandomGraph(seed, options);
    auto claims = ClaimsOfPlan(random.graph);
    if (absl::IsOutOfRange(claims.status())) continue;  // of weights
    ASSERT_TRUE(claims.ok()) << "seed " << seed << ": " << claims.status()
                             << PrintGraph(random.graph);
    for (const KernelClaim& claim : *claims) {
      if (!claim.statement || claim.has_constants) continue;
      const absl::Status holds = CheckClaim(claim, seed);
      ASSERT_TRUE(holds.ok()) << "seed " << seed << ": " << holds << PrintGraph(random.graph)
                              << PrintGraph(*claim.statement);
      ++stated;
    }
  }
  EXPECT_GT(stated, 500);
}

// A fault of a planner: changes a spec, or returns false if it does not apply to it.
using Change = std::function<bool(cpu::CpuKernelSpec*)>;
struct Fault {
  const char* name;
  const char* graph;
  Change change;
};

// Replaces node n of the spec: its attributes by `change`, and its operands by `order`, if given.
bool Rebuild(cpu::CpuKernelSpec* spec, size_t n, const std::function<void(Attrs*)>& change,
             const std::vector<int>& order = {}) {
  const NodePtr& node = spec->nodes[n];
  GraphBuilder builder("fault");
  std::vector<Value> operands(node->inputs().begin(), node->inputs().end());
  for (size_t i = 0; i < order.size(); ++i) operands[i] = node->inputs()[order[i]];
  Attrs attrs = node->attrs();
  change(&attrs);
  auto outputs = builder.Ops(node->op().name, operands, attrs);
  if (!outputs.ok() || (*outputs)[0].type() != node->type(0)) return false;
  const NodePtr made = (*outputs)[0].node_ptr();
  const Value before(node, 0), after(made, 0);
  spec->nodes[n] = made;
  for (size_t m = n + 1; m < spec->nodes.size(); ++m) {
    const NodePtr& user = spec->nodes[m];
    std::vector<Value> reads(user->inputs().begin(), user->inputs().end());
    for (Value& v : reads) {
      for (size_t earlier = 0; earlier < m; ++earlier) {
        if (v == before) v = after;
      }
    }
    auto rebuilt = builder.Ops(user->op().name, reads, user->attrs());
    if (!rebuilt.ok()) return false;
    spec->nodes[m] = (*rebuilt)[0].node_ptr();
    break;  // chains of two are enough
  }
  return true;
}
Change Attr(size_t n, const char* name, AttrValue value) {
  return [=](cpu::CpuKernelSpec* spec) {
    return Rebuild(spec, n, [&](Attrs* attrs) { (*attrs)[name] = value; });
  };
}
Change Operands(size_t n, std::vector<int> order) {
  return [=](cpu::CpuKernelSpec* spec) {
    return Rebuild(
        spec, n, [](Attrs*) {}, order);
  };
}
Change InputStrides(int input, Strides strides) {
  return [=](cpu::CpuKernelSpec* spec) {
    spec->inputs[input].strides = strides;
    return true;
  };
}

constexpr char kProduct[] = R"(graph g(x: f32[4,4], w: f32[4,4], v: f32[4], u: f32[4], r: f32[4,4],
    q: f32[4,4]) { p = matmul(x, w) a = add(p, v) b = add(a, r)
    c = leaky_relu(b) {alpha = 0.1} y = clip(c) {min = -0.5, max = 0.5} return y, u, q })";
constexpr char kConvolution[] = R"(graph g(x: f32[1,4,5,5], w: weight f32[4,4,3,3],
    v: weight f32[4]) { p = conv2d(x, w, v) {pads = [1,1,1,1]} y = elu(p) {alpha = 0.5}
    return y })";
constexpr char kShifted[] = R"(graph g(x: f32[1,4,5,5], w: weight f32[4,4,3,3]) {
    y = conv2d(x, w) {pads = [2,1,0,1]} return y })";
constexpr char kMean[] = R"(graph g(x: f32[1,3,6,6]) {
    y = avg_pool2d(x) {kernel = [3,3], pads = [1,1,1,1], count_include_pad = 1} return y })";
constexpr char kMaximum[] = R"(graph g(x: f32[1,3,7,7]) {
    y = max_pool2d(x) {kernel = [3,3], pads = [1,0,1,2]} return y })";
constexpr char kShares[] = "graph g(x: f32[4,4]) { y = softmax(x) {axis = 1} return y }";
constexpr char kMasked[] = R"(graph g(x: f32[4,4,16], m: f32[4,4,16], k: f32[4,1,16]) {
    s = add(x, m) y = softmax(s) {axis = 2} return y, k })";
constexpr char kNorm[] = R"(graph g(x: f32[5,4], s: f32[4], b: f32[4]) {
    y = layer_norm(x, s, b) {epsilon = 0.1} return y })";
constexpr char kAcross[] = "graph g(x: f32[1,7,3,3]) { y = lrn(x) {size = 3} return y }";

std::vector<Fault> Faults() {
  auto drop = [](size_t n) {
    return [n](cpu::CpuKernelSpec* spec) {
      spec->nodes.erase(spec->nodes.begin() + static_cast<std::ptrdiff_t>(n));
      return true;
    };
  };
  return {
      {"the last post-operation is lost", kProduct, drop(4)},
      {"an activation's parameter", kConvolution, Attr(1, "alpha", 0.25)},
      {"a bound", kProduct, Attr(4, "max", 0.75)},
      {"operands of the product are swapped", kProduct, Operands(0, {1, 0})},
      {"a factor is another value", kProduct, Operands(0, {0, 0})},
      {"the product's left operand is read transposed", kProduct, InputStrides(0, {1, 4})},
      {"the product's right operand is read transposed", kProduct, InputStrides(1, {1, 4})},
      {"rows of an operand are read closer together", kProduct, InputStrides(0, {2, 1})},
      {"the result is written transposed", kProduct,
       [](cpu::CpuKernelSpec* spec) {
         spec->outputs[0].strides = {1, 4};
         return true;
       }},
      {"padding at the other end", kShifted, Attr(0, "pads", std::vector<int64_t>{0, 1, 2, 1})},
      {"padding of the other axis", kShifted, Attr(0, "pads", std::vector<int64_t>{1, 2, 1, 0})},
      {"padding is not counted", kMean, Attr(0, "count_include_pad", int64_t{0})},
      {"a mean over other windows", kMean, Attr(0, "pads", std::vector<int64_t>{2, 1, 0, 1})},
      {"a maximum over other windows", kMaximum, Attr(0, "pads", std::vector<int64_t>{1, 1, 1, 1})},
      {"shares along the other axis", kShares, Attr(0, "axis", int64_t{0})},
      {"a mask is read transposed", kMasked, InputStrides(1, {16, 64, 1})},
      {"a mask is read for all rows alike", kMasked, InputStrides(1, {64, 0, 1})},
      {"rows and mask are another value's", kMasked, Operands(0, {0, 0})},
      {"another epsilon", kNorm, Attr(0, "epsilon", 1e-5)},
      {"scale and shift are swapped", kNorm, Operands(0, {0, 2, 1})},
      {"a sum over more channels", kAcross, Attr(0, "size", int64_t{5})},
      {"another exponent", kAcross, Attr(0, "beta", 0.5)},
  };
}

// Whether the first kernel to which the fault applies, built with the fault, cannot be built or
// states something else than its nodes.
bool IsCaught(const Fault& fault) {
  const Graph graph = GraphWithWeights(fault.graph);
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  StaticEvaluator evaluator(1);
  for (const cpu::CpuStep& step : plan->steps) {
    if (step.spec->nodes.empty()) continue;
    cpu::CpuKernelSpec changed = *step.spec;
    if (!fault.change(&changed)) continue;
    cpu::StaticValues statics(changed.inputs.size());
    for (size_t i = 0; i < statics.size(); ++i) {
      const int id = step.static_inputs[i];
      if (id >= 0) statics[i] = *evaluator.Evaluate(plan->statics[id]);
    }
    auto kernel = cpu::BuildKernel(changed, statics);
    if (!kernel.ok()) return true;
    // The statement names operands by numbers; their places are in the plan.
    auto statement = cpu::StatementOf(*step.spec, **kernel);
    if (!statement.ok()) return true;
    KernelClaim claim;
    claim.meaning = *cpu::MeaningOf(*step.spec, statics);
    claim.statement = *statement;
    claim.statics = statics;
    return !CheckClaim(claim, 1).ok();
  }
  ADD_FAILURE() << fault.name << " applies to nothing";
  return true;
}

// Faults in the places of values.
struct PlanFault {
  const char* name;
  std::function<void(cpu::CpuPlan*)> change;
};
constexpr char kPlaced[] = R"(graph g(x: f32[4,6], w: f32[6,5], z: f32[4,5]) {
    p = matmul(x, w) q = tanh(z) c = concat(p, q) {axis = 1} s = relu(z)
    t = transpose(c) {perm = [1,0]} y = matmul(t, s) return y })";

std::vector<PlanFault> PlanFaults() {
  using cpu::CpuPlan;
  return {
      {"a step is lost", [](CpuPlan* plan) { plan->steps.erase(plan->steps.begin() + 1); }},
      {"steps are swapped",
       [](CpuPlan* plan) { std::swap(plan->steps.front(), plan->steps.back()); }},
      {"a result lies elsewhere", [](CpuPlan* plan) { plan->steps[0].outputs[0].offset += 1; }},
      {"a result overwrites another",
       [](CpuPlan* plan) { plan->steps[1].outputs[0] = plan->steps[0].outputs[0]; }},
      {"an operand is read elsewhere",
       [](CpuPlan* plan) {
         for (cpu::Location& in : plan->steps.back().inputs) in.offset = 0;
         plan->steps.back().inputs[0].buffer = plan->steps.back().inputs[1].buffer;
       }},
      {"rows of a result overlap",
       [](CpuPlan* plan) {
         for (cpu::CpuStep& step : plan->steps) {
           step.spec->outputs[0].strides = {1, 1};
           step.outputs[0].strides = {1, 1};
         }
       }},
      {"a buffer is too small", [](CpuPlan* plan) { plan->buffers.back().bytes -= 4; }},
  };
}

int CaughtInPlans() {
  const Graph graph = GraphWithWeights(kPlaced);
  int caught = 0;
  for (const PlanFault& fault : PlanFaults()) {
    NodeTraitsCache traits;
    auto plan = cpu::PlanGraph(graph, traits, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(cpu::CheckMovement(*plan).ok());
    fault.change(&*plan);
    const bool shows = !cpu::CheckPlaces(*plan).ok() || !cpu::CheckMovement(*plan).ok();
    EXPECT_TRUE(shows) << fault.name << "\n" << plan->Describe();
    caught += shows ? 1 : 0;
  }
  return caught;
}

// An infinity on both sides is no difference, and hides none beside it.
TEST(Statements, InfinitiesHideNoDifference) {
  const auto graph = [](const std::string& factor) {
    return *ParseGraph(
        "graph g(x: f32[4]) { one = constant f32[1] fill 1\n"
        "zero = constant f32[1] fill 0\n i = div(one, zero)\n"
        "f = constant f32[] fill " +
        factor + "\n m = mul(x, f)\n y = concat(i, m) {axis = 0}\n return y }");
  };
  KernelClaim claim;
  claim.kernel = "test";
  claim.meaning = graph("3.0");
  claim.statics.resize(1);
  claim.statement = graph("3.0");
  EXPECT_TRUE(CheckClaim(claim, 1).ok()) << CheckClaim(claim, 1);
  claim.statement = graph("3.001");
  EXPECT_FALSE(CheckClaim(claim, 1).ok());
}

TEST(Statements, ShowAPlannersFaults) {
  int caught = CaughtInPlans();
  for (const Fault& fault : Faults()) {
    const bool is_caught = IsCaught(fault);
    EXPECT_TRUE(is_caught) << fault.name;
    caught += is_caught ? 1 : 0;
  }
  std::printf("%d kinds of faults caught\n", caught);
  EXPECT_GE(caught, 20);
}

}  // namespace
}  // namespace lemma
