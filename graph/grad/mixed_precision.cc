#include "graph/grad/mixed_precision.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/grad/precision_role.h"

namespace lemma {
namespace {

// The largest finite number of f16 or bf16.
double LargestOf(DType narrow) { return narrow == DType::kF16 ? 65504 : std::ldexp(255.0, 120); }

}  // namespace

MixedPrecision::Origin MixedPrecision::OriginOf(const Value& value) const {
  const Node& node = value.node();
  if (node.is_op()) return origins_.at(&node);
  return {node.kind() == Node::Kind::kInput, node.kind() == Node::Kind::kWeight};
}

// Whether `value`, which follows from no input, holds no number above the largest of `narrow`. The
// numbers of an operator's result count as no larger than those of its operands.
bool MixedPrecision::Fits(const Value& value) {
  const Node& node = value.node();
  const auto known = fits_.find(&node);
  if (known != fits_.end()) return known->second;
  bool fits = true;
  if (node.is_op()) {
    for (const Value& input : node.inputs()) fits = fits && Fits(input);
  } else if (node.has_payload() && IsFloat(node.payload().dtype())) {
    const Tensor& payload = node.payload();
    for (int64_t i = 0; i < payload.size() && fits; ++i) {
      fits = std::abs(payload.AtDouble(i)) <= LargestOf(narrow_);
    }
  }
  return fits_[&node] = fits;
}

MixedPrecision::Form MixedPrecision::Cast(const std::vector<Value>& model,
                                          std::vector<Value> inputs, DType to) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (model[i].dtype() == DType::kF32) inputs[i] = f_.Cast(inputs[i], to);
  }
  return {std::move(inputs), false};
}

MixedPrecision::Form MixedPrecision::FormOf(const Node& node, const std::vector<Value>& inputs) {
  const std::vector<Value>& model = node.inputs();
  Origin origin;
  bool any_narrow = false, all_f32 = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Origin one = OriginOf(model[i]);
    origin = {origin.inputs || one.inputs, origin.weights || one.weights};
    const bool is_f32 = model[i].dtype() == DType::kF32;
    any_narrow = any_narrow || (is_f32 && inputs[i].dtype() == narrow_);
    all_f32 = all_f32 && is_f32;
  }
  origins_[&node] = origin;
  const bool may_be_product = all_f32 && origin.weights;
  if (!any_narrow && !may_be_product) return {inputs, false};
  const PrecisionRole role = PrecisionRoleOf(node);
  if (role.kind == PrecisionRole::Kind::kProduct && may_be_product) {
    ++products_;
    return Cast(model, inputs, narrow_);
  }
  if (!any_narrow) return {inputs, false};
  bool stays_narrow = role.kind == PrecisionRole::Kind::kFollows, all_narrow = true;
  for (size_t i = 0; i < inputs.size() && stays_narrow; ++i) {
    if (model[i].dtype() != DType::kF32) continue;
    if (inputs[i].dtype() == narrow_) {
      all_narrow = all_narrow && !role.repeats[i];
    } else {
      all_narrow = false;
      stays_narrow = !OriginOf(model[i]).inputs && Fits(model[i]);
    }
  }
  if (stays_narrow && all_narrow) return {inputs, false};
  Form form = Cast(model, inputs, DType::kF32);
  form.rounds = stays_narrow;
  return form;
}

std::vector<Value> MixedPrecision::Results(const Form& form, std::vector<Value> outputs) {
  if (!form.rounds) return outputs;
  for (Value& output : outputs) {
    if (output && output.dtype() == DType::kF32) output = f_.Cast(output, narrow_);
  }
  return outputs;
}

}  // namespace lemma
