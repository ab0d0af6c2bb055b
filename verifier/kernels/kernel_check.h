// Checks printed CUDA kernels against the operators that they stand for, before they run.
//
// The text itself is read and executed, for every thread of the grid and in exact arithmetic, so
// nothing depends on what the printer meant to print. For the sizes at hand this decides
//
//   * that every access lies inside its tensor or array, and packs are aligned;
//   * that each element of a result is written once, and nothing is read before it is written;
//   * that no two threads meet in shared memory without a barrier between them, nor in memory that
//     an old and a new value share, and that all threads of a block reach each barrier;
//   * that no integer leaves its type, and every conversion is one that the definition has;
//
// and compares the results with those of the nodes, evaluated one by one, at random points of the
// field with 2^61 - 1 elements (graph/expr/field.h). Control flow and addresses depend on no values
// except gathered indices. Two different rational functions of degree d agree at a random point
// with a probability of about d / 2^61. Functions that jump, such as comparisons, are also tried at
// numbers near the constants that they may meet, and gathered indices outside of their tensors:
// these are tests, not decisions.
//
// It trusts the functions of the prelude (kernels/codegen/prelude.cuh), whose meaning it restates,
// and the compiler behind it.
#ifndef LEMMA_VERIFIER_KERNELS_KERNEL_CHECK_H_
#define LEMMA_VERIFIER_KERNELS_KERNEL_CHECK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"

namespace lemma::kernels {

// Nodes that a program computes, in order, in its slots from `first_slot` on: first the operands,
// then, at `outputs`, the results of the last node.
struct ProgramPart {
  absl::Span<const NodePtr> nodes;
  std::vector<Value> operands;
  int first_slot = 0;
  std::vector<int> outputs;
};

struct ProgramCheckOptions {
  uint64_t seed = 1;
  // The most operations of one evaluation, and bytes of memory; a larger program is not checked.
  double operations = 4e9;
  int64_t bytes = int64_t{3} << 30;
  // To which precision kernels may round the factors of products.
  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32;
  // Pairs of an operand's slot and a result's slot that are one memory.
  std::vector<std::pair<int, int>> in_place;
};

struct ProgramVerdict {
  enum class Kind {
    kAgrees,      // as the head of this file says
    kWrong,       // `reason` names the kernel, the thread and the element
    kNotChecked,  // `reason` says why; nothing is known
  };
  Kind kind = Kind::kNotChecked;
  std::string reason;
};

// Checks all kernels of a program together. Deterministic for a seed.
ProgramVerdict CheckProgram(const codegen::GridProgram& program,
                            absl::Span<const ProgramPart> parts,
                            const ProgramCheckOptions& options = {});

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_KERNEL_CHECK_H_
