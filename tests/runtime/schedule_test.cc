// The order of execution, and state that is updated in place.
#include "runtime/plan/schedule.h"

#include <algorithm>

#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// Two layers y = tanh(x w) u, their gradients for dy = y, and plain gradient descent.
constexpr char kStep[] = R"(graph step(x: f32[4,8], lr: f32[], w: f32[8,8], u: f32[8,8]) {
  z = matmul(x, w)
  a = tanh(z)
  y = matmul(a, u)
  loss = reduce_sum(y) {axes = [0,1]}
  ut = transpose(u) {perm = [1,0]}
  da = matmul(y, ut)
  aa = mul(a, a)
  one = constant f32[] [1.0]
  s = sub(one, aa)
  dz = mul(da, s)
  xt = transpose(x) {perm = [1,0]}
  at = transpose(a) {perm = [1,0]}
  dw = matmul(xt, dz)
  du = matmul(at, y)
  lw = mul(lr, dw)
  lu = mul(lr, du)
  wn = sub(w, lw)
  un = sub(u, lu)
  return loss, w.next = wn, u.next = un
})";

int PositionOf(const std::vector<NodePtr>& order, const Graph& graph, const std::string& label) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (graph.LabelOf(Value(order[i], 0)) == label) return static_cast<int>(i);
  }
  ADD_FAILURE() << "no " << label;
  return -1;
}

bool OperandsComeFirst(const std::vector<NodePtr>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Value& v : order[i]->inputs()) {
      if (std::find(order.begin(), order.begin() + i, v.node_ptr()) == order.begin() + i) {
        return false;
      }
    }
  }
  return true;
}

TEST(Schedule, OffloadsAtOnce) {
  const Graph graph = *ParseGraph(R"(graph g(x: f32[8,8]) {
  a = tanh(x)
  b = matmul(a, a)
  c = matmul(b, b)
  h = offload(a)
  f = barrier(h, c)
  y = add(f, c)
  return y
})");
  const std::vector<NodePtr> order = ScheduleNodes(graph);
  EXPECT_TRUE(OperandsComeFirst(order));
  EXPECT_EQ(PositionOf(order, graph, "h"), PositionOf(order, graph, "a") + 1);
  EXPECT_GT(PositionOf(order, graph, "f"), PositionOf(order, graph, "c"));
}

TEST(StatePairs, AreFoundByNameAndType) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f32[2], a: f32[2], b: f32[3]) {
  y = relu(a)
  return a.next = y, b.next = y, c.next = y, x
})");
  const std::vector<StatePair> pairs = StatePairs(graph);
  ASSERT_EQ(pairs.size(), 1);
  EXPECT_EQ(pairs[0].input, 1);
  EXPECT_EQ(pairs[0].output, 0);
}

// Names of decoders' caches must not give one output to two inputs.
TEST(StatePairs, AnOutputIsTheNewValueOfOneInput) {
  const Graph graph = GraphWithWeights(
      R"(graph g(past_key_values.next: f32[2], present: f32[2], past_w: f32[3], past_u: f32[2]) {
  y = relu(present)
  z = relu(past_w)
  return present.next = y, present_w = z, present_u = z
})");
  const std::vector<StatePair> pairs = StatePairs(graph);
  ASSERT_EQ(pairs.size(), 2);
  EXPECT_EQ(pairs[0].input, 1);
  EXPECT_EQ(pairs[0].output, 0);
  EXPECT_EQ(pairs[1].input, 2);
  EXPECT_EQ(pairs[1].output, 1);
}

TEST(Schedule, UpdatesALayerBeforeGoingOnToTheOneBelow) {
  const Graph graph = *ParseGraph(kStep);
  const std::vector<NodePtr> order = ScheduleNodes(graph);
  EXPECT_EQ(order.size(), graph.nodes().size());
  EXPECT_TRUE(OperandsComeFirst(order));
  // da is the last reader of u, so u's new value comes after it, and before dw.
  EXPECT_LT(PositionOf(order, graph, "da"), PositionOf(order, graph, "un"));
  EXPECT_LT(PositionOf(order, graph, "un"), PositionOf(order, graph, "dw"));
}

TEST(Schedule, AReaderThatNeedsTheNewValueIsNoObstacle) {
  const Graph graph = GraphWithWeights(R"(graph g(w: f32[4], v: f32[4]) {
  n = relu(w)
  d = sub(n, w)
  m = mul(d, v)
  e = add(m, v)
  return w.next = n, v.next = m, d, e
})");
  const std::vector<NodePtr> order = ScheduleNodes(graph);
  EXPECT_EQ(order.size(), graph.nodes().size());
  EXPECT_TRUE(OperandsComeFirst(order));
}

class InPlace : public testing::Test {
 protected:
  static std::vector<Tensor> Copies(const std::vector<Tensor>& tensors) {
    std::vector<Tensor> copies;
    for (const Tensor& t : tensors) copies.push_back(*Tensor::FromDoubles(t.type(), t.ToDoubles()));
    return copies;
  }

  // Runs `text` for three steps with and without updating in place; returns how many of the state
  // variables stayed where they were.
  static int StepsAgree(const char* text) {
    const Graph graph = GraphWithWeights(text);
    CompileOptions in_place;
    in_place.update_state_in_place = true;
    auto apart = *MakeCpuBackend()->Compile(graph, {});
    auto within = *MakeCpuBackend()->Compile(graph, in_place);
    std::vector<Tensor> a = RandomInputs(graph), b = Copies(a);
    int stayed = 0;
    for (int step = 0; step < 3; ++step) {
      auto x = *apart->Run(a), y = *within->Run(b);
      for (size_t k = 0; k < x.size(); ++k) EXPECT_TRUE(x[k].SameBytes(y[k])) << step << " " << k;
      stayed = 0;
      for (const StatePair& pair : StatePairs(graph)) {
        stayed += b[pair.input].raw() == y[pair.output].raw();
        EXPECT_NE(a[pair.input].raw(), x[pair.output].raw());
        a[pair.input] = x[pair.output];
        b[pair.input] = y[pair.output];
      }
    }
    return stayed;
  }
};

TEST_F(InPlace, ATrainingStepIs) { EXPECT_EQ(StepsAgree(kStep), 2); }

TEST_F(InPlace, NotWhereTheOldValueIsReadLater) {
  // d reads the old and the new value of w; the sum over rows reads other elements of w.
  EXPECT_EQ(StepsAgree(R"(graph g(w: f32[4,4], v: f32[4,4]) {
  n = tanh(w)
  d = matmul(n, w)
  t = transpose(v) {perm = [1,0]}
  m = add(t, v)
  return w.next = n, v.next = m, d
})"),
            0);
}

}  // namespace
}  // namespace lemma
