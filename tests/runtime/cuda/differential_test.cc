// Random graphs over the whole operator table, fused as the CUDA back end fuses them and run over
// the emulated grid, against the definitions as typed.
//
// Other graphs in each run unless --test_arg=--first_seed=N; --test_arg=--graphs=N: so many.
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "graph/examples/random_graph.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/definitions_referee.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/seeded_main.h"

namespace lemma {
namespace {

constexpr int64_t kGraphs = 300;

// Padding is 0 times the other factor there, which gives NaN if that is infinite: docs/cuda.md.
bool HasPadding(const OpDef& op) { return absl::StrContains(op.name, "conv"); }

TEST(CudaDifferential, GeneratedKernelsComputeWhatTheDefinitionsSay) {
  const uint64_t first = Seeds().first_seed;
  const int64_t wanted = Seeds().graphs > 0 ? Seeds().graphs : kGraphs;
  const uint64_t last = first + static_cast<uint64_t>(wanted);
  EmulatedPlans plans;
  std::vector<RandomGraph> graphs;
  std::vector<uint64_t> seeds;
  for (uint64_t seed = first; seed < last; ++seed) {
    RandomGraphOptions options;
    options.finite_only = HasPadding;
    RandomGraph random = MakeRandomGraph(seed, options);
    const absl::Status added = plans.Add(random.graph);
    if (absl::IsOutOfRange(added)) continue;  // an index of weights
    ASSERT_TRUE(added.ok()) << "seed " << seed << ": " << added << "\n" << PrintGraph(random.graph);
    graphs.push_back(std::move(random));
    seeds.push_back(seed);
  }
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  int compared = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const DefinitionsReferee referee(graphs[i].graph, graphs[i].inputs);
    if (!referee.expected().ok()) continue;  // an index outside its tensor, which kernels clamp
    auto run = [&](const std::vector<Tensor>& inputs) { return plans.Run(i, inputs, /*seed=*/1); };
    auto actual = run(graphs[i].inputs);
    ASSERT_TRUE(actual.ok()) << "seed " << seeds[i] << ": " << actual.status();
    const std::string off = referee.FaultOf(*actual, run);
    ASSERT_EQ(off, "") << "seed " << seeds[i] << "\n" << PrintGraph(graphs[i].graph);
    ++compared;
  }
  std::printf("%d graphs compared\n", compared);
  EXPECT_GT(compared, 10);
}

}  // namespace
}  // namespace lemma
