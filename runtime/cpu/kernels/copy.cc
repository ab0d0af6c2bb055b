// Copies between layouts.
#include <cstring>

#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {

namespace {

class BlockCopy : public Kernel {
 public:
  explicit BlockCopy(size_t bytes) : bytes_(bytes) {}
  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    if (bytes_ > 0) std::memcpy(outputs[0], inputs[0], bytes_);
    return absl::OkStatus();
  }

 private:
  size_t bytes_;
};

// oneDNN's condition: from the fastest dimension on, each one's step exceeds all of the preceding
// one. Every second column of rows of 13 fails: 7 steps of 2 exceed a row, though nothing overlaps.
bool Nests(const Shape& shape, const Strides& strides) {
  const std::vector<int> order = DimOrder(shape, strides);
  int64_t least = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (shape[*d] == 1) continue;
    if (strides[*d] < least) return false;
    least = strides[*d] * shape[*d];
  }
  return true;
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildCopy(const CpuKernelSpec& spec, const StaticValues&) {
  using Built = absl::StatusOr<std::unique_ptr<Kernel>>;
  const auto &in = spec.inputs[0], &out = spec.outputs[0];
  const Shape& shape = in.type.shape;
  if (SameLayout(shape, in.strides, out.strides) && IsDense(shape, in.strides)) {
    return std::make_unique<BlockCopy>(in.type.num_bytes());
  }
  const bool plain = HasDesc(in.type.dtype) && !shape.empty() && shape.size() <= 6 &&
                     in.type.num_elements() > 0 && Nests(shape, in.strides) &&
                     Nests(shape, out.strides);
  if (!plain) return CopyByDefinition(spec);
  return CatchDnnl([&]() -> Built {
    const auto from = Desc(shape, in.strides, in.type.dtype);
    const auto to = Desc(shape, out.strides, in.type.dtype);
    dnnl::reorder::primitive_desc pd(Engine(), from, Engine(), to, CallerScratch());
    auto kernel = std::make_unique<DnnlKernel>();
    kernel->SetPrimitive(dnnl::reorder(pd), pd.scratchpad_desc(), pd.impl_info_str());
    kernel->BindInput(DNNL_ARG_FROM, 0, from);
    kernel->BindOutput(DNNL_ARG_TO, 0, to);
    return kernel;
  });
}

void Layouts(CpuKernelSpec&, const Strides&) {}  // the planner sets them

}  // namespace

const KernelDef& CopyKernel() {
  static const KernelDef* def = [] {
    auto* d = new KernelDef;
    d->name = "copy";
    d->layouts = Layouts;
    d->build = BuildCopy;
    return d;
  }();
  return *def;
}

}  // namespace lemma::cpu
