// Divides the computations that a kernel has behind a product into parts, called segments.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_SEGMENTS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_SEGMENTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/evaluate/evaluate.h"
#include "runtime/cpu/kernels/integers/chain_program.h"
#include "runtime/cpu/kernels/integers/epilogue_program.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// Some of the nodes behind a product. They compute the output of the last one from `start`.
struct Segment {
  Value start;
  std::vector<NodePtr> nodes;
  std::optional<ChainProgram> chain;  // the same computation, if it is a chain
};

// The spec's nodes behind its head, cut into segments where their arithmetic changes. If the last
// nodes of a segment quantize, they become a segment of their own if only the cut makes them a
// chain, or a chain that Requantization may compute. Dimension `channel` of the values becomes the
// columns.
std::vector<Segment> SegmentsBehind(const CpuKernelSpec& spec, int channel);

// One segment for a block of rows and columns.
struct BlockProgram {
  int64_t rows = 0, columns = 0;
  LoopProgram program{nullptr};
  Arithmetic arithmetic = Arithmetic::kFloat;
  // The inputs of the spec that the program reads after the product, in the program's order.
  std::vector<int> operands;
  std::vector<EpilogueGraph::Form> forms;
  DType from = DType::kF32, to = DType::kF32;
};

// Compiles the segment from the definitions of its nodes. has_gaps: whether the rows of the
// segment's result have gaps between them. Unimplemented if an operand is no input of the spec.
// Other errors are those of MakeEpilogueGraph, ComposeNodes and CompileLoops.
absl::StatusOr<BlockProgram> CompileSegment(const CpuKernelSpec& spec, const Segment& segment,
                                            int channel, int64_t rows, int64_t columns,
                                            bool has_gaps);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_SEGMENTS_H_
