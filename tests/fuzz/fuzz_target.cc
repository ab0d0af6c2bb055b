#include "tests/fuzz/fuzz_target.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace lemma::fuzz {

void Require(bool condition, absl::string_view what, absl::string_view detail) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s %s\n", std::string(what).c_str(), std::string(detail).c_str());
  std::abort();
}

}  // namespace lemma::fuzz
