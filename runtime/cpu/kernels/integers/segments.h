// Divides the computations of a kernel behind a product into parts.
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

// Some of the nodes behind a product: they compute the output of the last one from `start`.
struct Segment {
  Value start;
  std::vector<NodePtr> nodes;
  std::optional<ChainProgram> chain;  // the same, if it is a chain
};

// The spec's nodes behind its head, cut where their arithmetic changes. If a
// segment gives 8-bit integers, but is not a chain (or, with kVnni, no chain
// that Requantization may compute), it is cut once more: its last nodes become
// a segment of their own if they are a chain that Requantization may compute.
// Dimension `channel` of the values becomes the columns.
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

// Compiles the definitions of the segment's nodes. has_gaps: the rows of the
// segment's result have gaps between them. Unimplemented if an operand is no
// input of the spec; other errors are those of MakeEpilogueGraph.
absl::StatusOr<BlockProgram> CompileSegment(const CpuKernelSpec& spec, const Segment& segment,
                                            int channel, int64_t rows, int64_t columns,
                                            bool has_gaps);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_SEGMENTS_H_
