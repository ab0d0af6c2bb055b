#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

int64_t Align(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool LiveTogether(const BufferLife& a, const BufferLife& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

std::vector<int64_t> LiveBytes(absl::Span<const BufferLife> buffers, size_t steps,
                               int64_t alignment) {
  std::vector<int64_t> live(steps + 1, 0);
  for (const BufferLife& b : buffers) {
    live[b.first] += Align(b.bytes, alignment);
    live[b.last + 1] -= Align(b.bytes, alignment);
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  return live;
}

MemoryPlan PlanMemory(absl::Span<const BufferLife> buffers, int64_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  size_t steps = 0;
  for (const BufferLife& b : buffers) steps = std::max<size_t>(steps, b.last + 1);
  for (int64_t bytes : LiveBytes(buffers, steps, alignment)) {
    plan.live_bytes = std::max(plan.live_bytes, bytes);
  }
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return buffers[a].bytes > buffers[b].bytes; });

  std::vector<int> placed;  // by offset
  for (int id : order) {
    const int64_t size = Align(buffers[id].bytes, alignment);
    int64_t free_from = 0, best_offset = -1, best_gap = 0;
    for (int other : placed) {
      if (!LiveTogether(buffers[id], buffers[other])) continue;
      int64_t gap = plan.offsets[other] - free_from;
      if (gap >= size && (best_offset < 0 || gap < best_gap)) {
        best_offset = free_from;
        best_gap = gap;
      }
      free_from = std::max(free_from, plan.offsets[other] + Align(buffers[other].bytes, alignment));
    }
    plan.offsets[id] = best_offset >= 0 ? best_offset : free_from;
    plan.total_bytes = std::max(plan.total_bytes, plan.offsets[id] + size);
    auto at = std::upper_bound(placed.begin(), placed.end(), id,
                               [&](int a, int b) { return plan.offsets[a] < plan.offsets[b]; });
    placed.insert(at, id);
  }
  return plan;
}

absl::Status CheckMemoryPlan(absl::Span<const BufferLife> buffers, const MemoryPlan& plan) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int64_t begin = plan.offsets[i], end = begin + buffers[i].bytes;
    if (begin < 0 || end > plan.total_bytes) {
      return absl::InternalError(absl::StrCat("buffer ", i, " leaves the arena"));
    }
    for (size_t j = 0; j < i; ++j) {
      if (!LiveTogether(buffers[i], buffers[j])) continue;
      if (begin < plan.offsets[j] + buffers[j].bytes && plan.offsets[j] < end) {
        return absl::InternalError(absl::StrCat("buffers ", j, " and ", i, " overlap"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace lemma
