#include "kernels/evaluate/evaluate.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "graph/expr/arithmetic.h"
#include "kernels/evaluate/contraction_runner.h"
#include "kernels/evaluate/nest_runner.h"
#include "kernels/lanes/lane_ops.h"
#include "kernels/lanes/strided_copy.h"
#include "kernels/loops/loop_check.h"
#include "kernels/loops/loop_plan.h"

namespace lemma {

using loops::BoundSlot;
using loops::Plan;
using loops::Slot;

struct LoopProgram::Impl {
  Definition definition;
  std::vector<Tensor> inputs, outputs;
  absl::Status integral;  // whether it may run in int64_t

  // Plans so far, by the strides of inputs and outputs.
  mutable std::mutex mutex;
  mutable std::map<std::vector<int64_t>, std::shared_ptr<const Plan>> plans;
};

namespace {

LoopProgram::Tensor Concrete(const ExprType& type) {
  LoopProgram::Tensor tensor{type.dtype, {}};
  for (const IndexExpr& dim : type.dims) tensor.dims.push_back(dim.value());
  return tensor;
}

int64_t NumElements(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t dim : dims) n *= dim;
  return n;
}

// Gives an output that is an input or a repeated output a tensor of its own.
void CopySharedOutputs(Definition* d) {
  for (size_t i = 0; i < d->outputs.size(); ++i) {
    const TensorId id = d->outputs[i];
    bool repeated = std::count(d->outputs.begin(), d->outputs.begin() + i, id) > 0;
    if (id >= d->num_inputs() && !repeated) continue;
    ExprType type = d->TypeOf(id);
    TensorExpr copy{type.dtype, {}, 0};
    Idx indices;
    for (const IndexExpr& dim : type.dims) {
      copy.axes.push_back({d->num_vars, dim});
      indices.push_back(IndexExpr::Var(d->num_vars++));
    }
    copy.body = ScalarExpr::Read(id, std::move(indices));
    d->outputs[i] = d->num_inputs() + static_cast<TensorId>(d->tensors.size());
    d->tensors.push_back(std::move(copy));
  }
}

template <class T, class S>
int64_t ReadInteger(const void* data, int64_t offset) {
  if constexpr (std::is_same_v<S, void>) {
    return IntegerFromNumber<T>(static_cast<const T*>(data)[offset]);
  } else {
    return IntegerFromNumber<std::conditional_t<std::is_floating_point_v<S>, S, int64_t>>(
        static_cast<const S*>(data)[offset]);
  }
}

// Small types are widened when read.
template <DType D>
int64_t ReadNarrow(const void* data, int64_t offset) {
  float value;
  Lanes<float>().load[static_cast<int>(D)](
      &value, static_cast<const char*>(data) + SizeOf(D) * offset, 0, 1);
  return IntegerFromNumber<float>(value);
}

int64_t ReadBool(const void* data, int64_t offset) {
  return static_cast<const uint8_t*>(data)[offset] != 0;
}

template <class T>
auto ReaderOf(std::optional<DType> storage) -> int64_t (*)(const void*, int64_t) {
  if (!storage) return ReadInteger<T, void>;
  switch (*storage) {
    case DType::kF32:
      return ReadInteger<T, float>;
    case DType::kF64:
      return ReadInteger<T, double>;
    case DType::kF16:
      return ReadNarrow<DType::kF16>;
    case DType::kBF16:
      return ReadNarrow<DType::kBF16>;
    case DType::kI64:
      return ReadInteger<T, int64_t>;
    case DType::kI32:
      return ReadInteger<T, int32_t>;
    case DType::kI8:
      return ReadInteger<T, int8_t>;
    case DType::kU8:
      return ReadInteger<T, uint8_t>;
    case DType::kBool:
      return ReadBool;
    case DType::kI16:
      return ReadInteger<T, int16_t>;
    case DType::kU16:
      return ReadInteger<T, uint16_t>;
    case DType::kU32:
      return ReadInteger<T, uint32_t>;
    case DType::kU64:
      return ReadInteger<T, uint64_t>;
    case DType::kF8E4M3:
      return ReadNarrow<DType::kF8E4M3>;
    case DType::kF8E4M3Uz:
      return ReadNarrow<DType::kF8E4M3Uz>;
    case DType::kF8E5M2:
      return ReadNarrow<DType::kF8E5M2>;
    case DType::kF8E5M2Uz:
      return ReadNarrow<DType::kF8E5M2Uz>;
    case DType::kF8E8M0:
      return ReadNarrow<DType::kF8E8M0>;
    case DType::kF4E2M1:
      return ReadNarrow<DType::kF4E2M1>;
    case DType::kI4:
      return ReadNarrow<DType::kI4>;
    case DType::kU4:
      return ReadNarrow<DType::kU4>;
    case DType::kI2:
      return ReadNarrow<DType::kI2>;
    case DType::kU2:
      return ReadNarrow<DType::kU2>;
    default:
      break;
  }
  return nullptr;
}

template <class T>
BoundSlot Bind(const void* data, std::optional<DType> storage) {
  BoundSlot slot;
  slot.data = const_cast<void*>(data);
  slot.storage = storage;
  slot.has_number_type =
      !storage || (std::is_same_v<T, double> && storage == DType::kF64) ||
      (std::is_same_v<T, float> && storage == DType::kF32) ||
      (std::is_same_v<T, int64_t> && (storage == DType::kI64 || storage == DType::kU64));
  slot.element_size = slot.has_number_type ? sizeof(T) : SizeOf(*storage);
  slot.read_integer = ReaderOf<T>(storage);
  return slot;
}

// Memory that starts on a cache line.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(size_t bytes)
      : data_(std::aligned_alloc(64, (std::max<size_t>(bytes, 1) + 63) / 64 * 64)) {}
  AlignedBuffer(AlignedBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  ~AlignedBuffer() { std::free(data_); }
  void* data() const { return data_; }

 private:
  void* data_;
};

template <class View>
absl::Status CheckViews(const char* what, const std::vector<LoopProgram::Tensor>& tensors,
                        absl::Span<const View> views) {
  if (views.size() != tensors.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(views.size(), " ", what, "s given, ", tensors.size(), " expected"));
  }
  for (size_t i = 0; i < views.size(); ++i) {
    if (views[i].strides.size() != tensors[i].dims.size()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " ", i, " has ", views[i].strides.size(),
                                                     " strides for rank ", tensors[i].dims.size()));
    }
    if (views[i].data == nullptr && NumElements(tensors[i].dims) > 0) {
      return absl::InvalidArgumentError(absl::StrCat(what, " ", i, " has no data"));
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<const Plan> PlanFor(const LoopProgram::Impl& impl,
                                    absl::Span<const TensorView> inputs,
                                    absl::Span<const MutableTensorView> outputs) {
  std::vector<int64_t> key;
  for (const TensorView& view : inputs) {
    key.insert(key.end(), view.strides.begin(), view.strides.end());
  }
  for (const MutableTensorView& view : outputs) {
    key.insert(key.end(), view.strides.begin(), view.strides.end());
  }
  std::lock_guard<std::mutex> lock(impl.mutex);
  if (auto it = impl.plans.find(key); it != impl.plans.end()) return it->second;
  // Limits growth if strides change in every run.
  constexpr size_t kMaxPlans = 32;
  if (impl.plans.size() >= kMaxPlans) impl.plans.clear();
  const Definition& d = impl.definition;
  std::vector<Slot> slots = loops::DenseSlots(d);
  for (size_t i = 0; i < inputs.size(); ++i) slots[i].strides = inputs[i].strides;
  for (size_t i = 0; i < outputs.size(); ++i) slots[d.outputs[i]].strides = outputs[i].strides;
  return impl.plans[key] = std::make_shared<Plan>(loops::MakePlan(d, std::move(slots)));
}

// A thread is worth starting for this many nanoseconds of work.
constexpr double kNsPerThread = 20000;

template <class T>
absl::Status RunNest(const loops::Nest& nest, absl::Span<const BoundSlot> slots, const Plan& plan,
                     bool aliased, int threads) {
  const int64_t items = loops::NestRunner<T>::NumItems(nest);
  int wanted = static_cast<int>(std::min<double>(threads, 1 + nest.cost_ns / kNsPerThread));
  std::mutex mutex;
  absl::Status status;
  ParallelFor(wanted, items, [&](int64_t begin, int64_t end) {
    loops::NestRunner<T> runner(nest, slots, plan.num_inputs);
    runner.set_direct_output(!aliased);
    absl::Status result = runner.Run(begin, end);
    if (result.ok()) return;
    std::lock_guard<std::mutex> lock(mutex);
    if (status.ok()) status = result;
  });
  return status;
}

template <class T>
absl::Status RunStep(const loops::NestStep& step, absl::Span<const BoundSlot> slots,
                     const Plan& plan, bool aliased, int threads) {
  if (step.contraction) {
    absl::StatusOr<bool> done =
        loops::RunContraction<T>(*step.contraction, slots, plan.num_inputs, threads);
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
    return RunNest<T>(loops::PlanNest(step.source, plan.slots), slots, plan, aliased, threads);
  }
  if (!step.copy.empty()) {
    const BoundSlot &to = slots[step.source.slot], &from = slots[step.copied_slot];
    if ((to.has_number_type && from.has_number_type) || to.storage == from.storage) {
      StridedCopy(to.At(step.copy_to), from.At(step.copy_from), to.element_size, step.copy,
                  threads);
      return absl::OkStatus();
    }
  }
  return RunNest<T>(step.nest, slots, plan, aliased, threads);
}

}  // namespace

std::vector<int64_t> DenseStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

const std::vector<LoopProgram::Tensor>& LoopProgram::inputs() const { return impl_->inputs; }
const std::vector<LoopProgram::Tensor>& LoopProgram::outputs() const { return impl_->outputs; }

absl::StatusOr<LoopProgram> CompileLoops(const Definition& definition) {
  if (absl::Status status = loops::CheckEvaluable(definition); !status.ok()) return status;
  auto impl = std::make_shared<LoopProgram::Impl>();
  impl->definition = definition;
  CopySharedOutputs(&impl->definition);
  impl->integral = CheckIntegral(definition);
  for (const ExprType& input : definition.inputs) impl->inputs.push_back(Concrete(input));
  for (TensorId id : definition.outputs) {
    impl->outputs.push_back(Concrete(definition.TypeOf(id)));
  }
  return LoopProgram(std::move(impl));
}

template <class Number>
absl::Status Run(const LoopProgram& program, absl::Span<const TensorView> inputs,
                 absl::Span<const MutableTensorView> outputs, const RunOptions& options) {
  const LoopProgram::Impl& impl = *program.impl();
  if (auto status = CheckViews("input", impl.inputs, inputs); !status.ok()) return status;
  if (auto status = CheckViews("output", impl.outputs, outputs); !status.ok()) return status;
  if (std::is_same_v<Number, int64_t> && !impl.integral.ok()) return impl.integral;
  std::shared_ptr<const Plan> plan = PlanFor(impl, inputs, outputs);

  std::vector<BoundSlot> slots(plan->slots.size());
  bool aliased = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    slots[i] = Bind<Number>(inputs[i].data, inputs[i].storage);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    slots[impl.definition.outputs[i]] = Bind<Number>(outputs[i].data, outputs[i].storage);
    for (const TensorView& input : inputs) aliased = aliased || input.data == outputs[i].data;
  }
  std::vector<AlignedBuffer> locals;
  for (size_t i = inputs.size(); i < slots.size(); ++i) {
    if (slots[i].read_integer != nullptr) continue;
    locals.emplace_back(NumElements(plan->slots[i].dims) * sizeof(Number));
    slots[i] = Bind<Number>(locals.back().data(), std::nullopt);
  }
  for (const loops::NestStep& step : plan->steps) {
    absl::Status status =
        RunStep<Number>(step, slots, *plan, aliased, std::max(1, options.threads));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

template absl::Status Run<double>(const LoopProgram&, absl::Span<const TensorView>,
                                  absl::Span<const MutableTensorView>, const RunOptions&);
template absl::Status Run<float>(const LoopProgram&, absl::Span<const TensorView>,
                                 absl::Span<const MutableTensorView>, const RunOptions&);
template absl::Status Run<int64_t>(const LoopProgram&, absl::Span<const TensorView>,
                                   absl::Span<const MutableTensorView>, const RunOptions&);
template absl::Status Run<Field>(const LoopProgram&, absl::Span<const TensorView>,
                                 absl::Span<const MutableTensorView>, const RunOptions&);

}  // namespace lemma
