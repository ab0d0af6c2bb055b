// Products of matrices of small integers, exact in 32 bits, by instructions that multiply numbers
// of 16 bits and add two products in 32.
//
// A row of the left matrix consists of runs of adjacent numbers, such as a row of a matrix, or a
// row or a position of a convolution's window; long rows may be cut into several runs. All runs
// have the same even length: where a run is too short, the numbers behind it get weight 0.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TILES_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TILES_H_

#include <cstdint>

namespace lemma::kernels {

// The rows of a tile, and the columns of a panel of the right matrix.
constexpr int64_t kTileRows = 6;
constexpr int64_t kPanelColumns = 16;

// Whether this machine computes such products faster than products of floats. The other functions
// of this file may be called on any machine.
bool HasIntegerTiles();

// to[i] = from[i] - zero for i < n. The difference must fit in 16 bits.
void Widen(const uint8_t* from, int64_t n, int zero, int16_t* to);
void Widen(const int8_t* from, int64_t n, int zero, int16_t* to);

struct Runs {
  const int64_t* offsets = nullptr;  // of each run, from the start of a row
  int64_t count = 0;
  int64_t pairs = 0;  // pairs of numbers in each run
};

// sums[i * step + j] = sum(r < runs.count, p < 2 * runs.pairs)
//     rows[i][runs.offsets[r] + p] * panel[((r * runs.pairs + p / 2) * 16 + j) * 2 + p % 2]
// for i < count <= kTileRows and j < kPanelColumns. If `accumulate`, adds to the numbers in `sums`
// instead of overwriting them. Sums wrap; the sum of two products of a pair must fit in 32 bits.
void MultiplyTile(const int16_t* const* rows, int64_t count, const Runs& runs, const int16_t* panel,
                  bool accumulate, int32_t* sums, int64_t step);

// A depthwise convolution: sums of one channel each, for kPanelColumns channels of `pixels` pixels,
// which lie pixel_step numbers apart in x and `step` in sums:
// sums[i * step + c] = sum(t < 2 * pairs) x[i * pixel_step + taps[t] + c] *
// weights[ChannelWeight(t, c)].
// `taps` holds 2 * pairs offsets in x; if the number of taps is odd, the weights of the last one
// are 0. Reads kPanelColumns numbers at each tap. Overwrites `sums`.
void MultiplyChannels(const int16_t* x, int64_t pixels, int64_t pixel_step, const int64_t* taps,
                      int64_t pairs, const int16_t* weights, int32_t* sums, int64_t step);

// The index in `weights` above of the weight of channel `channel` < kPanelColumns at tap `tap`.
inline int64_t ChannelWeight(int64_t tap, int64_t channel) {
  const int64_t half = channel % 8 >= 4 ? kPanelColumns : 0;
  return tap / 2 * 2 * kPanelColumns + half + channel / 8 * 8 + channel % 4 * 2 + tap % 2;
}

// Moves rows that are `step` >= columns numbers apart to the front, so that no gaps remain between
// them.
void CompactTile(int32_t* sums, int64_t rows, int64_t columns, int64_t step);

// As CompactTile, and replaces each int32 in place by a float: float(sum) * scale[j] + shift[j],
// each operation rounded; a scale or shift that is nullptr is left out.
void ScaleTile(int32_t* sums, int64_t rows, int64_t columns, int64_t step, const float* scale,
               const float* shift);

// As ScaleTile, but sum * scale[j] is computed in double and rounded to float once. `scale` must
// not be nullptr.
void ScaleTileWide(int32_t* sums, int64_t rows, int64_t columns, int64_t step, const double* scale,
                   const float* shift);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TILES_H_
