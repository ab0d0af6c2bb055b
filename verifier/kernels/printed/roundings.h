// Which factors of products a kernel rounds. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_PRINTED_ROUNDINGS_H_
#define LEMMA_VERIFIER_KERNELS_PRINTED_ROUNDINGS_H_

#include <string>

#include "absl/types/span.h"
#include "verifier/kernels/printed/printed_kernel.h"

namespace lemma::kernels {

// "" if every number that the kernel cuts to bf16 (WordsBf16::Join) is 0 or was loaded from bf16,
// and if its maps move tensors in the format of its words; otherwise what is wrong.
std::string CheckRoundings(const PrintedKernel& kernel, absl::Span<const SlotInfo> slots);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_PRINTED_ROUNDINGS_H_
