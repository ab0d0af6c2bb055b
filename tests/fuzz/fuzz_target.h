// What the fuzz targets share. A target is a function LLVMFuzzerTestOneInput that gives any bytes
// to a reader: libFuzzer calls it (tools/test --fuzz), or in the default tests our driver.
#ifndef LEMMA_TESTS_FUZZ_FUZZ_TARGET_H_
#define LEMMA_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Changes `size` bytes in place, up to `max_size`; returns their new number. libFuzzer has one, our
// driver another.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
// The same by the target itself, for bytes that have a structure. Optional.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
}

namespace lemma::fuzz {

inline absl::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the program, as a crash would, unless `condition` holds.
void Require(bool condition, absl::string_view what, absl::string_view detail = "");

}  // namespace lemma::fuzz

#endif  // LEMMA_TESTS_FUZZ_FUZZ_TARGET_H_
