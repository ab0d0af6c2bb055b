// Interpolation along one axis, with positions and weights that are known when the kernel is built.
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/cpu/kernels/vectorized/weighted_rows.h"

namespace lemma::cpu {
namespace {

int64_t AxisOf(const Node& node) {
  const int64_t rank = node.inputs()[0].type().rank();
  return (node.Int("axis") + rank) % rank;
}

// The elements from one row of y to the next, if y lies in memory as rows of the dimensions after
// the axis, all equally far apart. `order`: its dimensions from the slowest on.
std::optional<int64_t> RowStep(const Shape& shape, const Strides& strides,
                               const std::vector<int>& order, int64_t axis) {
  Shape rows, inner;
  Strides row_strides, inner_strides;
  bool inside = false;
  for (const int d : order) {
    (inside ? inner : rows).push_back(shape[d]);
    (inside ? inner_strides : row_strides).push_back(strides[d]);
    inside = inside || d == axis;
  }
  const int64_t columns = NumElements(inner);
  if (!SameLayout(inner, inner_strides, RowMajorStrides(inner))) return std::nullopt;
  if (NumElements(rows) == 1) return columns;
  const auto view = ReshapedView(rows, row_strides, {NumElements(rows)});
  if (!view || (*view)[0] < columns) return std::nullopt;
  return (*view)[0];
}

// x as [outer, size, inner] in memory, y as [outer, rows, inner], perhaps with gaps between rows.
class Resample : public Kernel {
 public:
  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    ParallelFor(threads, outer * rows, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t part = begin / rows, first = begin % rows;
        const int64_t count = std::min(rows - first, end - begin);
        kernels::WeightedRows(x + part * size * inner, starts.data() + first * taps,
                              weights.data() + first * taps, taps, count, inner, y + begin * step,
                              step);
        begin += count;
      }
    });
    return absl::OkStatus();
  }
  bool NeedsStatic(int) const override { return false; }
  size_t packed_bytes() const override {
    return starts.size() * sizeof(int64_t) + weights.size() * sizeof(float);
  }

  int64_t outer = 1, size = 1, inner = 1, rows = 0, taps = 0;
  int64_t step = 1;  // from one row of y to the next
  int threads = 1;
  std::vector<int64_t> starts;  // [rows, taps], in elements
  std::vector<float> weights;   // [rows, taps]
};

bool Accepts(const Node& node) {
  return node.type(0).dtype == DType::kF32 && node.type(0).num_elements() > 0 &&
         node.inputs()[2].type().num_elements() > 0 && IsStaticValue(node.inputs()[1]) &&
         IsStaticValue(node.inputs()[2]);
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  auto &x = spec.inputs[0], &y = spec.outputs[0];
  const std::vector<int> order =
      DimOrder(x.type.shape, x.is_static ? RowMajorStrides(x.type.shape) : x.strides);
  x.strides = DenseInOrder(x.type.shape, order);
  y.strides = DenseInOrder(y.type.shape, order);
}

bool StridedOutput(const CpuKernelSpec& spec, const Strides& strides) {
  const auto& x = spec.inputs[0];
  return RowStep(spec.outputs[0].type.shape, strides, DimOrder(x.type.shape, x.strides),
                 AxisOf(spec.head()))
      .has_value();
}

absl::StatusOr<std::unique_ptr<Kernel>> Build(const CpuKernelSpec& spec,
                                              const StaticValues& statics) {
  const Node& node = spec.head();
  const auto &x = spec.inputs[0], &y = spec.outputs[0];
  const int64_t axis = AxisOf(node);
  const Tensor& positions = statics[spec.InputIndex(node.inputs()[1])];
  const Tensor& weights = statics[spec.InputIndex(node.inputs()[2])];
  auto kernel = std::make_unique<Resample>();
  bool outside = true;
  for (const int d : DimOrder(x.type.shape, x.strides)) {
    if (d == axis) {
      outside = false;
    } else {
      (outside ? kernel->outer : kernel->inner) *= x.type.shape[d];
    }
  }
  kernel->size = x.type.shape[axis];
  const auto step = RowStep(y.type.shape, y.strides, DimOrder(x.type.shape, x.strides), axis);
  if (!step) return absl::InternalError("an interpolation got other strides");
  kernel->step = *step;
  kernel->rows = weights.shape()[0];
  kernel->taps = weights.shape()[1];
  for (int64_t i = 0; i < positions.size(); ++i) {
    int64_t at = positions.AtInt(i);
    if (at < 0) at += kernel->size;
    if (at < 0 || at >= kernel->size) return absl::UnimplementedError("a position outside x");
    kernel->starts.push_back(at * kernel->inner);
    kernel->weights.push_back(static_cast<float>(weights.AtDouble(i)));
  }
  kernel->threads = ThreadsFor(y.type.num_elements(), spec.threads);
  return kernel;
}

}  // namespace

KernelDef MakeResampleKernel() {
  KernelDef def;
  def.name = "resample";
  def.ops = {"resample"};
  def.accepts = Accepts;
  def.layouts = Layouts;
  def.strided_output = StridedOutput;
  def.build = Build;
  return def;
}

}  // namespace lemma::cpu
