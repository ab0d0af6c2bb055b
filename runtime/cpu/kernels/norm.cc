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

// Whether RowSoftmax may run; ONEDNN_MAX_CPU_ISA limits it like the library.
bool UsesRowSoftmax() {
  static const bool uses = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto least = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (isa & least) == least && kernels::HasSoftmaxRows();
  }();
  return uses;
}

// By dimension of the sum: the stride along which operand `i` of a sum of two is read, if the
// operand has these strides; nullopt along dimensions of which it is broadcast.
std::vector<std::optional<int64_t>> StridesInSum(const Node& sum, size_t i,
                                                 const Strides& strides) {
  std::vector<std::optional<int64_t>> result(sum.type(0).shape.size());
  const Value& operand = sum.inputs()[i];
  const std::vector<int>& dims = NodeTraitsOf(sum).element->dims[i];
  // An operand of the sum's rank is read at 0 along dimensions of size 1.
  const bool has_rank = operand.type().rank() == sum.type(0).rank();
  for (size_t k = 0; k < dims.size(); ++k) {
    const auto d = static_cast<size_t>(dims[k]);
    result[d] = strides[has_rank ? d : k];
  }
  return result;
}

// The operand of a sum of two with the rows of the softmax; -1 if no operand has their shape. An
// operand that a kernel has computed is preferred, since its memory can take the result.
int RowsOfSum(const Node& sum) {
  int rows = -1;
  for (int i : {0, 1}) {
    const Value& v = sum.inputs()[static_cast<size_t>(i)];
    if (v.shape() != sum.type(0).shape) continue;
    if (v.node().is_op() && NodeTraitsOf(v.node()).views.empty()) return i;
    if (rows < 0) rows = i;
  }
  return rows;
}

// A sum of rows and of a tensor that has an element for each of their columns.
bool FusesSumBefore(const Node& head, const Node& sum) {
  if (!UsesRowSoftmax() || !IsF32(sum) || !IsSumOfTwo(sum)) return false;
  const int last = head.type(0).rank() - 1, rows = RowsOfSum(sum);
  if (AxisOf(head) != last || head.type(0).shape.back() < kernels::kLeastSoftmaxColumns) {
    return false;
  }
  if (rows < 0 || sum.inputs()[0] == sum.inputs()[1]) return false;
  const std::vector<int>& dims = NodeTraitsOf(sum).element->dims[static_cast<size_t>(1 - rows)];
  const Shape& addend = sum.inputs()[static_cast<size_t>(1 - rows)].shape();
  const bool has_rank = static_cast<int>(addend.size()) == last + 1;
  if (!has_rank && addend.size() != dims.size()) return false;
  // An operator of one's own may read only a part of its operand.
  for (size_t k = 0; k < dims.size(); ++k) {
    const auto d = static_cast<size_t>(dims[k]);
    if (addend[has_rank ? d : k] != sum.type(0).shape[d]) return false;
  }
  return !dims.empty() && dims.back() == last;
}

// The rows row-major, and the columns of the addend contiguous.
void SoftmaxOfSumLayouts(CpuKernelSpec& spec) {
  const Node& sum = *spec.nodes[0];
  const int rows = RowsOfSum(sum);
  const int index = spec.InputIndex(sum.inputs()[static_cast<size_t>(rows)]);
  CpuKernelSpec::Operand& x = spec.inputs[static_cast<size_t>(index)];
  x.strides = RowMajorStrides(x.type.shape);
  CpuKernelSpec::Operand& addend = spec.inputs[static_cast<size_t>(
      spec.InputIndex(sum.inputs()[static_cast<size_t>(1 - rows)]))];
  if (addend.strides.back() != 1) addend.strides = RowMajorStrides(addend.type.shape);
  spec.outputs[0].strides = x.strides;
  spec.in_place = {index};
}

// Dense, with the axis innermost: for other layouts the library has only its reference code, which
// takes up to forty times as long.
void SoftmaxLayouts(CpuKernelSpec& spec, const Strides&) {
  if (spec.head_at > 0) return SoftmaxOfSumLayouts(spec);
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
  RowSoftmax(SoftmaxMatrix matrix, int threads)
      : matrix_(std::move(matrix)), threads_(ThreadsFor(matrix_.rows * matrix_.columns, threads)) {}

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const auto floats = [&](int i) { return static_cast<const float*>(inputs[size_t(i)]); };
    const float* x = floats(matrix_.input);
    float* y = static_cast<float*>(outputs[0]);
    const int64_t columns = matrix_.columns;
    ParallelFor(threads_, matrix_.rows, [&](int64_t begin, int64_t end) {
      if (!matrix_.addend) {
        kernels::SoftmaxRows(x + begin * columns, end - begin, columns, y + begin * columns);
        return;
      }
      const RowAddend& addend = *matrix_.addend;
      const auto added = [&](int64_t row) { return floats(addend.input) + addend.OffsetOf(row); };
      const float* here = added(begin);
      for (int64_t row = begin; row < end; ++row) {
        const int64_t next = std::min(row + 1, end - 1);
        const float* there = added(next);
        kernels::SoftmaxOfSumRow(x + row * columns, here, columns, y + row * columns,
                                 x + next * columns, there);
        here = there;
      }
    });
    return absl::OkStatus();
  }
  std::string note() const override { return "rows, AVX-512"; }
  const SoftmaxMatrix& matrix() const { return matrix_; }

 private:
  const SoftmaxMatrix matrix_;
  const int threads_;
};

// What RowSoftmax computes of a spec with contiguous rows.
SoftmaxMatrix MatrixOf(const CpuKernelSpec& spec) {
  const TensorType& type = spec.outputs[0].type;
  SoftmaxMatrix matrix;
  matrix.columns = type.shape[static_cast<size_t>(AxisOf(spec.head()))];
  matrix.rows = type.num_elements() / matrix.columns;
  if (spec.head_at == 0) return matrix;
  const Node& sum = *spec.nodes[0];
  const auto rows = static_cast<size_t>(RowsOfSum(sum));
  matrix.input = spec.InputIndex(sum.inputs()[rows]);
  RowAddend& addend = matrix.addend.emplace();
  addend.input = spec.InputIndex(sum.inputs()[1 - rows]);
  const std::vector<std::optional<int64_t>> strides =
      StridesInSum(sum, 1 - rows, spec.inputs[static_cast<size_t>(addend.input)].strides);
  for (size_t d = 0; d + 1 < type.shape.size(); ++d) {
    const RowAddend::Dim dim = {type.shape[d], strides[d].value_or(0), !strides[d].has_value()};
    if (dim.size == 1) continue;
    const RowAddend::Dim* outer = addend.dims.empty() ? nullptr : &addend.dims.back();
    if (outer != nullptr && outer->stride == dim.size * dim.stride &&
        outer->is_broadcast == dim.is_broadcast) {
      addend.dims.back() = {outer->size * dim.size, dim.stride, dim.is_broadcast};
    } else {
      addend.dims.push_back(dim);
    }
  }
  return matrix;
}

// The library gives numbers instead of NaN for rows with NaN or without a finite number.
Built BuildSoftmax(const CpuKernelSpec& spec, const StaticValues&) {
  return CatchDnnl([&]() -> Built {
    const Node& node = spec.head();
    const int64_t length = node.type(0).shape[AxisOf(node)];
    const bool are_rows =
        length >= kernels::kLeastSoftmaxColumns && spec.outputs[0].strides[AxisOf(node)] == 1;
    if (are_rows && UsesRowSoftmax()) {
      return std::make_unique<RowSoftmax>(MatrixOf(spec), spec.threads);
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

int64_t RowAddend::OffsetOf(int64_t row) const {
  int64_t offset = 0;
  for (size_t d = dims.size(); d-- > 1;) {
    offset += row % dims[d].size * dims[d].stride;
    row /= dims[d].size;
  }
  return dims.empty() ? 0 : offset + row * dims[0].stride;
}

std::optional<SoftmaxMatrix> SoftmaxMatrixOf(const Kernel& kernel) {
  const auto* softmax = dynamic_cast<const RowSoftmax*>(&kernel);
  return softmax == nullptr ? std::nullopt : std::optional(softmax->matrix());
}

KernelDef MakeSoftmaxKernel() {
  KernelDef def;
  def.name = "softmax";
  def.ops = {"softmax"};  // the library's log_softmax has an error of 1e-6 near 1
  def.accepts = AcceptsSoftmax;
  def.fuses_before = FusesSumBefore;
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
