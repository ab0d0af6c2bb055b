// Shared memory of a block in which threads, the copy engine and products by warpgroup meet, with
// the barriers that order their accesses. Internal to verifier/kernels.
//
// A block consists of roles: warpgroups, and the warps behind the last one. Each role runs in step;
// roles run in any order that barriers allow. An access is right only if every order that a GPU may
// choose puts it behind the earlier accesses of the same place: this is decided by vector clocks
// (each role knows up to which of its releases it has seen every other role), so one order shows
// the mistakes of all. A copy's numbers are there for a role that has waited for the phase that the
// copy belongs to. A product's reads are over when its role has waited for the product: a wait in
// one warp counts for the warpgroup, since the instruction is executed by all of it.
#ifndef LEMMA_VERIFIER_KERNELS_BLOCK_MEMORY_H_
#define LEMMA_VERIFIER_KERNELS_BLOCK_MEMORY_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace lemma::kernels {

// Functions return "" or what is wrong. Cells have 2 bytes.
class BlockMemory {
 public:
  static constexpr int kMostRoles = 8;
  static constexpr int64_t kCellBytes = 2;

  // What a cell holds: nothing, a number of 16 bits, half of a word with factors (tensor_tile.cc),
  // half of an f32 number.
  enum class Kind : uint8_t { kNone, kHalf, kWord, kFloat };
  // A thread that accesses a cell.
  struct Access {
    int role, thread, warp;
  };

  // All roles are `threads` threads in all.
  BlockMemory(int64_t bytes, int roles, int threads);

  // For a new block: nothing is written, no barrier exists.
  void Begin();

  int64_t bytes() const { return bytes_; }

  // --- Threads ---
  const char* Read(const Access& who, int64_t cell, Kind kind, int64_t* value);
  const char* Write(const Access& who, int64_t cell, Kind kind, int64_t value);
  // All threads of a warp have met.
  void SyncWarp(int warp) { ++warp_interval_[warp]; }
  // All threads of these roles have met.
  void Meet(const std::vector<int>& roles);

  // --- Barriers of the copy engine; `at` is a barrier's first byte ---
  const char* InitBarrier(const Access& who, int64_t at, int64_t count);
  // Makes the barriers known that this thread has made.
  void PublishBarriers(const Access& who);
  // `all`: with this thread, all threads of the role have arrived.
  const char* Arrive(int role, int64_t at, int64_t bytes, bool all);
  // Sets *ready if the next phase that the role waits for has ended; then its wait is over.
  const char* Wait(int role, int64_t at, int64_t parity, bool* ready);
  // What no order of threads may leave behind.
  const char* End() const;

  // --- Copies and products ---
  // Writes a number that becomes known by the barrier's phase.
  const char* Copy(int role, int64_t cell, int64_t barrier, int64_t value);
  // Ends a copy of `bytes`.
  const char* EndCopy(int64_t barrier, int64_t bytes);
  // A product that the role has not committed reads the cell.
  const char* ReadForProduct(int role, int64_t cell, int64_t* value);
  void CommitProducts(int role) {
    committed_at_[role].push_back(clock_[role][role]);
    ++groups_[role];
  }
  // All but the last `groups` committed groups are complete.
  void CompleteProducts(int role, int64_t groups);
  int64_t committed(int role) const { return groups_[role]; }

  // --- Turns: named barriers that the threads of two roles meet at ---
  // `role` waits for its turn, or passes it to another one.
  const char* PassTurn(int role, int to);
  const char* TakeTurn(int role, bool* ready);

 private:
  using Clock = std::array<int64_t, kMostRoles>;
  // An access: when, by its role's clock, and between which barriers.
  struct Mark {
    static constexpr int kSeveral = -1;
    int32_t block = 0;
    int8_t role = 0;
    int16_t thread = 0, warp = 0;  // kSeveral: several
    int64_t time = 0, interval = 0, warp_interval = 0;
  };
  struct Cell {
    int32_t block = 0;  // of the values below
    Kind kind = Kind::kNone;
    bool is_barrier = false;
    int64_t value = 0;
    Mark read, written;
    int32_t barrier = -1, phase = 0;               // of the copy that wrote it; -1: a thread did
    std::array<int32_t, kMostRoles> product = {};  // 1 + the group of the last product that read it
  };
  struct Barrier {
    int64_t count = 0, arrivals = 0, bytes = 0;
    int made_by = 0, thread = 0;  // a role and its thread
    bool published = false;
    int64_t made_at = 0;                           // when it was published, by the role's clock
    int64_t phase = 0;                             // that runs
    bool copies = false;                           // whether a copy belongs to the phase that runs
    Clock release = {}, passed = {};               // of the arrivals of the phase that runs
    std::vector<Clock> released, released_passed;  // by phase that has ended
    // By phase: when a role waited for it, plus 1; 0: not yet.
    std::vector<Clock> waited;
    std::vector<bool> copied;                    // by phase: whether a copy belongs to it
    std::array<int64_t, kMostRoles> waits = {};  // how many phases each role has waited for
  };

  Cell& At(int64_t cell);
  Mark MarkOf(const Access& who) const;
  bool Ordered(const Access& who, const Mark& mark) const;
  // Whether role `role` knows of what `other` did at `time`.
  bool Knows(int role, int other, int64_t time) const {
    return role == other || clock_[role][other] >= time;
  }
  // What is wrong with a write to the cell that `role` begins now.
  const char* CheckWrite(const Access& who, const Cell& cell) const;
  // Whether `role` knows that a phase has ended.
  bool PhaseIsKnown(int role, const Barrier& barrier, int64_t phase) const;
  Barrier* Find(int64_t at);
  const char* EndPhase(Barrier* barrier);
  void Join(Clock* to, const Clock& from) const;

  const int64_t bytes_;
  const int roles_;
  int32_t block_ = 0;
  std::vector<Cell> cells_;
  std::vector<Clock> clock_;  // by role
  // By role: what it knows of accesses by the threads of others. One thread's arrival at a barrier
  // of the copy engine does not say what the other threads of its role have done.
  std::vector<Clock> met_;
  // By role: which times of others all of their threads have passed, as far as it knows. Warps of a
  // warpgroup pass a wait one by one; a product that is complete needed all of them.
  std::vector<Clock> passed_;
  std::vector<std::vector<int64_t>> committed_at_;  // by role and group
  std::vector<int64_t> interval_;                   // by role
  std::vector<int64_t> warp_interval_;              // by warp of the block
  std::vector<int64_t> groups_;                     // committed, by role
  std::vector<std::vector<int64_t>> done_;          // by role and group: when it was complete
  std::map<int64_t, int> barrier_at_;               // numbers
  std::vector<Barrier> barriers_;
  std::vector<bool> turn_;  // by role: whether it has been passed its turn
  std::vector<Clock> turn_clock_, turn_met_, turn_passed_;
  std::vector<int64_t> took_;  // by role: when it took its last turn; 0: never
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_BLOCK_MEMORY_H_
