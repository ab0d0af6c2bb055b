// Passes along an axis: running sums and products, and the largest or smallest elements. By their
// definitions, each element would meet all others of its line.
#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {
namespace {

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;

// Columns that are scanned side by side, so that their chains of additions overlap.
constexpr int64_t kColumns = 16;

// A line of `size` elements, `step` apart, beside others that are `column_step` apart.
struct Lines {
  int64_t size, step, columns, column_step;
  bool exclusive;
};

struct Plus {
  template <class N>
  N operator()(N a, N b) const {
    return a + b;
  }
};
struct Times {
  template <class N>
  N operator()(N a, N b) const {
    return a * b;
  }
};

// y may be x. N is the type of the running values, which start at `start`. kSteps: the distance of
// columns if it is known to be 1, otherwise 0.
template <int kSteps, class N, class T, class Combine>
void ScanLines(const T* x, const Lines& lines, N start, Combine combine, T* y) {
  const int64_t across = kSteps != 0 ? kSteps : lines.column_step;
  N running[kColumns];
  std::fill(running, running + kColumns, start);
  for (int64_t k = 0; k < lines.size; ++k, x += lines.step, y += lines.step) {
    for (int64_t j = 0; j < lines.columns; ++j) {
      const N before = running[j];
      running[j] = combine(before, static_cast<N>(x[j * across]));
      y[j * across] = static_cast<T>(lines.exclusive ? before : running[j]);
    }
  }
}

// T is the element type, N the type of running values: double for floats, uint64_t, which wraps,
// for integers.
template <class T, class N>
class Scan : public Kernel {
 public:
  explicit Scan(const CpuKernelSpec& spec) {
    const Node& node = spec.head();
    const Shape& shape = node.type(0).shape;
    const int64_t rank = static_cast<int64_t>(shape.size());
    const int64_t axis = (node.Int("axis") + rank) % rank;
    size_ = shape[axis];
    inner_ = RowMajorStrides(shape)[axis];
    outer_ = NumElements(shape) / size_ / inner_;
    product_ = DefinitionOf(node)->tensors[0].body.reduce() == ReduceKind::kProd;
    exclusive_ = node.Int("exclusive") != 0;
    reverse_ = node.Int("reverse") != 0;
    threads_ = ThreadsFor(NumElements(shape), spec.threads);
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const auto* x = static_cast<const T*>(inputs[0]);
    auto* y = static_cast<T*>(outputs[0]);
    // Along the last axis, rows are the columns that are scanned side by side.
    const int64_t across = inner_ == 1 ? outer_ : inner_, column_step = inner_ == 1 ? size_ : 1;
    const int64_t blocks = (across + kColumns - 1) / kColumns, groups = inner_ == 1 ? 1 : outer_;
    ParallelFor(threads_, groups * blocks, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const int64_t first = n % blocks * kColumns;
        const int64_t offset = n / blocks * size_ * inner_ + first * column_step +
                               (reverse_ ? (size_ - 1) * inner_ : 0);
        ScanBlock(x + offset,
                  {size_, reverse_ ? -inner_ : inner_, std::min(kColumns, across - first),
                   column_step, exclusive_},
                  y + offset);
      }
    });
    return absl::OkStatus();
  }

 private:
  void ScanBlock(const T* x, const Lines& lines, T* y) const {
    if (product_) return ScanBlock(x, lines, N(1), Times(), y);
    ScanBlock(x, lines, N(0), Plus(), y);
  }
  template <class Combine>
  void ScanBlock(const T* x, const Lines& lines, N start, Combine combine, T* y) const {
    if (lines.column_step == 1) return ScanLines<1>(x, lines, start, combine, y);
    ScanLines<0>(x, lines, start, combine, y);
  }

  int64_t size_, inner_, outer_;
  bool product_, exclusive_, reverse_;
  int threads_;
};

bool Accepts(const Node& node) {
  const DType dtype = node.type(0).dtype;
  return (dtype == DType::kF32 || dtype == DType::kI64 || dtype == DType::kI32) &&
         node.type(0).num_elements() > 0;
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  spec.inputs[0].strides = RowMajorStrides(spec.inputs[0].type.shape);
  spec.outputs[0].strides = spec.inputs[0].strides;
  spec.in_place = {0};
}

Built Build(const CpuKernelSpec& spec, const StaticValues&) {
  switch (spec.head().type(0).dtype) {
    case DType::kI64:
      return std::make_unique<Scan<int64_t, uint64_t>>(spec);
    case DType::kI32:
      return std::make_unique<Scan<int32_t, uint64_t>>(spec);
    default:
      return std::make_unique<Scan<float, double>>(spec);
  }
}

template <class T>
T Same(T x) {
  return x;
}

// kKey gives the number to compare by.
template <class T, auto kKey>
class TopK : public Kernel {
  using Key = decltype(kKey(T()));

 public:
  explicit TopK(const CpuKernelSpec& spec) {
    const Node& node = spec.head();
    const Shape& shape = node.inputs()[0].shape();
    const int64_t rank = static_cast<int64_t>(shape.size());
    const int64_t axis = (node.Int("axis") + rank) % rank;
    size_ = shape[axis];
    inner_ = RowMajorStrides(shape)[axis];
    outer_ = NumElements(shape) / size_ / inner_;
    taken_ = node.Int("k");
    largest_ = node.Int("largest") != 0;
    threads_ = ThreadsFor(NumElements(shape), spec.threads);
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const auto* x = static_cast<const T*>(inputs[0]);
    auto* values = static_cast<T*>(outputs[0]);
    auto* indices = static_cast<int64_t*>(outputs[1]);
    ParallelFor(threads_, outer_ * inner_, [&](int64_t begin, int64_t end) {
      std::vector<Key> line(static_cast<size_t>(size_));
      std::vector<int64_t> order(static_cast<size_t>(size_));
      for (int64_t n = begin; n < end; ++n) {
        const int64_t from = n / inner_ * size_ * inner_ + n % inner_;
        for (int64_t i = 0; i < size_; ++i) line[i] = kKey(x[from + i * inner_]);
        Sort(line, order);
        const int64_t to = n / inner_ * taken_ * inner_ + n % inner_;
        for (int64_t j = 0; j < taken_; ++j) {
          values[to + j * inner_] = x[from + order[j] * inner_];
          indices[to + j * inner_] = order[j];
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  // Puts the places of the first elements first.
  void Sort(const std::vector<Key>& line, std::vector<int64_t>& order) const {
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + taken_, order.end(),
                      [&](int64_t i, int64_t j) {
                        const Key a = line[i], b = line[j];
                        if (Less(a, b)) return !largest_;
                        if (Less(b, a)) return largest_;
                        return i < j;
                      });
  }
  // NaN is larger than any number.
  static bool Less(Key a, Key b) { return a < b || (b != b && a == a); }

  int64_t size_, inner_, outer_, taken_;
  bool largest_;
  int threads_;
};

bool AcceptsTopK(const Node& node) {
  return node.type(0).dtype != DType::kBool && node.type(0).num_elements() > 0;
}

void TopKLayouts(CpuKernelSpec& spec, const Strides&) {
  spec.inputs[0].strides = RowMajorStrides(spec.inputs[0].type.shape);
  for (auto& out : spec.outputs) out.strides = RowMajorStrides(out.type.shape);
}

template <class T>
Built BuildTopKOf(const CpuKernelSpec& spec) {
  return std::make_unique<TopK<T, Same<T>>>(spec);
}

Built BuildTopK(const CpuKernelSpec& spec, const StaticValues&) {
  switch (spec.head().type(0).dtype) {
    case DType::kF64:
      return BuildTopKOf<double>(spec);
    case DType::kF32:
      return BuildTopKOf<float>(spec);
    case DType::kF16:
      return std::make_unique<TopK<uint16_t, HalfToFloat>>(spec);
    case DType::kBF16:
      return std::make_unique<TopK<uint16_t, BFloat16ToFloat>>(spec);
    case DType::kI64:
      return BuildTopKOf<int64_t>(spec);
    case DType::kI32:
      return BuildTopKOf<int32_t>(spec);
    case DType::kI8:
      return BuildTopKOf<int8_t>(spec);
    case DType::kU8:
      return BuildTopKOf<uint8_t>(spec);
    default:
      return absl::UnimplementedError("elements of this type");
  }
}

}  // namespace

KernelDef MakeScanKernel() {
  KernelDef def;
  def.name = "scan";
  def.ops = {"cumsum", "cumprod"};
  def.accepts = Accepts;
  def.layouts = Layouts;
  def.build = Build;
  return def;
}

KernelDef MakeTopKKernel() {
  KernelDef def;
  def.name = "top_k";
  def.ops = {"top_k"};
  def.accepts = AcceptsTopK;
  def.layouts = TopKLayouts;
  def.build = BuildTopK;
  return def;
}

}  // namespace lemma::cpu
