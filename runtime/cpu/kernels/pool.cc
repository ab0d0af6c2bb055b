// Pooling, channels last: by oneDNN, except for means over the whole image.
#include <algorithm>

#include "base/parallel.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/vectorized/mean_of_rows.h"
#include "runtime/cpu/kernels/vectorized/plain_rows.h"

namespace lemma::cpu {
namespace {

bool IsF32(const Node& node) {
  return node.type(0).dtype == DType::kF32 && node.inputs()[0].type().num_elements() > 0 &&
         node.type(0).num_elements() > 0;
}

// Whether the library's maximum of integers takes the application: it has no dilations.
bool IsPlainOfBytes(const Node& node) {
  const std::vector<int64_t>& dilations = node.Ints("dilations");
  return (node.type(0).dtype == DType::kU8 || node.type(0).dtype == DType::kI8) &&
         dilations[0] == 1 && dilations[1] == 1 && node.inputs()[0].type().num_elements() > 0 &&
         node.type(0).num_elements() > 0;
}

struct Window {
  dnnl::memory::dims kernel, strides, dilations, begin, end;
};

// The end padding follows from the output size, so ceil_mode needs no special case.
Window WindowOf(const Node& node) {
  Window w;
  const auto &pads = node.Ints("pads"), &dilations = node.Ints("dilations");
  w.kernel = node.Ints("kernel");
  w.strides = node.Ints("strides");
  for (int i = 0; i < 2; ++i) {
    w.dilations.push_back(dilations[i] - 1);
    w.begin.push_back(pads[i]);
    const int64_t reach = (w.kernel[i] - 1) * dilations[i] + 1;
    const int64_t size = node.inputs()[0].shape()[2 + i], out = node.type(0).shape[2 + i];
    w.end.push_back((out - 1) * w.strides[i] + reach - size - pads[i]);
  }
  return w;
}

// Whether some window lies entirely in padding: the definition's maximum of an empty set is
// -infinity, the library's the least float.
bool HasEmptyWindow(const Node& node) {
  const auto &strides = node.Ints("strides"), &dilations = node.Ints("dilations");
  for (int i = 0; i < 2; ++i) {
    const int64_t size = node.inputs()[0].shape()[2 + i];
    for (int64_t p = 0; p < node.type(0).shape[2 + i]; ++p) {
      const int64_t first = p * strides[i] - node.Ints("pads")[i];
      bool any = false;
      for (int64_t r = 0; r < node.Ints("kernel")[i] && !any; ++r) {
        const int64_t at = first + r * dilations[i];
        any = at >= 0 && at < size;
      }
      if (!any) return true;
    }
  }
  return false;
}

bool AcceptsMax(const Node& node) {
  return (IsF32(node) || IsPlainOfBytes(node)) && !HasEmptyWindow(node);
}

bool AcceptsAvg(const Node& node) {
  if (!IsF32(node) || HasEmptyWindow(node)) return false;
  if (node.Int("count_include_pad") == 0) return true;
  // oneDNN counts the whole window, even where it extends beyond the padded input.
  const Window w = WindowOf(node);
  const auto& pads = node.Ints("pads");
  return w.end[0] <= pads[2] && w.end[1] <= pads[3];
}

// reduce_mean over height and width.
bool AcceptsMean(const Node& node) {
  if (!IsF32(node) || node.inputs()[0].type().rank() != 4) return false;
  std::vector<int64_t> axes = node.Ints("axes");
  for (int64_t& axis : axes) axis = axis < 0 ? axis + 4 : axis;
  return axes == std::vector<int64_t>{2, 3};
}

void LayOutResult(CpuKernelSpec& spec) {
  auto& y = spec.outputs[0];
  y.strides = y.type.rank() == 4 ? ChannelsLast(y.type.shape) : RowMajorStrides(y.type.shape);
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  spec.inputs[0].strides = ChannelsLast(spec.inputs[0].type.shape);
  LayOutResult(spec);
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildPool(const CpuKernelSpec& spec,
                                                  dnnl::algorithm algorithm, const Window& w) {
  const Shape& xs = spec.inputs[0].type.shape;
  const Shape& ys = spec.outputs[0].type.shape;
  const DType dtype = spec.inputs[0].type.dtype;
  auto x = ChannelsLastDesc(xs, dtype), y = ChannelsLastDesc(ys, dtype);
  using Pooling = dnnl::pooling_v2_forward;
  Pooling::desc desc(dnnl::prop_kind::forward_inference, algorithm, x, y, w.strides, w.kernel,
                     w.dilations, w.begin, w.end);
  Pooling::primitive_desc pd(desc, CallerScratch(), Engine());
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->SetPrimitive(Pooling(pd), pd.scratchpad_desc(), pd.impl_info_str());
  kernel->BindInput(DNNL_ARG_SRC, 0, x);
  kernel->BindOutput(DNNL_ARG_DST, 0, y);
  return kernel;
}

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;

// The library's maximum of floats skips NaN, and for only -infinity gives the least float.
Built BuildMax(const CpuKernelSpec& spec, const StaticValues&) {
  return CatchDnnl([&]() -> Built {
    Built pool = BuildPool(spec, dnnl::algorithm::pooling_max, WindowOf(spec.head()));
    if (!pool.ok() || spec.inputs[0].type.dtype != DType::kF32) return pool;
    const int64_t elements = spec.inputs[0].type.num_elements();
    return WithDefinition(spec, *std::move(pool), [elements](const float* input) {
      return kernels::AllAboveMinusInfinity(input, elements);
    });
  });
}

Built BuildAvg(const CpuKernelSpec& spec, const StaticValues&) {
  const bool include = spec.head().Int("count_include_pad") != 0;
  return CatchDnnl([&]() -> Built {
    return BuildPool(spec,
                     include ? dnnl::algorithm::pooling_avg_include_padding
                             : dnnl::algorithm::pooling_avg_exclude_padding,
                     WindowOf(spec.head()));
  });
}

// Channels are innermost and pixels are evenly spaced; the result's channels are contiguous.
class SpatialMean : public Kernel {
 public:
  SpatialMean(const Shape& shape, const Strides& strides, int threads)
      : threads_(ThreadsFor(NumElements(shape), threads)),
        batch_(shape[0]),
        channels_(shape[1]),
        pixels_(shape[2] * shape[3]),
        batch_step_(strides[0]),
        pixel_step_(shape[3] > 1 ? strides[3] : strides[2]) {}

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const float* x = static_cast<const float*>(inputs[0]);
    float* y = static_cast<float*>(outputs[0]);
    const int64_t parts = (channels_ + kChannelsPerPart - 1) / kChannelsPerPart;
    ParallelFor(threads_, batch_ * parts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / parts, c = i % parts * kChannelsPerPart;
        kernels::MeanOfRows(x + n * batch_step_ + c, pixels_,
                            std::min(kChannelsPerPart, channels_ - c), pixel_step_,
                            y + n * channels_ + c);
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kChannelsPerPart = 64;
  int threads_;
  int64_t batch_, channels_, pixels_, batch_step_, pixel_step_;
};

void MeanLayouts(CpuKernelSpec& spec, const Strides&) {
  auto& x = spec.inputs[0];
  const Shape& s = x.type.shape;
  const bool rows_follow = s[2] == 1 || s[3] == 1 || x.strides[2] == s[3] * x.strides[3];
  const bool readable = (s[1] == 1 || x.strides[1] == 1) && rows_follow;
  if (!readable) x.strides = ChannelsLast(s);
  LayOutResult(spec);
}

bool StridedMeanInput(const std::vector<NodePtr>&, int node, int) { return node == 0; }

Built BuildMean(const CpuKernelSpec& spec, const StaticValues&) {
  return std::make_unique<SpatialMean>(spec.inputs[0].type.shape, spec.inputs[0].strides,
                                       spec.threads);
}

KernelDef Make(std::string name, std::string op, bool (*accepts)(const Node&),
               Built (*build)(const CpuKernelSpec&, const StaticValues&)) {
  KernelDef def;
  def.name = std::move(name);
  def.ops = {std::move(op)};
  def.accepts = accepts;
  def.layouts = Layouts;
  def.build = build;
  return def;
}

}  // namespace

KernelDef MakeMaxPoolKernel() { return Make("max pool", "max_pool2d", AcceptsMax, BuildMax); }
KernelDef MakeAvgPoolKernel() { return Make("average pool", "avg_pool2d", AcceptsAvg, BuildAvg); }
KernelDef MakeSpatialMeanKernel() {
  KernelDef def = Make("spatial mean", "reduce_mean", AcceptsMean, BuildMean);
  def.layouts = MeanLayouts;
  def.strided_input = StridedMeanInput;
  return def;
}

}  // namespace lemma::cpu
