// SHA-256 (FIPS 180-4), for what has to be told apart even if somebody wants it not to be.
#ifndef LEMMA_GRAPH_SHA256_H_
#define LEMMA_GRAPH_SHA256_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace lemma {

// Takes bytes in any pieces.
class Sha256 {
 public:
  Sha256();
  void Add(absl::string_view bytes);
  // 64 hex digits, as sha256sum prints them. Nothing may be added afterwards.
  std::string Finish();

 private:
  void Block(const unsigned char* block);

  uint32_t state_[8];
  unsigned char buffer_[64];
  uint64_t size_ = 0;  // bytes so far
};

std::string Sha256Of(absl::string_view bytes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SHA256_H_
