#include "api/models/npz.h"

#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/models/npy.h"

namespace lemma::api {
namespace {

// Signatures and lengths of the records of a zip archive (APPNOTE.TXT 6.3, sections 4.3.7
// to 4.3.16).
constexpr uint32_t kLocalRecord = 0x04034b50, kCentralRecord = 0x02014b50, kEndRecord = 0x06054b50;
constexpr size_t kLocalLength = 30, kCentralLength = 46, kEndLength = 22;
constexpr uint32_t kInZip64 = 0xffffffff;

// A little-endian number of `size` bytes.
uint32_t Number(absl::string_view bytes, size_t at, size_t size) {
  uint32_t number = 0;
  for (size_t i = 0; i < size; ++i) {
    number |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return number;
}

absl::Status Damaged() {
  return absl::InvalidArgumentError("the .npz file is truncated or damaged");
}

// The record at the end of the archive, which a comment may follow.
absl::StatusOr<size_t> FindEnd(absl::string_view bytes) {
  if (bytes.size() < kEndLength) return Damaged();
  const size_t first = bytes.size() < kEndLength + 65536 ? 0 : bytes.size() - kEndLength - 65536;
  for (size_t at = bytes.size() - kEndLength + 1; at-- > first;) {
    if (Number(bytes, at, 4) == kEndRecord) return at;
  }
  return Damaged();
}

// The bytes of the file that the central record at `at` is about.
absl::StatusOr<absl::string_view> Content(absl::string_view bytes, size_t at,
                                          absl::string_view name) {
  const uint32_t method = Number(bytes, at + 10, 2), size = Number(bytes, at + 24, 4);
  const size_t local = Number(bytes, at + 42, 4);
  if (method != 0) {
    return absl::UnimplementedError(absl::StrCat(
        "unsupported: '", name, "' is compressed; numpy.savez writes files that are not"));
  }
  if (size == kInZip64 || local == kInZip64) {
    return absl::UnimplementedError("unsupported: a .npz file above 4 GB");
  }
  if (local + kLocalLength > bytes.size() || Number(bytes, local, 4) != kLocalRecord) {
    return Damaged();
  }
  const size_t start =
      local + kLocalLength + Number(bytes, local + 26, 2) + Number(bytes, local + 28, 2);
  if (start > bytes.size() || size > bytes.size() - start) return Damaged();
  return bytes.substr(start, size);
}

}  // namespace

bool IsNpz(absl::string_view bytes) {
  return bytes.size() >= 4 &&
         (Number(bytes, 0, 4) == kLocalRecord || Number(bytes, 0, 4) == kEndRecord);
}

absl::StatusOr<std::map<std::string, Tensor>> ParseNpz(absl::string_view bytes) {
  auto end = FindEnd(bytes);
  if (!end.ok()) return end.status();
  const uint32_t count = Number(bytes, *end + 10, 2);
  size_t at = Number(bytes, *end + 16, 4);
  std::map<std::string, Tensor> arrays;
  for (uint32_t i = 0; i < count; ++i) {
    if (at + kCentralLength > bytes.size() || Number(bytes, at, 4) != kCentralRecord) {
      return Damaged();
    }
    const size_t name_length = Number(bytes, at + 28, 2);
    if (name_length > bytes.size() - at - kCentralLength) return Damaged();
    absl::string_view name = bytes.substr(at + kCentralLength, name_length);
    auto content = Content(bytes, at, name);
    if (!content.ok()) return content.status();
    if (!IsNpy(*content)) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' in it is not an array"));
    }
    auto array = ParseNpy(*content);
    if (!array.ok()) {
      return absl::Status(array.status().code(),
                          absl::StrCat("'", name, "' in it: ", array.status().message()));
    }
    if (absl::EndsWith(name, ".npy")) name.remove_suffix(4);
    arrays.emplace(std::string(name), *std::move(array));
    at += kCentralLength + name_length + Number(bytes, at + 30, 2) + Number(bytes, at + 32, 2);
  }
  return arrays;
}

}  // namespace lemma::api
