// Parses and prints the values of weights and constants in the text form.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/dtypes/packed_values.h"
#include "graph/text/text.h"

namespace lemma::text {
namespace {

constexpr int64_t kLongestList = 16;
constexpr int64_t kLargestFill = int64_t{1} << 30;

bool IsIntegral(DType dtype) { return !IsReal(dtype); }

// Stores the literal as element `i` of `tensor`.
absl::Status Store(const Expr& expr, Tensor* tensor, int64_t i, absl::string_view file) {
  auto literal = LiteralAttr(expr, file);
  if (!literal.ok()) return literal.status();
  TensorType one{tensor->dtype(), {}};
  absl::StatusOr<Tensor> element;
  if (auto* integer = std::get_if<int64_t>(&*literal)) {
    element = Tensor::FromInts(one, {*integer});
    const bool fits = element.ok() && (IsReal(one.dtype) || element->AtInt(0) == *integer) &&
                      (!IsUnsigned(one.dtype) || *integer >= 0);
    if (!fits) {
      return ErrorAt(file, expr.position,
                     absl::StrCat(*integer, " does not fit in ", lemma::Name(one.dtype)));
    }
  } else if (auto* real = std::get_if<double>(&*literal); real && !IsIntegral(one.dtype)) {
    element = Tensor::FromDoubles(one, {*real});
  } else {
    return ErrorAt(file, expr.position,
                   absl::StrCat("an element of type ", lemma::Name(one.dtype), " must be ",
                                IsIntegral(one.dtype) ? "an integer" : "a number"));
  }
  if (!element.ok()) return element.status();
  int64_t size = SizeOf(one.dtype);
  std::memcpy(static_cast<char*>(tensor->mutable_raw()) + i * size, element->raw(),
              static_cast<size_t>(size));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ReadBase64(const TensorType& type, const Payload& payload,
                                  absl::string_view file) {
  std::string bytes;
  if (!absl::Base64Unescape(payload.base64, &bytes)) {
    return ErrorAt(file, payload.position, "the values are not base64");
  }
  if (static_cast<int64_t>(bytes.size()) != type.num_bytes()) {
    return ErrorAt(file, payload.position,
                   absl::StrCat(type.ToString(), " takes ", type.num_bytes(),
                                " bytes, the base64 holds ", bytes.size()));
  }
  auto tensor = Tensor::Allocate(type);
  if (tensor.ok() && !bytes.empty()) std::memcpy(tensor->mutable_raw(), bytes.data(), bytes.size());
  if (tensor.ok() && !HoldsValues(*tensor)) {
    return ErrorAt(file, payload.position,
                   absl::StrCat("a byte is no value of ", lemma::Name(type.dtype)));
  }
  return tensor;
}

absl::StatusOr<Tensor> ReadList(const TensorType& type, const Payload& payload,
                                absl::string_view file) {
  if (static_cast<int64_t>(payload.values.size()) != type.num_elements()) {
    return ErrorAt(file, payload.position,
                   absl::StrCat(type.ToString(), " takes ", type.num_elements(), " values, ",
                                payload.values.size(), " are given"));
  }
  auto tensor = Tensor::Allocate(type);
  for (size_t i = 0; tensor.ok() && i < payload.values.size(); ++i) {
    absl::Status status = Store(payload.values[i], &*tensor, static_cast<int64_t>(i), file);
    if (!status.ok()) return status;
  }
  return tensor;
}

absl::StatusOr<Tensor> ReadFill(const TensorType& type, const Payload& payload,
                                absl::string_view file, int64_t* budget) {
  if (type.num_bytes() > *budget) {
    return ErrorAt(file, payload.position,
                   absl::StrCat("a fill of ", type.ToString(), " takes ", type.num_bytes(),
                                " bytes, ", *budget, " are left for this text"));
  }
  *budget -= type.num_bytes();
  auto tensor = Tensor::Allocate(type);
  if (!tensor.ok() || type.num_elements() == 0) return tensor;
  absl::Status status = Store(payload.values[0], &*tensor, 0, file);
  if (!status.ok()) return status;
  // Doubles the filled part until everything is filled.
  char* bytes = static_cast<char*>(tensor->mutable_raw());
  int64_t total = type.num_bytes();
  for (int64_t filled = SizeOf(type.dtype); filled < total;) {
    int64_t step = std::min(filled, total - filled);
    std::memcpy(bytes + filled, bytes, static_cast<size_t>(step));
    filled += step;
  }
  return tensor;
}

bool IsUniform(const Tensor& tensor) {
  const char* bytes = static_cast<const char*>(tensor.raw());
  size_t size = static_cast<size_t>(SizeOf(tensor.dtype()));
  size_t total = static_cast<size_t>(tensor.type().num_bytes());
  return total >= size && std::memcmp(bytes, bytes + size, total - size) == 0;
}

// Whether element `i` survives printing as a number; a NaN with an unusual payload does not, nor
// does a u64 from 2^63 on.
bool Prints(const Tensor& tensor, int64_t i) {
  if (IsIntegral(tensor.dtype())) {
    // The text form's integers have 63 bits and a sign.
    if (tensor.dtype() == DType::kU64) return tensor.AtInt(i) >= 0;
    // A bool is stored as a byte, which may hold anything.
    return tensor.dtype() != DType::kBool || tensor.data<uint8_t>()[i] <= 1;
  }
  return !std::isnan(tensor.AtDouble(i));
}

// The shortest number that reads back as the element.
std::string PrintElement(const Tensor& tensor, int64_t i) {
  if (IsIntegral(tensor.dtype())) return absl::StrCat(tensor.AtInt(i));
  double value = tensor.AtDouble(i);
  std::string exact = ToString(AttrValue(value));
  if (std::isinf(value)) return exact;
  for (int precision = 1; precision <= 9; ++precision) {
    std::string text = absl::StrFormat("%.*g", precision, value);
    auto again = Tensor::FromDoubles({tensor.dtype(), {}}, {std::strtod(text.c_str(), nullptr)});
    if (!again.ok() || again->AtDouble(0) != value) continue;
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text.size() < exact.size() ? text : exact;
  }
  return exact;
}

}  // namespace

absl::StatusOr<Tensor> ReadPayload(const TensorType& type, const Payload& payload,
                                   absl::string_view file, int64_t* fill_budget) {
  switch (payload.kind) {
    case Payload::Kind::kFill:
      return ReadFill(type, payload, file, fill_budget);
    case Payload::Kind::kList:
      return ReadList(type, payload, file);
    case Payload::Kind::kBase64:
      return ReadBase64(type, payload, file);
    case Payload::Kind::kElided:
      return ErrorAt(file, payload.position, "the values were left out when this was printed");
    case Payload::Kind::kNone:
      break;
  }
  return ErrorAt(file, payload.position, "the values are missing");
}

std::string PrintPayload(const Tensor& tensor, bool elide) {
  int64_t n = tensor.size();
  if (n > 0 && tensor.type().num_bytes() <= kLargestFill && Prints(tensor, 0) &&
      IsUniform(tensor)) {
    return absl::StrCat("fill ", PrintElement(tensor, 0));
  }
  bool prints = n <= kLongestList;
  for (int64_t i = 0; prints && i < n; ++i) prints = Prints(tensor, i);
  if (prints) {
    std::string list;
    for (int64_t i = 0; i < n; ++i) absl::StrAppend(&list, i ? ", " : "", PrintElement(tensor, i));
    return absl::StrCat("[", list, "]");
  }
  if (elide) return "...";
  return absl::StrCat("base64 \"",
                      absl::Base64Escape(absl::string_view(static_cast<const char*>(tensor.raw()),
                                                           tensor.type().num_bytes())),
                      "\"");
}

}  // namespace lemma::text
