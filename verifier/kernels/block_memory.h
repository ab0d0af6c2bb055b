// A model of the shared memory of one CUDA block. Threads, the copy engine (TMA) and matrix
// products of warpgroups (wgmma) access the memory; barriers (mbarrier) order the accesses. The
// model finds accesses in a wrong order. Internal to verifier/kernels.
//
// A block consists of roles: a role is a warpgroup of 128 threads, or the remaining warps behind
// the last full warpgroup. In a kernel without PrintedKernel::warpgroups, all threads are one role.
// The threads of a role run in lockstep; roles run in any order that barriers allow. Conflicting
// accesses of a cell are faults unless barriers order them. Vector clocks decide this: each role
// counts its own steps at barriers, and knows up to which step it has seen every other role. So one
// execution finds the conflicts of all orders.
//
// A product may read copied numbers only after its role has waited for the barrier phase to which
// the copy belongs. The product may still read them until its role has waited for the product. The
// warps of a warpgroup execute a product together, so a wait in one warp counts for all of them.
#ifndef LEMMA_VERIFIER_KERNELS_BLOCK_MEMORY_H_
#define LEMMA_VERIFIER_KERNELS_BLOCK_MEMORY_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace lemma::kernels {

// Functions that return text return "" if all is well, otherwise the fault. Cells are numbered from
// 0; a cell has 2 bytes. An argument `cell`, and the cells after it that a function accesses, must
// exist; this is not checked. Arguments `at` and `barrier` are the offset of a barrier's first byte
// in the memory.
class BlockMemory {
 public:
  static constexpr int kMostRoles = 8;
  static constexpr int64_t kCellBytes = 2;

  // The content of a cell: nothing, a number of 16 bits, half of a Type::kWord (printed_kernel.h),
  // or half of an f32 number.
  enum class Kind : uint8_t { kNone, kHalf, kWord, kFloat };
  // The thread that accesses a cell; `thread` and `warp` are numbers in the block.
  struct Access {
    int role, thread, warp;
  };

  // `bytes`: the size of the memory. `threads`: the number of threads of all roles together.
  BlockMemory(int64_t bytes, int roles, int threads);

  // Starts a new block: nothing is written, no barrier exists. The constructor calls it.
  void Begin();

  int64_t bytes() const { return bytes_; }

  // --- Threads ---
  // Accesses `count` cells from `cell` on. Read sets `values` to the numbers that threads wrote
  // last, which must have the same `kind`. Threads cannot read copied numbers.
  const char* Read(const Access& who, int64_t cell, int64_t count, Kind kind, int64_t* values) {
    const Mark mark = MarkOf(who);
    for (int64_t i = 0; i < count; ++i) {
      Cell& c = At(cell + i);
      if (c.kind != kind || c.barrier >= 0) {
        return c.kind == Kind::kNone ? "a thread reads shared memory that nothing wrote"
                                     : "a thread reads shared memory as another type";
      }
      if (!Ordered(who, c.written)) {
        return "a thread reads shared memory that another one writes, without a barrier between";
      }
      values[i] = c.value;
      const Mark before = c.read;
      c.read = mark;
      if (Ordered(who, before)) continue;
      // Earlier reads count too.
      c.read.thread = Mark::kSeveral;
      if (before.role != who.role) c.read.role = Mark::kSeveral;
      if (before.warp != who.warp) c.read.warp = Mark::kSeveral;
    }
    return "";
  }
  const char* Write(const Access& who, int64_t cell, int64_t count, Kind kind,
                    const int64_t* values) {
    const Mark mark = MarkOf(who);
    for (int64_t i = 0; i < count; ++i) {
      Cell& c = At(cell + i);
      const bool simple = c.kind != Kind::kNone && c.barrier < 0 && !c.has_products;
      if (!simple || !Ordered(who, c.written) || !Ordered(who, c.read)) {
        const char* what = CheckWrite(who, c, cell + i);
        if (*what != 0) return what;
      }
      c.kind = kind;
      c.value = values[i];
      c.written = mark;
      c.barrier = -1;
      c.has_products = false;
    }
    return "";
  }
  // To be called when all threads of the warp have met.
  void SyncWarp(int warp) { warp_begins_[warp] = ++moment_; }
  // To be called when all threads of these roles have met.
  void Meet(const std::vector<int>& roles);

  // --- Barriers of the copy engine ---
  // Makes a barrier. A phase of it ends when `count` threads have arrived and all expected bytes
  // have been copied.
  const char* InitBarrier(const Access& who, int64_t at, int64_t count);
  // Makes all barriers that this thread has initialized usable. Using a barrier earlier is a fault.
  void PublishBarriers(const Access& who);
  // One thread of the role arrives. `bytes`: how many more bytes the phase expects from copies.
  // `all`: with this thread, all threads of the role have arrived.
  const char* Arrive(int role, int64_t at, int64_t bytes, bool all);
  // The role waits for its next phase of the barrier. Phases are numbered from 0, and a role waits
  // for all of them in order. `parity` must be the phase's number modulo 2. Sets *ready to whether
  // the phase has ended and the wait is over; if not, call Wait again later.
  const char* Wait(int role, int64_t at, int64_t parity, bool* ready);
  // To be called after the block. A fault if a copy is under way, or if there is a copy for which
  // no role has waited.
  const char* End() const;

  // --- Copies and products ---
  // The copy engine writes a number, in the barrier's current phase. `role` issued the copy.
  const char* Copy(int role, int64_t cell, int64_t barrier, int64_t value);
  // To be called when all numbers of a copy have been written. `bytes`: the size of the copy.
  const char* EndCopy(int64_t barrier, int64_t bytes);
  // A product of the role's open group reads the cell, which the copy engine must have written.
  const char* ReadForProduct(int role, int64_t cell, int64_t* value);
  // Closes the role's open group of products and opens the next one.
  void CommitProducts(int role) {
    committed_at_[role].push_back(clock_[role][role]);
    ++groups_[role];
  }
  // To be called when the role has waited until all committed groups but the last `groups` are
  // complete.
  void CompleteProducts(int role, int64_t groups);
  // The number of groups that the role has committed.
  int64_t committed(int role) const { return groups_[role]; }

  // --- Turns: named barriers at which a role waits until another role lets it continue ---
  // `role` gives the role `to` a turn. A fault unless `role` knows that `to` has taken its previous
  // turn.
  const char* PassTurn(int role, int to);
  // Takes the turn that `role` has been given. Sets *ready to whether there is one.
  const char* TakeTurn(int role, bool* ready);

 private:
  using Clock = std::array<int64_t, kMostRoles>;
  // A record of an access: its threads, its time by the role's clock, and its moment. The role's
  // barriers, and the warp's, divide the time into intervals; each begins at a new moment.
  struct Mark {
    static constexpr int kSeveral = -1;
    int64_t moment = -1;  // no access
    int64_t time = 0;
    int16_t thread = 0;
    int8_t warp = 0, role = 0;  // kSeveral: accesses of several, also for `thread`
  };
  struct Cell {
    int32_t block = 0;  // the block that wrote the fields below; for other blocks the cell is empty
    Kind kind = Kind::kNone;
    bool is_barrier = false;
    int64_t value = 0;
    Mark read, written;
    int32_t barrier = -1, phase = 0;  // of the copy that wrote it; -1: a thread did
    // Whether products_ of the cell counts.
    bool has_products = false;
  };
  // By role: 1 + the last group of products that read a cell.
  using Products = std::array<int32_t, kMostRoles>;
  struct Barrier {
    int64_t count = 0, arrivals = 0, bytes = 0;
    int made_by = 0, thread = 0;  // the role and the thread that made it
    bool published = false;
    int64_t made_at = 0;                           // when it was published, by the role's clock
    int64_t phase = 0;                             // the number of the phase that runs
    bool copies = false;                           // whether a copy belongs to the phase that runs
    Clock release = {}, passed = {};               // of the arrivals of the phase that runs
    std::vector<Clock> released, released_passed;  // by phase that has ended
    // By phase: when a role waited for it, plus 1; 0: not yet.
    std::vector<Clock> waited;
    std::vector<bool> copied;                    // by ended phase: whether a copy belongs to it
    std::array<int64_t, kMostRoles> waits = {};  // how many phases each role has waited for
  };

  Cell& At(int64_t cell) {
    Cell& result = cells_[cell];
    if (result.block != block_) {
      result = Cell();
      result.block = block_;
    }
    return result;
  }
  Mark MarkOf(const Access& who) const {
    return {moment_, clock_[who.role][who.role], static_cast<int16_t>(who.thread),
            static_cast<int8_t>(who.warp), static_cast<int8_t>(who.role)};
  }
  // Whether the access is ordered before what `who` does now.
  bool Ordered(const Access& who, const Mark& mark) const {
    if (mark.moment < block_begins_) return true;
    if (mark.role != who.role) {
      return mark.role != Mark::kSeveral && met_[who.role][mark.role] >= mark.time;
    }
    if (mark.moment < begins_[who.role] || mark.thread == who.thread) return true;
    return mark.warp == who.warp && mark.moment < warp_begins_[who.warp];
  }
  // Whether all that `other` did up to `time` is ordered before what `role` does now.
  bool Knows(int role, int other, int64_t time) const {
    return role == other || clock_[role][other] >= time;
  }
  // The fault if `who` now writes the cell, whose number is `number`; "" if
  // there is none.
  const char* CheckWrite(const Access& who, const Cell& cell, int64_t number) const;
  // Whether `role` knows that a phase has ended.
  bool PhaseIsKnown(int role, const Barrier& barrier, int64_t phase) const;
  Barrier* Find(int64_t at);
  const char* EndPhase(Barrier* barrier);
  void Join(Clock* to, const Clock& from) const;

  const int64_t bytes_;
  const int roles_;
  int32_t block_ = 0;
  std::vector<Cell> cells_;
  std::vector<Products> products_;  // by cell; empty before the first product
  std::vector<Clock> clock_;        // by role
  // By role: what it knows of accesses by the threads of other roles. One thread's arrival at a
  // barrier of the copy engine does not say what the other threads of its role have done.
  std::vector<Clock> met_;
  // By role: for each other role, the time that all threads of that role have passed, as far as the
  // first role knows. Warps of a warpgroup pass a wait one by one, so a wait shows nothing about
  // the other warps. A complete product shows that all of them have committed it.
  std::vector<Clock> passed_;
  std::vector<std::vector<int64_t>> committed_at_;  // by role and group
  // Grows at each begin of a block or of an interval.
  int64_t moment_ = 0;
  int64_t block_begins_ = 0;                // the moment at which the block began
  std::vector<int64_t> begins_;             // by role: the moment at which its interval began
  std::vector<int64_t> warp_begins_;        // by warp: the moment at which its interval began
  std::vector<int64_t> groups_;             // committed, by role
  std::vector<std::vector<int64_t>> done_;  // by role and group: when it was complete
  std::map<int64_t, int> barrier_at_;       // by offset: a position in barriers_
  std::vector<Barrier> barriers_;
  std::vector<bool> turn_;  // by role: whether it has been passed its turn
  std::vector<Clock> turn_clock_, turn_met_, turn_passed_;
  std::vector<int64_t> took_;  // by role: when it took its last turn; 0: never
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_BLOCK_MEMORY_H_
