// Checks printed CUDA kernels against the operators that they stand for, before they run.
//
// The check reads the text of the kernels and executes it, for every thread of the grid and in
// exact arithmetic. So it does not rely on the printer. For the program's sizes, the check decides
//
//   * that every access lies inside its tensor or array, and that packs (consecutive elements that
//     one instruction loads or stores) are aligned;
//   * that each element of a result is written once, and nothing is read before
//     it is written. A program may keep the elements of an operand
//     (GridProgram::kept). Then the operand must share its memory with the
//     result, and an element need not be written where the result equals the
//     operand's element;
//   * that if a thread writes shared memory, another thread accesses it only after a barrier;
//   * that if an operand and a result share memory, no thread accesses an element that another
//     thread writes;
//   * that all threads of a block reach each barrier;
//   * that no integer overflows its type, and that every conversion in the kernel is in the
//     definition too, apart from roundings of factors to ProgramCheckOptions::precision.
//
// Control flow and addresses depend on no values except gathered indices, so one execution decides
// all of this for all other values.
//
// The check also compares the program's results with the results of the graph's
// nodes, at random points of the field with 2^61 - 1 elements
// (graph/expr/field.h). It evaluates the nodes one by one. Two different
// rational functions of degree d agree at a random point with a probability of
// at most about d/2^61. Three further checks are tests, not decisions: nodes
// that compute in integers are compared at random integers; discontinuous
// functions, such as comparisons, are evaluated at numbers near the
// definitions' constants; and gathered indices are also set to all positions of
// axes of up to 8 elements, and outside of the tensors that they index.
//
// The check trusts the CUDA compiler and the functions of the prelude
// (kernels/codegen/prelude.cuh). It states the meaning of these functions a
// second time.
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

// Nodes that a program computes together; a horizontally fused program has several parts.
struct ProgramPart {
  std::vector<NodePtr> nodes;   // operands before users
  std::vector<Value> operands;  // values that the nodes read from outside of the part
  int first_slot = 0;           // slot first_slot + k of the program holds operand k
  std::vector<int> outputs;     // the slots of the results of the last node
};

struct ProgramCheckOptions {
  uint64_t seed = 1;
  // Limits on the scalar operations of one evaluation and on the bytes of memory that the check
  // needs. A program beyond these limits is not checked.
  double operations = 4e10;
  int64_t bytes = int64_t{3} << 30;
  // The precision to which kernels may round the factors of products.
  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32;
  // Pairs of an operand's slot and a result's slot that share their memory.
  std::vector<std::pair<int, int>> in_place;
};

struct ProgramVerdict {
  enum class Kind {
    kAgrees,      // all checks above passed; `reason` is ""
    kWrong,       // `reason` says what is wrong and, if known, in which kernel, thread or element
    kNotChecked,  // `reason` says why; it is not known whether the program is right
  };
  Kind kind = Kind::kNotChecked;
  std::string reason;
};

// Checks all kernels of a program together. `parts`: by ascending first_slot. Deterministic for a
// seed.
ProgramVerdict CheckProgram(const codegen::GridProgram& program,
                            absl::Span<const ProgramPart> parts,
                            const ProgramCheckOptions& options = {});

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_KERNEL_CHECK_H_
