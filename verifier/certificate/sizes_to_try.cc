#include "verifier/certificate/sizes_to_try.h"

#include <algorithm>

#include "base/hash.h"

namespace lemma::certificate {

DimValues SizesToTry(const std::map<std::string, SizeRange>& dims, uint64_t seed, int choice) {
  constexpr int64_t kSpread = 12;
  DimValues sizes;
  uint64_t random = seed + static_cast<uint64_t>(choice);
  for (const auto& [name, range] : dims) {
    random = Mix64(random + 1);
    const auto more = choice == 0 ? 0 : static_cast<int64_t>(random % kSpread);
    const int64_t size = choice < kSmallChoices ? range.least + more
                                                : (std::max<int64_t>(range.least, 1) + 31) / 32 * 32
                                                      << (choice - kSmallChoices);
    sizes[name] = std::min(size, range.most);
  }
  return sizes;
}

}  // namespace lemma::certificate
