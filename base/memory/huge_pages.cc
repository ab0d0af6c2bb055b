#include "base/memory/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace lemma {

void PreferHugePages(void* data, size_t bytes) {
  constexpr size_t kLarge = size_t{4} << 20;
  constexpr uintptr_t kPage = 4096;
  if (bytes < kLarge) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + kPage - 1) / kPage * kPage,
                  end = (begin + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);  // a wish: it may fail
}

}  // namespace lemma
