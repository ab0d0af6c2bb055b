// Softmax, and normalizations by oneDNN.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/row_softmax.h"
#include "runtime/cpu/kernels/vectorized/plain_rows.h"
#include "runtime/cpu/kernels/vectorized/softmax_rows.h"

namespace lemma::cpu {
namespace {

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;

bool IsF32(const Node& node) {
  for (const Value& v : node.inputs()) {
    if (v.dtype() != DType::kF32 || v.type().num_elements() == 0) return false;
  }
  return true;
}

int AxisOf(const Node& node) {
  const int rank = node.type(0).rank();
  const int64_t axis = node.Int("axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

bool AcceptsSoftmax(const Node& node) {
  return IsF32(node) && node.type(0).rank() >= 1 && node.type(0).rank() <= 5;
}

// Strides of a dense tensor with `axis` innermost and the other axes in their order.
Strides AxisInnermost(const Shape& shape, int axis) {
  Strides strides(shape.size(), 1);
  int64_t step = shape[axis];
  for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) {
    if (d == axis) continue;
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

// Dense, with the axis innermost: for other layouts the library has only its reference code, which
// takes up to forty times as long.
void SoftmaxLayouts(CpuKernelSpec& spec, const Strides&) {
  auto& x = spec.inputs[0];
  const int axis = AxisOf(spec.head());
  if (!IsDense(x.type.shape, x.strides) || x.strides[axis] != 1) {
    x.strides = AxisInnermost(x.type.shape, axis);
  }
  spec.outputs[0].strides = x.strides;
  spec.in_place = {0};
}

// Softmax of rows by AVX-512. The library's kernel, with a pass before it to find NaN, takes about
// twice as long.
class RowSoftmax : public Kernel {
 public:
  RowSoftmax(const SoftmaxMatrix& matrix, int threads)
      : matrix_(matrix), threads_(ThreadsFor(matrix.rows * matrix.columns, threads)) {}

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const float* x = static_cast<const float*>(inputs[0]);
    float* y = static_cast<float*>(outputs[0]);
    const int64_t columns = matrix_.columns;
    ParallelFor(threads_, matrix_.rows, [&](int64_t begin, int64_t end) {
      kernels::SoftmaxRows(x + begin * columns, end - begin, columns, y + begin * columns);
    });
    return absl::OkStatus();
  }
  std::string note() const override { return "rows, AVX-512"; }
  const SoftmaxMatrix& matrix() const { return matrix_; }

 private:
  const SoftmaxMatrix matrix_;
  const int threads_;
};

// Whether RowSoftmax may run; ONEDNN_MAX_CPU_ISA limits it like the library.
bool UsesRowSoftmax() {
  static const bool uses = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto least = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (isa & least) == least && kernels::HasSoftmaxRows();
  }();
  return uses;
}

// The library gives numbers instead of NaN for rows with NaN or without a finite number.
Built BuildSoftmax(const CpuKernelSpec& spec, const StaticValues&) {
  return CatchDnnl([&]() -> Built {
    const Node& node = spec.head();
    const int64_t length = node.type(0).shape[AxisOf(node)];
    const bool are_rows =
        length >= kernels::kLeastSoftmaxColumns && spec.inputs[0].strides[AxisOf(node)] == 1;
    if (are_rows && UsesRowSoftmax()) {
      return std::make_unique<RowSoftmax>(
          SoftmaxMatrix{node.type(0).num_elements() / length, length}, spec.threads);
    }
    auto x = Desc(spec.inputs[0].type.shape, spec.inputs[0].strides);
    using Forward = dnnl::softmax_v2_forward;
    Forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, x, x,
                       AxisOf(node));
    Forward::primitive_desc pd(desc, CallerScratch(), Engine());
    auto kernel = std::make_unique<DnnlKernel>();
    kernel->SetPrimitive(Forward(pd), pd.scratchpad_desc(), pd.impl_info_str());
    kernel->BindInput(DNNL_ARG_SRC, 0, x);
    kernel->BindOutput(DNNL_ARG_DST, 0, x);
    const int64_t rows = node.type(0).num_elements() / length;
    return WithDefinition(spec, std::move(kernel), [=](const float* input) {
      return kernels::HasPlainRows(input, rows, length);
    });
  });
}

bool AcceptsLayerNorm(const Node& node) {
  return IsF32(node) && node.inputs().size() == 3 && AxisOf(node) == node.type(0).rank() - 1 &&
         node.type(0).rank() >= 2 && node.inputs()[0] != node.inputs()[1] &&
         node.inputs()[1].type().rank() == 1;
}

void LayerNormLayouts(CpuKernelSpec& spec, const Strides&) {
  for (auto& in : spec.inputs) in.strides = RowMajorStrides(in.type.shape);
  spec.outputs[0].strides = RowMajorStrides(spec.outputs[0].type.shape);
  spec.in_place = {0};
}

Built BuildLayerNorm(const CpuKernelSpec& spec, const StaticValues&) {
  return CatchDnnl([&]() -> Built {
    const Node& node = spec.head();
    const Shape& shape = spec.inputs[0].type.shape;
    const int64_t channels = shape.back();
    const Shape rows = {NumElements(shape) / channels, channels};
    auto x = Desc(rows, RowMajorStrides(rows)), vector = Desc({channels}, {1});
    using Norm = dnnl::layer_normalization_forward;
    const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
    Norm::desc desc(dnnl::prop_kind::forward_inference, x,
                    static_cast<float>(node.Float("epsilon")), flags);
    Norm::primitive_desc pd(desc, CallerScratch(), Engine());
    auto kernel = std::make_unique<DnnlKernel>();
    kernel->SetPrimitive(Norm(pd), pd.scratchpad_desc(), pd.impl_info_str());
    kernel->BindInput(DNNL_ARG_SRC, 0, x);
    kernel->BindInput(DNNL_ARG_SCALE, spec.InputIndex(node.inputs()[1]), vector);
    kernel->BindInput(DNNL_ARG_SHIFT, spec.InputIndex(node.inputs()[2]), vector);
    kernel->BindOutput(DNNL_ARG_DST, 0, x);
    return kernel;
  });
}

bool AcceptsLrn(const Node& node) {
  return IsF32(node) && node.type(0).rank() == 4 && node.Int("size") % 2 == 1;
}

void LrnLayouts(CpuKernelSpec& spec, const Strides&) {
  spec.inputs[0].strides = ChannelsLast(spec.inputs[0].type.shape);
  spec.outputs[0].strides = spec.inputs[0].strides;
}

// With the exponent 0.75, the library takes a root of the cube of bias + alpha / size * (sum of
// squares). Up to this magnitude of all elements, the cube is a normal number; 0: it need not be.
float LargestLrnInput(double alpha, double bias) {
  constexpr double kMost = 4e12, kLeast = 1e-12;  // kMost^3 and kLeast^3 are within f32's range
  if (!(bias >= kLeast && bias < kMost) || !(alpha >= 0)) return 0;
  return static_cast<float>(std::min(std::sqrt((kMost - bias) / std::max(alpha, 1e-30)), 1e18));
}

Built BuildLrn(const CpuKernelSpec& spec, const StaticValues&) {
  return CatchDnnl([&]() -> Built {
    const Node& node = spec.head();
    auto x = ChannelsLastDesc(spec.inputs[0].type.shape);
    auto real = [&](const char* name) { return static_cast<float>(node.Float(name)); };
    using Lrn = dnnl::lrn_forward;
    Lrn::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels, x,
                   node.Int("size"), real("alpha"), real("beta"), real("bias"));
    Lrn::primitive_desc pd(desc, CallerScratch(), Engine());
    auto kernel = std::make_unique<DnnlKernel>();
    kernel->SetPrimitive(Lrn(pd), pd.scratchpad_desc(), pd.impl_info_str());
    kernel->BindInput(DNNL_ARG_SRC, 0, x);
    kernel->BindOutput(DNNL_ARG_DST, 0, x);
    const float largest = LargestLrnInput(node.Float("alpha"), node.Float("bias"));
    const int64_t elements = node.type(0).num_elements();
    return WithDefinition(spec, std::move(kernel), [=](const float* input) {
      return largest > 0 && kernels::AllWithin(input, elements, largest);
    });
  });
}

}  // namespace

std::optional<SoftmaxMatrix> SoftmaxMatrixOf(const Kernel& kernel) {
  const auto* softmax = dynamic_cast<const RowSoftmax*>(&kernel);
  return softmax == nullptr ? std::nullopt : std::optional(softmax->matrix());
}

KernelDef MakeSoftmaxKernel() {
  KernelDef def;
  def.name = "softmax";
  def.ops = {"softmax"};  // the library's log_softmax has an error of 1e-6 near 1
  def.accepts = AcceptsSoftmax;
  def.layouts = SoftmaxLayouts;
  def.build = BuildSoftmax;
  return def;
}

KernelDef MakeLayerNormKernel() {
  KernelDef def;
  def.name = "layer norm";
  def.ops = {"layer_norm"};
  def.accepts = AcceptsLayerNorm;
  def.layouts = LayerNormLayouts;
  def.build = BuildLayerNorm;
  return def;
}

KernelDef MakeLrnKernel() {
  KernelDef def;
  def.name = "lrn";
  def.ops = {"lrn"};
  def.accepts = AcceptsLrn;
  def.layouts = LrnLayouts;
  def.build = BuildLrn;
  return def;
}

}  // namespace lemma::cpu
