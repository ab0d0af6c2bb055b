#include "runtime/cpu/kernels/integers/weight_only_kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "graph/expr/compose.h"
#include "kernels/evaluate/evaluate.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/epilogue_program.h"
#include "runtime/cpu/kernels/integers/operands.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::cpu {
namespace {

using kernels::NarrowWeights;

constexpr int64_t kRun = NarrowWeights::kRun;

int Channel(const Node& head) { return head.type(0).rank() - 1; }

// The nodes behind the head, all of them computed in one arithmetic.
std::vector<NodePtr> Behind(const CpuKernelSpec& spec) {
  if (spec.nodes.back() == spec.head_node()) return {};
  return NodesBehind(Value(spec.head_node(), 0), spec.nodes);
}

// The elements of the weight, as the head reads it, with 1 in place of the scales or the integers.
// Both are exact, and the weight is their product, since the other nodes only move elements.
absl::Status Separate(const WeightOnlyProduct& product, const Value& weight, const Tensor& integers,
                      const Tensor& scale, int threads, float* whole, float* scales) {
  const std::vector<Value> inputs = {product.integers, product.scale};
  LEMMA_ASSIGN_OR_RETURN(Definition definition, ComposeNodes(product.nodes, inputs));
  definition = Inline(definition);
  LEMMA_ASSIGN_OR_RETURN(const LoopProgram program, CompileLoops(definition));
  RunOptions options;
  options.threads = threads;
  const float one = 1;
  const Strides to = RowMajorStrides(weight.shape());
  const auto whole_view = [](const Tensor& t) {
    return TensorView{t.raw(), DType::kF32, RowMajorStrides(t.shape())};
  };
  const auto ones_view = [&](const Tensor& t) {
    return TensorView{&one, DType::kF32, Strides(t.shape().size(), 0)};
  };
  const TensorView first[] = {whole_view(integers), ones_view(scale)};
  const MutableTensorView y = {whole, DType::kF32, to};
  LEMMA_RETURN_IF_ERROR(RunIn(Arithmetic::kFloat, program, first, {&y, 1}, options));
  const TensorView second[] = {ones_view(integers), whole_view(scale)};
  const MutableTensorView z = {scales, DType::kF32, to};
  return RunIn(Arithmetic::kFloat, program, second, {&z, 1}, options);
}

// Weights that kernels of several plans share, such as those of one model at several sizes.
struct Shared {
  NodePtr weight;  // keeps the node, so that no other one gets its address
  NarrowWeights weights;
};

class Pool {
 public:
  std::shared_ptr<const Shared> Find(const Node& weight) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = known_.find(&weight);
    return at == known_.end() ? nullptr : at->second.lock();
  }
  std::shared_ptr<const Shared> Add(Shared weights) {
    const Node* key = weights.weight.get();
    std::shared_ptr<const Shared> made(new Shared(std::move(weights)),
                                       [this, key](const Shared* shared) {
                                         Remove(key);
                                         delete shared;
                                       });
    const std::lock_guard<std::mutex> lock(mutex_);
    known_[key] = made;
    return made;
  }

 private:
  void Remove(const Node* key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = known_.find(key);
    if (at != known_.end() && at->second.expired()) known_.erase(at);
  }

  std::mutex mutex_;
  absl::flat_hash_map<const Node*, std::weak_ptr<const Shared>> known_;
};

Pool& ThePool() {
  static auto* pool = new Pool;
  return *pool;
}

// What follows the product, as a program over its rows and columns.
struct Epilogue {
  LoopProgram program{nullptr};
  Arithmetic arithmetic = Arithmetic::kFloat;
  std::vector<int> operands;  // inputs of the spec, in the program's order, behind the product
  std::vector<EpilogueGraph::Form> forms;
};

absl::StatusOr<Epilogue> CompileEpilogue(const CpuKernelSpec& spec, int64_t rows, int64_t columns) {
  const Value product(spec.head_node(), 0);
  LEMMA_ASSIGN_OR_RETURN(
      EpilogueGraph graph,
      MakeEpilogueGraph(product, Behind(spec), Channel(spec.head()), rows, columns));
  std::vector<NodePtr> nodes;
  for (const NodePtr& node : graph.graph.nodes()) {
    if (node->is_op()) nodes.push_back(node);
  }
  LEMMA_ASSIGN_OR_RETURN(Definition definition, ComposeNodes(nodes, graph.graph.inputs()));
  definition = Inline(definition);
  Epilogue result;
  LEMMA_ASSIGN_OR_RETURN(result.program, CompileLoops(definition));
  result.arithmetic = ArithmeticOf(nodes);
  result.forms = std::move(graph.forms);
  for (const Value& v : graph.operands) {
    result.operands.push_back(spec.InputIndex(v));
    if (result.operands.back() < 0) return absl::InternalError("an operand is no input");
  }
  return result;
}

class WeightOnlyRunner : public Kernel {
 public:
  WeightOnlyRunner(const CpuKernelSpec& spec, std::shared_ptr<const Shared> shared,
                   std::optional<Epilogue> epilogue)
      : spec_(spec), shared_(std::move(shared)), epilogue_(std::move(epilogue)) {
    source_ = spec.InputIndex(spec.head().inputs()[0]);
    rows_ = spec.head().type(0).num_elements() / weights().columns();
  }

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    const auto* x = static_cast<const float*>(inputs[source_]);
    auto* padded = static_cast<float*>(scratch);
    const int64_t depth = weights().depth(), step = padded_depth();
    if (step != depth) {
      for (int64_t i = 0; i < rows_; ++i) {
        std::copy_n(x + i * depth, depth, padded + i * step);
        std::fill_n(padded + i * step + depth, step - depth, 0.0f);
      }
      x = padded;
    }
    const int64_t columns = weights().columns();
    auto* product = epilogue_ ? padded + padded_floats() : static_cast<float*>(outputs[0]);
    constexpr int64_t kColumns = NarrowWeights::kColumns;
    const int64_t groups = (columns + kColumns - 1) / kColumns;
    ParallelFor(spec_.threads, groups, [&](int64_t begin, int64_t end) {
      weights().Multiply(x, rows_, step, begin * kColumns, std::min(columns, end * kColumns),
                         product, columns);
    });
    return epilogue_ ? Finish(product, inputs, outputs[0]) : absl::OkStatus();
  }

  size_t scratch_bytes() const override {
    const int64_t sums = epilogue_ ? rows_ * weights().columns() : 0;
    return (padded_floats() + sums) * sizeof(float);
  }
  size_t packed_bytes() const override { return weights().bytes(); }
  std::vector<absl::Span<const char>> PackedWeights() const override {
    return {weights().packed()};
  }
  bool NeedsStatic(int input) const override {
    return epilogue_ && std::count(epilogue_->operands.begin(), epilogue_->operands.end(), input);
  }
  std::string note() const override {
    switch (weights().form()) {
      case NarrowWeights::Form::kFourBits:
        return "weights of 4 bits";
      case NarrowWeights::Form::kEightBits:
        return "weights of 8 bits";
      case NarrowWeights::Form::kFloats:
        return "weights of 32 bits";
    }
    return "";
  }
  const NarrowWeights& weights() const { return shared_->weights; }

 private:
  int64_t padded_depth() const { return weights().runs() * kRun; }
  int64_t padded_floats() const {
    return padded_depth() == weights().depth() ? 0 : rows_ * padded_depth();
  }

  absl::Status Finish(const float* product, absl::Span<void* const> inputs, void* output) const {
    const int64_t columns = weights().columns();
    std::vector<TensorView> in = {{product, DType::kF32, {columns, 1}}};
    for (size_t i = 0; i < epilogue_->operands.size(); ++i) {
      const int input = epilogue_->operands[i];
      Strides strides;
      if (epilogue_->forms[i] == EpilogueGraph::Form::kFull) strides = {columns, 1};
      if (epilogue_->forms[i] == EpilogueGraph::Form::kVector) strides = {1};
      in.push_back({inputs[input], spec_.inputs[input].type.dtype, strides});
    }
    const MutableTensorView out = {output, spec_.outputs[0].type.dtype, {columns, 1}};
    RunOptions options;
    options.threads = ThreadsFor(rows_ * columns, spec_.threads);
    return RunIn(epilogue_->arithmetic, epilogue_->program, in, {&out, 1}, options);
  }

  const CpuKernelSpec spec_;
  const std::shared_ptr<const Shared> shared_;
  const std::optional<Epilogue> epilogue_;
  int source_ = 0;
  int64_t rows_ = 1;
};

// Whether `user` can be computed behind the spec's nodes.
bool Fuses(const CpuKernelSpec& spec, const Node& user) {
  const Value v(spec.nodes.back(), 0);
  const NodePtr& head = spec.head_node();
  const std::optional<WeightOnlyProduct> product = WeightOnlyProductOf(*head);
  if (!product) return false;
  for (const Value& in : user.inputs()) {
    if (in != v && in.type().num_elements() == 0) return false;
    // The kernel does not compute the weight itself.
    if (std::count(product->nodes.begin(), product->nodes.end(), in.node_ptr()) > 0) return false;
  }
  std::vector<NodePtr> nodes;
  std::optional<Domain> domain = NodeTraitsOf(user).domain;
  for (const NodePtr& node : spec.nodes) {
    if (node == head) continue;
    if (domain) domain = Common(*domain, NodeTraitsOf(*node).domain);
  }
  if (!domain) return false;
  const NodePtr node = Node::Apply(&user.op(), user.inputs(), user.attrs(), user.types());
  const int channel = Channel(*head);
  return MakeEpilogueGraph(v, {&node, 1}, channel, 1, v.shape()[channel]).ok();
}

void Layouts(CpuKernelSpec& spec, const Strides&) {
  spec.outputs[0].strides = RowMajorStrides(spec.outputs[0].type.shape);
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    CpuKernelSpec::Operand& in = spec.inputs[i];
    in.strides = RowMajorStrides(in.type.shape);
    if (in.is_static || in.type != spec.outputs[0].type) continue;
    if (in.value != spec.head().inputs()[0]) spec.in_place.push_back(static_cast<int>(i));
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> Build(const CpuKernelSpec& spec,
                                              const StaticValues& statics) {
  const std::optional<WeightOnlyProduct> product = WeightOnlyProductOf(spec.head());
  if (!product) return absl::InternalError("a product without integers as weights");
  const Value& weight = spec.head().inputs()[1];
  const int64_t depth = weight.shape()[0], columns = weight.shape()[1];
  auto shared = spec.is_made_up ? nullptr : ThePool().Find(weight.node());
  if (shared == nullptr) {
    std::vector<float> whole(depth * columns), scales(depth * columns);
    LEMMA_RETURN_IF_ERROR(Separate(*product, weight, statics[spec.InputIndex(product->integers)],
                                   statics[spec.InputIndex(product->scale)], spec.threads,
                                   whole.data(), scales.data()));
    Shared made = {weight.node_ptr(),
                   NarrowWeights::Pack(whole.data(), scales.data(), depth, columns, spec.threads)};
    shared = spec.is_made_up ? std::make_shared<const Shared>(std::move(made))
                             : ThePool().Add(std::move(made));
  }
  std::optional<Epilogue> epilogue;
  if (!Behind(spec).empty()) {
    const int64_t rows = spec.head().type(0).num_elements() / columns;
    LEMMA_ASSIGN_OR_RETURN(epilogue, CompileEpilogue(spec, rows, columns));
  }
  return std::make_unique<WeightOnlyRunner>(spec, std::move(shared), std::move(epilogue));
}

std::shared_ptr<const void> SharedWeights(const CpuKernelSpec& spec, std::vector<bool>* needed) {
  auto shared = ThePool().Find(spec.head().inputs()[1].node());
  const std::optional<WeightOnlyProduct> product = WeightOnlyProductOf(spec.head());
  if (shared == nullptr || !product) return nullptr;
  // Otherwise the definitions are run, which read everything.
  if (!Behind(spec).empty() && !CompileEpilogue(spec, 1, spec.head().type(0).shape.back()).ok()) {
    return nullptr;
  }
  for (const Value& v : {product->integers, product->scale}) {
    const bool read_elsewhere =
        std::any_of(spec.nodes.begin(), spec.nodes.end(), [&](const NodePtr& node) {
          const bool weight = std::count(product->nodes.begin(), product->nodes.end(), node) > 0;
          return !weight && std::count(node->inputs().begin(), node->inputs().end(), v) > 0;
        });
    (*needed)[spec.InputIndex(v)] = read_elsewhere;
  }
  return shared;
}

KernelDef MakeWeightOnlyKernel() {
  KernelDef def;
  def.name = "weight-only product";
  def.ops = {"matmul"};
  def.fuses = Fuses;
  def.fuses_casts = true;
  def.layouts = Layouts;
  def.build = Build;
  def.shared_weights = SharedWeights;
  return def;
}

}  // namespace

std::optional<WeightOnlyProduct> WeightOnlyProductOf(const Node& head) {
  // With more rows, a product of floats is faster.
  constexpr int64_t kMostRows = 8, kFewWeights = int64_t{1} << 16;
  if (HeadOf(head) != ProductHead::kMatrices || head.type(0).num_elements() == 0) return {};
  if (kernels::BestIntegerIsa() != kernels::IntegerIsa::kVnni) return {};
  const Value &x = head.inputs()[0], &w = head.inputs()[1];
  if (x.dtype() != DType::kF32 || w.dtype() != DType::kF32 || IsStaticValue(x)) return {};
  if (w.type().rank() != 2 || x.type().rank() < 2 || !IsStaticValue(w)) return {};
  if (w.type().num_elements() < kFewWeights) return {};
  if (head.type(0).num_elements() / w.shape()[1] > kMostRows) return {};
  WeightOnlyProduct result;
  Value at = w;
  while (at.node().is_op()) {
    const NodeTraits& traits = NodeTraitsOf(at.node());
    if (at.node().inputs().size() != 1 || at.node().num_outputs() > (at == w ? 1 : 2)) break;
    if (!traits.reshapes && traits.views.empty()) break;
    result.nodes.push_back(at.node_ptr());
    at = at.node().inputs()[0];
  }
  const std::optional<ScaledIntegers> scaled = ScaledIntegersOf(at);
  if (!scaled || scaled->integers == scaled->scale) return {};
  if (scaled->integers.dtype() != DType::kF32 || scaled->scale.dtype() != DType::kF32) return {};
  result.nodes.push_back(at.node_ptr());
  std::reverse(result.nodes.begin(), result.nodes.end());
  result.integers = scaled->integers;
  result.scale = scaled->scale;
  return result;
}

const KernelDef& WeightOnlyKernel() {
  static const auto* def = new KernelDef(MakeWeightOnlyKernel());
  return *def;
}

int WeightBitsOf(const Node& head) {
  const std::optional<WeightOnlyProduct> product = WeightOnlyProductOf(head);
  const int bits = product ? BitsBesideZeroOf(product->integers) : 32;
  return bits <= 4 ? 4 : bits <= 8 ? 8 : 32;
}

const kernels::NarrowWeights* WeightsOf(const Kernel& kernel) {
  const auto* runner = dynamic_cast<const WeightOnlyRunner*>(&kernel);
  return runner == nullptr ? nullptr : &runner->weights();
}

}  // namespace lemma::cpu
