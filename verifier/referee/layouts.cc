#include "verifier/referee/layouts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "graph/builder.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::referee {
namespace {

constexpr size_t kMaxPerValue = 6, kMaxDerived = 1500;
constexpr int kMaxRank = 5;

bool Near(double a, double b, double scale) { return std::abs(a - b) <= kAlikeDistance * scale; }

// Whether two values may have the same elements in different orders.
bool SameElements(const Sketch& a, const Sketch& b) {
  return Near(a.scale, b.scale, std::max(a.scale, b.scale)) &&
         Near(a.squares, b.squares, std::max(a.squares, b.squares)) &&
         Near(a.sum, b.sum, a.sum_of_magnitudes);
}

}  // namespace

std::vector<std::vector<int64_t>> OrdersBetween(const Shape& from, const Shape& to) {
  std::vector<std::vector<int64_t>> orders;
  if (from.size() != to.size() || from.size() > kMaxRank) return orders;
  std::vector<int64_t> order(from.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    bool fits = true, moves = false;
    int64_t last = -1;  // dimensions of size 1 keep their order: it does not matter
    for (size_t d = 0; d < order.size(); ++d) {
      fits &= from[order[d]] == to[d];
      moves |= order[d] != static_cast<int64_t>(d);
      if (to[d] != 1) continue;
      fits &= order[d] > last;
      last = order[d];
    }
    if (fits && moves) orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

std::vector<Value> OtherLayouts(const Graph& before, const Graph& after, const Sketches& in_before,
                                const Sketches& in_after) {
  std::map<std::pair<DType, int64_t>, std::vector<Value>> by_size;
  for (const NodePtr& node : before.nodes()) {
    for (int o = 0; o < node->num_outputs(); ++o) {
      const Value value(node, o);
      if (in_before.count(value) == 0) continue;
      by_size[{value.dtype(), ProductOf(value.shape())}].push_back(value);
    }
  }
  std::vector<Value> derived;
  absl::flat_hash_set<Value> seen;
  auto add = [&](const absl::StatusOr<Value>& value) {
    if (value.ok() && seen.insert(*value).second) derived.push_back(*value);
  };
  for (const NodePtr& node : after.nodes()) {
    for (int o = 0; o < node->num_outputs() && node->is_op(); ++o) {
      const Value value(node, o);
      auto sketch = in_after.find(value);
      auto found = by_size.find({value.dtype(), ProductOf(value.shape())});
      if (sketch == in_after.end() || found == by_size.end() || derived.size() > kMaxDerived) {
        continue;
      }
      auto is_plain = [&](const Value& candidate) {
        return candidate.type() == value.type() &&
               Distance(in_before.at(candidate), sketch->second) <= kAlikeDistance;
      };
      if (std::any_of(found->second.begin(), found->second.end(), is_plain)) continue;
      const size_t begin = derived.size();
      for (const Value& candidate : found->second) {
        if (derived.size() >= begin + kMaxPerValue) break;
        if (!SameElements(in_before.at(candidate), sketch->second)) continue;
        if (candidate.type() != value.type() &&
            Distance(in_before.at(candidate), sketch->second) <= kAlikeDistance) {
          add(Apply1("reshape", {candidate}, {{"shape", value.shape()}}));
          continue;
        }
        for (const auto& order : OrdersBetween(candidate.shape(), value.shape())) {
          add(Apply1("transpose", {candidate}, {{"perm", order}}));
        }
      }
    }
  }
  return derived;
}

}  // namespace lemma::referee
