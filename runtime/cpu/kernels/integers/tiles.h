// Products of matrices of small integers, exact in 32 bits. For each sum, one instruction
// multiplies two pairs of 16-bit numbers, or four pairs of 8-bit numbers, and adds the products in
// 32 bits.
//
// A row of the left matrix consists of runs of adjacent numbers. A run is, for example, a row of a
// matrix, or a row or a position of a convolution's window; long rows may be cut into several runs.
// All runs are read with the same length, a multiple of 2 (16-bit numbers) or 4 (bytes). If a run
// has fewer numbers, the numbers behind it are read too, with weight 0.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TILES_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TILES_H_

#include <cstdint>

namespace lemma::kernels {

constexpr int64_t kPanelColumns = 16;  // of a panel of the right matrix

// The instructions that multiply. kVnni: AVX-512 with VNNI, which also adds in the same
// instruction.
enum class IntegerIsa { kNone, kAvx2, kVnni };

// The best instructions that this machine has and that oneDNN's environment variable
// ONEDNN_MAX_CPU_ISA (or DNNL_MAX_CPU_ISA) allows. The variable is read once. The functions of this
// file may be called on any machine, but only with an `isa` that the machine has.
IntegerIsa BestIntegerIsa();

// The most rows of a tile.
inline int64_t TileRows(IntegerIsa isa = BestIntegerIsa()) {
  return isa == IntegerIsa::kVnni ? 8 : 6;
}

// Whether this machine computes such products faster than products of floats.
inline bool HasIntegerTiles() { return BestIntegerIsa() != IntegerIsa::kNone; }

// to[i] = from[i] - zero for i < n. The difference must fit in 16 bits.
void Widen(const uint8_t* from, int64_t n, int zero, int16_t* to);
void Widen(const int8_t* from, int64_t n, int zero, int16_t* to);

// to[i] = from[i], or from[i] + 128 for signed numbers.
void CopyBytes(const uint8_t* from, int64_t n, uint8_t* to);
void CopyBytes(const int8_t* from, int64_t n, uint8_t* to);

// to[i] = table[from[i]] for i < n; `table` has 256 elements. `to` may be `from`.
void LookUp(const uint8_t* from, int64_t n, const uint8_t* table, uint8_t* to);

struct Runs {
  const int64_t* offsets = nullptr;  // of each run, from the start of a row
  int64_t count = 0;
  int64_t groups = 0;  // groups of 2 or 4 numbers in each run
};

// sums[i * step + j] = sum(r < runs.count, p < 2 * runs.groups)
//     rows[i][runs.offsets[r] + p] * panel[((r * runs.groups + p / 2) * 16 + j) * 2 + p % 2]
// for i < count <= TileRows(isa) and j < kPanelColumns. If `accumulate`, adds to the numbers in
// `sums` instead of overwriting them. Sums wrap, but the sum of the two products that one
// instruction adds (p = 2q and p = 2q + 1) must fit in 32 bits.
void MultiplyTile(const int16_t* const* rows, int64_t count, const Runs& runs, const int16_t* panel,
                  bool accumulate, int32_t* sums, int64_t step, IntegerIsa isa = BestIntegerIsa());

// The same for bytes, in groups of 4 instead of 2, and for `panels` panels (1 or 2) that lie
// `panel_step` bytes apart: j < 16 * panels. Only with kVnni. The sums begin with the numbers
// start[j] or, if `start` is nullptr, with the numbers in `sums`.
void MultiplyBytes(const uint8_t* const* rows, int64_t count, const Runs& runs, const int8_t* panel,
                   int panels, int64_t panel_step, const uint32_t* start, int32_t* sums,
                   int64_t step);

// A depthwise convolution: sums of one channel each, for `pixels` pixels and
// kPanelColumns channels. Pixels lie `pixel_step` numbers apart in x and `step`
// numbers apart in sums. A tap is a position of the window.
// sums[i * step + c] = sum(t < 2 * pairs)
//     x[i * pixel_step + taps[t] + c] * weights[ChannelWeight(t, c)].
// `taps` holds 2 * pairs offsets in x. If the window has an odd number of taps,
// one more offset fills the last pair, with weights 0. Reads kPanelColumns
// numbers at each tap. Overwrites `sums`.
void MultiplyChannels(const int16_t* x, int64_t pixels, int64_t pixel_step, const int64_t* taps,
                      int64_t pairs, const int16_t* weights, int32_t* sums, int64_t step,
                      IntegerIsa isa = BestIntegerIsa());

// Where MultiplyChannels expects the weight of channel `channel` < kPanelColumns at tap `tap`: an
// index in `weights`.
inline int64_t ChannelWeight(int64_t tap, int64_t channel) {
  const int64_t half = channel % 8 >= 4 ? kPanelColumns : 0;
  return tap / 2 * 2 * kPanelColumns + half + channel / 8 * 8 + channel % 4 * 2 + tap % 2;
}

// The same as MultiplyChannels on bytes, for up to kByteChannels channels and with 4 * groups taps.
// The sum of channel c begins with start[c] instead of 0. Reads kByteChannels bytes at each tap,
// and overwrites the sums of `channels` channels, rounded up to a multiple of kPanelColumns. Only
// with kVnni.
constexpr int64_t kByteChannels = 64;
void MultiplyByteChannels(const uint8_t* x, int64_t pixels, int64_t pixel_step, const int64_t* taps,
                          int64_t groups, const int8_t* weights, const uint32_t* start,
                          int64_t channels, int32_t* sums, int64_t step);

// Where MultiplyByteChannels expects the weight of channel `channel` < kByteChannels at tap `tap`:
// an index in `weights`.
inline int64_t ByteChannelWeight(int64_t tap, int64_t channel) {
  // Four vectors: channels 0 to 3, 16 to 19, 32 to 35 and 48 to 51 are in the first one.
  const int64_t vector = channel % 16 / 4, place = channel / 16 * 4 + channel % 4;
  return ((tap / 4 * 4 + vector) * 16 + place) * 4 + tap % 4;
}

// Removes the gaps between rows of `columns` numbers that begin `step` >= columns numbers apart:
// moves them so that they begin `columns` numbers apart.
void CompactTile(int32_t* sums, int64_t rows, int64_t columns, int64_t step);

// As CompactTile, and replaces each int32 in place by a float: float(sum) * scale[j] + shift[j],
// each operation rounded; a scale or shift that is nullptr is left out. Without a shift, 0 stays 0
// and does not become -0.
void ScaleTile(int32_t* sums, int64_t rows, int64_t columns, int64_t step, const float* scale,
               const float* shift);

// As ScaleTile, but sum * scale[j] is computed in double and rounded to float once. `scale` must
// not be nullptr.
void ScaleTileWide(int32_t* sums, int64_t rows, int64_t columns, int64_t step, const double* scale,
                   const float* shift);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TILES_H_
