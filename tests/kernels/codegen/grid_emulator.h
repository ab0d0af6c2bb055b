// Runs CUDA kernels that were compiled as host C++. Blocks run one after another; the threads of a
// block are fibers that take turns at barriers and shuffles.
//
// Include before kernels/codegen/prelude.cuh. Behavior that a GPU leaves
// undefined ends the process with a message. Examples are a barrier that some
// threads of a block do not reach, and a shuffle in which some living threads
// of a warp do not take part.
#ifndef LEMMA_TESTS_KERNELS_CODEGEN_GRID_EMULATOR_H_
#define LEMMA_TESTS_KERNELS_CODEGEN_GRID_EMULATOR_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#define LEMMA_GRID_EMULATOR
#define __global__
#define __device__
#define __launch_bounds__(...)
// Only one block runs at a time, so memory shared by its threads may be static.
#define __shared__ static
#define __grid_constant__
#define __restrict__ __restrict
#define __align__(bytes) __attribute__((aligned(bytes)))

struct EmulatedIndex {
  unsigned int x = 0;
};
static EmulatedIndex threadIdx, blockIdx;

// These types have a namespace of their own: argument-dependent lookup must not find the functions
// of grid_emulator.
namespace emulated_memory {

// A barrier of the copy engine (mbarrier), in shared memory.
struct BulkBarrier {
  unsigned char count = 0;     // arrivals that end a phase
  unsigned char arrivals = 0;  // of this phase
  unsigned short phase = 0;    // phases that have ended
  int bytes = 0;               // bytes that are expected and not copied yet
};
static_assert(sizeof(BulkBarrier) == 8, "the size on a device");

// A tensor in memory, and the size of the box that one copy moves. The dimension that varies
// fastest comes first.
struct BulkMap {
  const void* data = nullptr;
  int rank = 0, element_bytes = 0;
  long long dims[5] = {}, strides[5] = {};  // in elements
  int box[5] = {};                          // in elements
};

}  // namespace emulated_memory

// Suspends the running stack: saves on it the registers that a call has to
// preserve, and stores the stack pointer in *from. Then continues the stack
// whose stack pointer is `to`. Unlike glibc's swapcontext, the function does
// not save the signal mask, which would take a system call. It ends with a
// jump, not with a `ret`: processors predict that a `ret` returns to the last
// call, but here the last call belongs to another stack.
extern "C" __attribute__((visibility("hidden"))) void lemma_switch_stack(void** from, void* to);
#if !defined(__x86_64__)
#error "lemma_switch_stack is written for x86-64"
#endif
asm(R"(
.text
.type lemma_switch_stack, @function
lemma_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size lemma_switch_stack, .-lemma_switch_stack
)");

namespace grid_emulator {

using emulated_memory::BulkBarrier;
using emulated_memory::BulkMap;

constexpr int kWarp = 32;
constexpr size_t kStackBytes = 128 * 1024;

// The state of a thread. kReady: it waits for nothing. kAtWarp: it waits for
// the threads of its warp. kAtSyncThreads: for the threads of SyncThreads.
// kAtBlock: for the block. kAtPhase: for a phase of a BulkBarrier (WaitFor).
// kAtTurn: for its warpgroup's turn (TakeTurn). kDone: it has ended.
enum class State { kReady, kAtWarp, kAtSyncThreads, kAtBlock, kAtPhase, kAtTurn, kDone };
// A warpgroup has 128 threads. Warpgroups take turns: the turn of a warpgroup
// begins when all threads of another warpgroup have passed the turn to it
// (PassTurn), and all its own threads wait for the turn (TakeTurn).
// kTurnThreads is the number of threads of both warpgroups.
constexpr int kMostWarpgroups = 4, kTurnThreads = 256;

// A bulk copy from the box of the tensor that starts at index `at`.
struct Copy {
  unsigned char* to;
  BulkMap map;           // by value: the issuing thread may end first
  BulkBarrier* barrier;  // counts the copied bytes
  int at[5];
};

// A product A·B of tiles that a thread has issued and not waited for yet.
struct Product {
  std::function<void(int place)> compute;  // place: the index in Fiber::words
  int group;                               // the number of its group, from 0
  const unsigned int* words;               // A if it is in registers, otherwise nullptr
};

struct Fiber {
  void* stack_pointer = nullptr;  // while the fiber waits
  std::unique_ptr<char[]> stack;  // kStackBytes, not initialized: few of its pages are used
  State state = State::kReady;
  unsigned long long slot = 0;  // the value that the thread passes to a shuffle
  // The thread's words of the factors A and B for a product on tensor cores
  // (MultiplyAdd), and pointers to its sums, which become null when the sums
  // are computed. Two sets are used in turn, since a thread may issue the next
  // product before other threads have continued after the last product.
  struct {
    unsigned int a[4], b[2];
    void* sums[2];
  } fragments[2];
  int products = 0;  // products issued so far
  // For kAtPhase: the barrier, and the parity of the phase that the thread waits for.
  const BulkBarrier* barrier = nullptr;
  int parity = 0;
  std::vector<Product> pending;
  int groups = 0;                                // groups of products committed so far
  std::vector<std::vector<unsigned int>> words;  // A of each product that completes now
};

// Eight columns of a product.
typedef double Columns __attribute__((vector_size(8 * sizeof(double))));

struct Block {
  std::vector<Fiber> fibers;
  int sync_threads = 0;  // the n of SyncThreads(n): the barrier is for the first n threads
  // By warpgroup: the number of threads that have passed the turn to it or wait for its turn.
  int turns[kMostWarpgroups] = {};
  std::vector<Copy> copies;   // copies that are issued and not yet carried out
  void* scheduler = nullptr;  // as Fiber::stack_pointer
  int running = 0;            // the index of the running fiber
  std::function<void()> kernel;
#if defined(__SANITIZE_ADDRESS__)
  const void* scheduler_stack = nullptr;
  size_t scheduler_stack_bytes = 0;
#endif
};
static Block* block = nullptr;

[[noreturn]] inline void Fail(const char* what) {
  std::fprintf(stderr, "grid emulator: block %u: %s\n", blockIdx.x, what);
  std::abort();
}

inline void EnterFiber() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &block->scheduler_stack, &block->scheduler_stack_bytes);
#endif
}

// Switches from the running fiber to the next ready one of its warp or, if there is none, to the
// scheduler, until the fiber is resumed.
inline void Wait(State state) {
  Fiber& fiber = block->fibers[block->running];
  fiber.state = state;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(state == State::kDone ? nullptr : &fake, block->scheduler_stack,
                                 block->scheduler_stack_bytes);
#else
  const int next = block->running + 1;
  if (next % kWarp != 0 && next < static_cast<int>(block->fibers.size()) &&
      block->fibers[next].state == State::kReady) {
    block->running = next;
    threadIdx.x = static_cast<unsigned int>(next);
    lemma_switch_stack(&fiber.stack_pointer, block->fibers[next].stack_pointer);
    return;
  }
#endif
  lemma_switch_stack(&fiber.stack_pointer, block->scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, &block->scheduler_stack, &block->scheduler_stack_bytes);
#endif
}

[[noreturn]] inline void FiberMain() {
  EnterFiber();
  block->kernel();
  Wait(State::kDone);
  Fail("a thread that has ended goes on");
}

// Makes the fiber of thread i begin with FiberMain. The stack looks as if
// lemma_switch_stack had been called. In each thread, the stack begins at
// another cache line of a page. If all stacks began at the same line, they
// would share a few sets of the cache.
inline void Prepare(Fiber* fiber, int i) {
  if (fiber->stack == nullptr) fiber->stack.reset(new char[kStackBytes]);
  constexpr int kSaved = 6;  // registers
  constexpr int kPage = 4096, kLines = 5 * 64;
  auto top = reinterpret_cast<uintptr_t>(fiber->stack.get() + kStackBytes) / 16 * 16;
  top -= static_cast<uintptr_t>(i * kLines % kPage);
  auto* words = reinterpret_cast<void**>(top);
  *--words = nullptr;  // FiberMain finds the stack as after a call
  *--words = reinterpret_cast<void*>(&FiberMain);
  for (int i = 0; i < kSaved; ++i) *--words = nullptr;
  fiber->stack_pointer = words;
}

// Runs fiber i until it waits.
inline void Resume(int i) {
  block->running = i;
  threadIdx.x = static_cast<unsigned int>(i);
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, block->fibers[i].stack.get(), kStackBytes);
#endif
  lemma_switch_stack(&block->scheduler, block->fibers[i].stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

// Makes the fibers [from, to) ready if all of them that have not ended are at `state`. Returns
// whether it made some of them ready.
inline bool Release(int from, int to, State state) {
  int waiting = 0, living = 0;
  for (int i = from; i < to; ++i) {
    living += block->fibers[i].state != State::kDone ? 1 : 0;
    waiting += block->fibers[i].state == state ? 1 : 0;
  }
  if (waiting == 0 || waiting != living) return false;
  for (int i = from; i < to; ++i) {
    if (block->fibers[i].state == state) block->fibers[i].state = State::kReady;
  }
  return true;
}

inline void CarryOut(const Copy& copy);

// Whether the phase with this parity has ended. The parity of the phase that runs is phase % 2.
inline bool Ended(const BulkBarrier& barrier, int parity) { return barrier.phase % 2 != parity; }

// Runs the threads [from, to) of a warp. In every fourth block, the next warp
// runs after the threads of this warp have met at a barrier. In the other
// blocks, which run faster, a warp runs as far as it can. Returns whether a
// thread ran.
inline bool RunWarp(int from, int to) {
  const bool takes_turns = blockIdx.x % 4 == 0;
  bool progress = false;
  do {
    for (int i = from; i < to; ++i) {
      if (block->fibers[i].state != State::kReady) continue;
      Resume(i);
      progress = true;
    }
  } while (Release(from, to, State::kAtWarp) && !takes_turns);
  return progress;
}

// Runs the block blockIdx.x, which has `threads` threads.
inline void RunBlock(int threads) {
  std::fill(std::begin(block->turns), std::end(block->turns), 0);
  for (int i = 0; i < threads; ++i) {
    Fiber& fiber = block->fibers[i];
    fiber.state = State::kReady;
    fiber.products = 0;
    fiber.groups = 0;
    Prepare(&fiber, i);
  }
  for (;;) {
    bool progress = false, living = false;
    for (int warp = 0; warp < threads; warp += kWarp) {
      progress = RunWarp(warp, std::min(warp + kWarp, threads)) || progress;
    }
    progress =
        Release(0, std::min(block->sync_threads, threads), State::kAtSyncThreads) || progress;
    for (int g = 0; g < kMostWarpgroups; ++g) {
      if (block->turns[g] > kTurnThreads) Fail("a turn is passed on twice");
      if (block->turns[g] < kTurnThreads) continue;
      block->turns[g] = 0;
      progress = Release(g * 128, std::min(g * 128 + 128, threads), State::kAtTurn) || progress;
    }
    // A thread that has ended never reaches a barrier.
    int ended = 0;
    for (const Fiber& fiber : block->fibers) ended += fiber.state == State::kDone ? 1 : 0;
    if (ended == threads) {
      if (!block->copies.empty()) Fail("a bulk copy is in flight when the block ends");
      return;
    }
    for (Fiber& fiber : block->fibers) {
      if (fiber.state != State::kAtPhase || !Ended(*fiber.barrier, fiber.parity)) continue;
      fiber.state = State::kReady;
      progress = true;
    }
    // Copies are carried out as late as possible in some blocks, at once in others.
    if (!progress && !block->copies.empty()) {
      const Copy copy = block->copies.front();
      block->copies.erase(block->copies.begin());
      CarryOut(copy);
      progress = true;
    }
    if (Release(0, threads, State::kAtBlock)) {
      if (ended > 0) Fail("some threads ended before a barrier that others wait at");
      progress = true;
    }
    living = ended < threads;
    if (living && !progress) Fail("threads wait at different barriers");
  }
}

// x rounded toward zero to f32, as tensor cores round sums.
inline float Truncated(double x) {
  float nearest = static_cast<float>(x);
  if (std::fabs(static_cast<double>(nearest)) <= std::fabs(x) || std::isnan(x)) return nearest;
  // The next number toward zero: one less as an integer, since the sign is a bit of its own.
  unsigned int bits;
  std::memcpy(&bits, &nearest, sizeof bits);
  --bits;
  std::memcpy(&nearest, &bits, sizeof bits);
  return nearest;
}

// mma.sync: adds a product A·B that has 16 x 8 elements and a depth of 8 words.
// A word has 32 bits and holds one or more numbers. Lane l of the warp passes:
//   * in a[r + 2h], word l%4 + 4h of row l/4 + 8r of A,
//   * in b[h], word l%4 + 4h of column l/4 of B.
//
// The lane's upper[j] and lower[j] are the sums in column 2(l%4) + j of row l/4 and of row l/4 + 8.
//
// The first lane that continues after the barrier computes the sums of all
// lanes; the other lanes still wait. It calls add_rows(sums, a, b), which adds
// the product to sums[row][column]; a[row][k] is word k of a row of A, and
// b[k][column] is word k of a column of B.
template <class Sum, class AddRows>
void MultiplyAddBy(Sum* upper, Sum* lower, const unsigned int* a, const unsigned int* b,
                   const AddRows& add_rows) {
  const int me = block->running, warp = me / kWarp * kWarp;
  const int side = block->fibers[me].products++ % 2;
  auto& mine = block->fibers[me].fragments[side];
  std::memcpy(mine.a, a, sizeof mine.a);
  std::memcpy(mine.b, b, sizeof mine.b);
  mine.sums[0] = upper;
  mine.sums[1] = lower;
  Wait(State::kAtWarp);
  if (mine.sums[0] == nullptr) return;  // another lane has computed them
  auto of = [&](int lane) -> auto& { return block->fibers[warp + lane].fragments[side]; };
  for (int i = 0; i < kWarp; ++i) {
    if (block->fibers[warp + i].products < block->fibers[me].products) {
      Fail("a product on tensor cores lacks a thread of the warp");
    }
  }
  unsigned int right[8][8];  // [word][column]
  for (int column = 0; column < 8; ++column) {
    for (int word = 0; word < 8; ++word) {
      right[word][column] = of(column * 4 + word % 4).b[word / 4];
    }
  }
  Sum sums[16][8];
  unsigned int left[16][8];  // [row][word]
  for (int row = 0; row < 16; ++row) {
    for (int word = 0; word < 8; ++word) {
      left[row][word] = of(row % 8 * 4 + word % 4).a[row / 8 + word / 4 * 2];
      sums[row][word] = static_cast<Sum*>(of(row % 8 * 4 + word / 2).sums[row / 8])[word % 2];
    }
  }
  add_rows(sums, left, right);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      static_cast<Sum*>(of(row % 8 * 4 + column / 2).sums[row / 8])[column % 2] = sums[row][column];
    }
  }
  for (int lane = 0; lane < kWarp; ++lane) of(lane).sums[0] = nullptr;
}

// The product of floats, whose sums are truncated. A word holds Words::kNumbers numbers;
// Words::Number reads them.
template <class Words>
void MultiplyAdd(float* upper, float* lower, const unsigned int* a, const unsigned int* b) {
  MultiplyAddBy(upper, lower, a, b, [](float(*sums)[8], const auto& left, const auto& right) {
    constexpr int kDepth = 8 * Words::kNumbers;
    Columns factors[kDepth];
    for (int k = 0; k < kDepth; ++k) {
      for (int column = 0; column < 8; ++column) {
        factors[k][column] = Words::Number(right[k / Words::kNumbers][column], k % Words::kNumbers);
      }
    }
    for (int row = 0; row < 16; ++row) {
      Columns sum;
      for (int column = 0; column < 8; ++column) sum[column] = sums[row][column];
      for (int k = 0; k < kDepth; ++k) {
        sum += static_cast<double>(
                   Words::Number(left[row][k / Words::kNumbers], k % Words::kNumbers)) *
               factors[k];
      }
      for (int column = 0; column < 8; ++column) sums[row][column] = Truncated(sum[column]);
    }
  });
}

// The same for bytes; sums wrap, as an i32 does.
template <class Words>
void MultiplyAdd(int* upper, int* lower, const unsigned int* a, const unsigned int* b) {
  MultiplyAddBy(upper, lower, a, b, [](int(*sums)[8], const auto& left, const auto& right) {
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        auto sum = static_cast<unsigned int>(sums[row][column]);
        for (int k = 0; k < 8 * Words::kNumbers; ++k) {
          const unsigned int x = left[row][k / Words::kNumbers];
          const unsigned int y = right[k / Words::kNumbers][column];
          sum += static_cast<unsigned int>(Words::NumberOfA(x, k % Words::kNumbers) *
                                           Words::NumberOfB(y, k % Words::kNumbers));
        }
        sums[row][column] = static_cast<int>(sum);
      }
    }
  });
}

// --- Barriers and bulk copies (sm_90) ---

inline void EndPhaseIfComplete(BulkBarrier* barrier) {
  if (barrier->arrivals > barrier->count) Fail("too many arrivals at a barrier");
  if (barrier->arrivals < barrier->count || barrier->bytes != 0) return;
  barrier->arrivals = 0;
  ++barrier->phase;
}
// Makes a barrier. A phase ends after `count` arrivals and all expected bytes.
inline void InitBarrier(BulkBarrier* barrier, int count) {
  *barrier = BulkBarrier();
  barrier->count = static_cast<unsigned char>(count);
}
// The thread arrives. The phase then expects `bytes` more bytes from copies.
inline void Arrive(BulkBarrier* barrier, int bytes) {
  barrier->bytes += bytes;
  ++barrier->arrivals;
  EndPhaseIfComplete(barrier);
}
// Waits until the phase with this parity has ended.
inline void WaitFor(BulkBarrier* barrier, int parity) {
  if (Ended(*barrier, parity)) return;
  Fiber& fiber = block->fibers[block->running];
  fiber.barrier = barrier;
  fiber.parity = parity;
  Wait(State::kAtPhase);
}

// The place of the byte at `offset` of a tile. A line has 128 bytes, in 8 pieces: piece c of line r
// lies at the place of piece c ^ (r % 8) of this line.
inline size_t Swizzled(size_t offset) { return offset ^ (offset / 128 % 8 * 16); }

// Moves the bytes of the copy. Elements outside of the tensor are 0.
inline void CarryOut(const Copy& copy) {
  const BulkMap& map = copy.map;
  if (reinterpret_cast<uintptr_t>(copy.to) % 1024 != 0) Fail("a bulk copy to unaligned memory");
  if (map.box[0] * map.element_bytes != 128) Fail("a bulk copy's lines have 128 bytes");
  long long elements = 1;
  for (int d = 0; d < map.rank; ++d) elements *= map.box[d];
  for (long long e = 0; e < elements; ++e) {
    long long rest = e, offset = 0;
    bool inside = true;
    for (int d = 0; d < map.rank; ++d) {
      const long long i = copy.at[d] + rest % map.box[d];
      rest /= map.box[d];
      inside = inside && i >= 0 && i < map.dims[d];
      offset += i * map.strides[d];
    }
    unsigned char* const to = copy.to + Swizzled(static_cast<size_t>(e * map.element_bytes));
    if (inside) {
      std::memcpy(to, static_cast<const char*>(map.data) + offset * map.element_bytes,
                  static_cast<size_t>(map.element_bytes));
    } else {
      std::memset(to, 0, static_cast<size_t>(map.element_bytes));
    }
  }
  copy.barrier->bytes -= static_cast<int>(elements * map.element_bytes);
  EndPhaseIfComplete(copy.barrier);
}

// Issues the copy of the box that starts at index `at`. In every second block,
// the copy is carried out at once; in the others, as late as possible.
inline void CopyInBulk(void* to, const BulkMap& map, BulkBarrier* barrier, const int* at,
                       int rank) {
  if (rank != map.rank) Fail("a bulk copy of another rank");
  Copy copy = {static_cast<unsigned char*>(to), map, barrier, {}};
  std::copy(at, at + rank, copy.at);
  if (blockIdx.x % 2 == 0) {
    block->copies.push_back(copy);
  } else {
    CarryOut(copy);
  }
}

// --- Products by warpgroup (sm_90a) ---

// The descriptor of a tile is its address. The flag rows_adjacent of the device's function is not
// needed here: products get it as a parameter.
inline unsigned long long TileDescriptor(const void* tile, bool) {
  return reinterpret_cast<uintptr_t>(tile);
}

// The 16-bit number in row `row` and at depth `deep` of the tile at `start`. A line of 128 bytes
// holds 64 depths of one row or, if `rows_adjacent`, 64 rows at one depth.
inline unsigned short TileNumber(unsigned long long start, bool rows_adjacent, int row, int deep) {
  const size_t at = rows_adjacent ? static_cast<size_t>(row / 64 * 8192 + deep * 128 + row % 64 * 2)
                                  : static_cast<size_t>(row * 128 + deep * 2);
  // The hardware swizzles addresses, so the tile's start counts too.
  const uintptr_t group = static_cast<uintptr_t>(start) & ~uintptr_t{1023};
  const size_t offset = static_cast<size_t>(start) - group + at;
  unsigned short number;
  std::memcpy(&number, reinterpret_cast<const char*>(group) + Swizzled(offset), 2);
  return number;
}

// Adds a product of depth 16 to the thread's part of a result with 64 rows and
// 8*eighths columns. This part lies in two rows: `upper` holds 2*eighths sums
// of the first row, `lower` as many of the second row. left(r, k) is the number
// of A in the thread's row r, 0 or 1, at depth k. If `adds` is false, the
// product replaces the sums.
template <class Words, class Left>
void AddProducts(float* upper, float* lower, int eighths, bool adds, const Left& left,
                 unsigned long long b, bool b_rows_adjacent) {
  const int column = block->running % 4 * 2;
  double rows[2][16];
  for (int r = 0; r < 2; ++r) {
    for (int k = 0; k < 16; ++k) rows[r][k] = static_cast<double>(left(r, k));
  }
  for (int j = 0; j < 2 * eighths; ++j) {
    double deep[16];
    for (int k = 0; k < 16; ++k) {
      deep[k] = Words::Number(TileNumber(b, b_rows_adjacent, j / 2 * 8 + column + j % 2, k), 0);
    }
    for (int r = 0; r < 2; ++r) {
      float* sums = r == 0 ? upper : lower;
      double sum = adds ? sums[j] : 0;
      for (int k = 0; k < 16; ++k) sum += rows[r][k] * deep[k];
      sums[j] = Truncated(sum);
    }
  }
}

inline void Issue(std::function<void(int)> compute, const unsigned int* words = nullptr) {
  Fiber& fiber = block->fibers[block->running];
  ++fiber.products;
  fiber.pending.push_back({std::move(compute), fiber.groups, words});
}

// wgmma: issues a product as in AddProducts, with A in the tile at `a`. The product reads its tiles
// when the thread waits for it, the latest time possible.
template <class Words>
void MultiplyAddTiles(float* upper, float* lower, int eighths, unsigned long long a,
                      bool a_rows_adjacent, unsigned long long b, bool b_rows_adjacent, bool adds) {
  Issue([=](int) {
    const int me = block->running, row = me % 128 / kWarp * 16 + me % kWarp / 4;
    auto left = [&](int r, int k) {
      return Words::Number(TileNumber(a, a_rows_adjacent, row + 8 * r, k), 0);
    };
    AddProducts<Words>(upper, lower, eighths, adds, left, b, b_rows_adjacent);
  });
}

// The same with A in registers, which are read as late as tiles are; always adds to the sums. For r
// and h that are 0 or 1, a lane's words[r + 2 h] holds the numbers in its row r at the depths
// 8 h + 2 (lane % 4) and 8 h + 2 (lane % 4) + 1.
template <class Words>
void MultiplyAddWords(float* upper, float* lower, int eighths, const unsigned int* words,
                      unsigned long long b, bool b_rows_adjacent) {
  auto compute = [=](int place) {
    const int row = block->running / 4 * 4;
    auto left = [&](int r, int k) {
      return Words::Number(block->fibers[row + k % 8 / 2].words[place][r + k / 8 * 2], k % 2);
    };
    AddProducts<Words>(upper, lower, eighths, true, left, b, b_rows_adjacent);
  };
  Issue(std::move(compute), words);
}
// Ends a group: the next product that the thread issues belongs to the next group.
inline void CommitProducts() { ++block->fibers[block->running].groups; }
inline void SyncThreads(int threads) {
  if (block->running >= threads) Fail("a thread at a barrier for others");
  block->sync_threads = threads;
  Wait(State::kAtSyncThreads);
}
// Waits until another warpgroup has passed the turn to `warpgroup`, and all
// threads of `warpgroup` wait for it.
inline void TakeTurn(int warpgroup) {
  if (block->running / 128 != warpgroup) Fail("a turn of another warpgroup");
  ++block->turns[warpgroup];
  Wait(State::kAtTurn);
}
// The thread passes the turn to warpgroup `to`.
inline void PassTurn(int to) { ++block->turns[to]; }

// Completes the thread's committed products, except those in its last `groups` groups.
inline void WaitForProducts(int groups) {
  const int me = block->running, warp = me / kWarp * kWarp;
  Wait(State::kAtWarp);
  for (int i = 0; i < kWarp; ++i) {
    if (block->fibers[warp + i].products != block->fibers[me].products) {
      Fail("a product by warpgroup lacks a thread of the warp");
    }
  }
  Fiber& fiber = block->fibers[me];
  auto complete = [&](const Product& product) { return product.group < fiber.groups - groups; };
  // Copies the words, since other lanes may read them after this lane has
  // continued and changed its words.
  fiber.words.clear();
  for (const Product& product : fiber.pending) {
    if (!complete(product)) continue;
    fiber.words.emplace_back();
    if (product.words != nullptr) fiber.words.back().assign(product.words, product.words + 4);
  }
  Wait(State::kAtWarp);
  int place = 0;
  for (const Product& product : fiber.pending) {
    if (complete(product)) product.compute(place++);
  }
  fiber.pending.erase(std::remove_if(fiber.pending.begin(), fiber.pending.end(), complete),
                      fiber.pending.end());
}

// Runs `kernel` for every thread of a grid of `blocks` blocks with `threads` threads each. Pass
// false for `synchronizes` only if threads never wait for each other; the run is then faster.
inline void Launch(long long blocks, int threads, bool synchronizes,
                   const std::function<void()>& kernel) {
  Block state;
  block = &state;
  if (synchronizes) {
    state.fibers.resize(threads);
    state.kernel = kernel;
  }
  for (long long b = 0; b < blocks; ++b) {
    blockIdx.x = static_cast<unsigned int>(b);
    if (synchronizes) {
      RunBlock(threads);
      continue;
    }
    for (int t = 0; t < threads; ++t) {
      threadIdx.x = static_cast<unsigned int>(t);
      kernel();
    }
  }
  block = nullptr;
}

}  // namespace grid_emulator

inline void __syncthreads() { grid_emulator::Wait(grid_emulator::State::kAtBlock); }
inline void __syncwarp() { grid_emulator::Wait(grid_emulator::State::kAtWarp); }

template <class T>
T __shfl_xor_sync(unsigned int, T value, int distance) {
  using grid_emulator::block;
  static_assert(sizeof(T) <= sizeof(unsigned long long), "");
  const int me = block->running, other = me ^ distance;
  std::memcpy(&block->fibers[me].slot, &value, sizeof(T));
  grid_emulator::Wait(grid_emulator::State::kAtWarp);
  if (block->fibers[other].state == grid_emulator::State::kDone) {
    grid_emulator::Fail("a shuffle reads from a thread that has ended");
  }
  std::memcpy(&value, &block->fibers[other].slot, sizeof(T));
  grid_emulator::Wait(grid_emulator::State::kAtWarp);
  return value;
}

#endif  // LEMMA_TESTS_KERNELS_CODEGEN_GRID_EMULATOR_H_
