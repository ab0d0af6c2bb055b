// The part of the prelude (prelude.cuh, which includes it within its namespace) for products by
// warpgroup and bulk copies, which only sm_90a has.
//
// A warpgroup, 128 threads, multiplies tiles of 16-bit numbers in shared memory (wgmma). The copy
// engine (TMA) fills these tiles. Barriers in shared memory (mbarrier) count arrivals of threads,
// and bytes. bulk_tile.cc describes the tiles.

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define LEMMA_HOPPER
#endif

// Shared memory as the copy engine needs it, with the size that the launch gives.
#if defined(LEMMA_GRID_EMULATOR)
#define LEMMA_BULK_SHARED(name, bytes) __shared__ __align__(1024) unsigned char name[bytes]
typedef emulated_memory::BulkMap BulkMap;
typedef emulated_memory::BulkBarrier BulkBarrier;
#else
#define LEMMA_BULK_SHARED(name, bytes) extern __shared__ __align__(1024) unsigned char name[]
// A tensor in memory and the box of it that one copy moves: CUDA's CUtensorMap.
struct alignas(64) BulkMap {
  unsigned long long words[16];
};
typedef unsigned long long BulkBarrier;

__device__ inline unsigned int SharedAddress(const void* p) {
#if defined(LEMMA_HOPPER)
  return static_cast<unsigned int>(__cvta_generic_to_shared(p));
#else
  return 0;
#endif
}
#endif

// A barrier's phase ends after `count` arrivals and all expected bytes.
__device__ inline void InitBarrier(BulkBarrier* barrier, int count) {
#if defined(LEMMA_HOPPER)
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(count));
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::InitBarrier(barrier, count);
#endif
}
// Makes initialized barriers known to the copy engine; before a __syncthreads().
__device__ inline void PublishBarriers() {
#if defined(LEMMA_HOPPER)
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
__device__ inline void Arrive(BulkBarrier* barrier) {
#if defined(LEMMA_HOPPER)
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::Arrive(barrier, 0);
#endif
}
// Arrives, and makes the phase wait for `bytes` of copies.
__device__ inline void ArriveExpecting(BulkBarrier* barrier, int bytes) {
#if defined(LEMMA_HOPPER)
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
      "r"(bytes)
      : "memory");
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::Arrive(barrier, bytes);
#endif
}
// Waits until phase number `phase` (modulo 2) has ended.
__device__ inline void WaitFor(BulkBarrier* barrier, int phase) {
#if defined(LEMMA_HOPPER)
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra AGAIN;\n}" ::"r"(SharedAddress(barrier)),
      "r"(phase)
      : "memory");
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::WaitFor(barrier, phase);
#endif
}

// Copies the box that begins at element (at[0], at[1], …), fastest first, to shared memory, in
// lines of 128 bytes. Swizzled: chunk c, of 16 bytes, of line r becomes chunk c ^ (r % 8); groups
// of eight lines are aligned to 1024 bytes. Elements outside the tensor are 0.
template <int kRank>
__device__ inline void CopyInBulk(void* to, const BulkMap& map, BulkBarrier* barrier,
                                  const int (&at)[kRank]) {
#if defined(LEMMA_HOPPER)
#define LEMMA_BULK(rank, coordinates, ...)                                                  \
  if constexpr (kRank == rank)                                                              \
  asm volatile(                                                                             \
      "cp.async.bulk.tensor." #rank                                                         \
      "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
      "}], [%2];" ::"r"(SharedAddress(to)),                                                 \
      "l"(&map), "r"(SharedAddress(barrier)), __VA_ARGS__                                   \
      : "memory")
  LEMMA_BULK(2, "%3, %4", "r"(at[0]), "r"(at[1]));
  LEMMA_BULK(3, "%3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  LEMMA_BULK(4, "%3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  LEMMA_BULK(5, "%3, %4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#undef LEMMA_BULK
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::CopyInBulk(to, map, barrier, at, kRank);
#endif
}

// The descriptor, for MultiplyAddTiles, of the tile at `tile`, 16 deep. It has a line of 64 numbers
// for each row or, if `rows_adjacent`, a line of 64 rows for each depth.
__device__ inline uint64 TileDescriptor(const void* tile, bool rows_adjacent) {
#if defined(LEMMA_HOPPER)
  // Between groups of eight lines 1024 bytes; between groups of 64 rows 8192 bytes; lines are
  // swizzled in 128 bytes.
  return (SharedAddress(tile) & 0x3ffffu) >> 4 |
         static_cast<uint64>((rows_adjacent ? 8192 : 16) >> 4) << 16 |
         static_cast<uint64>(1024 >> 4) << 32 | static_cast<uint64>(1) << 62;
#elif defined(LEMMA_GRID_EMULATOR)
  return grid_emulator::TileDescriptor(tile, rows_adjacent);
#else
  return 0;
#endif
}

// A barrier for the first kThreads threads of the block.
template <int kThreads>
__device__ inline void SyncThreads() {
#if defined(LEMMA_HOPPER)
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::SyncThreads(kThreads);
#endif
}

// Warpgroups take turns: `warpgroup` waits until the one before it has passed the turn on. The last
// one passes the first turn.
__device__ inline void TakeTurn(int warpgroup) {
#if defined(LEMMA_HOPPER)
  asm volatile("bar.sync %0, 256;" ::"r"(2 + warpgroup) : "memory");
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::TakeTurn(warpgroup);
#endif
}
__device__ inline void PassTurn(int to) {
#if defined(LEMMA_HOPPER)
  asm volatile("bar.arrive %0, 256;" ::"r"(2 + to) : "memory");
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::PassTurn(to);
#endif
}

// Loads N numbers, 16 bytes at a time.
template <int N>
__device__ inline Pack<float, N> LoadStaged(const float* from) {
  Pack<float, N> result;
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const Pack<float, 4> part = LoadPack<4>(from + i);
#pragma unroll
    for (int u = 0; u < 4; ++u) result.at[i + u] = part.at[u];
  }
  return result;
}

// Threads start with an equal share of the registers (168 each for 384 threads, 128 each for 512).
// The warpgroup that copies keeps kRegisters, and the others get as many as that leaves.
template <int kRegisters>
__device__ inline void GiveRegisters() {
#if defined(LEMMA_HOPPER)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}
template <int kRegisters>
__device__ inline void TakeRegisters() {
#if defined(LEMMA_HOPPER)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

// Call it before the first product, and before the next one if other code has used `sum`.
__device__ inline void BeginProducts() {
#if defined(LEMMA_HOPPER)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ inline void CommitProducts() {
#if defined(LEMMA_HOPPER)
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::CommitProducts();
#endif
}
// Waits until all but the last kGroups committed groups of products are complete.
template <int kGroups>
__device__ inline void WaitForProducts() {
#if defined(LEMMA_HOPPER)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::WaitForProducts(kGroups);
#endif
}

// Call it after the wait, before other code uses `sum`: keeps the compiler from moving that code to
// before the wait.
template <int N>
__device__ inline void TakeSums([[maybe_unused]] float (&sum)[2][N]) {
#if defined(LEMMA_HOPPER)
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < N; ++j) asm volatile("" : "+f"(sum[i][j])::"memory");
  }
#endif
}

// Adds the products of 64 rows of A and 8 * kEighths columns of B, 16 deep, to the sums that the
// warpgroup holds. Lane l of warp w holds sums of rows r = 16 w + l / 4 and r + 8. Of the columns
// from 8 j on it holds c = 8 j + 2 (l % 4) and c + 1, as sum[i][2 j] and sum[i][2 j + 1]; i is 0
// for row r. Without kAdds, the sums are 0 before.
#define LEMMA_SUM_4(j) \
  "+f"(sum[0][2 * (j)]), "+f"(sum[0][2 * (j) + 1]), "+f"(sum[1][2 * (j)]), "+f"(sum[1][2 * (j) + 1])
#define LEMMA_SUM_16(j) \
  LEMMA_SUM_4(j), LEMMA_SUM_4((j) + 1), LEMMA_SUM_4((j) + 2), LEMMA_SUM_4((j) + 3)
#define LEMMA_SUM_64(j) \
  LEMMA_SUM_16(j), LEMMA_SUM_16((j) + 4), LEMMA_SUM_16((j) + 8), LEMMA_SUM_16((j) + 12)
#define LEMMA_WGMMA(columns, type, registers, a_at, b_at, adds_at, a_rows_at, b_rows_at, ...) \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type          \
               " {" registers "}, %" #a_at ", %" #b_at ", %" #adds_at ", 1, 1, %" #a_rows_at  \
               ", %" #b_rows_at ";"                                                           \
               : __VA_ARGS__                                                                  \
               : "l"(a), "l"(b), "n"(kAdds), "n"(kRowsAdjacentA), "n"(kRowsAdjacentB))
// The same with A in registers.
#define LEMMA_WGMMA_WORDS(columns, type, registers, a0, a1, a2, a3, b_at, b_rows_at, ...) \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type      \
               " {" registers "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b_at      \
               ", 1, 1, 1, %" #b_rows_at ";"                                              \
               : __VA_ARGS__                                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kRowsAdjacentB))
#if defined(LEMMA_HOPPER)
#define LEMMA_REGISTERS_32                                                 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13"             \
  ", %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27" \
  ", %28, %29, %30, %31"
#define LEMMA_REGISTERS_64                                                 \
  LEMMA_REGISTERS_32                                                       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45" \
  ", %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59" \
  ", %60, %61, %62, %63"
#define LEMMA_REGISTERS_128                                                              \
  LEMMA_REGISTERS_64                                                                     \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77"               \
  ", %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91"               \
  ", %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105"         \
  ", %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119" \
  ", %120, %121, %122, %123, %124, %125, %126, %127"
#endif
template <class Words, int kEighths, bool kRowsAdjacentA, bool kRowsAdjacentB, bool kAdds = true>
__device__ inline void MultiplyAddTiles(float (&sum)[2][2 * kEighths], uint64 a, uint64 b) {
#if defined(LEMMA_HOPPER)
#define LEMMA_WGMMA_OF(type)                                                            \
  if constexpr (kEighths == 8)                                                          \
    LEMMA_WGMMA(64, type, LEMMA_REGISTERS_32, 32, 33, 34, 35, 36, LEMMA_SUM_16(0),      \
                LEMMA_SUM_16(4));                                                       \
  if constexpr (kEighths == 16)                                                         \
    LEMMA_WGMMA(128, type, LEMMA_REGISTERS_64, 64, 65, 66, 67, 68, LEMMA_SUM_64(0));    \
  if constexpr (kEighths == 32)                                                         \
  LEMMA_WGMMA(256, type, LEMMA_REGISTERS_128, 128, 129, 130, 131, 132, LEMMA_SUM_64(0), \
              LEMMA_SUM_64(16))
  if constexpr (Words::kBf16) {
    LEMMA_WGMMA_OF("bf16");
  } else {
    LEMMA_WGMMA_OF("f16");
  }
#undef LEMMA_WGMMA_OF
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::MultiplyAddTiles<Words>(&sum[0][0], &sum[1][0], kEighths, a, kRowsAdjacentA, b,
                                         kRowsAdjacentB, kAdds);
#endif
}

// The same with the 64 rows of A in registers, 16 numbers deep: lane l of warp w holds rows
// r = 16 w + l / 4 and r + 8 at depths d = 2 (l % 4) and d + 1 (words 0 and 1), and at d + 8 and
// d + 9 (words 2 and 3). Sums of two columns, packed, are such words.
template <class Words, int kEighths, bool kRowsAdjacentB>
__device__ inline void MultiplyAddWords(float (&sum)[2][2 * kEighths], const unsigned int (&a)[4],
                                        uint64 b) {
#if defined(LEMMA_HOPPER)
#define LEMMA_WGMMA_OF(type)                                                                       \
  if constexpr (kEighths == 8)                                                                     \
    LEMMA_WGMMA_WORDS(64, type, LEMMA_REGISTERS_32, 32, 33, 34, 35, 36, 37, LEMMA_SUM_16(0),       \
                      LEMMA_SUM_16(4));                                                            \
  if constexpr (kEighths == 16)                                                                    \
    LEMMA_WGMMA_WORDS(128, type, LEMMA_REGISTERS_64, 64, 65, 66, 67, 68, 69, LEMMA_SUM_64(0));     \
  if constexpr (kEighths == 32)                                                                    \
  LEMMA_WGMMA_WORDS(256, type, LEMMA_REGISTERS_128, 128, 129, 130, 131, 132, 133, LEMMA_SUM_64(0), \
                    LEMMA_SUM_64(16))
  if constexpr (Words::kBf16) {
    LEMMA_WGMMA_OF("bf16");
  } else {
    LEMMA_WGMMA_OF("f16");
  }
#undef LEMMA_WGMMA_OF
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::MultiplyAddWords<Words>(&sum[0][0], &sum[1][0], kEighths, a, b, kRowsAdjacentB);
#endif
}
#undef LEMMA_REGISTERS_128
#undef LEMMA_REGISTERS_64
#undef LEMMA_REGISTERS_32
#undef LEMMA_WGMMA_WORDS
#undef LEMMA_WGMMA
#undef LEMMA_SUM_64
#undef LEMMA_SUM_16
#undef LEMMA_SUM_4

// 2^x; on a device with a relative error of 2^-22.
__device__ inline float PowerOf2(float x) {
#if defined(LEMMA_HOPPER)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return exp2f(x);
#endif
}

// A row's softmax while its scores arrive in tiles: the greatest score so far, and this thread's
// part of the sum of exp(score - most). The sums over the tiles before have to be multiplied by
// `factor`.
struct StreamedRow {
  float most = -Infinity(), total = 0, factor = 0;
};

// Replaces the scores that the thread holds of a tile, of two rows, by exp(score - most). Four
// adjacent lanes hold a row. A row with a NaN or +inf gets NaN; a row whose scores are all -inf
// gets NaN in DivideSums.
template <int N>
__device__ inline void TakeScores(float (&score)[2][N], StreamedRow (&rows)[2]) {
  constexpr float kLog2E = 1.44269504088896340736f;
  // Several short chains of dependent operations take less time than a long one.
  constexpr int kChains = 4;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    StreamedRow& row = rows[i];
    float part[kChains];
#pragma unroll
    for (int c = 0; c < kChains; ++c) part[c] = fmaxf(row.most, score[i][c]);
#pragma unroll
    for (int j = kChains; j < N; ++j) part[j % kChains] = fmaxf(part[j % kChains], score[i][j]);
    float most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
    // The difference comes first: a mask may make all scores of a row as small as floats can be.
    const float base = most == -Infinity() ? 0.0f : most;
    row.factor = row.most == -Infinity() ? 0.0f : PowerOf2((row.most - base) * kLog2E);
#pragma unroll
    for (int c = 0; c < kChains; ++c) part[c] = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      score[i][j] = PowerOf2((score[i][j] - base) * kLog2E);
      part[j % kChains] += score[i][j];
    }
    row.total = row.total * row.factor + ((part[0] + part[1]) + (part[2] + part[3]));
    row.most = most;
  }
}
template <int N>
__device__ inline void ScaleSums(float (&sum)[2][N], const StreamedRow (&rows)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < N; ++j) sum[i][j] *= rows[i].factor;
  }
}
// The last step: divides the sums by the rows' totals.
template <int N>
__device__ inline void DivideSums(float (&sum)[2][N], const StreamedRow (&rows)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float total = rows[i].total;
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
    const float share = 1 / total;
#pragma unroll
    for (int j = 0; j < N; ++j) sum[i][j] *= share;
  }
}
// The scores as words of A for MultiplyAddWords: words[t] are those of columns 16 t to 16 t + 15.
template <class Words, int N>
__device__ inline void PackScores(const float (&score)[2][N], unsigned int (&words)[N / 4][4]) {
#pragma unroll
  for (int t = 0; t < N / 4; ++t) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      words[t][r] =
          Words::Make(score[r % 2][4 * t + r / 2 * 2], score[r % 2][4 * t + r / 2 * 2 + 1]);
    }
  }
}
#undef LEMMA_HOPPER
