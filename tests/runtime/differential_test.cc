// Random graphs over the whole operator table and operators that a file defines: the CPU back end
// against the definitions as typed.
//
// Other graphs in each run unless --test_arg=--first_seed=N; --test_arg=--graphs=N runs so many
// instead of as many as fit into the time. A failure prints its seed and the graph.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/examples/random_graph.h"
#include "graph/op_table.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/plan_check.h"
#include "runtime/cpu/planner.h"
#include "runtime/reference/definitions_referee.h"
#include "tests/runtime/products.h"
#include "tests/runtime/seeded_main.h"

namespace lemma {
namespace {

constexpr double kSeconds = 30;

struct Counts {
  int graphs = 0, without_values = 0, excused = 0;
};

// Whether an operand is only there for the order of computation: if it is constant, the back end
// need not compute it, and does not see an index outside of its tensor.
bool HasBarrier(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return node->IsOp("barrier"); });
}

// For graphs in which operators from files meet those that are fused with others.
bool IsDefinedInAFileOrCommon(const OpDef& op) {
  const std::vector<const OpDef*> defined = DefinedOps();
  if (std::find(defined.begin(), defined.end(), &op) != defined.end()) return true;
  constexpr absl::string_view kCommon[] = {"add",       "mul",     "relu",   "tanh",
                                           "matmul",    "conv2d",  "concat", "slice",
                                           "transpose", "reshape", "cast",   "reduce_sum"};
  return std::find(std::begin(kCommon), std::end(kCommon), op.name) != std::end(kCommon);
}

// Fails the test if the CPU back end's outputs differ from the definitions'.
void Check(uint64_t seed, const RandomGraph& random, Counts* counts) {
  const std::string text = absl::StrCat("\n", PrintGraph(random.graph), "\n");
  const DefinitionsReferee referee(random.graph, random.inputs);
  const auto& expected = referee.expected();
  for (const auto& [fuse_layout, threads] : {std::pair(true, 1), {false, 1}, {true, 2}}) {
    CompileOptions options;
    options.threads = threads;
    auto executable = MakeCpuBackend({fuse_layout})->Compile(random.graph, options);
    // An index outside its tensor: both report it, at compile time if it is in a weight.
    DefinitionsReferee::Outputs actual = absl::UnknownError("");
    actual = executable.ok() ? (*executable)->Run(random.inputs) : executable.status();
    if (actual.ok() && absl::IsOutOfRange(expected.status()) && HasBarrier(random.graph)) {
      ++counts->without_values;
      return;
    }
    ASSERT_EQ(actual.status().code(), expected.status().code())
        << "seed " << seed << ": " << actual.status() << ", " << expected.status() << text;
    if (!actual.ok() || (HasProduct(random.graph) && referee.ExpectsNaN())) {
      ++counts->without_values;
      return;
    }
    bool excused = false;
    const std::string off = referee.FaultOf(
        *actual, [&](const std::vector<Tensor>& inputs) { return (*executable)->Run(inputs); },
        &excused);
    ASSERT_EQ(off, "") << "seed " << seed << text << (*executable)->Describe();
    counts->excused += excused ? 1 : 0;
  }
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(random.graph, traits, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const auto& check : {cpu::CheckMovement, cpu::CheckConditions}) {
    const absl::Status right = check(*plan);
    ASSERT_TRUE(right.ok()) << "seed " << seed << ": " << right << text << plan->Describe();
  }
  ++counts->graphs;
}

TEST(Differential, TheCpuComputesWhatTheDefinitionsSay) {
  const uint64_t first = Seeds().first_seed;
  const int64_t wanted = Seeds().graphs;
  const auto start = std::chrono::steady_clock::now();
  Counts counts;
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  uint64_t seed = first;
  for (; wanted > 0 ? seed < first + static_cast<uint64_t>(wanted) : seconds() < kSeconds; ++seed) {
    RandomGraphOptions options;
    options.finite_only = IsProduct;
    options.narrow_integers = seed % 3 == 0;
    if (seed % 4 == 0) options.allowed = IsDefinedInAFileOrCommon;
    Check(seed, MakeRandomGraph(seed, options), &counts);
    if (HasFatalFailure()) return;
  }
  std::printf("%d graphs compared, %d without values, %d differences that rounding explains\n",
              counts.graphs, counts.without_values, counts.excused);
  EXPECT_GT(counts.graphs, 20);
  EXPECT_LT(counts.excused, counts.graphs / 5);
}

}  // namespace
}  // namespace lemma
