// Convolutions by Winograd's algorithm: minimal filtering, for windows of 3 x 3 pixels.
//
// The algorithm transforms tiles of 4 x 4 or 6 x 6 pixels and the weights,
// multiplies them, and transforms the products into 2 x 2 or 4 x 4 outputs. It
// needs 2.25 or 4 times fewer multiplications than the definition. The rounding
// error of an output is proportional to the largest values nearby, not to the
// output itself. Relative to the largest output, as in runtime/tolerance.h, the
// errors are up to twice those of the direct convolution. Each output of a tile
// is computed from all pixels of the tile, also from pixels whose factors
// cancel. So an infinity or NaN in one pixel would reach outputs whose windows
// do not contain it. Inputs with such pixels, or with numbers so large that an
// intermediate result could overflow, go to the direct convolution.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_WINOGRAD_H_
#define LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_WINOGRAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// The sizes of a convolution with windows of 3 x 3 pixels, a stride of 1 and one group.
struct WinogradSizes {
  int64_t images = 1, in = 1, out = 1;  // images, and channels of the input and of the output
  int64_t rows = 1, columns = 1;        // of the output, in pixels
};

// Whether oneDNN may have a Winograd kernel for these sizes that is faster than its direct
// convolution. True only with AVX-512 and channels that fill vectors of 16.
bool MayTakeWinograd(const WinogradSizes& sizes);

// Whether the processor is Intel's.
bool IsIntel();

// Whether oneDNN's Winograd kernel `code` (impl_info_str) is faster than its direct convolution on
// channels-last images. The time of reordering input and output counts. `intel`: as IsIntel. The
// answer depends on these arguments only, so a model has the same results in every run with the
// same number of threads on processors of one maker.
bool IsFasterByWinograd(const WinogradSizes& sizes, const std::string& code, int threads,
                        bool intel);

// A number such that no intermediate result of the algorithm overflows if the magnitude of every
// input element is at most this number. `weights`: the elements for each output channel in turn. 0
// if a weight is not finite.
float LargestWinogradInput(absl::Span<const float> weights, int64_t out);

// A kernel that runs `winograd` if all `elements` of input `x_input` are of magnitude `largest` or
// less; otherwise, it runs the kernel that `make_direct` returns, which is made when it is first
// needed. The input is dense, and is checked on up to `threads` threads.
std::unique_ptr<Kernel> WinogradOrDirect(
    std::unique_ptr<Kernel> winograd,
    std::function<absl::StatusOr<std::unique_ptr<Kernel>>()> make_direct, int x_input,
    int64_t elements, float largest, int threads);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_WINOGRAD_H_
