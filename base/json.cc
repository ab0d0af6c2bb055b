#include "base/json.h"

#include <cmath>
#include <cstdio>

namespace lemma {
namespace {

std::string Quoted(absl::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

Json::Json(double value) {
  if (!std::isfinite(value)) return;
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  text_ = text;
}

Json::Json(absl::string_view value) : text_(Quoted(value)) {}

Json Json::Array(const std::vector<double>& values) {
  Json result;
  result.kind_ = Kind::kArray;
  for (double value : values) result.Add(value);
  return result;
}

Json Json::Texts(const std::vector<std::string>& texts) {
  Json list = Array();
  for (const std::string& text : texts) list.Add(text);
  return list;
}

Json Json::Object() {
  Json result;
  result.kind_ = Kind::kObject;
  return result;
}

Json& Json::Add(Json value) & {
  members_.emplace_back("", std::move(value));
  return *this;
}

Json& Json::Set(absl::string_view key, Json value) & {
  members_.emplace_back(std::string(key), std::move(value));
  return *this;
}

std::string Json::ToString() const {
  if (kind_ == Kind::kScalar) return text_;
  std::string result = kind_ == Kind::kArray ? "[" : "{";
  for (size_t i = 0; i < members_.size(); ++i) {
    if (i > 0) result += ",";
    if (kind_ == Kind::kObject) result += Quoted(members_[i].first) + ":";
    result += members_[i].second.ToString();
  }
  return result + (kind_ == Kind::kArray ? "]" : "}");
}

}  // namespace lemma
