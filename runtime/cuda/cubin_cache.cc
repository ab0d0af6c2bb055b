#include "runtime/cuda/cubin_cache.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/sha256.h"

namespace lemma::cuda {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr size_t kDigestBytes = 64;  // in hexadecimal, before the cubin

std::string PathOf(const std::string& folder, const std::string& key) {
  return absl::StrCat(folder, "/", key, ".cubin");
}

// A digest of key and cubin, so that a file renamed to another key does not match.
std::string Digest(const std::string& key, absl::string_view cubin) {
  Sha256 hash;
  hash.Add(key);
  hash.Add(cubin);
  return hash.Finish();
}

}  // namespace

std::optional<std::string> CachedCubin(const std::string& folder, const std::string& key) {
  auto bytes = ReadFile(PathOf(folder, key), kMaxBytes);
  if (!bytes.ok() || bytes->size() <= kDigestBytes) return std::nullopt;
  std::string cubin = bytes->substr(kDigestBytes);
  if (bytes->compare(0, kDigestBytes, Digest(key, cubin)) != 0) return std::nullopt;
  return cubin;
}

void KeepCubin(const std::string& folder, const std::string& key, absl::string_view cubin) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  WriteFileAtomically(PathOf(folder, key), {Digest(key, cubin), cubin}).IgnoreError();
}

}  // namespace lemma::cuda
