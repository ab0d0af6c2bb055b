// Combines updates with a tensor at positions given by another one: sums, as in the gradients of
// gathers, or extremes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {
namespace {

using Built = absl::StatusOr<std::unique_ptr<Kernel>>;

struct Sum {
  float operator()(float old, float update) const { return old + update; }
};
// NaN in either operand propagates.
struct Greatest {
  float operator()(float old, float update) const {
    return old > update || old != old ? old : update;
  }
};
struct Least {
  float operator()(float old, float update) const {
    return old < update || old != old ? old : update;
  }
};

// The function that combines an element and its updates: of its definition f(element, updates).
std::optional<ScalarFn> CombinerOf(const Node& node) {
  const absl::StatusOr<Definition> definition = DefinitionOf(node);
  if (!definition.ok() || definition->tensors.empty()) return std::nullopt;
  ScalarExpr e = definition->tensors.back().body;
  if (e.kind() == ScalarExpr::Kind::kSelect) e = ScalarExpr(e.args()[0]);  // the part with updates
  if (e.kind() != ScalarExpr::Kind::kApply) return std::nullopt;
  return e.fn();
}

// Combines updates in contiguous runs of `run` elements.
class Scatter : public Kernel {
 public:
  Scatter(const CpuKernelSpec& spec, const StaticValues& statics)
      : node_(spec.nodes[0]), combiner_(*CombinerOf(*node_)) {
    for (int i = 0; i < 3; ++i) inputs_[i] = spec.InputIndex(node_->inputs()[i]);
    wide_ = node_->inputs()[1].dtype() == DType::kI64;
    const Tensor& x = statics[inputs_[0]];
    if (!x.empty_handle()) fill_ = NumberOf(x);
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const void* x = inputs[inputs_[0]];
    auto* y = static_cast<float*>(outputs[0]);
    if (fill_) {
      std::fill_n(y, node_->type(0).num_elements(), *fill_);
    } else if (x != y) {
      std::memcpy(y, x, static_cast<size_t>(node_->type(0).num_bytes()));
    }
    const auto* updates = static_cast<const float*>(inputs[inputs_[2]]);
    if (wide_) {
      Add(static_cast<const int64_t*>(inputs[inputs_[1]]), updates, y);
    } else {
      Add(static_cast<const int32_t*>(inputs[inputs_[1]]), updates, y);
    }
    return absl::OkStatus();
  }

  // A tensor of one number, such as the zeros in the gradient of a gather, is not kept.
  bool NeedsStatic(int input) const override { return input != inputs_[0] || !fill_; }

 protected:
  const Shape& shape(int i) const { return node_->inputs()[i].shape(); }
  const Node& node() const { return *node_; }
  virtual void Add(const int64_t* indices, const float* updates, float* y) const = 0;
  virtual void Add(const int32_t* indices, const float* updates, float* y) const = 0;

  // Calls `add` with the function that combines an element and an update.
  template <class Do>
  void WithReduction(Do add) const {
    if (combiner_ == ScalarFn::kMax) return add(Greatest());
    if (combiner_ == ScalarFn::kMin) return add(Least());
    add(Sum());
  }

  // Makes a negative index count from the end. Returns false if it lies outside; then nothing is
  // added.
  static bool Inside(int64_t* index, int64_t size) {
    if (*index < 0) *index += size;
    return *index >= 0 && *index < size;
  }

 private:
  // The number that all elements have, with its sign; nullopt if it is NaN.
  static std::optional<float> NumberOf(const Tensor& x) {
    const absl::Span<const float> elements = x.data<float>();
    const float first = elements[0];
    auto same = [&](float e) { return e == first && std::signbit(e) == std::signbit(first); };
    if (!std::all_of(elements.begin(), elements.end(), same)) return std::nullopt;
    return first;
  }

  NodePtr node_;
  ScalarFn combiner_;
  std::optional<float> fill_;  // the number in all elements of operand 0, if that is known
  int inputs_[3];
  bool wide_;
};

class ScatterNd : public Scatter {
 public:
  ScatterNd(const CpuKernelSpec& spec, const StaticValues& statics)
      : Scatter(spec, statics), strides_(RowMajorStrides(shape(0))), width_(shape(1).back()) {
    rows_ = NumElements(shape(1)) / width_;
    run_ = strides_[width_ - 1];
  }

 private:
  void Add(const int64_t* i, const float* u, float* y) const override {
    WithReduction([&](auto combine) { AddRows(i, u, combine, y); });
  }
  void Add(const int32_t* i, const float* u, float* y) const override {
    WithReduction([&](auto combine) { AddRows(i, u, combine, y); });
  }

  template <class Index, class Combine>
  void AddRows(const Index* indices, const float* updates, Combine combine, float* y) const {
    for (int64_t row = 0; row < rows_; ++row, indices += width_, updates += run_) {
      int64_t offset = 0;
      bool inside = true;
      for (int64_t d = 0; d < width_; ++d) {
        int64_t index = indices[d];
        inside = inside && Inside(&index, shape(0)[d]);
        offset += index * strides_[d];
      }
      if (!inside) continue;
      for (int64_t i = 0; i < run_; ++i) y[offset + i] = combine(y[offset + i], updates[i]);
    }
  }

  std::vector<int64_t> strides_;
  int64_t width_, rows_, run_;
};

class ScatterElements : public Scatter {
 public:
  ScatterElements(const CpuKernelSpec& spec, const StaticValues& statics)
      : Scatter(spec, statics), strides_(RowMajorStrides(shape(0))) {
    const int64_t rank = static_cast<int64_t>(shape(0).size());
    axis_ = static_cast<size_t>((node().Int("axis") + rank) % rank);
  }

 private:
  void Add(const int64_t* i, const float* u, float* y) const override {
    WithReduction([&](auto combine) { AddAll(i, u, combine, y); });
  }
  void Add(const int32_t* i, const float* u, float* y) const override {
    WithReduction([&](auto combine) { AddAll(i, u, combine, y); });
  }

  template <class Index, class Combine>
  void AddAll(const Index* indices, const float* updates, Combine combine, float* y) const {
    const Shape& box = shape(1);
    std::vector<int64_t> at(box.size(), 0);
    const int64_t count = NumElements(box);
    for (int64_t n = 0; n < count; ++n) {
      int64_t offset = 0, index = indices[n];
      const bool inside = Inside(&index, shape(0)[axis_]);
      for (size_t d = 0; d < box.size(); ++d) offset += (d == axis_ ? index : at[d]) * strides_[d];
      if (inside) y[offset] = combine(y[offset], updates[n]);
      for (size_t d = box.size(); d-- > 0 && ++at[d] == box[d];) at[d] = 0;
    }
  }

  std::vector<int64_t> strides_;
  size_t axis_ = 0;
};

bool Accepts(const Node& node) {
  const auto& in = node.inputs();
  const bool types = in[0].dtype() == DType::kF32 &&
                     (in[1].dtype() == DType::kI64 || in[1].dtype() == DType::kI32);
  const std::optional<ScalarFn> combiner = CombinerOf(node);
  const bool known =
      combiner == ScalarFn::kAdd || combiner == ScalarFn::kMax || combiner == ScalarFn::kMin;
  return types && known && in[0] != in[2] && in[0].type().num_elements() > 0 &&
         in[1].type().num_elements() > 0 && in[2].type().num_elements() > 0;
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  for (auto& in : spec.inputs) in.strides = RowMajorStrides(in.type.shape);
  spec.outputs[0].strides = RowMajorStrides(spec.outputs[0].type.shape);
  spec.in_place = {spec.InputIndex(spec.head().inputs()[0])};
}

Built BuildNd(const CpuKernelSpec& spec, const StaticValues& statics) {
  return std::make_unique<ScatterNd>(spec, statics);
}
Built BuildElements(const CpuKernelSpec& spec, const StaticValues& statics) {
  return std::make_unique<ScatterElements>(spec, statics);
}

KernelDef Make(std::string op, Built (*build)(const CpuKernelSpec&, const StaticValues&)) {
  KernelDef def;
  def.name = "scatter";
  def.ops = {std::move(op)};
  def.accepts = Accepts;
  def.layouts = Layouts;
  def.build = build;
  return def;
}

}  // namespace

KernelDef MakeScatterNdKernel() { return Make("scatter_nd", BuildNd); }
KernelDef MakeScatterElementsKernel() { return Make("scatter_elements", BuildElements); }

}  // namespace lemma::cpu
