// Builds JSON values and prints them.
#ifndef LEMMA_BASE_JSON_H_
#define LEMMA_BASE_JSON_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace lemma {

// A JSON value. Objects keep the order in which members were added.
class Json {
 public:
  Json() = default;  // null
  Json(bool value) : text_(value ? "true" : "false") {}
  Json(int value) : Json(static_cast<int64_t>(value)) {}
  Json(int64_t value) : text_(std::to_string(value)) {}
  Json(double value);             // nine significant digits; null if not finite, which JSON lacks
  Json(absl::string_view value);  // a string; `value` is UTF-8
  Json(const std::string& value) : Json(absl::string_view(value)) {}
  Json(const char* value) : Json(absl::string_view(value)) {}

  static Json Array(const std::vector<double>& values = {});
  static Json Texts(const std::vector<std::string>& texts);  // an array of strings
  static Json Object();

  // Add appends an element to an array. Set adds a member to an object, which must not have this
  // key yet. Both return *this.
  Json& Add(Json value) &;
  Json& Set(absl::string_view key, Json value) &;

  // The text, on one line.
  std::string ToString() const;

 private:
  enum class Kind { kScalar, kArray, kObject };
  Kind kind_ = Kind::kScalar;
  std::string text_ = "null";
  std::vector<std::pair<std::string, Json>> members_;  // the keys are empty in an array
};

}  // namespace lemma

#endif  // LEMMA_BASE_JSON_H_
