#include "runtime/cpu/kernels/bf16_products.h"

#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {
namespace {

// Whether the node gives its operand's elements, each in its place, in another type.
bool Converts(const Node& node, DType from, DType to) {
  if (!node.is_op() || node.inputs().size() != 1 || node.num_outputs() != 1) return false;
  if (node.inputs()[0].dtype() != from || node.type(0).dtype != to) return false;
  const NodeTraits& traits = NodeTraitsOf(node);
  return traits.pointwise && traits.element && node.type(0).shape == node.inputs()[0].shape() &&
         traits.element->body.kind() == ScalarExpr::Kind::kRead;
}

}  // namespace

bool HasBf16Products() {
  static const bool has = [] {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return has;
}

bool WidensBf16(const Node& node) { return Converts(node, DType::kBF16, DType::kF32); }
bool RoundsToBf16(const Node& node) { return Converts(node, DType::kF32, DType::kBF16); }

bool MultipliesBf16(const Node& head) {
  return HasBf16Products() && WidensBf16(head.inputs()[0].node()) && WidensBf16(head.inputs()[1].node()) &&
         !IsStaticValue(head.inputs()[0]);
}

}  // namespace lemma::cpu
