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

  // A step's operand that is an input of the spec. `step` and `input` are the numbers of the step
  // and of the input. is_offset: the operand is ChainStep::offset, not ChainStep::number.
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

  // Whether the source's step reads one number for each element of the result.
  bool IsLoaded(const Source& source) const;
  // Whether the source's step reads an 8-bit integer for each column.
  bool IsGate(const Source& source) const;

  // A block of rows of the result, channels innermost.
  struct Block {
    int64_t row = 0, column = 0;  // of its first element
    int64_t rows = 0, columns = 0;
    // For each input of the spec: elements from one row to the next. Used only for inputs that have
    // the result's shape.
    absl::Span<const int64_t> row_steps;
  };

  // The steps with their operands for a block. `inputs`: as in Kernel::Run.
  std::vector<kernels::ChainStep> Bound(absl::Span<void* const> inputs, const Block& block) const;

  // Runs the chain on a block. x: the block's first element of `start`; nullptr if the chain starts
  // with integers. y: the block's first result. The rows of x and y begin `x_step` and `y_step`
  // elements apart.
  void Run(absl::Span<void* const> inputs, const Block& block, const float* x, int64_t x_step,
           void* y, int64_t y_step) const;

 private:
  class Compiler;

  // Runs steps that have their operands and read no vector, on rows of x that follow each other
  // directly. Computes several rows of the result at once in a buffer, then copies each row to its
  // place in y.
  void RunTogether(std::vector<kernels::ChainStep> steps, const float* x, int64_t rows,
                   int64_t columns, void* y, int64_t y_step) const;

  std::vector<kernels::ChainStep> steps_;
  std::vector<Source> sources_;
  bool has_vectors_ = false;
  kernels::ChainResult result_ = kernels::ChainResult::kF32;
};

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_CHAIN_PROGRAM_H_
