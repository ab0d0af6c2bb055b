#include "graph/onnx/quantization/corrections/channel_scales.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/status_macros.h"

namespace lemma {
namespace {

bool IsZeroOrNormal(float x) { return x == 0 || std::isnormal(x); }

}  // namespace

ChannelMap AlongAxis(const Shape& shape, size_t axis) {
  ChannelMap map;
  map.size = shape[axis];
  for (size_t i = axis + 1; i < shape.size(); ++i) map.inner *= shape[i];
  return map;
}

absl::StatusOr<bool> ChannelScales::Read(const ScaledOperand& operand) {
  const auto [entry, is_new] = constants_.try_emplace(KeyOf(operand));
  Constant& constant = entry->second;
  if (!is_new) {
    return std::all_of(constant.elements.begin(), constant.elements.end(),
                       [](float x) { return std::isfinite(x); });
  }
  const std::string& name = index_.graph().node(operand.position).input(operand.operand);
  LEMMA_ASSIGN_OR_RETURN(const Tensor tensor, index_.Constant(name));
  constant.shape = tensor.shape();
  const absl::Span<const float> data = tensor.data<float>();
  constant.elements.assign(data.begin(), data.end());
  return tensor.IsFinite();
}

std::vector<double> ChannelScales::Largest(const ScaledOperand& operand, int64_t count) const {
  const Constant& constant = constants_.at(KeyOf(operand));
  std::vector<double> largest(static_cast<size_t>(count));
  for (size_t i = 0; i < constant.elements.size(); ++i) {
    double& here = largest[static_cast<size_t>(operand.channels.Of(static_cast<int64_t>(i)))];
    here = std::max(here, std::abs(static_cast<double>(constant.elements[i])));
  }
  return largest;
}

void ChannelScales::Refuse(const ScaledOperand& operand, int sign,
                           std::vector<int>* exponents) const {
  const Constant& constant = constants_.at(KeyOf(operand));
  for (size_t i = 0; i < constant.elements.size(); ++i) {
    int& exponent = (*exponents)[static_cast<size_t>(operand.channels.Of(static_cast<int64_t>(i)))];
    const float x = constant.elements[i];
    const float product = std::ldexp(x, sign * exponent);
    // A subnormal number may have lost digits, or an engine may take it as 0.
    const bool is_exact = IsZeroOrNormal(x) && (std::isnormal(product) || x == 0);
    if (!is_exact) exponent = 0;
  }
}

void ChannelScales::Limit(const std::vector<ScaledOperand>& from,
                          const std::vector<ScaledOperand>& to, std::vector<int>* exponents) const {
  for (const ScaledOperand& operand : from) Refuse(operand, -1, exponents);
  for (const ScaledOperand& operand : to) Refuse(operand, 1, exponents);
}

void ChannelScales::Move(const std::vector<ScaledOperand>& from,
                         const std::vector<ScaledOperand>& to, const std::vector<int>& exponents) {
  const auto scale = [&](const ScaledOperand& operand, int sign) {
    Constant& constant = constants_.at(KeyOf(operand));
    for (size_t i = 0; i < constant.elements.size(); ++i) {
      const auto c = static_cast<size_t>(operand.channels.Of(static_cast<int64_t>(i)));
      if (exponents[c] == 0) continue;
      constant.elements[i] = std::ldexp(constant.elements[i], sign * exponents[c]);
      constant.changed = true;
    }
  };
  for (const ScaledOperand& operand : from) scale(operand, -1);
  for (const ScaledOperand& operand : to) scale(operand, 1);
}

absl::Status ChannelScales::Write(ModelEditor* editor) const {
  for (const auto& [key, constant] : constants_) {
    if (!constant.changed) continue;
    const auto [position, operand] = key;
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate({DType::kF32, constant.shape}));
    std::copy(constant.elements.begin(), constant.elements.end(),
              tensor.mutable_data<float>().begin());
    const std::string old = editor->node(position).input(operand);
    editor->node(position).set_input(operand, editor->AddConstant(old + "_scaled", tensor));
    editor->DropIfUnread({old});
  }
  return absl::OkStatus();
}

}  // namespace lemma
