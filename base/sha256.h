// Computes SHA-256 with OpenSSL's libcrypto. The hash identifies contents even if someone tries to
// forge them.
#ifndef LEMMA_BASE_SHA256_H_
#define LEMMA_BASE_SHA256_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;

namespace lemma {

// Hashes bytes that arrive in pieces. Aborts if the library fails.
class Sha256 {
 public:
  Sha256();
  void Add(absl::string_view bytes);
  // The hash: 64 lower-case hex digits, as sha256sum prints them. Call it once, after all Add().
  std::string Finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

// Add() and Finish() in one call.
std::string Sha256Of(absl::string_view bytes);

}  // namespace lemma

#endif  // LEMMA_BASE_SHA256_H_
