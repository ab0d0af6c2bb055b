// Writes the text of random graphs.
#ifndef LEMMA_TESTS_RUNTIME_BLOCKS_SPELLER_H_
#define LEMMA_TESTS_RUNTIME_BLOCKS_SPELLER_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "graph/tensor.h"

namespace lemma {

// The shape as text, such as "[2,3]".
inline std::string Dims(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

// Writes the text of a graph (graph/text/text.h), line by line. Functions that add operators return
// the name of the result.
class Speller {
 public:
  explicit Speller(uint64_t seed) : random_(seed) {}

  // Random choices: a number in [0, n), a truth value, an element of `all`.
  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool Flip() { return Pick(2) == 0; }
  template <typename T>
  T OneOf(const std::vector<T>& all) {
    return all[Pick(static_cast<int>(all.size()))];
  }

  // A new input "NAME_N". InputsOf (cascade_spellings.h) chooses its values by NAME.
  std::string Input(const std::string& name, const std::string& type, const Shape& shape) {
    const std::string full = absl::StrCat(name, "_", ++used_);
    inputs_.push_back(absl::StrCat(full, ": ", type, Dims(shape)));
    return full;
  }
  // Adds an operator. In `format`, $0, $1, … stand for the further arguments.
  template <typename... T>
  std::string Op(const char* format, const T&... args) {
    const std::string name = absl::StrCat("v", ++used_);
    absl::StrAppend(&body_, "  ", name, " = ", absl::Substitute(format, args...), "\n");
    return name;
  }
  // Constants: an f32 scalar, an i64 scalar, a tensor of these values.
  std::string Number(double value) { return Op("constant f32[] fill $0", Literal(value)); }
  std::string Integer(int64_t value) { return Op("constant i64[] fill $0", value); }
  std::string Numbers(const std::string& type, const Shape& shape,
                      const std::vector<std::string>& values) {
    return Op("constant $0$1 [$2]", type, Dims(shape), absl::StrJoin(values, ","));
  }
  std::string Reshape(const std::string& x, const Shape& shape) {
    return Op("reshape($0) {shape = $1}", x, Dims(shape));
  }
  std::string Transpose(const std::string& x, const std::vector<int64_t>& perm) {
    return Op("transpose($0) {perm = $1}", x, Dims(perm));
  }
  std::string Add(const std::string& a, const std::string& b) {
    return Flip() ? Op("add($0, $1)", a, b) : Op("add($0, $1)", b, a);
  }
  std::string Mul(const std::string& a, const std::string& b) {
    return Flip() ? Op("mul($0, $1)", a, b) : Op("mul($0, $1)", b, a);
  }
  // a * factor, in one of several ways.
  std::string Scaled(const std::string& a, double factor) {
    switch (Pick(3)) {
      case 0:
        return Mul(a, Number(factor));
      case 1:
        return Op("div($0, $1)", a, Number(1 / factor));
      default:
        return Op("scalar_mul($0) {alpha = $1}", a, Literal(factor));
    }
  }
  // The whole text. The only output is y = -result.
  std::string Finish(const std::string& result) {
    return absl::StrCat("graph g(", absl::StrJoin(inputs_, ", "), ") {\n", body_, "  y = neg(",
                        result, ")\n  return y\n}");
  }

 private:
  static std::string Literal(double value) {
    std::string text = absl::StrCat(value);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }

  std::mt19937_64 random_;
  std::vector<std::string> inputs_;
  std::string body_;
  int used_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_BLOCKS_SPELLER_H_
