// Allocates memory for large arrays.
#ifndef LEMMA_BASE_MEMORY_ALLOCATE_H_
#define LEMMA_BASE_MEMORY_ALLOCATE_H_

#include <cstddef>

namespace lemma {

// The size in bytes from which AllocateAligned asks for huge pages.
constexpr size_t kHugeFrom = size_t{4} << 20;

// Memory of at least `bytes` bytes, aligned to 64 bytes and not initialized; nullptr if there is
// too little. The caller frees it by std::free. From kHugeFrom on, the memory is aligned to 2 MiB,
// and the system is asked to back it by pages of this size: on a virtual machine, most of the time
// of a first write is the page fault, which costs about as much for 2 MiB as for 4 KiB.
void* AllocateAligned(size_t bytes);

}  // namespace lemma

#endif  // LEMMA_BASE_MEMORY_ALLOCATE_H_
