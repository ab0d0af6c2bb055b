#include "runtime/cpu/kernels/convolutions/dnnl_convolution.h"

#include <limits>
#include <string>

#include "runtime/cpu/kernels/convolutions/winograd.h"

namespace lemma::cpu {
namespace {

using Convolution = dnnl::convolution_forward;

// AVX2 without AVX-512. With AVX-512 the library's channels-last kernels are as fast as those for
// blocked layouts; with SSE4.1 nothing was measured.
bool HasAvx2Only() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx2 || isa == dnnl::cpu_isa::avx2_vnni;
}

bool IsF32(const dnnl::memory::desc& desc) {
  return desc.data_type() == dnnl::memory::data_type::f32;
}

// oneDNN's reference code for post-operations computes relu(x) as x * 0 where x is negative: -0,
// and NaN for -inf. Its convolutions by matrix products use this code. Bounds are right there.
bool NeedsBoundsForRelu(const std::string& implementation) {
  return implementation.find("gemm") != std::string::npos || implementation.rfind("ref", 0) == 0;
}

dnnl::post_ops WithBoundsForRelu(const dnnl::post_ops& ops) {
  dnnl::post_ops result;
  for (int i = 0; i < ops.len(); ++i) {
    float scale = 1, alpha = 0, beta = 0;
    dnnl::algorithm algorithm = dnnl::algorithm::undef;
    dnnl::memory::desc operand;
    switch (ops.kind(i)) {
      case dnnl::primitive::kind::sum:
        ops.get_params_sum(i, scale);
        result.append_sum(scale);
        break;
      case dnnl::primitive::kind::binary:
        ops.get_params_binary(i, algorithm, operand);
        result.append_binary(algorithm, operand);
        break;
      default:
        ops.get_params_eltwise(i, scale, algorithm, alpha, beta);
        if (algorithm == dnnl::algorithm::eltwise_relu && alpha == 0) {
          algorithm = dnnl::algorithm::eltwise_clip;
          beta = std::numeric_limits<float>::infinity();
        }
        result.append_eltwise(scale, algorithm, alpha, beta);
    }
  }
  return result;
}

Convolution::primitive_desc Describe(const DnnlConvolution& conv, const dnnl::memory::desc& x,
                                     const dnnl::memory::desc& y, const Epilogue& epilogue,
                                     dnnl::algorithm algorithm) {
  const auto kind = dnnl::prop_kind::forward_inference;
  const dnnl::memory::desc w(conv.weights.dims(), conv.x.data_type(),
                             dnnl::memory::format_tag::any);
  const Convolution::desc desc =
      conv.bias_input >= 0 ? Convolution::desc(kind, algorithm, x, w, conv.bias, y, conv.strides,
                                               conv.dilations, conv.begin, conv.end)
                           : Convolution::desc(kind, algorithm, x, w, y, conv.strides,
                                               conv.dilations, conv.begin, conv.end);
  const Convolution::primitive_desc pd(desc, EpilogueAttributes(epilogue), Engine());
  if (!NeedsBoundsForRelu(pd.impl_info_str())) return pd;
  Epilogue bounds;
  bounds.ops = WithBoundsForRelu(epilogue.ops);
  return Convolution::primitive_desc(desc, EpilogueAttributes(bounds), Engine());
}

// Whether blocks of channels are faster, reorders included. Measured with AVX2, one thread, in ms,
// channels last and blocked: 64 -> 64 channels, 3 x 3, at 112 x 112 pixels 21.5 and 11.3; 128 ->
// 128 at 28 x 28 4.2 and 3.6; 64 -> 64 at 56 x 56 3.0 and 3.0. Channels that fill no block are
// slower (20 -> 36 at 30 x 30: 0.18 and 0.22), and so are 1 x 1 convolutions. 32 groups of 4
// channels, for which the library has no channels-last kernel of its own: 7.7 and 2.9.
bool IsFasterBlocked(const DnnlConvolution& conv) {
  if (!HasAvx2Only()) return false;
  const auto w = conv.weights.dims();
  if (w.size() == 5) return RunsByProducts({w[0] * w[1], w[2], w[3], w[4]}, w[0]);
  return w[2] * w[3] > 1 && w[1] % 8 == 0;
}

}  // namespace

bool ConvolutionsBeatProducts() { return HasAvx2Only(); }

bool RunsByProducts(const Shape& weights, int64_t groups) {
  const int64_t out = weights[0] / groups, in = weights[1];
  return HasAvx2Only() && groups > 1 && !(in == 1 && out == 1) && (in % 8 != 0 || out % 8 != 0);
}

namespace {

std::unique_ptr<Kernel> MakeKernel(const CpuKernelSpec& spec, const StaticValues& statics,
                                   const DnnlConvolution& conv, const Epilogue& epilogue,
                                   const Convolution::primitive_desc& pd) {
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->SetPrimitive(Convolution(pd), pd.scratchpad_desc(), pd.impl_info_str());
  kernel->BindStagedInput(DNNL_ARG_SRC, conv.x_input, conv.x, pd.src_desc());
  BindWeights(spec, statics, conv.weights_input, conv.weights, pd.weights_desc(), kernel.get());
  BindBias(spec, statics, conv.bias_input, conv.bias, kernel.get());
  kernel->BindStagedOutput(DNNL_ARG_DST, 0, conv.y, pd.dst_desc());
  BindEpilogue(epilogue, kernel.get());
  BindEpilogueSum(spec, epilogue, kernel.get());
  return kernel;
}

std::unique_ptr<Kernel> MakeDirect(const CpuKernelSpec& spec, const StaticValues& statics,
                                   const DnnlConvolution& conv, const Epilogue& epilogue) {
  const auto direct = dnnl::algorithm::convolution_direct;
  const bool blocked = !spec.inputs[conv.x_input].is_static && IsFasterBlocked(conv);
  return MakeKernel(
      spec, statics, conv, epilogue,
      blocked ? Describe(conv, AnyDesc(conv.x.dims()), AnyDesc(conv.y.dims()), epilogue, direct)
              : Describe(conv, conv.x, conv.y, epilogue, direct));
}

// nullptr if the direct convolution is faster, or the only one.
std::unique_ptr<Kernel> MakeWinograd(const CpuKernelSpec& spec, const StaticValues& statics,
                                     const DnnlConvolution& conv, const Epilogue& epilogue) {
  const dnnl::memory::dims w = conv.weights.dims(), x = conv.x.dims(), y = conv.y.dims();
  const dnnl::memory::dims ones = {1, 1}, zeros = {0, 0};
  const Tensor& weights = statics[conv.weights_input];
  if (spec.winograd == WinogradUse::kNever || !IsF32(conv.x)) return nullptr;
  if (w.size() != 4 || w[2] != 3 || w[3] != 3 || conv.strides != ones || conv.dilations != zeros ||
      weights.empty_handle() || spec.inputs[conv.x_input].is_static) {
    return nullptr;
  }
  const WinogradSizes sizes{y[0], w[1], w[0], y[2], y[3]};
  if (!MayTakeWinograd(sizes)) return nullptr;
  const float largest = LargestWinogradInput(weights.data<float>(), w[0]);
  if (largest == 0) return nullptr;
  try {
    const Convolution::primitive_desc pd =
        Describe(conv, AnyDesc(x), AnyDesc(y), epilogue, dnnl::algorithm::convolution_winograd);
    if (spec.winograd == WinogradUse::kWhereFaster &&
        !IsFasterByWinograd(sizes, pd.impl_info_str(), spec.threads, IsIntel())) {
      return nullptr;
    }
    auto make_direct = [=]() {
      return CatchDnnl([&]() -> absl::StatusOr<std::unique_ptr<Kernel>> {
        return MakeDirect(spec, statics, conv, epilogue);
      });
    };
    return WinogradOrDirect(MakeKernel(spec, statics, conv, epilogue, pd), make_direct,
                            conv.x_input, NumElements(x), largest, spec.threads);
  } catch (const dnnl::error& error) {
    // The library lacks a kernel for these sizes, or for this epilogue.
    if (error.status != dnnl_unimplemented && error.status != dnnl_invalid_arguments) throw;
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<Kernel> MakeDnnlConvolution(const CpuKernelSpec& spec, const StaticValues& statics,
                                            const DnnlConvolution& conv, const Epilogue& epilogue) {
  std::unique_ptr<Kernel> winograd = MakeWinograd(spec, statics, conv, epilogue);
  return winograd != nullptr ? std::move(winograd) : MakeDirect(spec, statics, conv, epilogue);
}

}  // namespace lemma::cpu
