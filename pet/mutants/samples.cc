#include "pet/mutants/samples.h"

#include "base/hash.h"
#include "pet/regions/region.h"

namespace lemma::pet {
namespace {

constexpr int64_t kMostProducts = 10000;  // expanded at one position

}  // namespace

Samples::Samples(Value original, int number, uint64_t seed) : original_(std::move(original)) {
  for (int i = 0; i < number; ++i) {
    std::vector<int64_t> index;
    for (int64_t dim : original_.shape()) {
      seed = Mix64(seed);
      index.push_back(i < 2 ? i * (dim - 1) : static_cast<int64_t>(seed % uint64_t(dim)));
    }
    positions_.push_back(std::move(index));
  }
}

absl::StatusOr<bool> Samples::AgreeWith(const Value& value) {
  const auto needed = static_cast<int>((positions_.size() + 1) / 2);
  int agreed = 0, left = static_cast<int>(positions_.size());
  for (auto sample = positions_.rbegin(); sample != positions_.rend(); ++sample, --left) {
    if (agreed >= needed) return true;
    if (agreed + left < needed) return false;
    auto agree = AgreeAt(original_, value, *sample, kMostProducts, &reader_);
    const bool no_polynomial =
        absl::IsResourceExhausted(agree.status()) || absl::IsUnimplemented(agree.status());
    if (no_polynomial && value != original_) return false;
    if (!agree.ok()) return agree.status();
    agreed += *agree;
  }
  return agreed >= needed;
}

}  // namespace lemma::pet
