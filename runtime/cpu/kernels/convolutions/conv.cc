// Convolutions by oneDNN. Images lie channels last between kernels, so nothing must be reordered
// between operators.
#include "runtime/cpu/kernels/bf16_products.h"
#include "runtime/cpu/kernels/convolutions/dnnl_convolution.h"

namespace lemma::cpu {
namespace {

constexpr int kChannel = 1;

bool IsF32(const Node& node) {
  for (const Value& v : node.inputs()) {
    if (v.dtype() != DType::kF32 || v.type().num_elements() == 0) return false;
  }
  return node.type(0).num_elements() > 0;
}

// Whether it is a product of the pixels' channel vectors with a matrix. A product accepts pixels
// that are spaced apart, which a convolution does not.
bool IsPixelwise(const Node& node) {
  const Shape& w = node.inputs()[1].shape();
  const std::vector<int64_t> ones = {1, 1}, zeros = {0, 0, 0, 0};
  return w[2] == 1 && w[3] == 1 && node.Int("groups") == 1 && node.Ints("strides") == ones &&
         node.Ints("pads") == zeros;
}

// Whether to run as a matrix product. With post-operations that read a vector, the convolution is
// faster.
bool RunsAsProduct(const std::vector<NodePtr>& nodes, int head_at = 0) {
  if (!IsPixelwise(*nodes[static_cast<size_t>(head_at)])) return false;
  for (size_t n = static_cast<size_t>(head_at) + 1; n < nodes.size(); ++n) {
    if (PostOpKindOf(*nodes[n], Value(nodes[n - 1], 0), kChannel) == PostOpKind::kChannelAffine) {
      return false;
    }
  }
  return true;
}

// Whether consecutive pixels are `step` elements apart.
bool HasPixelStep(const Shape& shape, const Strides& strides, int64_t* step) {
  auto view = ReshapedView({shape[0], shape[2], shape[3]}, {strides[0], strides[2], strides[3]},
                           {shape[0] * shape[2] * shape[3]});
  if (!view || (shape[1] > 1 && strides[1] != 1)) return false;
  *step = shape[0] * shape[2] * shape[3] == 1 ? shape[1] : (*view)[0];
  return *step >= shape[1];
}

// Whether the pixels of input and output lie side by side.
bool IsDense(const CpuKernelSpec& spec) {
  auto dense = [](const CpuKernelSpec::Operand& o) {
    return SameLayout(o.type.shape, o.strides, ChannelsLast(o.type.shape));
  };
  return dense(spec.operand(0)) && dense(spec.outputs[0]);
}

// oneDNN 2.6's SSE4.1 code assumes that the summed operand of a depthwise convolution is aligned,
// and crashes if it is not.
bool CrashesBySum(const Node& node) {
  const bool depthwise = node.Int("groups") > 1 && node.inputs()[1].shape()[1] == 1;
  return depthwise && dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::sse41;
}

// Whether a window lies in the padding altogether. In some of these convolutions, oneDNN 2.6's code
// for AVX-512 (brgconv) adds a sum wrongly to such windows, or crashes.
bool HasEmptyWindows(const Node& node) {
  const Shape &x = node.inputs()[0].shape(), &w = node.inputs()[1].shape(), &y = node.type(0).shape;
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t dilation = node.Ints("dilations")[axis], stride = node.Ints("strides")[axis];
    for (int64_t i = 0; i < y[2 + axis]; ++i) {
      bool empty = true;
      for (int64_t k = 0; k < w[2 + axis] && empty; ++k) {
        const int64_t at = i * stride + k * dilation - node.Ints("pads")[axis];
        empty = at < 0 || at >= x[2 + axis];
      }
      if (empty) return true;
    }
  }
  return false;
}

// What oneDNN 2.6 can fuse behind a convolution of bf16 numbers in several groups, of more than one
// channel each: no sum behind another post-operation (it has only its reference code then), and of
// functions only bounds (it fails to make code for others, such as a sigmoid).
bool FusesInGroups(const CpuKernelSpec& spec, const Node& user, PostOpKind how) {
  const Node& head = spec.head();
  const bool grouped = head.Int("groups") > 1 && head.inputs()[1].shape()[1] > 1;
  if (!grouped || !MultipliesBf16(head)) return true;
  if (how == PostOpKind::kEltwise) {
    const dnnl::algorithm f = EltwiseOf(user, Value(spec.nodes.back(), 0))->algorithm;
    return f == dnnl::algorithm::eltwise_relu || f == dnnl::algorithm::eltwise_clip;
  }
  if (how != PostOpKind::kSum) return how != PostOpKind::kNo || RoundsToBf16(user);
  for (size_t n = static_cast<size_t>(spec.head_at) + 1; n < spec.nodes.size(); ++n) {
    const Value before(spec.nodes[n - 1], 0);
    if (PostOpKindOf(*spec.nodes[n], before, kChannel) != PostOpKind::kBias) return false;
  }
  return true;
}

bool Fuses(const CpuKernelSpec& spec, const Node& user) {
  const Value v(spec.nodes.back(), 0);
  const Node& head = spec.head();
  const PostOpKind how = PostOpKindOf(user, v, kChannel);
  if (how == PostOpKind::kSum && (CrashesBySum(head) || HasEmptyWindows(head))) return false;
  if (!FusesInGroups(spec, user, how)) return false;
  if (RunsByProducts(head.inputs()[1].shape(), head.Int("groups"))) return false;
  return FusesBehind(spec, user, kChannel, head.inputs().size() < 3);
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  auto& x = spec.inputs[spec.OperandIndex(0)];
  int64_t step = 0;
  if (x.is_static) {
    x.strides = RowMajorStrides(x.type.shape);
  } else if (!RunsAsProduct(spec.nodes, spec.head_at) ||
             !HasPixelStep(x.type.shape, x.strides, &step)) {
    x.strides = ChannelsLast(x.type.shape);
  }
  // Computed weights, biases and fused vectors may be views, such as of a transpose.
  for (auto& in : spec.inputs) {
    if (&in != &x) in.strides = RowMajorStrides(in.type.shape);
  }
  auto& y = spec.outputs[0];
  y.strides = ChannelsLast(y.type.shape);
  if (int sum = FusedSum(spec, kChannel); sum >= 0) {
    spec.inputs[sum].strides = y.strides;
    // The convolution's own operands must outlive its first results.
    if (sum >= static_cast<int>(spec.head().inputs().size())) spec.in_place = {sum};
  }
}

bool StridedOutput(const CpuKernelSpec& spec, const Strides& strides) {
  int64_t step = 0;
  return RunsAsProduct(spec.nodes, spec.head_at) && !spec.operand(0).is_static &&
         FusedSum(spec, kChannel) < 0 && HasPixelStep(spec.outputs[0].type.shape, strides, &step);
}

bool StridedInput(const std::vector<NodePtr>& nodes, int node, int operand) {
  return node == 0 && operand == 0 && RunsAsProduct(nodes);
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildPixelwise(const CpuKernelSpec& spec,
                                                       const StaticValues& statics) {
  const Node& node = spec.head();
  const CpuKernelSpec::Operand& image = spec.operand(0);
  const DType factors = image.type.dtype, result = spec.outputs[0].type.dtype;
  const Shape &xs = image.type.shape, &ys = spec.outputs[0].type.shape;
  const int64_t rows = xs[0] * xs[2] * xs[3], in = xs[1], out = ys[1];
  int64_t x_step = in, y_step = out;
  if (!HasPixelStep(xs, image.strides, &x_step) ||
      !HasPixelStep(ys, spec.outputs[0].strides, &y_step)) {
    return absl::InternalError("a pixelwise convolution got other strides");
  }
  const bool own_bias = node.inputs().size() == 3;
  absl::StatusOr<Epilogue> epilogue =
      MakeEpilogue(spec, statics, kChannel, Desc({1, out}, {out, 1}), own_bias);
  if (!epilogue.ok()) return epilogue.status();
  const int bias = own_bias ? spec.InputIndex(node.inputs()[2]) : epilogue->bias;
  auto x = Desc({rows, in}, {x_step, 1}, factors), y = Desc({rows, out}, {y_step, 1}, result);
  const auto w = AnyDesc({in, out}, factors);
  auto b = bias >= 0 ? Desc({1, out}, {out, 1}) : dnnl::memory::desc();
  auto attr = EpilogueAttributes(*epilogue);
  dnnl::matmul::desc desc =
      bias >= 0 ? dnnl::matmul::desc(x, w, b, y) : dnnl::matmul::desc(x, w, y);
  dnnl::matmul::primitive_desc pd(desc, attr, Engine());
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->SetPrimitive(dnnl::matmul(pd), pd.scratchpad_desc(), pd.impl_info_str());
  kernel->BindInput(DNNL_ARG_SRC, spec.OperandIndex(0), x);
  // The weight is [out, in].
  BindWeights(spec, statics, spec.OperandIndex(1),
              Desc({in, out}, {1, in}, spec.operand(1).type.dtype), pd.weights_desc(),
              kernel.get());
  BindBias(spec, statics, bias, b, kernel.get());
  kernel->BindOutput(DNNL_ARG_DST, 0, y);
  BindEpilogue(*epilogue, kernel.get());
  BindEpilogueSum(spec, *epilogue, kernel.get());
  return kernel;
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildConvolution(const CpuKernelSpec& spec,
                                                         const StaticValues& statics) {
  const Node& node = spec.head();
  const CpuKernelSpec::Operand& image = spec.operand(0);
  const DType factors = image.type.dtype;
  const Shape &xs = image.type.shape, &ys = spec.outputs[0].type.shape;
  const Shape& w = node.inputs()[1].shape();
  const int64_t groups = node.Int("groups");
  Shape ws = w;
  if (groups > 1) ws = {groups, w[0] / groups, w[1], w[2], w[3]};
  const bool own_bias = node.inputs().size() == 3;
  absl::StatusOr<Epilogue> epilogue =
      MakeEpilogue(spec, statics, kChannel, ChannelsLastDesc({1, ys[1], 1, 1}), own_bias);
  if (!epilogue.ok()) return epilogue.status();
  const int bias = own_bias ? spec.InputIndex(node.inputs()[2]) : epilogue->bias;
  const auto &d = node.Ints("dilations"), &p = node.Ints("pads");
  DnnlConvolution conv;
  conv.x = image.is_static ? Desc(xs, RowMajorStrides(xs)) : ChannelsLastDesc(xs, factors);
  conv.weights = Desc(ws, RowMajorStrides(ws), spec.operand(1).type.dtype);
  conv.y = ChannelsLastDesc(ys, spec.outputs[0].type.dtype);
  if (bias >= 0) conv.bias = Desc({ys[1]}, {1});
  conv.x_input = spec.OperandIndex(0);
  conv.weights_input = spec.OperandIndex(1);
  conv.bias_input = bias;
  conv.strides = node.Ints("strides");
  conv.dilations = {d[0] - 1, d[1] - 1};
  conv.begin = {p[0], p[1]};
  conv.end = {p[2], p[3]};
  return MakeDnnlConvolution(spec, statics, conv, *epilogue);
}

absl::StatusOr<std::unique_ptr<Kernel>> Build(const CpuKernelSpec& spec,
                                              const StaticValues& statics) {
  using Result = absl::StatusOr<std::unique_ptr<Kernel>>;
  return CatchDnnl([&]() -> Result {
    const bool product = RunsAsProduct(spec.nodes, spec.head_at) && !spec.operand(0).is_static &&
                         !(ConvolutionsBeatProducts() && IsDense(spec));
    return product ? BuildPixelwise(spec, statics) : BuildConvolution(spec, statics);
  });
}

bool AcceptsConv(const Node& node) { return IsF32(node) && node.inputs()[0] != node.inputs()[1]; }

}  // namespace

KernelDef MakeConv2dKernel() {
  KernelDef def;
  def.name = "conv";
  def.ops = {"conv2d"};
  def.accepts = AcceptsConv;
  def.fuses = Fuses;
  def.fuses_casts = true;
  def.reads_bf16 = true;
  def.layouts = Layouts;
  def.strided_output = StridedOutput;
  def.strided_input = StridedInput;
  def.build = Build;
  return def;
}

}  // namespace lemma::cpu
