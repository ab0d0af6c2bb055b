#include "runtime/plan/layout.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lemma {

Strides ChannelsLast(const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  std::vector<int> order = {0};
  for (int d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return DenseInOrder(shape, order);
}

bool SameLayout(const Shape& shape, const Strides& a, const Strides& b) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && a[d] != b[d]) return false;
  }
  return true;
}

bool IsDense(const Shape& shape, const Strides& strides) {
  return SameLayout(shape, strides, DenseInOrder(shape, DimOrder(shape, strides)));
}

int64_t SpanOf(const Shape& shape, const Strides& strides) {
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    last += (shape[d] - 1) * strides[d];
  }
  return last + 1;
}

std::vector<int> DimOrder(const Shape& shape, const Strides& strides) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> large;
  for (int d : order) {
    if (shape[d] != 1) large.push_back(d);
  }
  std::stable_sort(large.begin(), large.end(),
                   [&](int a, int b) { return strides[a] > strides[b]; });
  size_t next = 0;
  for (int& d : order) {
    if (shape[d] != 1) d = large[next++];
  }
  return order;
}

Strides DenseInOrder(const Shape& shape, const std::vector<int>& order) {
  Strides strides(shape.size(), 1);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(shape[order[i]], 1);
  }
  return strides;
}

std::optional<Strides> ReshapedView(const Shape& from, const Strides& strides, const Shape& to) {
  if (NumElements(from) == 0) return RowMajorStrides(to);
  Strides result(to.size(), 1);
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The smallest groups of dimensions of equal size on both sides.
    size_t i_end = i, j_end = j;
    int64_t size_from = 1, size_to = 1;
    do {
      if (i_end < from.size() && (size_from <= size_to || j_end == to.size())) {
        size_from *= from[i_end++];
      } else if (j_end < to.size()) {
        size_to *= to[j_end++];
      } else {
        return std::nullopt;
      }
    } while (size_from != size_to);
    // The source group must be one run with equal steps.
    int64_t step = 1, expected = 0;
    bool any = false;
    for (size_t k = i_end; k-- > i;) {
      if (from[k] == 1) continue;
      if (!any) {
        step = strides[k];
        any = true;
      } else if (strides[k] != expected) {
        return std::nullopt;
      }
      expected = strides[k] * from[k];
    }
    int64_t stride = step;
    for (size_t k = j_end; k-- > j;) {
      result[k] = stride;
      stride *= to[k];
    }
    i = i_end;
    j = j_end;
  }
  return result;
}

std::optional<int64_t> RowStepOf(const Shape& shape, const Strides& strides, int64_t columns) {
  const int64_t elements = NumElements(shape);
  if (columns < 1 || elements < 1 || elements % columns != 0) return std::nullopt;
  Shape in_memory;
  Strides steps;
  for (const int d : DimOrder(shape, strides)) {
    in_memory.push_back(shape[d]);
    steps.push_back(strides[d]);
  }
  const auto rows = ReshapedView(in_memory, steps, {elements / columns, columns});
  if (!rows || (columns > 1 && (*rows)[1] != 1)) return std::nullopt;
  if (elements == columns) return columns;
  return (*rows)[0] >= columns ? std::make_optional((*rows)[0]) : std::nullopt;
}

std::string LayoutName(const Shape& shape, const Strides& strides) {
  if (SameLayout(shape, strides, RowMajorStrides(shape))) return "row-major";
  if (shape.size() >= 3 && SameLayout(shape, strides, ChannelsLast(shape))) return "channels-last";
  return absl::StrCat("(", absl::StrJoin(strides, ","), ")");
}

}  // namespace lemma
