#include "runtime/cpu/kernels/integers/ending_chain.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "graph/expr/compose.h"
#include "runtime/cpu/kernels/integers/epilogue_program.h"
#include "runtime/cpu/kernels/integers/known_chain.h"
#include "runtime/cpu/kernels/integers/tiles.h"

namespace lemma::cpu {
namespace {

constexpr int64_t kBlock = 8192;  // elements

// The applications in front of the chain, for a number of adjacent elements.
struct Loops {
  int64_t elements = 0;
  LoopProgram program{nullptr};
  Arithmetic arithmetic = Arithmetic::kFloat;
  std::vector<int> operands;  // inputs of the spec, in the program's order
};

// `start`: the first operand of the loops, an input of the spec.
absl::StatusOr<Loops> Compile(const CpuKernelSpec& spec, const Value& start,
                              absl::Span<const NodePtr> front, int64_t elements) {
  LEMMA_ASSIGN_OR_RETURN(EpilogueGraph graph, MakeEpilogueGraph(start, front, 0, 1, elements));
  std::vector<NodePtr> nodes;
  for (const NodePtr& node : graph.graph.nodes()) {
    if (node->is_op()) nodes.push_back(node);
  }
  LEMMA_ASSIGN_OR_RETURN(Definition definition, ComposeNodes(nodes, graph.graph.inputs()));
  Loops result;
  LEMMA_ASSIGN_OR_RETURN(result.program, CompileLoops(Inline(definition)));
  result.elements = elements;
  result.arithmetic = ArithmeticOf(nodes);
  result.operands.push_back(spec.InputIndex(start));
  for (const Value& v : graph.operands) result.operands.push_back(spec.InputIndex(v));
  const bool known = std::count(result.operands.begin(), result.operands.end(), -1) == 0;
  return known ? absl::StatusOr<Loops>(std::move(result))
               : absl::UnimplementedError("an operand is no input");
}

class EndingChain : public Kernel {
 public:
  EndingChain(const CpuKernelSpec& spec, std::vector<Loops> loops, KnownChain chain)
      : spec_(spec),
        loops_(std::move(loops)),
        chain_(std::move(chain)),
        elements_(spec.outputs[0].type.num_elements()),
        threads_(ThreadsFor(elements_, spec.threads)) {}

  absl::Status Run(absl::Span<void* const> inputs, absl::Span<void* const> outputs,
                   void* scratch) override {
    const int64_t blocks = (elements_ + kBlock - 1) / kBlock;
    const int64_t workers = std::min<int64_t>(threads_, blocks);
    std::vector<absl::Status> status(workers);
    ParallelFor(static_cast<int>(workers), workers, [&](int64_t begin, int64_t end) {
      for (int64_t worker = begin; worker < end; ++worker) {
        float* values = static_cast<float*>(scratch) + worker * kBlock;
        for (int64_t b = blocks * worker / workers; b < blocks * (worker + 1) / workers; ++b) {
          absl::Status done = RunBlock(b * kBlock, inputs, outputs[0], values);
          if (!done.ok()) status[worker] = done;
        }
      }
    });
    for (const absl::Status& s : status) LEMMA_RETURN_IF_ERROR(s);
    return absl::OkStatus();
  }
  size_t scratch_bytes() const override { return threads_ * kBlock * sizeof(float); }
  std::string note() const override { return "in two parts"; }

 private:
  absl::Status RunBlock(int64_t first, absl::Span<void* const> inputs, void* output,
                        float* values) const {
    const int64_t count = std::min(kBlock, elements_ - first);
    const Loops& loops = count == loops_[0].elements ? loops_[0] : loops_[1];
    std::vector<TensorView> in;
    for (const int i : loops.operands) {
      const CpuKernelSpec::Operand& operand = spec_.inputs[i];
      const bool is_number = operand.type.num_elements() == 1;
      const auto* at = static_cast<const char*>(inputs[i]);
      if (!is_number) at += first * static_cast<int64_t>(SizeOf(operand.type.dtype));
      // The first operand is a row even if it has one element.
      in.push_back({at, operand.type.dtype, is_number && !in.empty() ? Strides() : Strides{0, 1}});
    }
    const MutableTensorView out = {values, DType::kF32, {0, 1}};
    LEMMA_RETURN_IF_ERROR(RunIn(loops.arithmetic, loops.program, in, {&out, 1}));
    chain_.Run(values, 1, count, static_cast<char*>(output) + first, count);
    return absl::OkStatus();
  }

  const CpuKernelSpec spec_;
  const std::vector<Loops> loops_;  // for a block and for the rest
  const KnownChain chain_;
  const int64_t elements_;
  const int threads_;
};

}  // namespace

std::unique_ptr<Kernel> BuildEndingChain(const CpuKernelSpec& spec, const StaticValues& statics) {
  const CpuKernelSpec::Operand& out = spec.outputs[0];
  const int64_t elements = out.type.num_elements();
  const bool narrow = out.type.dtype == DType::kU8 || out.type.dtype == DType::kI8;
  if (!narrow || !kernels::HasIntegerTiles() || elements < 2) return nullptr;
  if (!IsDense(out.type.shape, out.strides)) return nullptr;
  Value start;
  for (const CpuKernelSpec::Operand& in : spec.inputs) {
    if (in.type.num_elements() == 1) continue;
    if (in.type.shape != out.type.shape || !SameLayout(in.type.shape, in.strides, out.strides)) {
      return nullptr;
    }
    if (!start) start = in.value;
  }
  if (!start) return nullptr;
  for (size_t n = 0; n + 1 < spec.nodes.size(); ++n) {
    const Value v(spec.nodes[n], 0);
    if (v.dtype() != DType::kF32 || v.shape() != out.type.shape) continue;
    std::optional<KnownChain> chain = KnownChain::Compile(spec, v, statics);
    if (!chain) continue;
    const std::vector<NodePtr> front =
        NodesBehind(start, absl::MakeSpan(spec.nodes).subspan(0, n + 1));
    std::vector<Loops> loops;
    for (const int64_t count : {std::min(kBlock, elements), elements % kBlock}) {
      if (count == 0 || (!loops.empty() && count == loops[0].elements)) continue;
      absl::StatusOr<Loops> compiled = Compile(spec, start, front, count);
      if (!compiled.ok()) return nullptr;
      loops.push_back(*std::move(compiled));
    }
    return std::make_unique<EndingChain>(spec, std::move(loops), *std::move(chain));
  }
  return nullptr;
}

}  // namespace lemma::cpu
