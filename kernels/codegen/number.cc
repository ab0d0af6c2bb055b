#include "kernels/codegen/number.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/expr/arithmetic.h"
#include "kernels/codegen/grid_program.h"

namespace lemma::codegen {

Number NumberFor(const Definition& definition) {
  switch (ArithmeticFor(definition)) {
    case Arithmetic::kFloat:
      return Number::kFloat;
    case Arithmetic::kDouble:
      return Number::kDouble;
    case Arithmetic::kInteger:
      return Number::kInteger;
  }
  return Number::kDouble;
}

const char* TypeName(Number number) {
  switch (number) {
    case Number::kFloat:
      return "float";
    case Number::kDouble:
      return "double";
    case Number::kInteger:
      return "int64";
  }
  return "";
}

const char* TypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI64:
      return "int64";
    case DType::kI32:
      return "int";
    case DType::kI8:
      return "signed char";
    case DType::kU8:
      return "unsigned char";
    case DType::kBool:
      return "truth";
    case DType::kI16:
      return "short";
    case DType::kU16:
      return "unsigned short";
    case DType::kU32:
      return "unsigned int";
    case DType::kU64:
      return "uint64";
    default:
      break;
  }
  return "";
}

const char* ReduceFunction(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return "fn_add";
    case ReduceKind::kProd:
      return "fn_mul";
    case ReduceKind::kMax:
      return "fn_max";
    case ReduceKind::kMin:
      return "fn_min";
  }
  return "";
}

const char* ReduceName(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return "Sum";
    case ReduceKind::kProd:
      return "Prod";
    case ReduceKind::kMax:
      return "Max";
    case ReduceKind::kMin:
      return "Min";
  }
  return "";
}

double IdentityOf(ReduceKind kind) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ReduceKind::kSum:
      return 0;
    case ReduceKind::kProd:
      return 1;
    case ReduceKind::kMax:
      return -kInf;
    case ReduceKind::kMin:
      return kInf;
  }
  return 0;
}

std::string Literal(double value, Number number) {
  if (number == Number::kInteger) {
    // Saturated, and 0 for NaN, as when a real is stored.
    if (std::isnan(value)) return "int64(0)";
    if (value >= 9223372036854775808.0) return "0x7fffffffffffffffll";
    if (value <= -9223372036854775808.0) return "(-0x7fffffffffffffffll - 1)";
    return absl::StrCat("int64(", static_cast<int64_t>(value), "ll)");
  }
  const std::string type = TypeName(number);
  if (std::isnan(value)) return type + "(NotANumber())";
  if (std::isinf(value)) return absl::StrCat(type, "(", value < 0 ? "-" : "", "Infinity())");
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  std::string digits = text;
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  if (number == Number::kFloat) {
    // Rounded here, since the decimal's nearest float could differ.
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(static_cast<float>(value)));
    digits = text;
    if (digits == "inf" || digits == "-inf") return Literal(std::copysign(HUGE_VAL, value), number);
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    digits += "f";
  }
  return value < 0 || std::signbit(value) ? absl::StrCat("(", digits, ")") : digits;
}

}  // namespace lemma::codegen
