// Asks the operating system for huge pages: pages of 2 MiB instead of 4 KiB.
#ifndef LEMMA_BASE_MEMORY_HUGE_PAGES_H_
#define LEMMA_BASE_MEMORY_HUGE_PAGES_H_

#include <cstddef>

namespace lemma {

// Asks the system to back the `bytes` bytes at `data` by pages of 2 MiB. Call it before the bytes
// are written for the first time. Does nothing if `bytes` is less than 4 MiB; ignores failure. On a
// virtual machine, page faults take most of the time of the first write to memory, and one fault
// costs about as much for 2 MiB as for 4 KiB. Call it only for memory that is written once. Matrix
// products with operands in huge pages may be slower, since addresses at a fixed distance then fall
// into the same sets of the second-level cache.
void PreferHugePages(void* data, size_t bytes);

}  // namespace lemma

#endif  // LEMMA_BASE_MEMORY_HUGE_PAGES_H_
