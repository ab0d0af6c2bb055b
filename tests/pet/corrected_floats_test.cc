// Corrected programs on the CPU back end, against their originals' definitions.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "pet/correctors/corrector.h"
#include "pet/mutants/mutant.h"
#include "pet/regions/region.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/base/repetitions.h"
#include "tests/pet/random_subprogram.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma::pet {
namespace {

std::optional<Graph> Corrected(const Graph& graph, uint64_t seed) {
  MutantOptions options;
  options.seed = seed;
  options.max_tried = 20000;
  options.max_operators_tried = 20000;
  std::optional<Mutant> chosen;
  uint64_t left = 1 + seed % 7;
  auto status = ForEachMutant(graph, options, [&](Mutant mutant) {
    // Every third mutant is of another operator, or leaves out a part of a sum.
    if (seed % 3 == 0 && chosen && mutant.recipe) return true;
    chosen = std::move(mutant);
    return --left > 0;
  });
  EXPECT_TRUE(status.ok()) << status;
  if (!chosen) return std::nullopt;
  auto region = FindRegion(graph, chosen->graph);
  EXPECT_TRUE(region.ok()) << region.status();
  const Value& mutated = chosen->graph.outputs()[0];
  auto value = chosen->rest ? Apply1("add", {mutated, chosen->rest})
                            : Overwritten(graph.outputs()[0], mutated, region->differs);
  EXPECT_TRUE(value.ok()) << value.status();
  return graph.WithOutputs({*value});
}

Tensor RunOn(Backend* backend, const Graph& graph, const std::vector<Tensor>& inputs) {
  auto executable = backend->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status() << PrintGraph(graph);
  if (!executable.ok()) return Tensor();
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status() << PrintGraph(graph);
  return outputs.ok() ? (*outputs)[0] : Tensor();
}

TEST(CorrectedFloatsTest, CpuAgreesWithTheOriginalsDefinitions) {
  const int programs = WholeOr(200, 60);
  int compared = 0;
  for (uint64_t seed = 1; compared < programs; ++seed) {
    ASSERT_LT(seed, 5u * static_cast<uint64_t>(programs));
    const Graph graph = RandomSubprogram(seed);
    const auto program = Corrected(graph, seed);
    if (!program) continue;
    const std::vector<Tensor> inputs = RandomInputs(graph, seed);
    const Tensor expected = RunOn(MakeReferenceBackend().get(), graph, inputs);
    const Tensor actual = RunOn(MakeCpuBackend().get(), *program, inputs);
    ASSERT_FALSE(expected.empty_handle() || actual.empty_handle()) << seed;
    const Difference d = Compare(actual, expected, RelativeTolerances(graph)[0]);
    EXPECT_TRUE(d.within) << "seed " << seed << ": " << d.ToString() << PrintGraph(*program);
    ++compared;
  }
}

}  // namespace
}  // namespace lemma::pet
