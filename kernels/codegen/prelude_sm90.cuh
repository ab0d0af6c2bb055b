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

// Loads N numbers, by 16 bytes.
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

// 384 threads start with 168 registers each. The warpgroup that copies keeps 40; the two others
// take 232.
__device__ inline void GiveRegisters() {
#if defined(LEMMA_HOPPER)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#endif
}
__device__ inline void TakeRegisters() {
#if defined(LEMMA_HOPPER)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
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

// Adds the products of 64 rows of A and 8 * kEighths columns of B, 16 deep, to the sums that the
// warpgroup holds. Lane l of warp w holds sums of rows r = 16 w + l / 4 and r + 8. Of the columns
// from 8 j on it holds c = 8 j + 2 (l % 4) and c + 1, as sum[i][2 j] and sum[i][2 j + 1]; i is 0
// for row r.
#define LEMMA_SUM_4(j) \
  "+f"(sum[0][2 * (j)]), "+f"(sum[0][2 * (j) + 1]), "+f"(sum[1][2 * (j)]), "+f"(sum[1][2 * (j) + 1])
#define LEMMA_SUM_16(j) \
  LEMMA_SUM_4(j), LEMMA_SUM_4((j) + 1), LEMMA_SUM_4((j) + 2), LEMMA_SUM_4((j) + 3)
#define LEMMA_SUM_64(j) \
  LEMMA_SUM_16(j), LEMMA_SUM_16((j) + 4), LEMMA_SUM_16((j) + 8), LEMMA_SUM_16((j) + 12)
#define LEMMA_WGMMA(columns, type, registers, a_at, b_at, a_rows_at, b_rows_at, ...)              \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type              \
               " {" registers "}, %" #a_at ", %" #b_at ", 1, 1, 1, %" #a_rows_at ", %" #b_rows_at \
               ";"                                                                                \
               : __VA_ARGS__                                                                      \
               : "l"(a), "l"(b), "n"(kRowsAdjacentA), "n"(kRowsAdjacentB))
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
template <class Words, int kEighths, bool kRowsAdjacentA, bool kRowsAdjacentB>
__device__ inline void MultiplyAddTiles(float (&sum)[2][2 * kEighths], uint64 a, uint64 b) {
#if defined(LEMMA_HOPPER)
#define LEMMA_WGMMA_OF(type)                                                                     \
  if constexpr (kEighths == 8)                                                                   \
    LEMMA_WGMMA(64, type, LEMMA_REGISTERS_32, 32, 33, 34, 35, LEMMA_SUM_16(0), LEMMA_SUM_16(4)); \
  if constexpr (kEighths == 16)                                                                  \
    LEMMA_WGMMA(128, type, LEMMA_REGISTERS_64, 64, 65, 66, 67, LEMMA_SUM_64(0));                 \
  if constexpr (kEighths == 32)                                                                  \
  LEMMA_WGMMA(256, type, LEMMA_REGISTERS_128, 128, 129, 130, 131, LEMMA_SUM_64(0), LEMMA_SUM_64(16))
  if constexpr (Words::kBf16) {
    LEMMA_WGMMA_OF("bf16");
  } else {
    LEMMA_WGMMA_OF("f16");
  }
#undef LEMMA_WGMMA_OF
#elif defined(LEMMA_GRID_EMULATOR)
  grid_emulator::MultiplyAddTiles<Words>(&sum[0][0], &sum[1][0], kEighths, a, kRowsAdjacentA, b,
                                         kRowsAdjacentB);
#endif
}
#undef LEMMA_REGISTERS_128
#undef LEMMA_REGISTERS_64
#undef LEMMA_REGISTERS_32
#undef LEMMA_WGMMA
#undef LEMMA_SUM_64
#undef LEMMA_SUM_16
#undef LEMMA_SUM_4
#undef LEMMA_HOPPER
