// Checks whether a kernel for tensor cores keeps the values of a product's factors when it converts
// them to the cores' format. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_ROUNDINGS_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_ROUNDINGS_H_

#include <string>

#include "absl/types/span.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// Returns "" if three conditions hold, otherwise what is wrong. First, every number that the kernel
// truncates to bf16 (WordsBf16::Join) is a bf16 number already: 0, loaded from bf16, or rounded to
// bf16. Second, every integer that becomes a byte of a word (MakeA, MakeB) is a number of that
// factor's type already: a literal in the type's range, loaded from the type, or stored in it.
// Third, the tensors that the copy engine reads (PrintedKernel::maps) have the kernel's format of
// factors (PrintedKernel::words). `slots`: the program's tensors, by slot number.
std::string CheckRoundings(const PrintedKernel& kernel, absl::Span<const SlotInfo> slots);

// Whether every number that the kernel rounds to its format of factors (WordsF16::Make,
// WordsBf16::Make, WordsTf32::Make) is a number of this format already, as in the first condition.
// f16 and bf16 numbers and the results of round_tf32 are TF32 numbers.
bool RoundsNothing(const PrintedKernel& kernel, absl::Span<const SlotInfo> slots);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_ROUNDINGS_H_
