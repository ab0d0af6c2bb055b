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
  explicit SharedMemory(int64_t cells) : cells_(cells) {}

  // Starts a new block: sets all cells to `value`, which counts as not written.
  void Clear(int64_t value);
  // To be called when all threads of the block have met.
  void Barrier() { now_ += kStep; }
  // A thread's access to a cell, which must exist (not checked). Returns the
  // error in the access; "" if there is none. Read sets *value to the cell's
  // value unless there is an error.
  const char* Read(int64_t cell, int thread, int64_t* value) {
    Cell& c = cells_[cell];
    if (c.written < start_) return "a thread reads shared memory that nothing wrote";
    const uint64_t who = now_ + static_cast<uint64_t>(thread);
    if (c.written >= now_ && c.written != who) {
      return "a thread reads shared memory that another one writes, without a barrier between";
    }
    c.read = c.read >= now_ && c.read != who ? now_ + kSeveral : who;
    *value = c.value;
    return "";
  }
  // The same for threads 0 to `threads` - 1: thread i reads cell cells[i] + offset. False if there
  // is an error; the values, and the records of who read the cells, are then unusable.
  bool ReadAll(const int64_t* cells, int64_t offset, int threads, int64_t* values) {
    uint64_t wrong = 0;
    Cell* const first = cells_.data() + offset;
    for (int i = 0; i < threads; ++i) {
      Cell& c = first[cells[i]];
      const uint64_t who = now_ + static_cast<uint64_t>(i);
      wrong |= static_cast<uint64_t>(c.written < start_) |
               static_cast<uint64_t>((c.written >= now_) & (c.written != who));
      c.read = (c.read >= now_) & (c.read != who) ? now_ + kSeveral : who;
      values[i] = c.value;
    }
    return wrong == 0;
  }
  const char* Write(int64_t cell, int thread, int64_t value) {
    Cell& c = cells_[cell];
    const uint64_t who = now_ + static_cast<uint64_t>(thread);
    if (c.written >= now_ && c.written != who) {
      return "two threads write one place of shared memory without a barrier between";
    }
    if (c.read >= now_ && c.read != who) {
      return "a thread writes shared memory that another one reads, without a barrier between";
    }
    c.written = who;
    c.value = value;
    return "";
  }

 private:
  // The number of an interval between barriers is a multiple of kStep. Cell::read and Cell::written
  // are the number of an interval plus the number of the thread that last accessed the cell in it;
  // kSeveral in place of a thread's number: several threads did.
  static constexpr uint64_t kStep = 4096, kSeveral = kStep - 1;
  struct Cell {
    int64_t value = 0;
    uint64_t read = 0, written = 0;
  };

  std::vector<Cell> cells_;
  uint64_t now_ = kStep, start_ = kStep;  // the current interval, and the block's first one
};

// A pseudo-random number that depends on `seed` only (SplitMix64).
uint64_t Mix(uint64_t seed);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_MEMORY_H_
