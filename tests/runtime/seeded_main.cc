#include "tests/runtime/seeded_main.h"

#include <cstdio>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

SeedFlags seeds;

}  // namespace

const SeedFlags& Seeds() { return seeds; }

}  // namespace lemma

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lemma::seeds.first_seed = std::random_device()();
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    const bool known =
        (absl::ConsumePrefix(&flag, "--first_seed=") &&
         absl::SimpleAtoi(flag, &lemma::seeds.first_seed)) ||
        (absl::ConsumePrefix(&flag, "--graphs=") && absl::SimpleAtoi(flag, &lemma::seeds.graphs)) ||
        (absl::ConsumePrefix(&flag, "--mutants=") && absl::SimpleAtoi(flag, &lemma::seeds.mutants));
    if (known) continue;
    std::fprintf(stderr, "%s is none of: --first_seed=N, --graphs=N, --mutants=N\n", argv[i]);
    return 2;
  }
  std::printf("repeatable with --first_seed=%llu\n",
              static_cast<unsigned long long>(lemma::seeds.first_seed));
  return RUN_ALL_TESTS();
}
