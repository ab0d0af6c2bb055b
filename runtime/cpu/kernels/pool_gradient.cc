// The gradient of maximum pooling, channels last. By the definition, each element would search for
// all windows whose maximum it is.
#include <algorithm>

#include "base/parallel.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/vectorized/max_pool_gradient.h"

namespace lemma::cpu {
namespace {

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;

bool IsFilled(const Value& v, DType dtype) {
  return v.dtype() == dtype && v.type().num_elements() > 0;
}

bool AcceptsPool(const Node& node) {
  for (const Value& v : node.inputs()) {
    if (!IsFilled(v, DType::kF32) || IsStaticValue(v)) return false;  // static ones are row-major
  }
  return node.inputs()[0] != node.inputs()[1];
}

void PoolLayouts(CpuKernelSpec& spec, const Strides&) {
  for (auto& in : spec.inputs) in.strides = ChannelsLast(in.type.shape);
  spec.outputs[0].strides = ChannelsLast(spec.outputs[0].type.shape);
}

class PoolGradient : public Kernel {
 public:
  explicit PoolGradient(const CpuKernelSpec& spec)
      : x_(spec.InputIndex(spec.head().inputs()[0])),
        dy_(spec.InputIndex(spec.head().inputs()[1])) {
    const Node& node = spec.head();
    const Shape &x = spec.inputs[x_].type.shape, &dy = spec.inputs[dy_].type.shape;
    batch_ = x[0];
    channels_ = x[1];
    for (int i = 0; i < 2; ++i) {
      sizes_.image[i] = x[2 + i];
      sizes_.windows[i] = dy[2 + i];
      sizes_.kernel[i] = node.Ints("kernel")[i];
      sizes_.strides[i] = node.Ints("strides")[i];
      sizes_.dilations[i] = node.Ints("dilations")[i];
      sizes_.pad[i] = node.Ints("pads")[i];
    }
    threads_ = static_cast<int>(
        std::min<int64_t>(batch_, ThreadsFor(spec.inputs[x_].type.num_elements(), spec.threads)));
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    const auto* x = static_cast<const float*>(inputs[x_]);
    const auto* dy = static_cast<const float*>(inputs[dy_]);
    auto* dx = static_cast<float*>(outputs[0]);
    auto* best = static_cast<float*>(scratch);
    const int64_t image = sizes_.image[0] * sizes_.image[1] * channels_;
    const int64_t windows = sizes_.windows[0] * sizes_.windows[1] * channels_;
    ParallelFor(threads_, batch_, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        kernels::MaxPoolGradient(x + n * image, dy + n * windows, channels_, sizes_, dx + n * image,
                                 best + n * 2 * channels_);
      }
    });
    return absl::OkStatus();
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(batch_ * 2 * channels_) * sizeof(float);
  }

 private:
  int x_, dy_;  // inputs
  int threads_ = 1;
  int64_t batch_ = 0, channels_ = 0;
  kernels::PoolSizes sizes_;
};

}  // namespace

KernelDef MakeMaxPoolGradientKernel() {
  KernelDef def;
  def.name = "max pool gradient";
  def.ops = {"max_pool2d_gradient"};
  def.accepts = AcceptsPool;
  def.layouts = PoolLayouts;
  def.build = [](const CpuKernelSpec& spec, const StaticValues&) -> Built {
    return std::make_unique<PoolGradient>(spec);
  };
  return def;
}

}  // namespace lemma::cpu
