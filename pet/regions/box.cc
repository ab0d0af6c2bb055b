#include "pet/regions/box.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace lemma::pet {
namespace {

using Key = std::tuple<int64_t, int64_t, int64_t>;
Key KeyOf(const Range& r) { return {r.start, r.count, r.count == 1 ? 0 : r.step}; }

// The union of two ranges if it is a range: consecutive or interleaved. a starts first.
std::optional<Range> Joined(const Range& a, const Range& b) {
  const int64_t gap = b.start - a.last();
  const int64_t step = a.count > 1 ? a.step : b.count > 1 ? b.step : gap;
  const bool behind =
      gap == step && (a.count == 1 || a.step == step) && (b.count == 1 || b.step == step);
  if (behind) return Range{a.start, a.count + b.count, step};
  const bool interleaved = a.count == b.count && a.count > 1 && a.step == b.step &&
                           a.step % 2 == 0 && b.start - a.start == a.step / 2;
  if (interleaved) return Range{a.start, 2 * a.count, a.step / 2};
  return std::nullopt;
}

// Merges boxes that differ in dimension `d` only; returns whether any were merged.
bool MergeAlong(size_t d, std::vector<Box>* boxes) {
  std::map<std::vector<Key>, std::vector<Range>> rows;
  for (const Box& box : *boxes) {
    std::vector<Key> rest;
    for (size_t i = 0; i < box.size(); ++i) rest.push_back(i == d ? Key() : KeyOf(box[i]));
    rows[rest].push_back(box[d]);
  }
  std::vector<Box> merged;
  for (auto& [rest, ranges] : rows) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return KeyOf(a) < KeyOf(b); });
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < ranges.size() && !more; ++i) {
        for (size_t j = i + 1; j < ranges.size() && !more; ++j) {
          auto joined = Joined(ranges[i], ranges[j]);
          if (!joined) continue;
          ranges[i] = *joined;
          ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(j));
          more = true;
        }
      }
    }
    for (const Range& range : ranges) {
      Box box;
      for (const auto& [start, count, step] : rest) {
        box.push_back({start, count, std::max<int64_t>(step, 1)});
      }
      box[d] = range;
      merged.push_back(std::move(box));
    }
  }
  const bool changed = merged.size() < boxes->size();
  *boxes = std::move(merged);
  return changed;
}

}  // namespace

Box WholeBox(const Shape& shape) {
  Box box;
  for (int64_t dim : shape) box.push_back({0, dim, 1});
  return box;
}

int64_t NumPositions(const Box& box) {
  int64_t n = 1;
  for (const Range& r : box) n *= r.count;
  return n;
}

bool Contains(const Box& box, absl::Span<const int64_t> index) {
  for (size_t d = 0; d < box.size(); ++d) {
    if (!box[d].Contains(index[d])) return false;
  }
  return true;
}

std::string ToString(const Box& box) {
  std::string out = "[";
  for (size_t d = 0; d < box.size(); ++d) {
    const Range& r = box[d];
    absl::StrAppend(&out, d ? ", " : "", r.start);
    if (r.count != 1) absl::StrAppend(&out, ":", r.count == 0 ? r.start : r.last() + 1);
    if (r.count > 1 && r.step != 1) absl::StrAppend(&out, ":", r.step);
  }
  return out + "]";
}

std::vector<Box> MergeBoxes(std::vector<Box> boxes) {
  if (boxes.empty()) return boxes;
  for (bool changed = true; changed;) {
    changed = false;
    // The last dimension first, to form whole rows.
    for (size_t d = boxes[0].size(); d-- > 0;) changed |= MergeAlong(d, &boxes);
  }
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const Range& x, const Range& y) { return KeyOf(x) < KeyOf(y); });
  });
  return boxes;
}

}  // namespace lemma::pet
