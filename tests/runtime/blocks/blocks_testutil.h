// Divides graphs into blocks and compares their results.
#ifndef LEMMA_TESTS_RUNTIME_BLOCKS_BLOCKS_TESTUTIL_H_
#define LEMMA_TESTS_RUNTIME_BLOCKS_BLOCKS_TESTUTIL_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "runtime/cpu/blocks/blocks.h"
#include "runtime/executor.h"

namespace lemma {

// The graph of InBlocks (runtime/cpu/blocks/blocks.h).
Graph Blocked(const Graph& graph, const cpu::BlockOptions& options);

// The bytes of the largest value that an operator computes when the graph runs.
int64_t LargestValue(const Graph& graph);

// Whether b is a, up to `tolerance` times the larger of 1 and |a| if both are finite; NaN equals
// NaN.
bool IsWithin(double tolerance, double a, double b);
// Expects that both graphs give the same results, as IsWithin compares them.
void ExpectWithin(double tolerance, Backend& reference, const Graph& graph, const Graph& blocked,
                  const std::vector<Tensor>& inputs);

// The reference computes both element by element, so the bits are equal.
void ExpectSame(const Graph& graph, const Graph& blocked, const std::vector<Tensor>& inputs);

// A sum of the sums of parts rounds differently. In double, this hardly shows in an f32.
void ExpectSameSums(const Graph& graph, const Graph& blocked, const std::vector<Tensor>& inputs);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_BLOCKS_BLOCKS_TESTUTIL_H_
