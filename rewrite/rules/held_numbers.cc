#include "rewrite/rules/held_numbers.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// Relative error. Ten operations in double stay far below it; rounding to f32 is far above it.
constexpr double kMostError = 0x1p-40;
constexpr double kAny = std::numeric_limits<double>::infinity();

std::optional<double> RealOf(const Term& term, const SymbolValues& symbols) {
  auto value = Evaluate(term, symbols);
  auto* real = value ? std::get_if<ScalarExpr>(&*value) : nullptr;
  if (real == nullptr || real->kind() != ScalarExpr::Kind::kConst) return std::nullopt;
  return real->value();
}

// The value of a term as a double; integers are converted.
double NumberOf(const Term& term, const SymbolValues& symbols) {
  auto value = Evaluate(term, symbols);
  auto* index = value ? std::get_if<IndexExpr>(&*value) : nullptr;
  if (index != nullptr && index->is_const()) return static_cast<double>(index->value());
  return RealOf(term, symbols).value_or(std::nan(""));
}

// A bound on the relative error of the real computed for `term` in double. Integers are exact.
double ErrorOf(const Term& term, const SymbolValues& symbols) {
  if (term.kind() != Term::Kind::kCall) return 0;
  const std::optional<double> value = RealOf(term, symbols);
  if (!value) return 0;
  if (!std::isfinite(*value)) return kAny;
  double errors[2] = {}, sizes[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    errors[i] = ErrorOf(term.args()[i], symbols);
    sizes[i] = std::abs(NumberOf(term.args()[i], symbols));
  }
  switch (term.fn()) {
    case TermFn::kMul:
      if (sizes[0] == 0 || sizes[1] == 0) return std::max(errors[0], errors[1]);
      if (std::abs(*value) < DBL_MIN) return kAny;
      return errors[0] + errors[1] + errors[0] * errors[1] + DBL_EPSILON;
    case TermFn::kMin:
    case TermFn::kMax:
      return std::max(errors[0], errors[1]);
    default: {
      const double error = sizes[0] * errors[0] + sizes[1] * errors[1];
      if (error == 0) return DBL_EPSILON;
      return *value == 0 ? kAny : error / std::abs(*value) + DBL_EPSILON;
    }
  }
}

// The type to which the node's attributes are rounded: f64 if one of its tensors is, else its float
// type if it has only one, else f32.
DType WidestOf(const Node& node) {
  std::vector<TensorType> types = node.input_types();
  types.insert(types.end(), node.types().begin(), node.types().end());
  std::optional<DType> widest;
  for (const TensorType& type : types) {
    if (type.dtype == DType::kF64) return type.dtype;
    if (!IsFloat(type.dtype)) continue;
    widest = widest.value_or(type.dtype) == type.dtype ? type.dtype : DType::kF32;
  }
  return widest.value_or(DType::kF32);
}

bool Holds(DType dtype, double value) {
  const auto stored = Tensor::Filled({dtype, {}}, value);
  return stored.ok() && IsRounded(value, stored->AtDouble(0), dtype);
}

bool HoldsFill(const PatternNode& pattern, const Tensor& payload, const SymbolValues& symbols) {
  if (payload.size() == 0) return true;
  auto value = Evaluate(pattern.fill, symbols);
  auto* index = value ? std::get_if<IndexExpr>(&*value) : nullptr;
  if (index != nullptr && !IsFloat(payload.dtype())) {
    // A u64 has no negative value, although AtInt may give one.
    return index->is_const() && payload.AtInt(0) == index->value() &&
           (!IsUnsigned(payload.dtype()) || index->value() >= 0);
  }
  return IsRounded(NumberOf(pattern.fill, symbols), payload.AtDouble(0), payload.dtype()) &&
         ErrorOf(pattern.fill, symbols) <= kMostError;
}

}  // namespace

bool IsRounded(double value, double stored, DType dtype) {
  if (std::isnan(value)) return std::isnan(stored);
  if (value == stored) return true;
  double unit = 0;
  if (dtype == DType::kF32) unit = 0x1p-24;
  if (dtype == DType::kF16) unit = 0x1p-11;
  if (dtype == DType::kBF16) unit = 0x1p-8;
  return std::isfinite(value) && std::isfinite(stored) &&
         std::abs(stored - value) <= unit * std::abs(value);
}

std::string LostNumber(const PatternNode& pattern, const Node& node, const SymbolValues& symbols) {
  if (pattern.op == nullptr) {
    if (!node.has_payload() || HoldsFill(pattern, node.payload(), symbols)) return "";
    return absl::StrCat("the constant ", pattern.fill.ToString(), " is another number as ",
                        Name(node.type(0).dtype));
  }
  for (const auto& [name, term] : pattern.attrs) {
    if (term.kind() == Term::Kind::kSymbol) continue;
    const auto attr = node.attrs().find(name);
    const double* value = attr == node.attrs().end() ? nullptr : std::get_if<double>(&attr->second);
    if (value == nullptr) continue;
    if (!(ErrorOf(term, symbols) <= kMostError)) {
      return absl::StrCat(name, " = ", term.ToString(), " is another number in double");
    }
    if (const DType dtype = WidestOf(node); !Holds(dtype, *value)) {
      return absl::StrCat(name, " = ", term.ToString(), " is another number in ", Name(dtype));
    }
  }
  return "";
}

absl::Status CheckNumbers(const Pattern& side, absl::Span<const NodePtr> nodes,
                          const SymbolValues& symbols) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string lost = LostNumber(side.nodes[i], *nodes[i], symbols);
    if (!lost.empty()) return absl::FailedPreconditionError(lost);
  }
  return absl::OkStatus();
}

}  // namespace lemma
