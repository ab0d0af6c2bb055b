// Says when the CPU back end computes convolutions by Winograd's algorithm.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_WINOGRAD_USE_H_
#define LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_WINOGRAD_USE_H_

namespace lemma {

// winograd.h says which convolutions the algorithm can compute, and where it is faster.
enum class WinogradUse {
  kWhereFaster,
  kAlways,  // wherever oneDNN has a kernel for the algorithm, for tests
  kNever,
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_WINOGRAD_USE_H_
