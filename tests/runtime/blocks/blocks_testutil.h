// Divides large values of graphs into blocks (docs/blocks.md) and compares the
// results with the results of the undivided graphs.
#ifndef LEMMA_TESTS_RUNTIME_BLOCKS_BLOCKS_TESTUTIL_H_
#define LEMMA_TESTS_RUNTIME_BLOCKS_BLOCKS_TESTUTIL_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "runtime/cpu/blocks/blocks.h"
#include "runtime/executor.h"

namespace lemma {

// The graph in which InBlocks (runtime/cpu/blocks/blocks.h) has divided large values.
Graph Blocked(const Graph& graph, const cpu::BlockOptions& options);

// The size in bytes of the largest value that an operator computes when the graph runs. Values that
// do not depend on inputs do not count.
int64_t LargestValue(const Graph& graph);

// Whether a and b are the same number, are both NaN, or are finite and differ by at most
// `tolerance` times the larger of 1 and |a|.
bool IsWithin(double tolerance, double a, double b);
// Runs both graphs on the back end `reference`. Expects that all elements of their outputs satisfy
// IsWithin, or that both runs fail.
void ExpectWithin(double tolerance, Backend& reference, const Graph& graph, const Graph& blocked,
                  const std::vector<Tensor>& inputs);

// ExpectWithin on the reference back end, with tolerance 0: it computes each element by the same
// operations in both graphs. For blocks that divide no sums.
void ExpectSame(const Graph& graph, const Graph& blocked, const std::vector<Tensor>& inputs);

// ExpectWithin on the reference back end without rounding between operators, with tolerance 2^-22.
// For blocks that divide sums: adding the sums of parts rounds differently, but in double the
// difference hardly changes an f32.
void ExpectSameSums(const Graph& graph, const Graph& blocked, const std::vector<Tensor>& inputs);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_BLOCKS_BLOCKS_TESTUTIL_H_
