// Reads the text of a printed kernel.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/codegen/grid_program.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// Reads the subset of CUDA C++ that kernels/codegen prints, with the types and functions of its
// prelude (kernels/codegen/prelude.cuh). `slots`: those of the program. Functions that a
// horizontally fused kernel calls are inlined. InvalidArgument, with the line, for anything else,
// such as text outside the subset, an operand of another type than the printer writes, or a
// parameter whose type is not that of its slot.
absl::StatusOr<PrintedKernel> ParseKernel(const codegen::GridKernel& kernel,
                                          absl::Span<const SlotInfo> slots);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_
