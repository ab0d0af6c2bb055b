#include "runtime/cpu/kernels/dnnl_util.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "runtime/cpu/kernels/bf16_products.h"

namespace lemma::cpu {

const dnnl::engine& Engine() {
  static const auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

namespace {

dnnl::stream& Stream() {
  static thread_local dnnl::stream stream(Engine());
  return stream;
}

// The next offset in scratch memory where an operand may begin.
size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

namespace {

dnnl::memory::data_type DataType(DType dtype) {
  if (dtype == DType::kU8) return dnnl::memory::data_type::u8;
  if (dtype == DType::kBF16) return dnnl::memory::data_type::bf16;
  return dtype == DType::kI8 ? dnnl::memory::data_type::s8 : dnnl::memory::data_type::f32;
}

}  // namespace

bool HasDesc(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kU8 || dtype == DType::kI8 ||
         (dtype == DType::kBF16 && HasBf16Products());
}

dnnl::memory::desc Desc(const Shape& shape, const Strides& strides, DType dtype) {
  Strides canonical = strides;
  const std::vector<int> order = DimOrder(shape, strides);
  // From the fastest dimension outwards; a dimension of size 1 gets the extent of the faster ones
  // as its step.
  int64_t enclosed = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int d = order[i];
    if (shape[d] == 1) {
      canonical[d] = enclosed;
    } else {
      enclosed = std::max(enclosed, strides[d] * shape[d]);
    }
  }
  return dnnl::memory::desc(shape, DataType(dtype), canonical);
}

dnnl::memory::desc ChannelsLastDesc(const Shape& shape, DType dtype) {
  return dnnl::memory::desc(shape, DataType(dtype), ChannelsLast(shape));
}

dnnl::memory::desc AnyDesc(const Shape& shape, DType dtype) {
  return dnnl::memory::desc(shape, DataType(dtype), dnnl::memory::format_tag::any);
}

dnnl::primitive_attr CallerScratch() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void DnnlKernel::SetPrimitive(dnnl::primitive primitive, const dnnl::memory::desc& scratch,
                              std::string note) {
  primitive_ = std::move(primitive);
  note_ = std::move(note);
  scratch_bytes_ = scratch.get_size();
  scratch_ = dnnl::memory(scratch, Engine(), nullptr);
  args_[DNNL_ARG_SCRATCHPAD] = scratch_;
}

void DnnlKernel::BindInput(int arg, int index, const dnnl::memory::desc& desc) {
  arguments_.push_back({arg, index, false, desc, {}});
  bindings_.push_back({index, false, dnnl::memory(desc, Engine(), nullptr)});
  args_[arg] = bindings_.back().memory;
}

void DnnlKernel::BindOutput(int arg, int index, const dnnl::memory::desc& desc) {
  arguments_.push_back({arg, index, true, desc, {}});
  bindings_.push_back({index, true, dnnl::memory(desc, Engine(), nullptr)});
  args_[arg] = bindings_.back().memory;
}

void DnnlKernel::BindFixed(int arg, std::shared_ptr<const dnnl::memory> memory, int input,
                           const dnnl::memory::desc& seen_as) {
  arguments_.push_back({arg, input, false, input < 0 ? memory->get_desc() : seen_as, *memory});
  packed_bytes_ += memory->get_desc().get_size();
  args_[arg] = *memory;
  fixed_.push_back(arg);
  kept_.push_back(std::move(memory));
}

void DnnlKernel::BindReordered(int arg, int index, const dnnl::memory::desc& from,
                               const dnnl::memory::desc& to) {
  if (from == to) {
    BindInput(arg, index, from);
    return;
  }
  arguments_.push_back({arg, index, false, from, {}});
  dnnl::memory source(from, Engine(), nullptr), target(to, Engine());
  packed_bytes_ += to.get_size();
  reorders_.push_back({index, source, target, dnnl::reorder(source, target)});
  args_[arg] = target;
}

void DnnlKernel::BindStaged(int arg, int index, bool is_output, const dnnl::memory::desc& desc,
                            const dnnl::memory::desc& staged) {
  arguments_.push_back({arg, index, is_output, desc, {}});
  Stage stage{index,
              is_output,
              Aligned(scratch_bytes_),
              dnnl::memory(desc, Engine(), nullptr),
              dnnl::memory(staged, Engine(), nullptr),
              {},
              {}};
  stage.load = dnnl::reorder(stage.outside, stage.work);
  if (is_output) stage.store = dnnl::reorder(stage.work, stage.outside);
  scratch_bytes_ = stage.offset + staged.get_size();
  args_[arg] = stage.work;
  stages_.push_back(std::move(stage));
}

void DnnlKernel::BindStagedInput(int arg, int index, const dnnl::memory::desc& desc,
                                 const dnnl::memory::desc& staged) {
  desc == staged ? BindInput(arg, index, desc) : BindStaged(arg, index, false, desc, staged);
}

void DnnlKernel::BindStagedOutput(int arg, int index, const dnnl::memory::desc& desc,
                                  const dnnl::memory::desc& staged) {
  desc == staged ? BindOutput(arg, index, desc) : BindStaged(arg, index, true, desc, staged);
}

void DnnlKernel::StartFrom(int input, size_t bytes) {
  start_from_ = input;
  start_bytes_ = bytes;
  start_is_staged_ = std::any_of(stages_.begin(), stages_.end(),
                                 [](const Stage& s) { return s.is_output && s.index == 0; });
}

void DnnlKernel::Load(absl::Span<void* const> inputs, void* scratch) {
  for (Stage& s : stages_) {
    void* const work = static_cast<char*>(scratch) + s.offset;
    if (s.work.get_data_handle() != work) s.work.set_data_handle(work);
    if (s.is_output && start_from_ < 0) continue;
    s.outside.set_data_handle(inputs[s.is_output ? start_from_ : s.index]);
    s.load.execute(Stream(), s.outside, s.work);
  }
}

void DnnlKernel::Store(absl::Span<void* const> outputs) {
  for (Stage& s : stages_) {
    if (!s.is_output) continue;
    s.outside.set_data_handle(outputs[s.index]);
    s.store.execute(Stream(), s.work, s.outside);
  }
}

std::vector<absl::Span<const char>> DnnlKernel::PackedWeights() const {
  std::vector<absl::Span<const char>> weights;
  for (int arg : fixed_) {
    const dnnl::memory& memory = args_.at(arg);
    weights.push_back(
        {static_cast<const char*>(memory.get_data_handle()), memory.get_desc().get_size()});
  }
  return weights;
}

bool DnnlKernel::NeedsStatic(int input) const {
  auto reads = [input](const auto& b) { return b.index == input; };
  auto takes = [&](const auto& b) { return !b.is_output && reads(b); };
  return start_from_ == input || std::any_of(reorders_.begin(), reorders_.end(), reads) ||
         std::any_of(bindings_.begin(), bindings_.end(), takes) ||
         std::any_of(stages_.begin(), stages_.end(), takes);
}

absl::Status DnnlKernel::Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                             void* scratch) {
  return CatchDnnl([&]() -> absl::Status {
    for (Binding& b : bindings_) {
      void* at = b.is_output ? outputs[b.index] : inputs[b.index];
      if (b.memory.get_data_handle() != at) b.memory.set_data_handle(at);
    }
    if (scratch_bytes_ > 0 && scratch_.get_data_handle() != scratch) {
      scratch_.set_data_handle(scratch);
    }
    for (Reorder& r : reorders_) {
      r.from.set_data_handle(inputs[r.index]);
      r.primitive.execute(Stream(), r.from, r.to);
    }
    Load(inputs, scratch);
    if (start_from_ >= 0 && !start_is_staged_ && inputs[start_from_] != outputs[0]) {
      std::memcpy(outputs[0], inputs[start_from_], start_bytes_);
    }
    primitive_.execute(Stream(), args_);
    Store(outputs);
    return absl::OkStatus();
  });
}

dnnl::memory Packed(const Tensor& value, const dnnl::memory::desc& from,
                    const dnnl::memory::desc& to) {
  dnnl::memory source(from, Engine(), const_cast<void*>(value.raw()));
  dnnl::memory target(to, Engine());
  dnnl::reorder(source, target).execute(Stream(), source, target);
  return target;
}

std::shared_ptr<const dnnl::memory> CopyOf(const std::vector<float>& values,
                                           const dnnl::memory::desc& desc) {
  auto memory = std::make_shared<dnnl::memory>(desc, Engine());
  std::memcpy(memory->get_data_handle(), values.data(), values.size() * sizeof(float));
  return memory;
}

namespace {

// *seen: static applications already visited, since operands may share subterms.
bool IsStaticNode(const Node& node, absl::flat_hash_set<const Node*>* seen) {
  if (node.kind() == Node::Kind::kInput) return false;
  if (node.inputs().empty() || seen->contains(&node)) return true;
  for (const Value& in : node.inputs()) {
    if (!IsStaticNode(in.node(), seen)) return false;
  }
  seen->insert(&node);
  return true;
}

}  // namespace

bool IsStaticValue(const Value& v) {
  absl::flat_hash_set<const Node*> seen;
  return IsStaticNode(v.node(), &seen);
}

}  // namespace lemma::cpu
