#include "kernels/lanes/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/parallel.h"

namespace lemma {
namespace {

constexpr int64_t kTile = 32;

// Copies a plane: `inner` runs along the destination, and `outer` along the source if it is a
// transpose.
template <class E>
void CopyPlane(E* to, const E* from, const CopyAxis& outer, const CopyAxis& inner) {
  if (inner.to_stride == 1 && inner.from_stride == 1) {
    for (int64_t i = 0; i < outer.extent; ++i) {
      std::memcpy(to + i * outer.to_stride, from + i * outer.from_stride, inner.extent * sizeof(E));
    }
    return;
  }
  // Copies through a buffer, so that source and destination are each accessed along their own
  // lines, at any stride.
  E buffer[kTile * (kTile + 1)];
  for (int64_t i0 = 0; i0 < outer.extent; i0 += kTile) {
    const int64_t rows = std::min(kTile, outer.extent - i0);
    for (int64_t j0 = 0; j0 < inner.extent; j0 += kTile) {
      const int64_t columns = std::min(kTile, inner.extent - j0);
      const E* source = from + i0 * outer.from_stride + j0 * inner.from_stride;
      for (int64_t j = 0; j < columns; ++j) {
        const E* line = source + j * inner.from_stride;
        E* buffered = buffer + j * (kTile + 1);
        for (int64_t i = 0; i < rows; ++i) buffered[i] = line[i * outer.from_stride];
      }
      for (int64_t i = 0; i < rows; ++i) {
        E* line = to + (i0 + i) * outer.to_stride + j0 * inner.to_stride;
        for (int64_t j = 0; j < columns; ++j) {
          line[j * inner.to_stride] = buffer[j * (kTile + 1) + i];
        }
      }
    }
  }
}

template <class E>
void Copy(E* to, const E* from, const std::vector<CopyAxis>& axes, int threads) {
  const size_t loops = axes.size() - 2;
  const CopyAxis &outer = axes[loops], &inner = axes[loops + 1];
  int64_t planes = 1;
  for (size_t i = 0; i < loops; ++i) planes *= axes[i].extent;
  // Work is divided into bands of rows of a plane.
  const int64_t band = threads > 1 ? std::min(outer.extent, 2 * kTile) : outer.extent;
  const int64_t bands = (outer.extent + band - 1) / band;
  ParallelFor(threads, planes * bands, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item % bands * band;
      int64_t rest = item / bands;
      int64_t to_offset = row * outer.to_stride, from_offset = row * outer.from_stride;
      for (size_t i = loops; i-- > 0;) {
        const int64_t index = rest % axes[i].extent;
        rest /= axes[i].extent;
        to_offset += index * axes[i].to_stride;
        from_offset += index * axes[i].from_stride;
      }
      CopyAxis rows = outer;
      rows.extent = std::min(band, outer.extent - row);
      CopyPlane(to + to_offset, from + from_offset, rows, inner);
    }
  });
}

}  // namespace

void StridedCopy(void* to, const void* from, int64_t element_size, std::vector<CopyAxis> axes,
                 int threads) {
  int64_t elements = 1;
  for (const CopyAxis& axis : axes) elements *= axis.extent;
  if (elements == 0) return;
  std::stable_sort(axes.begin(), axes.end(), [](const CopyAxis& a, const CopyAxis& b) {
    return std::abs(a.to_stride) > std::abs(b.to_stride);
  });
  while (axes.size() < 2) axes.insert(axes.begin(), {1, 0, 0});
  // The plane of a transpose: one axis along the source, one along the destination.
  if (std::abs(axes.back().from_stride) != 1) {
    auto along_source = std::find_if(axes.begin(), axes.end() - 1, [](const CopyAxis& axis) {
      return std::abs(axis.from_stride) == 1 && axis.extent > 1;
    });
    if (along_source != axes.end() - 1) std::rotate(along_source, along_source + 1, axes.end() - 1);
  }
  constexpr int64_t kWorthThreads = 1 << 17;
  if (elements * element_size < kWorthThreads) threads = 1;
  switch (element_size) {
    case 1:
      return Copy(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), axes, threads);
    case 2:
      return Copy(static_cast<uint16_t*>(to), static_cast<const uint16_t*>(from), axes, threads);
    case 4:
      return Copy(static_cast<uint32_t*>(to), static_cast<const uint32_t*>(from), axes, threads);
    default:
      return Copy(static_cast<uint64_t*>(to), static_cast<const uint64_t*>(from), axes, threads);
  }
}

}  // namespace lemma
