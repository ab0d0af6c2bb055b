// Interpolation along one axis, with positions and weights that are known when the kernel is built.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "kernels/lanes/lane_ops.h"
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
    auto* y = static_cast<char*>(outputs[0]);
    // Rows are rounded while they are in the cache.
    constexpr int64_t kElements = 4096;
    const int64_t most = rounded ? std::max<int64_t>(1, kElements / inner) : rows;
    const int64_t size_of_y = SizeOf(stored);
    ParallelFor(threads, outer * rows, [&](int64_t begin, int64_t end) {
      std::vector<float> buffer(stored == DType::kF32 ? 0 : static_cast<size_t>(most * inner));
      while (begin < end) {
        const int64_t part = begin / rows, first = begin % rows;
        const int64_t count = std::min({rows - first, end - begin, most});
        char* const to = y + begin * step * size_of_y;
        float* const sums = buffer.empty() ? reinterpret_cast<float*>(to) : buffer.data();
        const int64_t sum_step = buffer.empty() ? step : inner;
        kernels::WeightedRows(x + part * size * inner, starts.data() + first * taps,
                              weights.data() + first * taps, taps, count, inner, sums, sum_step);
        if (rounded) Round(sums, sum_step, count, to);
        begin += count;
      }
    });
    return absl::OkStatus();
  }
  // Rounds `count` rows of sums in place, or stores them as 16-bit floats.
  void Round(float* sums, int64_t sum_step, int64_t count, char* to) const {
    const LaneOps<float>& lanes = Lanes<float>();
    const bool gaps = sum_step != inner || step != inner;
    const int64_t length = gaps ? inner : count * inner;
    for (int64_t i = 0; i < (gaps ? count : 1); ++i) {
      float* const row = sums + i * sum_step;
      if (stored == DType::kF32) {
        lanes.unary[static_cast<int>(StoredAs(*rounded))](row, row, length);
      } else {
        lanes.store[static_cast<int>(stored)](to + i * step * SizeOf(stored), 1, row, length);
      }
    }
  }
  bool NeedsStatic(int) const override { return false; }
  size_t packed_bytes() const override {
    return starts.size() * sizeof(int64_t) + weights.size() * sizeof(float);
  }

  int64_t outer = 1, size = 1, inner = 1, rows = 0, taps = 0;
  int64_t step = 1;  // from one row of y to the next
  int threads = 1;
  std::optional<DType> rounded;  // the 16-bit type that the sums are rounded to
  DType stored = DType::kF32;    // of y
  std::vector<int64_t> starts;   // [rows, taps], in elements
  std::vector<float> weights;    // [rows, taps]
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

// One cast to a 16-bit type, and one back.
bool Fuses(const CpuKernelSpec& spec, const Node& user) {
  const DType from = spec.nodes.back()->type(0).dtype, to = user.type(0).dtype;
  const std::optional<ElementFunction>& element = NodeTraitsOf(user).element;
  const bool converts = element && element->body.kind() == ScalarExpr::Kind::kRead;
  if (!converts || spec.nodes.size() > 2) return false;
  return spec.nodes.size() == 1 ? IsHalfFloat(to) : IsHalfFloat(from) && to == DType::kF32;
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
  if (spec.nodes.size() > 1) kernel->rounded = spec.nodes[1]->type(0).dtype;
  kernel->stored = y.type.dtype;
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
  def.fuses = Fuses;
  def.fuses_casts = true;
  def.strided_output = StridedOutput;
  def.build = Build;
  return def;
}

}  // namespace lemma::cpu
