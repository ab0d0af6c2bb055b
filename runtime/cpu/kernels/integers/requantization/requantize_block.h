// The short computation of requantize.h for one block, with AVX-512.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZATION_REQUANTIZE_BLOCK_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZATION_REQUANTIZE_BLOCK_H_

#include <cstdint>

namespace lemma::kernels {

// A stage (Requantization::Stage in requantize.h), from the block's first column on. The arrays
// have an element for each column, and are filled up to a multiple of 16. `slope` and `after` are
// nullptr unless the stage multiplies negative numbers by `slope` and then adds `after` to all
// numbers.
struct StageColumns {
  const float* factor = nullptr;
  const float* addend = nullptr;
  const float* slope = nullptr;
  const float* after = nullptr;
  float reach = 0, other_factor = 0, low = 0, high = 0;
  bool has_other = false, other_is_signed = false;
  bool other_is_after = false;  // the other number is added with `after`, not with `addend`
};

// Rows of at most 64 columns.
struct RequantizedBlock {
  enum class Source { kSums, kFloats, kBytes };
  Source source = Source::kSums;
  const char* x = nullptr;  // the source; sums are read up to a multiple of 16 columns
  int64_t x_step = 0;       // from one row to the next, in bytes, as other_step and y_step are
  int64_t rows = 0, columns = 0;
  const char* other = nullptr;  // bytes that a stage with has_other reads
  int64_t other_step = 0;
  int num_stages = 1;
  StageColumns stages[2];
  // Whether the last stage's bounds are those of the result's type, and every number to which they
  // are applied fits into 32 bits. Not used for floats, which may be infinite.
  bool saturates = false;
  bool x_is_signed = false, y_is_signed = false;
  char* y = nullptr;
  int64_t y_step = 0;
};

// Computes and stores the rows, except rows in which a stage has a doubtful number: NaN, or a
// number whose nearest integer the error may change. Writes the indices of the rows that are not
// stored to `doubtful`, which must have room for all rows, and returns how many these are. May be
// called only on machines for which BestIntegerIsa() (tiles.h) is kVnni.
int64_t RunBlock(const RequantizedBlock& block, int64_t* doubtful);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZATION_REQUANTIZE_BLOCK_H_
