#include "verifier/referee/evidence/known_elements.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "graph/builder.h"
#include "graph/tensor.h"
#include "verifier/referee/evidence/error_bounds.h"

namespace lemma::referee {
namespace {

Value Number(DType dtype, double x) {
  return Value(Node::Constant(*Tensor::FromDoubles({dtype, {}}, {x})), 0);
}

}  // namespace

const char* Name(Known known) {
  switch (known) {
    case Known::kAny:
      return "any";
    case Known::kZeroOrOne:
      return "zero_or_one";
    case Known::kNotNegative:
      return "not_negative";
    case Known::kNotPositive:
      return "not_positive";
    case Known::kElements:
      return "elements";
  }
  return "";
}

Known SignsOf(const BoundedTensor& tensor) {
  bool positive = false, negative = false, mask = tensor.exact();
  for (size_t i = 0; i < tensor.value.size(); ++i) {
    const double x = tensor.value[i];
    const bool is_certain =
        tensor.exact() ? std::isfinite(x)
                       : tensor.magnitude[i] == 0 ||
                             std::abs(x) > BoundOf(tensor.magnitude[i], tensor.roundings[i]);
    if (!is_certain) return Known::kAny;
    (std::signbit(x) ? negative : positive) = true;
    mask &= x == 0 || x == 1;
    if (positive && negative) break;
  }
  if (positive == negative) return Known::kAny;
  if (negative) return Known::kNotPositive;
  return mask ? Known::kZeroOrOne : Known::kNotNegative;
}

DType InputTypeFor(Known known, DType dtype) {
  return known == Known::kZeroOrOne ? DType::kBool : dtype;
}

absl::StatusOr<Value> Restricted(Known known, DType dtype, const Value& input) {
  switch (known) {
    case Known::kAny:
      return input;
    case Known::kZeroOrOne:
      return Apply1("where", {input, Number(dtype, 1), Number(dtype, 0)});
    case Known::kNotNegative:
    case Known::kNotPositive: {
      auto size = Apply1("abs", {input});
      if (!size.ok() || known == Known::kNotNegative) return size;
      return Apply1("neg", {*size});
    }
    case Known::kElements:
      break;
  }
  return absl::InvalidArgumentError("a value with known elements is a constant");
}

std::optional<Value> AsConstant(const Value& value, ConstantEvaluator* evaluator) {
  if (!IsFloat(value.dtype())) return std::nullopt;
  const auto computed = evaluator->Of(value);
  if (computed == nullptr || !computed->exact()) return std::nullopt;
  for (const double x : computed->value) {
    if (!std::isfinite(x)) return std::nullopt;
  }
  auto tensor = Tensor::FromDoubles(value.type(), computed->value);
  if (!tensor.ok()) return std::nullopt;
  return Value(Node::Constant(*std::move(tensor)), 0);
}

}  // namespace lemma::referee
