// Random graphs over the whole operator table: the CPU back end against the definitions as typed.
//
// A seed for each run unless LEMMA_SEED (--test_env) names one; --test_env=LEMMA_GRAPHS=N runs so
// many graphs instead of as many as fit into the time. A failure prints its seed and the graph.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/plan_check.h"
#include "runtime/cpu/planner.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/graph/random_graph.h"

namespace lemma {
namespace {

constexpr double kSeconds = 60;
// How many times further than the largest of a few random disturbances may take the definitions.
constexpr double kAsFar = 4;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  int64_t value = 0;
  const char* text = std::getenv(name);
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

// What follows oneDNN's products may turn NaN into a number (docs/reliability.md).
bool IsProduct(const OpDef& op) {
  return absl::StrContains(op.name, "conv") || absl::StrContains(op.name, "matmul");
}
bool MayLoseNaN(const Graph& graph, const std::vector<Tensor>& outputs) {
  const bool product =
      std::any_of(graph.nodes().begin(), graph.nodes().end(),
                  [](const NodePtr& node) { return node->is_op() && IsProduct(node->op()); });
  return product && std::any_of(outputs.begin(), outputs.end(), [](const Tensor& t) {
           const std::vector<double> values = t.ToDoubles();
           return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
         });
}

struct Counts {
  int graphs = 0, without_values = 0, ill_conditioned = 0;
};

// Each float changed by up to `by` of itself.
std::vector<Tensor> Nearby(const std::vector<Tensor>& inputs, uint64_t seed, double by) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> factor(1 - by, 1 + by);
  std::vector<Tensor> near;
  for (const Tensor& t : inputs) {
    std::vector<double> values = t.ToDoubles();
    for (double& v : values) v *= IsFloat(t.dtype()) ? factor(random) : 1;
    near.push_back(*Tensor::FromDoubles(t.type(), values));
  }
  return near;
}

class Differential {
 public:
  explicit Differential(const RandomGraph& random)
      : graph_(random.graph), inputs_(random.inputs), tolerances_(RelativeTolerances(graph_)) {}

  // Fails the test where the CPU back end is not what the definitions give.
  void Check(uint64_t seed, Counts* counts) {
    auto typed = MakeReferenceBackend()->Compile(graph_, {});
    ASSERT_TRUE(typed.ok()) << typed.status() << Text();
    auto expected = (*typed)->Run(inputs_);
    for (const bool fuse_layout : {true, false}) {
      for (const int threads : {1, 2}) {
        if (threads == 2 && !fuse_layout) continue;
        CompileOptions options;
        options.threads = threads;
        auto executable = MakeCpuBackend({fuse_layout})->Compile(graph_, options);
        // An index outside its tensor: both say so, of weights when they are compiled.
        absl::StatusOr<std::vector<Tensor>> actual = absl::UnknownError("");
        actual = executable.ok() ? (*executable)->Run(inputs_) : executable.status();
        ASSERT_EQ(actual.status().code(), expected.status().code())
            << "seed " << seed << ": " << actual.status() << ", " << expected.status() << Text();
        if (!actual.ok() || MayLoseNaN(graph_, *expected)) {
          ++counts->without_values;
          return;
        }
        const std::string off = Off(*actual, *expected, executable->get(), typed->get(), counts);
        ASSERT_EQ(off, "") << "seed " << seed << Text() << (*executable)->Describe();
      }
    }
    NodeTraitsCache traits;
    auto plan = cpu::PlanGraph(graph_, traits, {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    const absl::Status moved = cpu::CheckMovement(graph_, *plan);
    ASSERT_TRUE(moved.ok()) << "seed " << seed << ": " << moved << Text() << plan->Describe();
    ++counts->graphs;
  }

 private:
  std::string Text() const { return "\n" + PrintGraph(graph_) + "\n"; }

  double Distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b, size_t i) const {
    return Compare(a[i], b[i], tolerances_[i]).largest;
  }

  // Which output differs by more than rounding explains, or "".
  std::string Off(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                  Executable* cpu, Executable* typed, Counts* counts) const {
    for (size_t i = 0; i < actual.size(); ++i) {
      const Difference d = Compare(actual[i], expected[i], tolerances_[i]);
      if (d.within || IsSensitive(actual, expected, i) || AgreesNearby(cpu, typed, i)) {
        counts->ill_conditioned += d.within ? 0 : 1;
        continue;
      }
      return absl::StrCat("output ", i, ": ", d.ToString(), ", tolerance ", tolerances_[i]);
    }
    return "";
  }

  // Whether the definitions' own outputs move as far where each operator's result is off by what
  // runtime/tolerance.h allows it: a share of its largest element, which others may enlarge.
  bool IsSensitive(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                   size_t i) const {
    double own = 0;
    for (uint64_t k = 0; k < 8; ++k) own = std::max(own, Distance(Disturbed(k), expected, i));
    return Distance(actual, expected, i) <= kAsFar * own;
  }

  std::vector<Tensor> Disturbed(uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> share(-1, 1);
    absl::flat_hash_map<Value, Tensor> values;
    for (size_t i = 0; i < inputs_.size(); ++i) values[graph_.inputs()[i]] = inputs_[i];
    for (const NodePtr& node : graph_.nodes()) {
      if (node->has_payload()) values[Value(node, 0)] = node->payload();
      if (!node->is_op()) continue;
      std::vector<Tensor> operands;
      for (const Value& v : node->inputs()) operands.push_back(values.at(v));
      const std::vector<Tensor> results = *EvaluateNode(*node, operands);
      const double error = AddedError(*node);
      for (int k = 0; k < node->num_outputs(); ++k) {
        const Tensor& result = results[k];
        std::vector<double> numbers = result.ToDoubles();
        double largest = 0;
        for (double x : numbers)
          largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
        const double step = error * largest;
        if (IsFloat(result.dtype()) && step > 0) {
          // By chance, or to multiples of the step: what nearly is 0 becomes that.
          for (double& x : numbers) {
            x = seed % 4 == 0 ? std::round(x / step) * step : x + share(random) * step;
          }
        }
        values[Value(node, k)] =
            IsFloat(result.dtype()) ? *Tensor::FromDoubles(result.type(), numbers) : result;
      }
    }
    std::vector<Tensor> outputs;
    for (const Value& v : graph_.outputs()) outputs.push_back(values.at(v));
    return outputs;
  }

  // Of what rounding took across a jump on these inputs.
  bool AgreesNearby(Executable* cpu, Executable* typed, size_t i) const {
    for (uint64_t k = 0; k < 6; ++k) {
      const std::vector<Tensor> near = Nearby(inputs_, k, 1e-3);
      auto a = cpu->Run(near), b = typed->Run(near);
      if (a.ok() && b.ok() && Compare((*a)[i], (*b)[i], tolerances_[i]).within) return true;
    }
    return false;
  }

  const Graph& graph_;
  const std::vector<Tensor>& inputs_;
  const std::vector<double> tolerances_;
};

TEST(Differential, TheCpuComputesWhatTheDefinitionsSay) {
  const uint64_t first = static_cast<uint64_t>(
      FromEnvironment("LEMMA_SEED", static_cast<int64_t>(std::random_device()())));
  const int64_t wanted = FromEnvironment("LEMMA_GRAPHS", 0);
  std::printf("seeds from %llu on\n", static_cast<unsigned long long>(first));
  const auto start = std::chrono::steady_clock::now();
  Counts counts;
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  uint64_t seed = first;
  for (; wanted > 0 ? seed < first + static_cast<uint64_t>(wanted) : seconds() < kSeconds; ++seed) {
    RandomGraphOptions options;
    options.finite_only = IsProduct;
    const RandomGraph random = MakeRandomGraph(seed, options);
    Differential(random).Check(seed, &counts);
    if (HasFatalFailure()) return;
  }
  std::printf("%d graphs compared, %d without values, %d differences that rounding explains\n",
              counts.graphs, counts.without_values, counts.ill_conditioned);
  EXPECT_GT(counts.graphs, 20);
  EXPECT_LT(counts.ill_conditioned, counts.graphs / 5);
}

}  // namespace
}  // namespace lemma
