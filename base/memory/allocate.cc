#include "base/memory/allocate.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace lemma {

void* AllocateAligned(size_t bytes) {
  constexpr size_t kLine = 64, kHuge = size_t{2} << 20;
  if (bytes > PTRDIFF_MAX - kLine) return nullptr;
  const size_t padded = bytes / kLine * kLine + kLine;
  if (bytes < kHugeFrom) return std::aligned_alloc(kLine, padded);
  void* memory = std::aligned_alloc(kHuge, padded);
  if (memory == nullptr) return std::aligned_alloc(kLine, padded);  // without room for alignment
  madvise(memory, padded, MADV_HUGEPAGE);                           // a wish: it may fail
  return memory;
}

}  // namespace lemma
