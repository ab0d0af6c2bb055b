// The memory of a program under check: the values in it, and which threads accessed the values.
#ifndef LEMMA_VERIFIER_KERNELS_MEMORY_H_
#define LEMMA_VERIFIER_KERNELS_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace lemma::kernels {

// Which threads accessed the elements of a memory that an operand and a result share.
struct Touched {
  static constexpr int64_t kNobody = -1, kSeveral = -2;
  // By element: the number in the grid of the only thread that read it (wrote it); otherwise
  // kNobody or kSeveral.
  std::vector<int64_t> reader, writer;
};

// A tensor of the program (a slot). An element is an integer, or the raw value of an element of the
// field (Field::raw).
struct SlotMemory {
  DType dtype = DType::kF32;
  bool integers = false;        // whether the elements are integers
  std::vector<int64_t> values;  // row-major
  // By element: whether a kernel wrote it. Empty for an operand of the program.
  std::vector<bool> written;
  // Whether the kernel that is being executed may read the tensor, and may write it.
  bool read_by_kernel = false, written_by_kernel = false;
  // The record of the memory that the tensor shares with other tensors; nullptr if it shares none.
  // Not owned.
  Touched* touched = nullptr;

  int64_t size() const { return static_cast<int64_t>(values.size()); }
  // False for any tensor without elements.
  bool is_operand() const { return written.empty() && !values.empty(); }
};

// `value` as an element of an integer type: modulo its range; for bool, 1 unless `value` is 0.
int64_t Wrapped(int64_t value, DType dtype);

// A __shared__ array of one block. Finds conflicting accesses of a cell between two barriers. For
// dynamic shared memory, see block_memory.h.
class SharedMemory {
 public:
  explicit SharedMemory(int64_t cells) : values_(cells), marks_(cells) {}

  // Starts a new block: sets all cells to `value`, which counts as not written.
  void Clear(int64_t value);
  // To be called when all threads of the block have met.
  void Barrier() { ++now_; }
  // A thread's access to a cell, which must exist (not checked). Returns the error in it, "" if
  // there is none. Read sets *value to the cell's value unless there is an error.
  const char* Read(int64_t cell, int thread, int64_t* value) {
    Mark& mark = marks_[cell];
    if (mark.written_at < start_) return "a thread reads shared memory that nothing wrote";
    if (mark.written_at == now_ && mark.writer != thread) {
      return "a thread reads shared memory that another one writes, without a barrier between";
    }
    mark.reader = mark.read_at == now_ && mark.reader != thread ? kSeveral : thread;
    mark.read_at = now_;
    *value = values_[cell];
    return "";
  }
  const char* Write(int64_t cell, int thread, int64_t value) {
    Mark& mark = marks_[cell];
    if (mark.written_at == now_ && mark.writer != thread) {
      return "two threads write one place of shared memory without a barrier between";
    }
    if (mark.read_at == now_ && mark.reader != thread) {
      return "a thread writes shared memory that another one reads, without a barrier between";
    }
    mark.written_at = now_;
    mark.writer = thread;
    values_[cell] = value;
    return "";
  }

 private:
  // Who touched a cell last, and in which interval between barriers.
  struct Mark {
    uint64_t read_at = 0, written_at = 0;
    int reader = 0, writer = 0;  // reader kSeveral: several threads
  };
  static constexpr int kSeveral = -1;

  std::vector<int64_t> values_;
  std::vector<Mark> marks_;
  uint64_t now_ = 1, start_ = 1;  // the current interval, and the block's first one
};

// A pseudo-random number that depends on `seed` only (SplitMix64).
uint64_t Mix(uint64_t seed);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_MEMORY_H_
