// Reads the text of a printed kernel.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/codegen/grid_program.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// Reads the subset of CUDA C++ in which kernels/codegen prints, by the types and functions of its
// prelude; `slots` are the program's. Functions that a horizontally fused kernel calls are
// inlined. InvalidArgument, with the line, for anything else: text outside the subset, an operand
// of another type than the printer writes, a number without an initial value that is an index, a
// parameter that does not have the type of its slot.
absl::StatusOr<PrintedKernel> ParseKernel(const codegen::GridKernel& kernel,
                                          absl::Span<const SlotInfo> slots);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_PARSER_H_
