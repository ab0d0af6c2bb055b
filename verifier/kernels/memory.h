// The memory of a program under check: numbers, and who touched them.
#ifndef LEMMA_VERIFIER_KERNELS_MEMORY_H_
#define LEMMA_VERIFIER_KERNELS_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace lemma::kernels {

// Who read and wrote each element of a memory that an old and a new value share.
struct Touched {
  static constexpr int64_t kNobody = -1, kSeveral = -2;
  std::vector<int64_t> reader, writer;  // by element: a thread of the grid
};

// A tensor. An element is an integer, or the raw value of an element of the field (Field::raw).
struct SlotMemory {
  DType dtype = DType::kF32;
  bool integers = false;
  std::vector<int64_t> values;
  // By element, whether a kernel wrote it; empty for an operand of the program.
  std::vector<bool> written;
  bool read_by_kernel = false, written_by_kernel = false;  // by the one that runs
  // Not nullptr if the tensor shares its memory with another one.
  Touched* touched = nullptr;

  int64_t size() const { return static_cast<int64_t>(values.size()); }
  bool is_operand() const { return written.empty() && !values.empty(); }
};

// `value` as an element of an integer type: wrapped; a truth value is 0 or 1.
int64_t Wrapped(int64_t value, DType dtype);

// Shared memory of one block, between barriers. Each function returns what is wrong, "" if nothing.
class SharedMemory {
 public:
  explicit SharedMemory(int64_t cells) : values_(cells), marks_(cells) {}

  // For a new block: all cells hold `value`.
  void Clear(int64_t value);
  void Barrier() { ++now_; }
  // "" or what is wrong with a thread's access to a cell; *value is the value that it finds.
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
  uint64_t now_ = 1, start_ = 1;  // of the intervals; start_: the block's first one
};

// A pseudo-random number of a seed.
uint64_t Mix(uint64_t seed);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_MEMORY_H_
