#include "pet/mutants/regroup.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "pet/mutants/layout_move.h"

namespace lemma::pet {
namespace {

constexpr int kMostDims = 4;

Shape Stripped(Shape shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

Shape Permuted(const Shape& shape, const std::vector<int64_t>& perm) {
  Shape permuted;
  for (int64_t p : perm) permuted.push_back(shape[static_cast<size_t>(p)]);
  return permuted;
}

// Merges neighbors unless the bit between them is set.
Shape Grouped(const Shape& shape, unsigned borders) {
  Shape grouped;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == 0 || ((borders >> (d - 1)) & 1) != 0) {
      grouped.push_back(shape[d]);
    } else {
      grouped.back() *= shape[d];
    }
  }
  return grouped;
}

// Whether merging neighbors in `parts` gives the dimensions of `whole`.
bool Groups(const Shape& parts, const Shape& whole) {
  size_t at = 0;
  for (int64_t size : whole) {
    int64_t product = 1;
    while (at < parts.size() && product < size) product *= parts[at++];
    if (product != size) return false;
  }
  return at == parts.size();
}

std::vector<int64_t> FirstOrder(size_t dims) {
  std::vector<int64_t> order(dims);
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

}  // namespace

absl::StatusOr<Value> Applied(const Regroup& regroup, const Value& x) {
  return Rearranged(x, regroup.split, regroup.perm, regroup.shape);
}

int LongDims(const Shape& shape) { return static_cast<int>(Stripped(shape).size()); }

std::vector<Regroup> RegroupsOf(const Shape& shape, bool permute) {
  std::vector<Regroup> found = {{shape, FirstOrder(shape.size()), shape}};
  const Shape dims = Stripped(shape);
  if (dims.empty() || dims.size() > kMostDims) return found;
  std::vector<int64_t> perm = FirstOrder(dims.size());
  std::set<std::pair<std::vector<int64_t>, Shape>> seen = {{perm, shape}};
  auto add = [&](Shape result) {
    if (seen.emplace(perm, result).second) found.push_back({dims, perm, std::move(result)});
  };
  do {
    const unsigned all = 1u << (dims.size() - 1);
    for (unsigned borders = all; borders-- > 0;) {
      const Shape grouped = Grouped(Permuted(dims, perm), borders);
      if (grouped.size() > 1) add(grouped);
      if (dims.size() == kMostDims) continue;
      for (size_t rank : {2, 4}) {
        if (grouped.size() >= rank || (rank == 2 && grouped.size() > 1)) continue;
        Shape behind = grouped, before(rank - grouped.size(), 1);
        behind.resize(rank, 1);
        before.insert(before.end(), grouped.begin(), grouped.end());
        add(std::move(behind));
        add(std::move(before));
      }
    }
  } while (permute && std::next_permutation(perm.begin(), perm.end()));
  return found;
}

std::vector<Regroup> RegroupsTo(const Shape& from, const Shape& to) {
  std::vector<Regroup> found;
  if (from == to) found.push_back({from, FirstOrder(from.size()), to});
  const Shape dims = Stripped(to), whole = Stripped(from);
  if (dims.size() > kMostDims) return found;
  std::vector<int64_t> perm = FirstOrder(dims.size());
  do {
    const Shape split = Permuted(dims, perm);
    if (!Groups(split, whole)) continue;
    std::vector<int64_t> inverse(perm.size());
    for (size_t d = 0; d < perm.size(); ++d) {
      inverse[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
    }
    if (from == to && std::is_sorted(perm.begin(), perm.end())) continue;
    found.push_back({split, std::move(inverse), to});
  } while (std::next_permutation(perm.begin(), perm.end()));
  return found;
}

}  // namespace lemma::pet
