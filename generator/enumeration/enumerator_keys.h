// A compact set of random 64-bit keys, used by the enumerator (enumerator.h).
#ifndef LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_KEYS_H_
#define LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_KEYS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lemma::generator {

// Holds fewer than 2^32 keys. If the keys are evenly distributed over all 64-bit numbers, Contains
// rejects most other keys after reading one word of memory.
class KeySet {
 public:
  // The set of all keys except 0 that occur in `all` at least `times` times.
  explicit KeySet(std::vector<uint64_t> all, size_t times = 1) : keys_(std::move(all)) {
    std::sort(keys_.begin(), keys_.end());
    size_t kept = 0;
    for (size_t i = 0; i < keys_.size();) {
      const uint64_t key = keys_[i];
      size_t end = i;
      while (end < keys_.size() && keys_[end] == key) ++end;
      if (key != 0) {
        ++distinct_;
        if (end - i >= times) keys_[kept++] = key;
      }
      i = end;
    }
    keys_.resize(kept);
    keys_.shrink_to_fit();
    while (bucket_bits_ < kMostBits && (keys_.size() >> bucket_bits_) > kKeysInBucket) {
      ++bucket_bits_;
    }
    starts_.resize((size_t{1} << bucket_bits_) + 1);
    bits_.resize((size_t{kBitsOfBucket} << bucket_bits_) / 64);
    for (uint64_t key : keys_) {
      ++starts_[BucketOf(key) + 1];
      bits_[BitOf(key) / 64] |= uint64_t{1} << BitOf(key) % 64;
    }
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  }

  // The number of distinct keys in `all`, 0 not counted.
  int64_t distinct() const { return distinct_; }
  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  bool Contains(uint64_t key) const {
    if ((bits_[BitOf(key) / 64] >> BitOf(key) % 64 & 1) == 0) return false;
    const size_t bucket = BucketOf(key);
    const auto begin = keys_.begin() + starts_[bucket], end = keys_.begin() + starts_[bucket + 1];
    return std::find(begin, end, key) != end;
  }

 private:
  static constexpr int kMostBits = 30, kKeysInBucket = 2, kBitsOfBucket = 64, kBucketShift = 6;

  size_t BitOf(uint64_t key) const { return key >> (64 - bucket_bits_ - kBucketShift); }
  size_t BucketOf(uint64_t key) const { return BitOf(key) >> kBucketShift; }

  std::vector<uint64_t> keys_;    // sorted
  int bucket_bits_ = 0;           // number of leading bits that select a bucket
  std::vector<uint32_t> starts_;  // of buckets
  std::vector<uint64_t> bits_;    // by leading bits: whether some key begins with them
  int64_t distinct_ = 0;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_ENUMERATION_ENUMERATOR_KEYS_H_
