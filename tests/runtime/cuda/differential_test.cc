// Random graphs over the whole operator table, fused as the CUDA back end fuses them and run over
// the emulated grid, against the definitions as typed.
//
// A seed for each run unless LEMMA_SEED (--test_env) names one; LEMMA_GRAPHS says how many graphs.
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/numbers.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/graph/random_graph.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/definitions_referee.h"

namespace lemma {
namespace {

constexpr int64_t kGraphs = 300;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  int64_t value = 0;
  const char* text = std::getenv(name);
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

TEST(CudaDifferential, GeneratedKernelsComputeWhatTheDefinitionsSay) {
  const uint64_t first = static_cast<uint64_t>(
      FromEnvironment("LEMMA_SEED", static_cast<int64_t>(std::random_device()())));
  const uint64_t last = first + static_cast<uint64_t>(FromEnvironment("LEMMA_GRAPHS", kGraphs));
  std::printf("seeds from %llu on\n", static_cast<unsigned long long>(first));
  EmulatedPlans plans;
  std::vector<RandomGraph> graphs;
  std::vector<uint64_t> seeds;
  for (uint64_t seed = first; seed < last; ++seed) {
    RandomGraph random = MakeRandomGraph(seed);
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
    const std::string off = referee.Off(*actual, run);
    ASSERT_EQ(off, "") << "seed " << seeds[i] << "\n" << PrintGraph(graphs[i].graph);
    ++compared;
  }
  std::printf("%d graphs compared\n", compared);
  EXPECT_GT(compared, 10);
}

}  // namespace
}  // namespace lemma
