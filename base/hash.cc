#include "base/hash.h"

#include <cstring>

namespace lemma {

uint64_t HashBytes(const void* data, size_t size, uint64_t seed) {
  const char* p = static_cast<const char*>(data);
  uint64_t h = Mix64(seed ^ size);
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t word;
    std::memcpy(&word, p + i, 8);
    h = (h ^ word) * 0x9fb21c651e98df25u;
    h ^= h >> 35;
  }
  uint64_t tail = 0;
  if (i < size) std::memcpy(&tail, p + i, size - i);
  return HashCombine(h, tail);
}

}  // namespace lemma
