// Stable 64-bit hashes: the same in every run and on every little-endian machine. So never hash an
// address, which differs between runs. These hashes are not cryptographic; the hash in
// base/sha256.h is.
#ifndef LEMMA_BASE_HASH_H_
#define LEMMA_BASE_HASH_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace lemma {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which each input bit
// changes about half of the output bits.
inline uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Combines a hash with the next value; the order of the values matters.
inline uint64_t HashCombine(uint64_t seed, uint64_t value) {
  return Mix64(seed ^ (Mix64(value) + 0x165667b19e3779f9u));
}

// A hash of the `size` bytes at `data`, which depends on `seed` too.
uint64_t HashBytes(const void* data, size_t size, uint64_t seed = 0);
inline uint64_t HashString(absl::string_view s, uint64_t seed = 0) {
  return HashBytes(s.data(), s.size(), seed);
}

}  // namespace lemma

#endif  // LEMMA_BASE_HASH_H_
