// Parses the text of a printed (generated) CUDA kernel into a tree (printed_kernel.h).
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/codegen/grid_program.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// Reads the subset of CUDA C++ that kernels/codegen prints, with the types and
// functions of its prelude (kernels/codegen/prelude.cuh). `slots`: the
// program's tensors, by slot number. Functions that a horizontally fused kernel
// calls are inlined. InvalidArgument, with the line, for any other text, for
// example for an operand of a type that the printer does not write at this
// place, or for a parameter whose type differs from the type of its slot.
absl::StatusOr<PrintedKernel> ParseKernel(const codegen::GridKernel& kernel,
                                          absl::Span<const SlotInfo> slots);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_
