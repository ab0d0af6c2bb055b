// Batch normalization with the statistics of the batch, and its gradient, channels last.
#include <algorithm>

#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {
namespace {

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;
using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;

// Operands must have distinct places, which the library's arguments need.
bool Accepts(const Node& node) {
  const auto& in = node.inputs();
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].dtype() != DType::kF32 || std::count(in.begin(), in.end(), in[i]) > 1) return false;
    if (in[i].type().num_elements() == 0 || IsStaticValue(in[i])) return false;
  }
  return in[0].type().rank() == 4;
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  auto dense = [](CpuKernelSpec::Operand& o) {
    const Shape& shape = o.type.shape;
    o.strides = shape.size() == 4 ? ChannelsLast(shape) : RowMajorStrides(shape);
  };
  for (auto& in : spec.inputs) dense(in);
  for (auto& out : spec.outputs) dense(out);
}

void GradientLayouts(CpuKernelSpec& spec, const Strides& wanted) {
  Layouts(spec, wanted);
  spec.in_place = {spec.InputIndex(spec.head().inputs()[4])};
}

dnnl::normalization_flags Flags() {
  return dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
}

float EpsilonOf(const CpuKernelSpec& spec) {
  return static_cast<float>(spec.head().Float("epsilon"));
}

dnnl::memory::desc VectorDesc(const Shape& image) {
  return Desc({image[1]}, RowMajorStrides({image[1]}));
}

Forward::primitive_desc ForwardDesc(const CpuKernelSpec& spec, const dnnl::memory::desc& x) {
  const Forward::desc desc(dnnl::prop_kind::forward_training, x, EpsilonOf(spec), Flags());
  return Forward::primitive_desc(desc, CallerScratch(), Engine());
}

// Binds the arguments to the node's inputs in order, and to the outputs.
std::unique_ptr<Kernel> Bind(const CpuKernelSpec& spec, const dnnl::memory::desc& image,
                             std::unique_ptr<DnnlKernel> kernel, const std::vector<int>& inputs,
                             const std::vector<int>& outputs) {
  auto desc = [&](const CpuKernelSpec::Operand& o) {
    return o.type.shape.size() == 4 ? image : VectorDesc(image.dims());
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int index = spec.InputIndex(spec.head().inputs()[i]);
    kernel->BindInput(inputs[i], index, desc(spec.inputs[index]));
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    kernel->BindOutput(outputs[k], static_cast<int>(k), desc(spec.outputs[k]));
  }
  return kernel;
}

Built Build(const CpuKernelSpec& spec, const StaticValues&) {
  return CatchDnnl([&]() -> Built {
    const auto x = ChannelsLastDesc(spec.outputs[0].type.shape);
    const Forward::primitive_desc pd = ForwardDesc(spec, x);
    auto kernel = std::make_unique<DnnlKernel>();
    kernel->SetPrimitive(Forward(pd), pd.scratchpad_desc(), pd.impl_info_str());
    return Bind(spec, x, std::move(kernel), {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT},
                {DNNL_ARG_DST, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE});
  });
}

Built BuildGradient(const CpuKernelSpec& spec, const StaticValues&) {
  return CatchDnnl([&]() -> Built {
    const auto x = ChannelsLastDesc(spec.outputs[0].type.shape);
    const Backward::desc desc(dnnl::prop_kind::backward, x, x, EpsilonOf(spec), Flags());
    const Backward::primitive_desc pd(desc, CallerScratch(), Engine(), ForwardDesc(spec, x));
    auto kernel = std::make_unique<DnnlKernel>();
    kernel->SetPrimitive(Backward(pd), pd.scratchpad_desc(), pd.impl_info_str());
    // The library requires an argument for the shift, but does not read it.
    const auto vector = VectorDesc(x.dims());
    const int64_t channels = spec.outputs[0].type.shape[1];
    kernel->BindFixed(DNNL_ARG_SHIFT, CopyOf(std::vector<float>(channels), vector));
    return Bind(spec, x, std::move(kernel),
                {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_DIFF_DST},
                {DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT});
  });
}

}  // namespace

KernelDef MakeBatchNormTrainingKernel() {
  KernelDef def;
  def.name = "batch norm training";
  def.ops = {"batch_norm_training"};
  def.accepts = Accepts;
  def.layouts = Layouts;
  def.build = Build;
  return def;
}

KernelDef MakeBatchNormGradientKernel() {
  KernelDef def;
  def.name = "batch norm gradient";
  def.ops = {"batch_norm_training_gradient"};
  def.accepts = Accepts;
  def.layouts = GradientLayouts;
  def.build = BuildGradient;
  return def;
}

}  // namespace lemma::cpu
