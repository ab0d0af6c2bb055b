// Runs CUDA kernels that were compiled as host C++. Blocks run one after another; the threads of a
// block are fibers that take turns at barriers and shuffles.
//
// Include before kernels/codegen/prelude.cuh. Behaviour that a GPU leaves undefined ends the
// process with a message: a barrier that some threads of a block do not reach, or a shuffle in
// which some living threads of a warp do not take part.
#ifndef LEMMA_TESTS_KERNELS_CODEGEN_GRID_EMULATOR_H_
#define LEMMA_TESTS_KERNELS_CODEGEN_GRID_EMULATOR_H_

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#define LEMMA_GRID_EMULATOR
#define __global__
#define __device__
#define __launch_bounds__(threads)
// Only one block runs at a time, so memory shared by its threads may be static.
#define __shared__ static
#define __restrict__ __restrict
#define __align__(bytes) __attribute__((aligned(bytes)))

struct EmulatedIndex {
  unsigned int x = 0;
};
static EmulatedIndex threadIdx, blockIdx;

namespace grid_emulator {

constexpr int kWarp = 32;
constexpr size_t kStackBytes = 128 * 1024;

enum class State { kReady, kAtWarp, kAtBlock, kDone };

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  State state = State::kReady;
  unsigned long long slot = 0;  // the value that it passes to a shuffle
  // Its fragments of a product on tensor cores; alternate ones, so that a thread may go on while
  // others still read.
  struct {
    unsigned int a[4], b[2];
  } fragments[2];
  int products = 0;
};

struct Block {
  std::vector<Fiber> fibers;
  ucontext_t scheduler;
  int running = 0;
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

// Switches from the running fiber to the scheduler, until the scheduler resumes it.
inline void Wait(State state) {
  Fiber& fiber = block->fibers[block->running];
  fiber.state = state;
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(state == State::kDone ? nullptr : &fake, block->scheduler_stack,
                                 block->scheduler_stack_bytes);
#endif
  swapcontext(&fiber.context, &block->scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, &block->scheduler_stack, &block->scheduler_stack_bytes);
#endif
}

inline void FiberMain() {
  EnterFiber();
  block->kernel();
  Wait(State::kDone);
}

inline void Resume(int i) {
  block->running = i;
  threadIdx.x = static_cast<unsigned int>(i);
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, block->fibers[i].stack.data(), kStackBytes);
#endif
  swapcontext(&block->scheduler, &block->fibers[i].context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

// Resumes the fibers [from, to) if all living ones among them are at `state`.
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

inline void RunBlock(int threads) {
  for (int i = 0; i < threads; ++i) {
    Fiber& fiber = block->fibers[i];
    fiber.state = State::kReady;
    fiber.products = 0;
    fiber.stack.resize(kStackBytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, FiberMain, 0);
  }
  for (;;) {
    bool progress = false, living = false;
    for (int i = 0; i < threads; ++i) {
      if (block->fibers[i].state != State::kReady) continue;
      Resume(i);
      progress = true;
    }
    for (int i = 0; i < threads; i += kWarp) {
      progress = Release(i, std::min(i + kWarp, threads), State::kAtWarp) || progress;
    }
    // A thread that has ended never reaches a barrier.
    int ended = 0;
    for (const Fiber& fiber : block->fibers) ended += fiber.state == State::kDone ? 1 : 0;
    if (ended == threads) return;
    if (Release(0, threads, State::kAtBlock)) {
      if (ended > 0) Fail("some threads ended before a barrier that others wait at");
      progress = true;
    }
    living = ended < threads;
    if (living && !progress) Fail("threads wait at different barriers");
  }
}

// The sum, truncated to f32 as tensor cores do.
inline float Truncated(double x) {
  const float nearest = static_cast<float>(x);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafter(nearest, 0.0f)
                                                                : nearest;
}

// mma.sync of a 16 x 8 result and 8 words' depth. Lane l passes words l % 4 and l % 4 + 4 of rows
// l / 4 and l / 4 + 8 of A and of column l / 4 of B, and gets columns 2 (l % 4) and 2 (l % 4) + 1
// of the same rows. A word holds Words::kNumbers numbers; Words::Number reads them.
template <class Words>
void MultiplyAdd(float* upper, float* lower, const unsigned int* a, const unsigned int* b) {
  const int me = block->running, warp = me / kWarp * kWarp, lane = me % kWarp;
  const int side = block->fibers[me].products++ % 2;
  std::memcpy(block->fibers[me].fragments[side].a, a, 4 * sizeof *a);
  std::memcpy(block->fibers[me].fragments[side].b, b, 2 * sizeof *b);
  auto of = [&](int i) -> const auto& { return block->fibers[warp + i].fragments[side]; };
  Wait(State::kAtWarp);
  for (int i = 0; i < kWarp; ++i) {
    if (block->fibers[warp + i].products < block->fibers[me].products) {
      Fail("a product on tensor cores lacks a thread of the warp");
    }
  }
  for (int r = 0; r < 2; ++r) {
    float* row = r == 0 ? upper : lower;
    for (int j = 0; j < 2; ++j) {
      double sum = row[j];
      for (int word = 0; word < 8; ++word) {
        const unsigned int x = of(lane / 4 * 4 + word % 4).a[r + word / 4 * 2];
        const unsigned int y = of((lane % 4 * 2 + j) * 4 + word % 4).b[word / 4];
        for (int i = 0; i < Words::kNumbers; ++i) {
          sum += static_cast<double>(Words::Number(x, i)) * Words::Number(y, i);
        }
      }
      row[j] = Truncated(sum);
    }
  }
}

// Runs `kernel` for every thread of a grid. Kernels that do not synchronize need no fibers.
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
