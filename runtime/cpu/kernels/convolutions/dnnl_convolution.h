// Builds oneDNN's convolutions, for convolutions and for other operators that can be computed as a
// convolution.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_DNNL_CONVOLUTION_H_
#define LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_DNNL_CONVOLUTION_H_

#include <dnnl.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {

struct DnnlConvolution {
  // The descriptors of the operands and of the result as they lie in memory.
  // The dimensions of `weights` are [groups,] out, in, rows, columns. The
  // kernel multiplies numbers of x's type, and converts static weights to this
  // type once.
  dnnl::memory::desc x, weights, y;
  dnnl::memory::desc bias;                                  // {out}; empty: none
  int x_input = 0, weights_input = 1, bias_input = -1;      // of the spec's inputs; -1: no bias
  dnnl::memory::dims strides = {1, 1}, dilations = {0, 0};  // dilations: skipped pixels
  dnnl::memory::dims begin = {0, 0}, end = {0, 0};          // padding before and after x, in pixels
};

// Whether oneDNN's matrix products are slower than its 1 x 1 convolutions. They are slower on
// processors with AVX2 but without AVX-512, where oneDNN's product packs the weights in every run:
// 128 x 768 x 3072 takes 15.0 ms as a product and 7.6 ms as a convolution.
bool ConvolutionsBeatProducts();

// Whether oneDNN computes a convolution with weights [out, in, rows, columns] by matrix products.
// It does so on processors with AVX2 but without AVX-512 if there are several groups, each has more
// than one input or output channel, and the channels of a group do not fill blocks of 8. Operations
// fused behind such a convolution are slow: 32 groups of 4 channels at 56 x 56 pixels take 3.3 ms;
// with relu fused, 6.6 ms; with a batch normalization fused, 57 ms.
bool RunsByProducts(const Shape& weights, int64_t groups);

// The kernel that computes `conv` and the operations fused behind it; y is output 0 of the spec. y
// must be in channels-last layout, and so must x unless it is static. Where oneDNN's kernels for
// another layout are faster, the kernel reorders x before the convolution and y after it. Where
// Winograd's algorithm is faster, the kernel uses it for images without NaN, infinities and very
// large numbers (winograd.h). Throws dnnl::error.
std::unique_ptr<Kernel> MakeDnnlConvolution(const CpuKernelSpec& spec, const StaticValues& statics,
                                            const DnnlConvolution& conv, const Epilogue& epilogue);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_CONVOLUTIONS_DNNL_CONVOLUTION_H_
