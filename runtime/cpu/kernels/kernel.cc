#include "runtime/cpu/kernels/kernel.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/cpu/kernels/integers/weight_only_kernel.h"

namespace lemma::cpu {

#define LEMMA_CPU_KERNEL(name) KernelDef Make##name##Kernel();
#include "runtime/cpu/kernels/kernels.inc"
#undef LEMMA_CPU_KERNEL

namespace {

using KernelsByOp = absl::flat_hash_map<std::string, std::vector<const KernelDef*>>;

const KernelsByOp& Registry() {
  static const KernelsByOp* registry = [] {
    const KernelDef* all[] = {
#define LEMMA_CPU_KERNEL(name) new KernelDef(Make##name##Kernel()),
#include "runtime/cpu/kernels/kernels.inc"
#undef LEMMA_CPU_KERNEL
    };
    auto* by_op = new KernelsByOp;
    for (const KernelDef* def : all) {
      for (const std::string& op : def->ops) (*by_op)[op].push_back(def);
    }
    return by_op;
  }();
  return *registry;
}

}  // namespace

const KernelDef* FindKernel(const Node& node) {
  auto defs = Registry().find(node.op().name);
  if (defs == Registry().end()) return nullptr;
  for (const KernelDef* def : defs->second) {
    if (def->accepts(node)) return def;
  }
  return nullptr;
}

NodeTraitsCache& TraitsOfThread() {
  static thread_local NodeTraitsCache cache;
  return cache;
}

const NodeTraits& NodeTraitsOf(const Node& node) { return TraitsOfThread().Of(node); }

int CpuKernelSpec::InputIndex(const Value& v) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].value == v) return static_cast<int>(i);
  }
  return -1;
}

int CpuKernelSpec::OperandIndex(size_t k) const {
  const Value& v = head().inputs()[k];
  const int index = InputIndex(v);
  return index >= 0 ? index : InputIndex(v.node().inputs()[0]);
}

std::string CpuKernelSpec::Signature() const {
  std::string text = def->name;
  if (def == &WeightOnlyKernel()) absl::StrAppend(&text, " ", WeightBitsOf(head()), " bits");
  auto operand = [&](const Operand& o) {
    absl::StrAppend(&text, o.type.ToString(), o.is_static ? " static" : "");
    std::string layout = LayoutName(o.type.shape, o.strides);
    if (layout != "row-major") absl::StrAppend(&text, " ", layout);
  };
  absl::StrAppend(&text, "(");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) absl::StrAppend(&text, ", ");
    operand(inputs[i]);
  }
  absl::StrAppend(&text, ")");
  for (size_t n = 0; n < nodes.size(); ++n) {
    absl::StrAppend(&text, n == 0 ? " {" : "; ", nodes[n]->op().key(), "(");
    for (const Value& v : nodes[n]->inputs()) {
      int index = InputIndex(v);
      if (index >= 0) {
        absl::StrAppend(&text, "i", index, " ");
        continue;
      }
      for (size_t from = 0; from < n; ++from) {
        if (nodes[from] == v.node_ptr()) absl::StrAppend(&text, "n", from, " ");
      }
    }
    if (text.back() == ' ') text.pop_back();
    absl::StrAppend(&text, ")");
    for (const auto& [name, value] : nodes[n]->attrs()) {
      absl::StrAppend(&text, " ", name, "=", ToString(value));
    }
    if (const auto power = KnownExponentOf(*nodes[n])) absl::StrAppend(&text, " ^", *power);
  }
  absl::StrAppend(&text, nodes.empty() ? " -> " : "} -> ");
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (k > 0) absl::StrAppend(&text, ", ");
    operand(outputs[k]);
  }
  return text;
}

Work WorkOf(const CpuKernelSpec& spec) {
  Work work;
  for (const NodePtr& node : spec.nodes) {
    absl::StatusOr<Definition> definition = DefinitionOf(*node);
    absl::StatusOr<Work> counted = definition.ok() ? CountWork(*definition) : definition.status();
    if (counted.ok()) work.flops += counted->flops;
  }
  for (const auto& operand : spec.inputs) work.bytes_read += operand.type.num_bytes();
  if (spec.def == &WeightOnlyKernel()) {
    const TensorType& weight = spec.head().inputs()[1].type();
    const int64_t saved = weight.num_elements() * (32 - WeightBitsOf(spec.head())) / 8;
    work.bytes_read -= static_cast<double>(saved);
  }
  for (const auto& operand : spec.outputs) work.bytes_written += operand.type.num_bytes();
  return work;
}

int ThreadsFor(int64_t floats, int threads) {
  constexpr int64_t kFloatsPerThread = 65536;  // about 10 us, the cost of a second thread
  return static_cast<int>(std::min<int64_t>(threads, 1 + floats / kFloatsPerThread));
}

std::optional<double> KnownExponentOf(const Node& node) {
  const NodeTraits& traits = NodeTraitsOf(node);
  if (!traits.pointwise || !traits.element) return std::nullopt;
  ScalarExpr body = traits.element->body;
  while (body.kind() == ScalarExpr::Kind::kApply && IsStored(body.fn())) {
    body = ScalarExpr(body.args()[0]);
  }
  if (body.kind() != ScalarExpr::Kind::kApply || body.fn() != ScalarFn::kPow) return std::nullopt;
  const ScalarExpr& exponent = body.args()[1];
  if (exponent.kind() != ScalarExpr::Kind::kRead) return std::nullopt;
  const Value& v = node.inputs()[exponent.tensor()];
  if (!v.node().has_payload() || v.type().num_elements() != 1) return std::nullopt;
  return v.node().payload().AtDouble(0);
}

bool IsSumOfTwo(const Node& node) {
  const NodeTraits& traits = NodeTraitsOf(node);
  if (!traits.pointwise || !traits.element || node.inputs().size() != 2) return false;
  const ScalarExpr& body = traits.element->body;
  return body.kind() == ScalarExpr::Kind::kApply && body.fn() == ScalarFn::kAdd &&
         body.args()[0].kind() == ScalarExpr::Kind::kRead &&
         body.args()[1].kind() == ScalarExpr::Kind::kRead &&
         body.args()[0].tensor() != body.args()[1].tensor();
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildKernel(const CpuKernelSpec& spec,
                                                    const StaticValues& statics) {
  absl::StatusOr<std::unique_ptr<Kernel>> kernel = spec.def->build(spec, statics);
  if (absl::IsUnimplemented(kernel.status()) && !spec.nodes.empty()) {
    kernel = DefinitionKernel().build(spec, statics);
  }
  if (kernel.ok()) return kernel;
  return absl::Status(kernel.status().code(),
                      absl::StrCat(spec.Signature(), ": ", kernel.status().message()));
}

}  // namespace lemma::cpu
