// Boxes of positions, from which regions are built.
#ifndef LEMMA_PET_REGIONS_BOX_H_
#define LEMMA_PET_REGIONS_BOX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/tensor.h"

namespace lemma::pet {

// The positions start, start + step, …, start + (count - 1) * step.
struct Range {
  int64_t start = 0, count = 1, step = 1;

  int64_t last() const { return start + (count - 1) * step; }
  bool Contains(int64_t i) const { return i >= start && i <= last() && (i - start) % step == 0; }
  // The n positions of the range from position number `from` on (counted from 0).
  Range Part(int64_t from, int64_t n) const { return {start + from * step, n, step}; }
  // Every m-th position, starting at position number r (counted from 0).
  Range Residue(int64_t r, int64_t m) const {
    return {start + r * step, (count - r + m - 1) / m, step * m};
  }
  friend bool operator==(const Range& a, const Range& b) {
    return a.start == b.start && a.count == b.count && (a.count == 1 || a.step == b.step);
  }
  friend bool operator!=(const Range& a, const Range& b) { return !(a == b); }
};

// One range per dimension: the positions whose indices all lie in these ranges.
using Box = std::vector<Range>;

// All positions of a tensor.
Box WholeBox(const Shape& shape);
int64_t NumPositions(const Box& box);
bool Contains(const Box& box, absl::Span<const int64_t> index);
// Calls visit(index) for each position, the last dimension fastest.
template <class Visit>
void ForEachPosition(const Box& box, Visit visit) {
  std::vector<int64_t> count(box.size(), 0), index;
  for (const Range& r : box) {
    if (r.count == 0) return;
    index.push_back(r.start);
  }
  while (true) {
    visit(index);
    size_t d = box.size();
    while (d > 0 && ++count[d - 1] == box[d - 1].count) {
      --d;
      count[d] = 0;
      index[d] = box[d].start;
    }
    if (d == 0) return;
    index[d - 1] += box[d - 1].step;
  }
}

// "[0:4, 2, 0:13:2, 5]": the first position, one past the last and, unless 1, the step; for a range
// of one position, only this position.
std::string ToString(const Box& box);

// Merges disjoint `boxes` into few disjoint boxes with the same positions. The result is sorted.
std::vector<Box> MergeBoxes(std::vector<Box> boxes);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_BOX_H_
