// Encodes numbers and strings as bytes, for files that only this program reads.
#ifndef LEMMA_GENERATOR_RUN_BYTES_H_
#define LEMMA_GENERATOR_RUN_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace lemma::generator {

class ByteWriter {
 public:
  void Byte(uint8_t value) { bytes_ += static_cast<char>(value); }
  // Seven bits per byte, the lowest first.
  void Number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  // As Number, but also for negative numbers; short for numbers near zero.
  void Signed(int64_t value) {
    Number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  // Eight bytes, in the byte order of the machine.
  void Fixed(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), 8); }
  // The length as a Number, then the bytes.
  void Bytes(absl::string_view bytes) {
    Number(bytes.size());
    bytes_.append(bytes.data(), bytes.size());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Decodes the output of a ByteWriter by the same calls in the same order. If the bytes end too
// early or are malformed, ok() is false from then on, and all later values are 0 or empty. The
// bytes must outlive the reader and the views that Bytes() returns.
class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : rest_(bytes) {}
  uint8_t Byte() {
    if (rest_.empty()) return static_cast<uint8_t>(Fail());
    const uint8_t byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }
  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && ok_; shift += 7) {
      const uint64_t byte = Byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }
  int64_t Signed() {
    const uint64_t value = Number();
    return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  uint64_t Fixed() {
    uint64_t value = 0;
    if (rest_.size() < sizeof(value)) return Fail();
    std::memcpy(&value, rest_.data(), sizeof(value));
    rest_.remove_prefix(sizeof(value));
    return value;
  }
  absl::string_view Bytes() {
    const uint64_t size = Number();
    if (size > rest_.size()) Fail();
    if (!ok_) return {};
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // Decodes a Number that counts the following items, of at least one byte each. More items than
  // remaining bytes are an error, so that a damaged file cannot request excessive memory.
  uint64_t Count() {
    const uint64_t count = Number();
    return count > rest_.size() ? Fail() : count;
  }
  bool ok() const { return ok_; }
  absl::string_view rest() const { return rest_; }

 private:
  uint64_t Fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  absl::string_view rest_;
  bool ok_ = true;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_BYTES_H_
