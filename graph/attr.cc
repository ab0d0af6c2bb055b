#include "graph/attr.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

// The shortest of the usual precisions that reads back to the same double. The text always has a
// point, an exponent or a name, so that it is not read as an integer.
std::string FloatToString(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::string text;
  for (int precision : {6, 9, 15, 16, 17}) {
    text = absl::StrFormat("%.*g", precision, v);
    if (std::strtod(text.c_str(), nullptr) == v) break;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

uint64_t DoubleBits(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, 8);
  return bits;
}

bool SameFloats(const double* a, const double* b, size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(double)) == 0;
}

bool SameValue(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* number = std::get_if<double>(&a)) {
    return SameFloats(number, &std::get<double>(b), 1);
  }
  if (const auto* list = std::get_if<std::vector<double>>(&a)) {
    const auto& other = std::get<std::vector<double>>(b);
    return list->size() == other.size() && SameFloats(list->data(), other.data(), list->size());
  }
  return a == b;
}

}  // namespace

bool SameAttrs(const Attrs& a, const Attrs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && SameValue(x.second, y.second);
  });
}

uint64_t HashAttrs(const Attrs& attrs) {
  uint64_t h = 0x51ed270b;
  for (const auto& [name, value] : attrs) {
    h = HashCombine(HashCombine(h, HashString(name)), value.index());
    if (auto* i = std::get_if<int64_t>(&value)) h = HashCombine(h, static_cast<uint64_t>(*i));
    if (auto* d = std::get_if<double>(&value)) h = HashCombine(h, DoubleBits(*d));
    if (auto* s = std::get_if<std::string>(&value)) h = HashCombine(h, HashString(*s));
    if (auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      h = HashCombine(h, list->size());
      for (int64_t i : *list) h = HashCombine(h, static_cast<uint64_t>(i));
    }
    if (auto* list = std::get_if<std::vector<double>>(&value)) {
      h = HashCombine(h, list->size());
      for (double d : *list) h = HashCombine(h, DoubleBits(d));
    }
  }
  return h;
}

std::string ToString(const AttrValue& value) {
  switch (KindOf(value)) {
    case AttrKind::kInt:
      return SizeName(std::get<int64_t>(value));
    case AttrKind::kFloat:
      return FloatToString(std::get<double>(value));
    case AttrKind::kString: {
      std::string quoted = "\"";
      for (unsigned char c : std::get<std::string>(value)) {
        if (c == '"' || c == '\\') {
          quoted += '\\';
          quoted += static_cast<char>(c);
        } else if (c < 0x20 || c >= 0x7f) {
          absl::StrAppendFormat(&quoted, "\\x%02x", c);
        } else {
          quoted += static_cast<char>(c);
        }
      }
      return quoted + "\"";
    }
    case AttrKind::kInts: {
      auto format = [](std::string* out, int64_t v) { out->append(SizeName(v)); };
      return absl::StrCat("[", absl::StrJoin(std::get<std::vector<int64_t>>(value), ", ", format),
                          "]");
    }
    case AttrKind::kFloats: {
      auto format = [](std::string* out, double v) { out->append(FloatToString(v)); };
      return absl::StrCat("[", absl::StrJoin(std::get<std::vector<double>>(value), ", ", format),
                          "]");
    }
  }
  return "?";
}

ExprAttrs ToExprAttrs(const Attrs& attrs) {
  ExprAttrs result;
  for (const auto& [name, value] : attrs) {
    switch (KindOf(value)) {
      case AttrKind::kInt:
        result[name] = ToExpr(std::get<int64_t>(value));
        break;
      case AttrKind::kFloat:
        result[name] = ScalarExpr(std::get<double>(value));
        break;
      case AttrKind::kString:
        result[name] = std::get<std::string>(value);
        break;
      case AttrKind::kInts:
        result[name] = ToExprs(std::get<std::vector<int64_t>>(value));
        break;
      case AttrKind::kFloats:
        result[name] = std::get<std::vector<double>>(value);
        break;
    }
  }
  return result;
}

}  // namespace lemma
