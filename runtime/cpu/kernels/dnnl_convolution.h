// Builds oneDNN's convolutions, for convolutions and other operators that can be computed as one.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_DNNL_CONVOLUTION_H_
#define LEMMA_RUNTIME_CPU_KERNELS_DNNL_CONVOLUTION_H_

#include <dnnl.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {

struct DnnlConvolution {
  dnnl::memory::desc x, weights,
      y;                    // as they lie in memory; weights: [groups,] out, in, rows, columns
  dnnl::memory::desc bias;  // {out}; empty: none
  int x_input = 0, weights_input = 1, bias_input = -1;      // indices in the spec; -1: no bias
  dnnl::memory::dims strides = {1, 1}, dilations = {0, 0};  // dilations: pixels between two taps
  dnnl::memory::dims begin = {0, 0}, end = {0, 0};          // padding before and after
};

// Whether oneDNN's products are slower than its 1 x 1 convolutions. This is so on processors
// with AVX2 but without AVX-512, where its product packs the weights in every run: 128 x 768 x 3072
// takes 15.0 ms, the convolution 7.6.
bool ConvolutionsBeatProducts();

// Whether oneDNN computes a convolution with weights [out, in, rows, columns] by products: on
// such processors, if the channels of a group do not fill blocks of 8, unless it is depthwise.
// Operations fused behind it are slow: 32 groups of 4 channels at 56 x 56 pixels take 3.3 ms; with
// relu fused, 6.6; with a batch normalization, 57.
bool IsByProducts(const Shape& weights, int64_t groups);

// The kernel that computes `conv` and the operations fused behind it. x and y lie channels last, or
// x is static. Where oneDNN's kernels for another layout are faster, the kernel reorders x and
// y before and after. Throws dnnl::error.
std::unique_ptr<Kernel> MakeDnnlConvolution(const CpuKernelSpec& spec, const StaticValues& statics,
                                            const DnnlConvolution& conv, const Epilogue& epilogue);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_DNNL_CONVOLUTION_H_
