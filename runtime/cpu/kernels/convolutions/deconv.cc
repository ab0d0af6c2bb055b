// Transposed convolutions by oneDNN, channels last. Nothing is fused behind them: oneDNN applies
// post-operations to a transposed convolution one number at a time, by reference code. That takes
// ten times as long as a kernel of its own, and relu(x) is x * 0 there where x is negative: -0, and
// NaN for -inf.
#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {
namespace {

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;

// Output padding is padding that is not cut off at the end. oneDNN accepts rows that no window
// reaches if there are fewer than the stride, since then the number of windows is the same.
std::optional<std::vector<int64_t>> EndPadding(const Node& node) {
  const auto &pads = node.Ints("pads"), &more = node.Ints("output_padding");
  std::vector<int64_t> end;
  for (size_t i = 0; i < 2; ++i) {
    if (more[i] - pads[2 + i] >= node.Ints("strides")[i]) return std::nullopt;
    end.push_back(std::max<int64_t>(pads[2 + i] - more[i], 0));
  }
  return end;
}

bool Accepts(const Node& node) {
  for (const Value& v : node.inputs()) {
    if (v.dtype() != DType::kF32 || v.type().num_elements() == 0) return false;
  }
  return node.inputs()[0] != node.inputs()[1] && EndPadding(node).has_value() &&
         !IsStaticValue(node.inputs()[0]);  // these are row-major
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  spec.inputs[0].strides = ChannelsLast(spec.inputs[0].type.shape);
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    spec.inputs[i].strides = RowMajorStrides(spec.inputs[i].type.shape);
  }
  spec.outputs[0].strides = ChannelsLast(spec.outputs[0].type.shape);
}

Built BuildDeconvolution(const CpuKernelSpec& spec, const StaticValues& statics) {
  const Node& node = spec.head();
  const Shape &xs = spec.inputs[0].type.shape, &ys = spec.outputs[0].type.shape;
  const Shape& w = node.inputs()[1].shape();  // [C, K / groups, R, S]
  const int64_t groups = node.Int("groups"), area = w[2] * w[3];
  Shape ws = {w[1], w[0], w[2], w[3]};
  Strides strides = {area, w[1] * area, w[3], 1};
  if (groups > 1) {
    ws = {groups, w[1], w[0] / groups, w[2], w[3]};
    strides = {w[0] / groups * w[1] * area, area, w[1] * area, w[3], 1};
  }
  const int bias = node.inputs().size() == 3 ? spec.InputIndex(node.inputs()[2]) : -1;
  auto x = ChannelsLastDesc(xs), y = ChannelsLastDesc(ys);
  auto b = bias >= 0 ? Desc({ys[1]}, {1}) : dnnl::memory::desc();
  const auto &s = node.Ints("strides"), &d = node.Ints("dilations"), &p = node.Ints("pads");
  const dnnl::memory::dims dilations = {d[0] - 1, d[1] - 1}, begin = {p[0], p[1]};
  const dnnl::memory::dims end = *EndPadding(node);
  using Deconvolution = dnnl::deconvolution_forward;
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto direct = dnnl::algorithm::deconvolution_direct;
  Deconvolution::desc desc =
      bias >= 0 ? Deconvolution::desc(kind, direct, x, AnyDesc(ws), b, y, s, dilations, begin, end)
                : Deconvolution::desc(kind, direct, x, AnyDesc(ws), y, s, dilations, begin, end);
  Deconvolution::primitive_desc pd(desc, CallerScratch(), Engine());
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->SetPrimitive(Deconvolution(pd), pd.scratchpad_desc(), pd.impl_info_str());
  kernel->BindInput(DNNL_ARG_SRC, 0, x);
  BindWeights(spec, statics, spec.InputIndex(node.inputs()[1]), Desc(ws, strides),
              pd.weights_desc(), kernel.get());
  BindBias(spec, statics, bias, b, kernel.get());
  kernel->BindOutput(DNNL_ARG_DST, 0, y);
  return kernel;
}

Built Build(const CpuKernelSpec& spec, const StaticValues& statics) {
  return CatchDnnl([&]() -> Built { return BuildDeconvolution(spec, statics); });
}

}  // namespace

KernelDef MakeConvTranspose2dKernel() {
  KernelDef def;
  def.name = "transposed conv";
  def.ops = {"conv_transpose2d"};
  def.accepts = Accepts;
  def.layouts = Layouts;
  def.build = Build;
  return def;
}

}  // namespace lemma::cpu
