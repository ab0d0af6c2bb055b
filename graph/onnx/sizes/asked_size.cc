#include "graph/onnx/sizes/asked_size.h"

#include <algorithm>
#include <map>

#include "graph/expr/substitute.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

// Whether `size` is known to be at least `least` if the range of its dimension `dim` is `range`
// instead of `before`.
bool IsEnough(int64_t size, int64_t least, const std::string& dim, const SizeRange& before,
              const SizeRange& range) {
  ExprSubstitution narrower;
  narrower.symbols.emplace(SymbolicDim(dim, before).name(), SymbolicDim(dim, range));
  const auto narrowed = ToSize(Substitute(ToExpr(size), narrower));
  return narrowed && IsAtLeast(*narrowed, least);
}

}  // namespace

std::optional<std::pair<std::string, int64_t>> LeastLength(const AskedSize& asked) {
  constexpr int64_t kLongest = int64_t{1} << 16;
  std::map<std::string, SizeRange> dims;
  CollectDims(asked.size, &dims);
  if (dims.size() != 1 || IsResultSize(dims.begin()->second)) return std::nullopt;
  const std::string& name = dims.begin()->first;
  const SizeRange& range = dims.begin()->second;
  const int64_t most = std::min(range.most, kLongest);
  const auto is_enough = [&](int64_t length) {
    return IsEnough(asked.size, asked.least, name, range, {length, range.most});
  };
  // Ranges become narrower as the length grows, so what is known stays known.
  int64_t short_of = range.least, enough = range.least;
  while (!is_enough(enough)) {
    if (enough >= most) return std::nullopt;
    short_of = enough;
    enough = std::min(std::max<int64_t>(2 * enough, 1), most);
  }
  while (enough - short_of > 1) {
    const int64_t middle = short_of + (enough - short_of) / 2;
    (is_enough(middle) ? enough : short_of) = middle;
  }
  return std::pair(name, enough);
}

}  // namespace lemma
