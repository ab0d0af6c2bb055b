// Makes graphs with random values, and compares the CPU back end with the reference.
#ifndef LEMMA_TESTS_RUNTIME_RUNTIME_TESTUTIL_H_
#define LEMMA_TESTS_RUNTIME_RUNTIME_TESTUTIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma {

inline constexpr char kTwoLayers[] =
    R"(graph net(x: f32[2,8], w: weight f32[8,16], u: weight f32[16,4]) {
  h = matmul(x, w)
  a = relu(h)
  y = matmul(a, u)
  return y
})";

// The graph of `text`, which must be valid; weights without values get random values.
Graph GraphWithWeights(absl::string_view text, uint64_t seed = 1);

// Random values for the graph's inputs: floats in [-1, 1), and integers and bools that are 0 or 1.
std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed = 1);

// Runs `graph` on the CPU back end and on the reference. The CPU back end runs it with and without
// fusion of layout operators, twice each, since a second run must not depend on the first. Expects
// equal outputs within the tolerance (runtime/tolerance.h), and plans that pass CheckMovement and
// CheckConditions (runtime/cpu/plan_check.h). Returns the CPU's executable with fusion; nullptr if
// the graph cannot be compiled or run.
std::unique_ptr<Executable> ExpectCpuMatchesReference(const Graph& graph,
                                                      const std::vector<Tensor>& inputs,
                                                      int threads = 1);
// The same for the graph of `text`, on random inputs.
std::unique_ptr<Executable> ExpectCpuMatchesReference(absl::string_view text);

// The names of the kernels that `executable` runs, joined by spaces.
std::string KernelsOf(Executable& executable, const std::vector<Tensor>& inputs);

// ExpectCpuMatchesReference on random inputs. Returns the names of the kernels, as KernelsOf does.
std::string CheckedKernelsOf(absl::string_view graph_text);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_RUNTIME_TESTUTIL_H_
