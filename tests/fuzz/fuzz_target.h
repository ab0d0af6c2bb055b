// Shared declarations of the fuzz targets. A target is a function LLVMFuzzerTestOneInput that
// passes arbitrary bytes to a reader of files. libFuzzer (tools/test --fuzz) or our driver
// (tests/fuzz/driver_main.cc) calls it.
#ifndef LEMMA_TESTS_FUZZ_FUZZ_TARGET_H_
#define LEMMA_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

extern "C" {
// The target: passes the `size` bytes at `data` to the code under test. Always returns 0.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Changes the `size` bytes at `data` in place; returns the new size, at most `max_size`. Defined by
// libFuzzer and by our driver.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
// As LLVMFuzzerMutate, but defined by a target whose bytes have a structure. Optional. `seed`
// decides the changes, except for those that the target leaves to LLVMFuzzerMutate.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
}

namespace lemma::fuzz {

// The bytes as text; they must outlive the result.
inline absl::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Aborts the program, like a crash, unless `condition` is true; prints `what` and `detail` first.
void Require(bool condition, absl::string_view what, absl::string_view detail = "");

}  // namespace lemma::fuzz

#endif  // LEMMA_TESTS_FUZZ_FUZZ_TARGET_H_
