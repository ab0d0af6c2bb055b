// Layout operators as separate kernels, for plans that do not fuse them into their neighbors.
#include <algorithm>
#include <utility>

#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {
namespace {

// A part of an operand.
struct Part {
  int operand = 0;
  int64_t offset = 0;  // in elements
  Strides strides;
};

class Copies : public Kernel {
 public:
  // Adds a copy of the elements of `type` from `from` in the inputs to `to` in the outputs.
  absl::Status Add(const TensorType& type, const Part& from, const Part& to) {
    CpuKernelSpec spec;
    spec.def = &CopyKernel();
    spec.inputs = {{Value(), type, from.strides}};
    spec.outputs = {{Value(), type, to.strides}};
    auto kernel = BuildKernel(spec, StaticValues(1));
    if (!kernel.ok()) return kernel.status();
    const int64_t size = SizeOf(type.dtype);
    copies_.push_back(
        {*std::move(kernel), from.operand, from.offset * size, to.operand, to.offset * size});
    return absl::OkStatus();
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    for (const Copy& copy : copies_) {
      void* const from = static_cast<char*>(inputs[copy.input]) + copy.input_bytes;
      void* const to = static_cast<char*>(outputs[copy.output]) + copy.output_bytes;
      if (absl::Status s = copy.kernel->Run({&from, 1}, {&to, 1}, scratch); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  size_t scratch_bytes() const override {
    size_t most = 0;
    for (const Copy& copy : copies_) most = std::max(most, copy.kernel->scratch_bytes());
    return most;
  }

 private:
  struct Copy {
    std::unique_ptr<Kernel> kernel;
    int input;
    int64_t input_bytes;
    int output;
    int64_t output_bytes;
  };
  std::vector<Copy> copies_;
};

absl::Status AddConcat(const CpuKernelSpec& spec, Copies* copies) {
  const CpuKernelSpec::Operand& out = spec.outputs[0];
  const auto dim = static_cast<size_t>(*NodeTraitsOf(spec.head()).concat_dim);
  Part to = {0, 0, out.strides};
  for (const Value& v : spec.head().inputs()) {
    const int input = spec.InputIndex(v);
    const Part from = {input, 0, spec.inputs[input].strides};
    if (absl::Status s = copies->Add(v.type(), from, to); !s.ok()) return s;
    to.offset += v.shape()[dim] * out.strides[dim];
  }
  return absl::OkStatus();
}

absl::Status AddViews(const CpuKernelSpec& spec, const std::vector<AffineView>& views,
                      Copies* copies) {
  for (size_t k = 0; k < views.size(); ++k) {
    const int input = spec.InputIndex(spec.head().inputs()[views[k].input]);
    const Strides& strides = spec.inputs[input].strides;
    const Part from = {input, views[k].OffsetOver(strides), views[k].StridesOver(strides)};
    const CpuKernelSpec::Operand& out = spec.outputs[k];
    absl::Status s = copies->Add(out.type, from, {static_cast<int>(k), 0, out.strides});
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Build(const CpuKernelSpec& spec, const StaticValues&) {
  auto copies = std::make_unique<Copies>();
  absl::Status status;
  if (NodeTraitsOf(spec.head())
          .reshapes) {  // both are row-major, so the input's shape serves for both
    const CpuKernelSpec::Operand& in = spec.inputs[0];
    status = copies->Add(in.type, {0, 0, in.strides}, {0, 0, RowMajorStrides(in.type.shape)});
  } else if (NodeTraitsOf(spec.head()).concat_dim) {
    status = AddConcat(spec, copies.get());
  } else {
    status = AddViews(spec, NodeTraitsOf(spec.head()).views, copies.get());
  }
  if (!status.ok()) return status;
  return copies;
}

void Layouts(CpuKernelSpec& spec, const Strides& wanted) {
  if (NodeTraitsOf(spec.head()).reshapes) {
    spec.outputs[0].strides = RowMajorStrides(spec.outputs[0].type.shape);
  } else {
    DefinitionKernel().layouts(spec, wanted);
  }
}

}  // namespace

const KernelDef& LayoutKernel() {
  static const KernelDef* def = [] {
    auto* d = new KernelDef;
    d->name = "layout";
    d->layouts = Layouts;
    d->build = Build;
    return d;
  }();
  return *def;
}

}  // namespace lemma::cpu
