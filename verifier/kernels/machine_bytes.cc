// Executes products of integers of 8 bits by warp (mma.sync). Unlike real numbers, they are
// computed as the integers that they are.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "verifier/kernels/machine.h"

namespace lemma::kernels {

namespace {

constexpr int kWarp = 32, kNumbers = 4;

// Two integers of 8 bits in one cell of a word. What was never assigned is no such pair.
constexpr int64_t kShift = 16, kBias = 256;
int64_t PairOf(int64_t first, int64_t second) {
  return (first + kBias) | (second + kBias) << kShift;
}
bool IsPair(int64_t cell) { return cell >> (2 * kShift) == 0 && cell != 0; }
int64_t OfPair(int64_t cell, int i) {
  return ((cell >> (i * kShift)) & ((int64_t{1} << kShift) - 1)) - kBias;
}

}  // namespace

void Machine::MakeByteWord(const Call& call, const Mask& mask) {
  const DType dtype = ByteTypeOf(kernel_.words, call.sizes[0] != 0);
  Change(call.places[0].variable);
  const Cells to = CellsOf(call.places[0], 2, mask);
  std::vector<int64_t> numbers(static_cast<size_t>(kNumbers) * threads_);
  for (int n = 0; n < kNumbers; ++n) {
    const Operand value = Evaluate(*call.args[n], mask);
    for (int i = 0; i < threads_ && !stopped(); ++i) {
      if (mask.on[i] == 0) continue;
      numbers[n * threads_ + i] = value.At(i);
      if (!IsByte(dtype, value.At(i))) {
        Fault(absl::StrCat(value.At(i), " becomes a number of type ", Name(dtype)), i);
      }
    }
  }
  int64_t* const words = Registers(call.places[0].variable);
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    for (int pair = 0; mask.on[i] != 0 && pair < kNumbers / 2; ++pair) {
      words[(to[i] + pair) * threads_ + i] =
          PairOf(numbers[2 * pair * threads_ + i], numbers[(2 * pair + 1) * threads_ + i]);
    }
  }
}

// The fragments are those of Machine::MultiplyAdd, with four numbers in a word.
void Machine::MultiplyAddBytes(const Call& call, const Mask& mask) {
  constexpr int kWords = 8, kLeft = 4, kRight = 2, kDepth = kWords * kNumbers;
  constexpr int64_t kLargest = int64_t{255} * 255, kEnd = int64_t{1} << 31;
  Cells sums[2];
  for (int r = 0; r < 2; ++r) {
    Change(call.places[r].variable);
    sums[r] = CellsOf(call.places[r], 2, mask);
    for (int j = 0; j < 2 && !stopped(); ++j) {
      const bool same = sums[r].each.empty();
      CheckSet(kernel_.variables[call.places[r].variable],
               {same ? &sums[r].same : sums[r].each.data(), same, j}, mask);
    }
  }
  const Cells left = CellsOf(call.places[2], 2 * kLeft, mask),
              right = CellsOf(call.places[3], 2 * kRight, mask);
  const int64_t* const a = Registers(call.places[2].variable);
  const int64_t* const b = Registers(call.places[3].variable);
  // Byte `n` of a thread's word, which begins in a cell.
  auto number = [&](const int64_t* registers, int64_t cell, int n, DType dtype, int thread) {
    const int64_t pair = registers[(cell + n / 2) * threads_ + thread];
    const int64_t value = IsPair(pair) ? OfPair(pair, n % 2) : 0;
    if (!IsPair(pair)) Fault("a product of a word that has no value", thread);
    if (!IsByte(dtype, value)) {
      Fault(absl::StrCat("a product takes ", value, " as a number of type ", Name(dtype)), thread);
    }
    return value;
  };
  for (int first = 0; first < threads_ && !stopped(); first += kWarp) {
    int count = 0;
    for (int i = first; i < first + kWarp && i < threads_; ++i) count += mask.on[i];
    if (count == 0) continue;
    if (count != kWarp) return Fault("not all threads of a warp take part in a product", first);
    int64_t rows[16][kDepth], columns[8][kDepth];
    for (int k = 0; k < kDepth; ++k) {
      const int word = k / kNumbers, n = k % kNumbers;
      for (int row = 0; row < 16; ++row) {
        const int thread = first + row % 8 * 4 + word % 4;
        rows[row][k] = number(a, left[thread] + 2 * (row / 8 + word / 4 * 2), n,
                              ByteTypeOf(kernel_.words, false), thread);
      }
      for (int column = 0; column < 8; ++column) {
        const int thread = first + column * 4 + word % 4;
        columns[column][k] =
            number(b, right[thread] + 2 * (word / 4), n, ByteTypeOf(kernel_.words, true), thread);
      }
    }
    for (int i = 0; i < 4 * kWarp && !stopped(); ++i) {
      const int lane = i / 4, r = i / 2 % 2, j = i % 2;
      const Variable& v = kernel_.variables[call.places[r].variable];
      const auto at =
          static_cast<size_t>(v.place + (sums[r][first + lane] + j) * threads_ + first + lane);
      int64_t total = registers_[at];
      for (int k = 0; k < kDepth; ++k)
        total += rows[lane / 4 + 8 * r][k] * columns[lane % 4 * 2 + j][k];
      registers_[at] = total;
      // Whatever the bytes are.
      terms_[at] += kDepth;
      if (terms_[at] * kLargest >= kEnd) Fault("a sum of products of bytes may leave i32", first);
    }
  }
  Spend(int64_t{threads_} * 4 * kDepth / 4);
}

}  // namespace lemma::kernels
