// Compiles element-wise applications to the steps of a chain (chain.h).
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_CHAIN_PROGRAM_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_CHAIN_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/cpu/kernels/integers/chain.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

class ChainProgram {
 public:
  // The chain that computes the last of `nodes` from `start` and from inputs of the spec. `start`
  // is an f32 value, or 8-bit integers that are an input of the spec. Dimension `channel` of the
  // values becomes the columns. nullopt if the nodes are no such chain.
  static std::optional<ChainProgram> Compile(const CpuKernelSpec& spec, const Value& start,
                                             absl::Span<const NodePtr> nodes, int channel);

  // A step's operand that is input `input` of the spec. is_offset: the input is ChainStep::offset,
  // not ChainStep::number.
  struct Source {
    int step = 0, input = 0;
    DType dtype = DType::kF32;
    bool is_offset = false;
  };
  const std::vector<kernels::ChainStep>& steps() const { return steps_; }
  const std::vector<Source>& sources() const { return sources_; }
  kernels::ChainResult result() const { return result_; }
  // Whether a step reads one number per column.
  bool has_vectors() const { return has_vectors_; }

  // The steps with the operands that a block of the result needs. `inputs`, `first`, `column` and
  // `outputs`: as in Run.
  std::vector<kernels::ChainStep> Bound(absl::Span<void* const> inputs, int64_t first,
                                        int64_t column, int64_t outputs) const;

  // Runs the chain on a block of rows and columns.
  //   * `inputs`: as in Kernel::Run.
  //   * x: the block's elements of `start`, row-major; nullptr if the chain starts with integers.
  //   * `first`: the index of the block's first element in inputs of the result's shape, with
  //     channels innermost; `outputs` is the length of their rows.
  //   * `column`: the block's first column.
  //   * y: the block's results; its rows are `y_step` elements apart.
  void Run(absl::Span<void* const> inputs, const float* x, int64_t rows, int64_t columns,
           int64_t first, int64_t column, int64_t outputs, void* y, int64_t y_step) const;

 private:
  class Compiler;

  // Runs prepared steps without vectors over operands without gaps: several rows at a time, which
  // are then copied to their places.
  void RunTogether(std::vector<kernels::ChainStep> steps, const float* x, int64_t rows,
                   int64_t columns, void* y, int64_t y_step) const;

  std::vector<kernels::ChainStep> steps_;
  std::vector<Source> sources_;
  bool has_vectors_ = false;
  kernels::ChainResult result_ = kernels::ChainResult::kF32;
};

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_CHAIN_PROGRAM_H_
