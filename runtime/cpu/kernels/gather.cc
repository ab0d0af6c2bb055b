// Moves the elements, or contiguous runs of them, that a tensor of positions names along one axis.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {
namespace {

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;

// x as [outer, size, inner], y as [outer, count, inner], all row-major.
class Gather : public Kernel {
 public:
  explicit Gather(const CpuKernelSpec& spec) {
    const Node& node = spec.head();
    const TensorType &x = node.inputs()[0].type(), &indices = node.inputs()[1].type();
    const int64_t rank = x.rank(), axis = (node.Int("axis") + rank) % rank;
    axis_ = axis;
    x_ = spec.InputIndex(node.inputs()[0]);
    indices_ = spec.InputIndex(node.inputs()[1]);
    wide_ = indices.dtype == DType::kI64;
    size_ = x.shape[axis];
    count_ = indices.num_elements();
    inner_ = RowMajorStrides(x.shape)[axis];
    outer_ = x.num_elements() / size_ / inner_;
    element_ = SizeOf(x.dtype);
    threads_ = ThreadsFor(node.type(0).num_elements(), spec.threads);
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    auto* from = static_cast<int64_t*>(scratch);
    const absl::Status read =
        wide_ ? ReadPositions(static_cast<const int64_t*>(inputs[indices_]), from)
              : ReadPositions(static_cast<const int32_t*>(inputs[indices_]), from);
    if (!read.ok()) return read;
    const void* x = inputs[x_];
    if (inner_ > 1) {
      MoveRuns(static_cast<const char*>(x), from, static_cast<char*>(outputs[0]));
    } else if (element_ == 8) {
      MoveElements<uint64_t>(x, from, outputs[0]);
    } else if (element_ == 4) {
      MoveElements<uint32_t>(x, from, outputs[0]);
    } else if (element_ == 2) {
      MoveElements<uint16_t>(x, from, outputs[0]);
    } else {
      MoveElements<uint8_t>(x, from, outputs[0]);
    }
    return absl::OkStatus();
  }
  // The positions, checked and counted from the start.
  size_t scratch_bytes() const override { return static_cast<size_t>(count_) * sizeof(int64_t); }

 private:
  template <class Index>
  absl::Status ReadPositions(const Index* indices, int64_t* from) const {
    for (int64_t j = 0; j < count_; ++j) {
      const int64_t given = indices[j];
      from[j] = given < 0 ? given + size_ : given;
      if (from[j] < 0 || from[j] >= size_) {
        return absl::OutOfRangeError(absl::StrCat("index ", from[j], " of dimension ", axis_,
                                                  " of input 0 is outside [0, ", size_, ")"));
      }
    }
    return absl::OkStatus();
  }

  void MoveRuns(const char* x, const int64_t* from, char* y) const {
    const int64_t run = inner_ * element_;
    ParallelFor(threads_, outer_ * count_, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        std::memcpy(y + n * run, x + (n / count_ * size_ + from[n % count_]) * run,
                    static_cast<size_t>(run));
      }
    });
  }

  template <class T>
  void MoveElements(const void* x, const int64_t* from, void* y) const {
    ParallelFor(threads_, outer_, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const T* const row = static_cast<const T*>(x) + o * size_;
        T* const to = static_cast<T*>(y) + o * count_;
        for (int64_t j = 0; j < count_; ++j) to[j] = row[from[j]];
      }
    });
  }

  int x_, indices_;
  bool wide_;
  int64_t axis_, size_, count_, inner_, outer_, element_;
  int threads_;
};

bool Accepts(const Node& node) {
  const DType index = node.inputs()[1].dtype();
  return (index == DType::kI64 || index == DType::kI32) && node.type(0).num_elements() > 0 &&
         node.inputs()[0].type().num_elements() > 0;
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  for (auto* operands : {&spec.inputs, &spec.outputs}) {
    for (auto& operand : *operands) operand.strides = RowMajorStrides(operand.type.shape);
  }
}

Built Build(const CpuKernelSpec& spec, const StaticValues&) {
  return std::make_unique<Gather>(spec);
}

}  // namespace

KernelDef MakeGatherKernel() {
  KernelDef def;
  def.name = "gather";
  def.ops = {"gather"};
  def.accepts = Accepts;
  def.layouts = Layouts;
  def.build = Build;
  return def;
}

}  // namespace lemma::cpu
