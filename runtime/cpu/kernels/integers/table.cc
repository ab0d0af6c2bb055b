#include "runtime/cpu/kernels/integers/table.h"

#include <algorithm>
#include <utility>

#include "kernels/evaluate/evaluate.h"
#include "runtime/cpu/kernels/integers/epilogue_program.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::cpu {
namespace {

constexpr int64_t kBytes = 256;

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

}  // namespace

std::optional<Value> TableSource(const std::vector<NodePtr>& nodes,
                                 const std::vector<Value>& inputs,
                                 const std::vector<bool>& is_static) {
  const bool element_wise = std::all_of(nodes.begin(), nodes.end(), [](const NodePtr& node) {
    const NodeTraits& traits = NodeTraitsOf(*node);
    return traits.pointwise && traits.element && node->num_outputs() == 1;
  });
  if (nodes.empty() || !element_wise) return std::nullopt;
  std::optional<Value> source;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_static[i] && inputs[i].type().num_elements() == 1) continue;
    if (is_static[i] || source || !IsByte(inputs[i].dtype())) return std::nullopt;
    source = inputs[i];
  }
  if (!source || source->shape() != nodes.back()->type(0).shape) return std::nullopt;
  return source;
}

std::optional<Tensor> TableOf(const CpuKernelSpec& spec, const StaticValues& statics) {
  std::vector<Value> inputs;
  std::vector<bool> is_static;
  for (const CpuKernelSpec::Operand& in : spec.inputs) {
    inputs.push_back(in.value);
    is_static.push_back(in.is_static);
  }
  const std::optional<Value> source = TableSource(spec.nodes, inputs, is_static);
  if (!source) return std::nullopt;
  auto epilogue = MakeEpilogueGraph(*source, NodesBehind(*source, spec.nodes),
                                    source->type().rank() - 1, 1, kBytes);
  if (!epilogue.ok()) return std::nullopt;
  std::vector<NodePtr> nodes;
  for (const NodePtr& node : epilogue->graph.nodes()) {
    if (node->is_op()) nodes.push_back(node);
  }
  const absl::StatusOr<Definition> definition = ComposeNodes(nodes, epilogue->graph.inputs());
  if (!definition.ok()) return std::nullopt;
  const absl::StatusOr<LoopProgram> program = CompileLoops(*definition);
  if (!program.ok()) return std::nullopt;
  std::vector<int64_t> bytes(kBytes);
  for (int64_t b = 0; b < kBytes; ++b) {
    bytes[b] = source->dtype() == DType::kU8 ? b : static_cast<int8_t>(static_cast<uint8_t>(b));
  }
  const auto from = Tensor::FromInts({source->dtype(), {1, kBytes}}, bytes);
  auto to = Tensor::Filled(epilogue->graph.outputs()[0].type(), 0);
  if (!from.ok() || !to.ok()) return std::nullopt;
  std::vector<TensorView> in = {{from->raw(), source->dtype(), {kBytes, 1}}};
  for (size_t i = 0; i < epilogue->operands.size(); ++i) {
    const int input = spec.InputIndex(epilogue->operands[i]);
    if (input < 0 || epilogue->forms[i] != EpilogueGraph::Form::kNumber) return std::nullopt;
    in.push_back({statics[input].raw(), epilogue->operands[i].dtype(), {}});
  }
  const MutableTensorView out = {to->mutable_raw(), to->dtype(), {kBytes, 1}};
  if (!RunIn(ArithmeticOf(nodes), *program, in, {&out, 1}).ok()) return std::nullopt;
  return *std::move(to);
}

}  // namespace lemma::cpu
