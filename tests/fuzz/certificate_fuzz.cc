// Certificates. The checksum is made to fit, so that the parser examines the rest.
#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "rewrite/rules/certificate.h"
#include "tests/fuzz/fuzz_target.h"

namespace lemma {

int FuzzCertificate(absl::string_view text) {
  (void)ParseCertificate(text).status();
  const std::string whole = absl::StrCat(text, "\nsha256 ", Sha256Of(text), "\n");
  const auto certificate = ParseCertificate(whole);
  if (!certificate.ok()) return 0;
  fuzz::Require(PrintCertificate(*certificate) == whole, "another certificate was read");
  return 0;
}

}  // namespace lemma

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return lemma::FuzzCertificate(lemma::fuzz::Text(data, size));
}
