// Kernels that run definitions: fused element-wise chains, and operators without a specialized
// kernel.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/parallel.h"
#include "graph/expr/compose.h"
#include "kernels/evaluate/evaluate.h"
#include "runtime/cpu/kernels/integers/chain_program.h"
#include "runtime/cpu/kernels/integers/ending_chain.h"
#include "runtime/cpu/kernels/integers/epilogue_program.h"
#include "runtime/cpu/kernels/integers/operands.h"
#include "runtime/cpu/kernels/integers/requantization/requantize.h"
#include "runtime/cpu/kernels/integers/table.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::cpu {
namespace {

class DefinitionRunner : public Kernel {
 public:
  DefinitionRunner(LoopProgram program, Arithmetic arithmetic, const CpuKernelSpec& spec)
      : program_(std::move(program)), arithmetic_(arithmetic) {
    for (const auto& in : spec.inputs) in_.push_back({nullptr, in.type.dtype, in.strides});
    for (const auto& out : spec.outputs) out_.push_back({nullptr, out.type.dtype, out.strides});
    options_.threads = spec.threads;
    if (spec.def != &PointwiseKernel()) note_ = "by its definition";
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    for (size_t i = 0; i < in_.size(); ++i) in_[i].data = inputs[i];
    for (size_t i = 0; i < out_.size(); ++i) out_[i].data = outputs[i];
    return RunIn(arithmetic_, program_, in_, out_, options_);
  }

  std::string note() const override { return note_; }

 private:
  LoopProgram program_;
  Arithmetic arithmetic_;
  std::vector<TensorView> in_;
  std::vector<MutableTensorView> out_;
  RunOptions options_;
  std::string note_;
};

// The spec's nodes as one definition over its inputs.
absl::StatusOr<Definition> Compose(const CpuKernelSpec& spec) {
  std::vector<Value> inputs;
  for (const auto& in : spec.inputs) inputs.push_back(in.value);
  absl::StatusOr<Definition> chain = ComposeNodes(spec.nodes, inputs);
  if (!chain.ok() || spec.nodes.size() == 1) return chain;
  // A local smaller than the result (such as a factor per channel) is kept instead of recomputed.
  const int64_t size = spec.outputs[0].type.num_elements();
  return Inline(*chain, [&](TensorId local) {
    int64_t elements = 1;
    for (const IndexExpr& dim : chain->TypeOf(local).dims) elements *= dim.value();
    return elements >= size;
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildDefinition(const CpuKernelSpec& spec,
                                                        const StaticValues&) {
  absl::StatusOr<Definition> definition = Compose(spec);
  if (!definition.ok()) return definition.status();
  absl::StatusOr<LoopProgram> program = CompileLoops(*definition);
  if (!program.ok()) return program.status();
  return std::make_unique<DefinitionRunner>(*std::move(program), ArithmeticOf(spec.nodes), spec);
}

// The rows of a result in memory, each without gaps.
struct Rows {
  int64_t count = 1, columns = 0;
  int64_t step = 0;  // elements between their beginnings
};

// One row if the result has no gaps; nullopt if it is not in evenly spaced rows.
std::optional<Rows> RowsOf(const Shape& shape, const Strides& strides) {
  const int64_t elements = NumElements(shape);
  if (IsDense(shape, strides)) return Rows{1, elements, elements};
  const std::vector<int> order = DimOrder(shape, strides);
  int64_t columns = 1;
  for (size_t i = order.size(); i-- > 0;) {
    columns *= shape[order[i]];
    if (shape[order[i]] == 1 || columns == elements) continue;
    const std::optional<int64_t> step = RowStepOf(shape, strides, columns);
    if (step) return Rows{elements / columns, columns, *step};
  }
  return std::nullopt;
}

// The dimension of more than one element whose elements are adjacent in memory.
std::optional<int> InnermostDim(const Shape& shape, const Strides& strides) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1 && strides[d] == 1) return static_cast<int>(d);
  }
  return std::nullopt;
}

// How the elements of a chain's operands and result lie: in `rows` rows of `columns` elements, each
// without gaps. `row_steps`: of each input that has the result's shape, elements between its rows.
struct ChainRows {
  int64_t rows = 1, columns = 0;
  int64_t y_step = 0;
  std::vector<int64_t> row_steps;
};

// Element-wise steps in registers.
class ChainRunner : public Kernel {
 public:
  // `start`: the input with whose floats the chain begins; -1: it begins with integers.
  ChainRunner(const CpuKernelSpec& spec, ChainProgram chain, int start, ChainRows rows)
      : spec_(spec),
        chain_(std::move(chain)),
        start_(start),
        rows_(std::move(rows)),
        result_bytes_(SizeOf(spec.outputs[0].type.dtype)),
        threads_(ThreadsFor(spec.outputs[0].type.num_elements(), spec.threads)) {}

  // Finds a shorter computation if all numbers that it needs are static.
  void Prepare(const StaticValues& statics) {
    if (kernels::BestIntegerIsa() != kernels::IntegerIsa::kVnni || !is_narrow()) return;
    std::vector<void*> inputs(spec_.inputs.size(), nullptr);
    int loads = 0;
    for (const ChainProgram::Source& source : chain_.sources()) {
      if (chain_.IsLoaded(source)) {
        (start_ < 0 && loads == 0 ? first_ : other_) = source.input;
        ++loads;
        continue;
      }
      if (chain_.IsGate(source)) {
        gates_ = source.input;
        continue;
      }
      if (!spec_.inputs[source.input].is_static) return;
      inputs[source.input] = const_cast<void*>(statics[source.input].raw());
    }
    if (start_ >= 0) first_ = start_;
    using kernels::Requantization;
    const auto steps = chain_.Bound(inputs, {0, 0, 0, 0, rows_.row_steps});
    requantization_ = chain_.has_vectors()
                          ? Requantization::Of(Requantization::Start::kFloats, nullptr, nullptr,
                                               rows_.columns, steps)
                          : Requantization::OfElements(steps);
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    if (rows_.rows == 1 && !chain_.has_vectors()) {
      ParallelFor(threads_, rows_.columns, [&](int64_t begin, int64_t end) {
        RunBlock(inputs, {0, begin, 1, end - begin, rows_.row_steps}, outputs[0]);
      });
    } else {
      ParallelFor(threads_, rows_.rows, [&](int64_t begin, int64_t end) {
        RunBlock(inputs, {begin, 0, end - begin, rows_.columns, rows_.row_steps}, outputs[0]);
      });
    }
    return absl::OkStatus();
  }

 private:
  bool is_narrow() const { return result_bytes_ == 1; }

  // The block's first element of an input; nullptr if there is no such input.
  const char* At(absl::Span<void* const> inputs, int input,
                 const ChainProgram::Block& block) const {
    if (input < 0) return nullptr;
    const int64_t at = block.row * rows_.row_steps[input] + block.column;
    return static_cast<const char*>(inputs[input]) +
           at * static_cast<int64_t>(SizeOf(spec_.inputs[input].type.dtype));
  }
  int64_t StepOf(int input) const { return input < 0 ? 0 : rows_.row_steps[input]; }

  void RunBlock(absl::Span<void* const> inputs, const ChainProgram::Block& block,
                void* output) const {
    char* to =
        static_cast<char*>(output) + (block.row * rows_.y_step + block.column) * result_bytes_;
    if (requantization_) {
      kernels::Requantization::Rows rows;
      rows.rows = block.rows;
      rows.columns = block.columns;
      rows.x = At(inputs, first_, block);
      rows.x_step = StepOf(first_);
      rows.other = At(inputs, other_, block);
      rows.other_step = StepOf(other_);
      rows.gates = gates_ < 0 ? nullptr : inputs[gates_];
      rows.y = to;
      rows.y_step = rows_.y_step;
      requantization_->Run(rows);
      return;
    }
    chain_.Run(inputs, block, reinterpret_cast<const float*>(At(inputs, start_, block)),
               StepOf(start_), to, rows_.y_step);
  }

  const CpuKernelSpec spec_;
  const ChainProgram chain_;
  const int start_;
  const ChainRows rows_;
  const int64_t result_bytes_;
  const int threads_;
  std::optional<kernels::Requantization> requantization_;
  // Inputs: what requantization_ begins with, and what it loads later.
  int first_ = -1, other_ = -1, gates_ = -1;
};

// The longest rows in which the result and all inputs of its shape lie; nullopt if there are none.
// `columns`: the length that the rows must have; 0: any.
std::optional<ChainRows> ChainRowsOf(const CpuKernelSpec& spec, int64_t columns) {
  const CpuKernelSpec::Operand& out = spec.outputs[0];
  const Shape& shape = out.type.shape;
  const int64_t elements = NumElements(shape);
  const auto order_of = [&](const Strides& strides) {
    std::vector<int> order = DimOrder(shape, strides);
    order.erase(std::remove_if(order.begin(), order.end(), [&](int d) { return shape[d] == 1; }),
                order.end());
    return order;
  };
  const std::vector<int> order = order_of(out.strides);
  const auto in_rows = [&](int64_t length) -> std::optional<ChainRows> {
    ChainRows rows;
    const std::optional<int64_t> step = RowStepOf(shape, out.strides, length);
    if (!step) return std::nullopt;
    rows.rows = elements / length;
    rows.columns = length;
    rows.y_step = *step;
    for (const auto& in : spec.inputs) {
      rows.row_steps.push_back(0);
      if (in.type.shape != shape || elements == 1) continue;
      if (order_of(in.strides) != order) return std::nullopt;
      const std::optional<int64_t> own = RowStepOf(shape, in.strides, length);
      if (!own) return std::nullopt;
      rows.row_steps.back() = *own;
    }
    return rows;
  };
  if (columns > 0) return in_rows(columns);
  std::optional<ChainRows> longest = in_rows(1);
  int64_t length = 1;
  for (size_t i = order.size(); i-- > 0;) {
    length *= shape[order[i]];
    if (auto rows = in_rows(length)) longest = std::move(rows);
  }
  return longest;
}

// The spec's nodes as a chain, if it starts or ends with integers of 8 bits: other chains have
// loops that are as fast. nullptr: they are none.
std::unique_ptr<Kernel> BuildChain(const CpuKernelSpec& spec, const StaticValues& statics) {
  const CpuKernelSpec::Operand& out = spec.outputs[0];
  const Shape& shape = out.type.shape;
  if (!kernels::HasIntegerTiles() || NumElements(shape) == 0) return nullptr;
  const Strides dense = DenseInOrder(shape, DimOrder(shape, out.strides));
  const std::optional<int> channel = InnermostDim(shape, dense);
  bool narrow = SizeOf(out.type.dtype) == 1;
  for (const auto& in : spec.inputs) {
    if (in.type.num_elements() == 1) continue;
    narrow = narrow || SizeOf(in.type.dtype) == 1;
    if (in.type.shape == shape) continue;  // ChainRowsOf
    // One number for each element of a row.
    const int behind = static_cast<int>(shape.size()) - in.type.rank();
    if (!channel || *channel < behind || in.type.num_elements() != shape[*channel] ||
        in.type.shape[*channel - behind] != shape[*channel] || in.strides[*channel - behind] != 1) {
      return nullptr;
    }
  }
  for (size_t i = 0; narrow && i < spec.inputs.size(); ++i) {
    const CpuKernelSpec::Operand& in = spec.inputs[i];
    if (in.type.shape != shape || in.is_static) continue;
    std::optional<ChainProgram> chain =
        ChainProgram::Compile(spec, in.value, spec.nodes, channel.value_or(0));
    if (!chain) continue;
    std::optional<ChainRows> rows = ChainRowsOf(spec, chain->has_vectors() ? shape[*channel] : 0);
    const bool is_short = rows && rows->columns < kernels::kChainColumns && rows->rows > 1;
    if (!rows || is_short) continue;
    const int start = in.type.dtype == DType::kF32 ? static_cast<int>(i) : -1;
    auto runner = std::make_unique<ChainRunner>(spec, *std::move(chain), start, *std::move(rows));
    runner->Prepare(statics);
    return runner;
  }
  return nullptr;
}

// The results for 8-bit integers from a table, over a source in the order of the result, which is
// written in rows.
class TableRunner : public Kernel {
 public:
  TableRunner(const CpuKernelSpec& spec, Tensor table, int source, const Rows& rows)
      : table_(std::move(table)),
        source_(source),
        rows_(rows),
        size_(SizeOf(spec.outputs[0].type.dtype)),
        threads_(ThreadsFor(spec.outputs[0].type.num_elements(), spec.threads)) {}

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void*) override {
    const auto* from = static_cast<const uint8_t*>(inputs[source_]);
    auto* to = static_cast<char*>(outputs[0]);
    if (rows_.count == 1) {
      ParallelFor(threads_, rows_.columns, [&](int64_t begin, int64_t end) {
        LookUp(from + begin, end - begin, to + begin * size_);
      });
    } else {
      ParallelFor(threads_, rows_.count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          LookUp(from + i * rows_.columns, rows_.columns, to + i * rows_.step * size_);
        }
      });
    }
    return absl::OkStatus();
  }
  size_t packed_bytes() const override { return table_.type().num_bytes(); }
  bool NeedsStatic(int) const override { return false; }
  std::string note() const override { return "table"; }

 private:
  void LookUp(const uint8_t* from, int64_t n, char* to) const {
    if (size_ == 1) {
      kernels::LookUp(from, n, static_cast<const uint8_t*>(table_.raw()),
                      reinterpret_cast<uint8_t*>(to));
    } else if (size_ == 2) {
      LookUpWide<uint16_t>(from, n, to);
    } else if (size_ == 4) {
      LookUpWide<uint32_t>(from, n, to);
    } else {
      LookUpWide<uint64_t>(from, n, to);
    }
  }
  template <class T>
  void LookUpWide(const uint8_t* from, int64_t n, char* to) const {
    const T* table = static_cast<const T*>(table_.raw());
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] = table[from[i]];
  }

  const Tensor table_;
  const int source_;
  const Rows rows_;
  const int64_t size_;
  const int threads_;
};

// The spec's nodes as a table; nullptr if they are none, or if the layouts differ.
std::unique_ptr<Kernel> BuildTable(const CpuKernelSpec& spec, const StaticValues& statics) {
  const CpuKernelSpec::Operand& out = spec.outputs[0];
  const std::optional<Rows> rows = RowsOf(out.type.shape, out.strides);
  if (!rows) return nullptr;
  const Strides dense = DenseInOrder(out.type.shape, DimOrder(out.type.shape, out.strides));
  int source = -1;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const CpuKernelSpec::Operand& in = spec.inputs[i];
    if (in.is_static) continue;
    if (in.type.shape != out.type.shape || !SameLayout(in.type.shape, in.strides, dense)) {
      return nullptr;
    }
    source = static_cast<int>(i);
  }
  std::optional<Tensor> table = TableOf(spec, statics);
  if (!table) return nullptr;
  return std::make_unique<TableRunner>(spec, *std::move(table), source, *rows);
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildPointwise(const CpuKernelSpec& spec,
                                                       const StaticValues& statics) {
  // Widening alone is faster than a table.
  const std::optional<IntegerOperand> widened = IntegerOperandOf(Value(spec.nodes.back(), 0));
  const bool only_widens = widened && widened->nodes.size() == spec.nodes.size();
  std::unique_ptr<Kernel> kernel =
      only_widens ? BuildChain(spec, statics) : BuildTable(spec, statics);
  if (kernel == nullptr) {
    kernel = only_widens ? BuildTable(spec, statics) : BuildChain(spec, statics);
  }
  if (kernel == nullptr) kernel = BuildEndingChain(spec, statics);
  if (kernel != nullptr) return kernel;
  return BuildDefinition(spec, statics);
}

class KernelOrDefinition : public Kernel {
 public:
  KernelOrDefinition(std::unique_ptr<Kernel> library, std::unique_ptr<Kernel> definition,
                     std::function<bool(const float*)> takes, int64_t elements)
      : library_(std::move(library)),
        definition_(std::move(definition)),
        takes_(std::move(takes)),
        elements_(elements) {}

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    const auto* x = static_cast<const float*>(inputs[0]);
    if (takes_(x)) return library_->Run(inputs, outputs, scratch);
    if (inputs[0] != outputs[0]) return definition_->Run(inputs, outputs, nullptr);
    std::vector<float> copy(x, x + elements_);  // several elements of it may be read
    void* const from = copy.data();
    return definition_->Run({&from, 1}, outputs, nullptr);
  }
  size_t scratch_bytes() const override { return library_->scratch_bytes(); }
  std::string note() const override { return library_->note(); }
  const Kernel* library() const override { return library_.get(); }

 private:
  std::unique_ptr<Kernel> library_, definition_;
  std::function<bool(const float*)> takes_;
  int64_t elements_;
};

// The order of dimensions of the first full-sized operand that is not a weight.
Strides OrderLike(const CpuKernelSpec& spec, const Shape& shape) {
  for (const auto& in : spec.inputs) {
    if (in.is_static || in.type.rank() != static_cast<int>(shape.size())) continue;
    if (in.type.shape != shape && in.type.num_elements() < NumElements(shape) / 8) continue;
    return DenseInOrder(shape, DimOrder(in.type.shape, in.strides));
  }
  return RowMajorStrides(shape);
}

void PointwiseLayouts(CpuKernelSpec& spec, const Strides& wanted) {
  auto& out = spec.outputs[0];
  out.strides = wanted.empty() ? OrderLike(spec, out.type.shape) : wanted;
  // Prefers the operand that is read last: writing to lines that were read a block ago took twice
  // the time.
  for (size_t i = spec.inputs.size(); i-- > 0;) {
    const auto& in = spec.inputs[i];
    if (!in.is_static && in.type == out.type) spec.in_place.push_back(static_cast<int>(i));
  }
}

void DefinitionLayouts(CpuKernelSpec& spec, const Strides& wanted) {
  for (auto& out : spec.outputs) out.strides = OrderLike(spec, out.type.shape);
  if (!wanted.empty()) spec.outputs[0].strides = wanted;
}

bool AnyOutput(const CpuKernelSpec&, const Strides&) { return true; }
bool AnyInput(const std::vector<NodePtr>&, int, int) { return true; }

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> WithDefinition(const CpuKernelSpec& spec,
                                                       std::unique_ptr<Kernel> library,
                                                       std::function<bool(const float*)> takes) {
  absl::StatusOr<std::unique_ptr<Kernel>> definition = BuildDefinition(spec, {});
  if (!definition.ok()) return definition;
  const CpuKernelSpec::Operand& in = spec.inputs[0];
  return std::make_unique<KernelOrDefinition>(std::move(library), *std::move(definition),
                                              std::move(takes), SpanOf(in.type.shape, in.strides));
}

absl::StatusOr<std::unique_ptr<Kernel>> CopyByDefinition(const CpuKernelSpec& spec) {
  const CpuKernelSpec::Operand& in = spec.inputs[0];
  Definition copy;
  copy.inputs = {ToExprType(in.type)};
  TensorExpr tensor{in.type.dtype, {}, 0};
  Idx index;
  for (const IndexExpr& dim : copy.inputs[0].dims) {
    tensor.axes.push_back({copy.num_vars, dim});
    index.push_back(IndexExpr::Var(copy.num_vars++));
  }
  tensor.body = ScalarExpr::Read(0, index);
  copy.tensors = {tensor};
  copy.outputs = {1};
  absl::StatusOr<LoopProgram> program = CompileLoops(copy);
  if (!program.ok()) return program.status();
  return std::make_unique<DefinitionRunner>(*std::move(program), ArithmeticFor(copy), spec);
}

const KernelDef& PointwiseKernel() {
  static const KernelDef* def = [] {
    auto* d = new KernelDef;
    d->name = "element-wise";
    d->layouts = PointwiseLayouts;
    d->strided_output = AnyOutput;
    d->strided_input = AnyInput;
    d->build = BuildPointwise;
    return d;
  }();
  return *def;
}

const KernelDef& DefinitionKernel() {
  static const KernelDef* def = [] {
    auto* d = new KernelDef;
    d->name = "definition";
    d->layouts = DefinitionLayouts;
    d->strided_output = AnyOutput;
    d->strided_input = AnyInput;
    d->build = BuildDefinition;
    return d;
  }();
  return *def;
}

}  // namespace lemma::cpu
