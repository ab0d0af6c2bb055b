// Executes calls of the prelude that move words and floats through shared memory, and products by
// warp (mma.sync).
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/lanes/lane_ops.h"
#include "verifier/kernels/machine.h"

namespace lemma::kernels {

using Function = Call::Function;

namespace {
constexpr int kWarp = 32;
constexpr int64_t kUnitBytes = 4;  // of a word or a float
}  // namespace

void Machine::Execute(const Call& call, const Mask& mask) {
  Spend(threads_);
  switch (call.function) {
    case Function::kMakeWord:
      return AreBytes(kernel_.words) ? MakeByteWord(call, mask) : MakeWord(call, mask);
    case Function::kLoadWord:
    case Function::kStoreWords:
      return MoveWords(call, mask);
    case Function::kMultiplyAdd:
      return AreBytes(kernel_.words) ? MultiplyAddBytes(call, mask) : MultiplyAdd(call, mask);
    case Function::kLoadStaged:
      return LoadStaged(call, mask);
    case Function::kStoreFloats:
      return StoreFloats(call, mask);
    case Function::kTakeScores:
    case Function::kScaleSums:
    case Function::kDivideSums:
    case Function::kPackScores:
      return ExecuteOnRows(call, mask);
    default:
      return ExecuteAtBarrier(call, mask);
  }
}

Machine::Cells Machine::CellsOf(const Place& place, int64_t room, const Mask& mask) {
  const Variable& v = kernel_.variables[place.variable];
  int64_t extent = 1;  // of the array in which the cells lie
  for (size_t k = std::min(place.indices.size(), v.dims.size() - 1); k < v.dims.size(); ++k) {
    extent *= v.dims[k];
  }
  const Operand cell = Cell(place.variable, place.indices, mask);
  auto check = [&](int64_t at, int thread) {
    if (at % extent + room > extent) Fault(absl::StrCat(v.name, " is too small"), thread);
    return at;
  };
  Cells cells;
  if (cell.uniform) {
    if (!stopped()) cells.same = check(cell.At(0), 0);
    return cells;
  }
  cells.each.assign(threads_, 0);
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    if (mask.on[i] != 0) cells.each[i] = check(cell.At(i), i);
  }
  return cells;
}

std::vector<int64_t> Machine::AddressesOf(const Place& place, const Mask& mask) {
  const Variable& v = kernel_.variables[place.variable];
  int64_t size = v.pointee == Pointee::kBarriers ? 8 : kUnitBytes;  // of what an index counts
  for (int64_t dim : v.dims) size *= dim;
  std::vector<int64_t> addresses(threads_);
  const int64_t* const start = Registers(place.variable);
  if (v.uniform) {
    std::fill(addresses.begin(), addresses.end(), *start);
  } else {
    std::copy_n(start, threads_, addresses.begin());
  }
  for (size_t k = 0; k < place.indices.size() && !stopped(); ++k) {
    const Operand index = Evaluate(*place.indices[k], mask);
    if (k > 0) size /= v.dims[k - 1];
    const bool inside = k == 0 || (index.uniform ? *index.data >= 0 && *index.data < v.dims[k - 1]
                                                 : Lanes<int64_t>().within(
                                                       index.data, 0, v.dims[k - 1] - 1, threads_));
    if (inside && index.uniform) {
      for (int64_t& address : addresses) address += *index.data * size;
      continue;
    }
    if (inside) {
      Lanes<int64_t>().mul_add_vs(addresses.data(), index.data, &size, threads_);
      continue;
    }
    for (int i = 0; i < threads_ && !stopped(); ++i) {
      if (mask.on[i] == 0) continue;
      const int64_t at = index.At(i);
      if (k > 0 && (at < 0 || at >= v.dims[k - 1])) {
        Fault(absl::StrCat("index ", at, " of ", v.name, ", whose size is ", v.dims[k - 1]), i);
      }
      addresses[i] += at * size;
    }
  }
  return addresses;
}

void Machine::AccessShared(bool write, int64_t address, int64_t count, BlockMemory::Kind kind,
                           int64_t* numbers, int thread) {
  BlockMemory& memory = *run_.memory;
  if (address < 0 || address + count * kUnitBytes > memory.bytes()) {
    return Fault(absl::StrCat("byte ", address, " of shared memory, which has ", memory.bytes()),
                 thread);
  }
  if (address % (count * kUnitBytes) != 0) return Fault("a pack is not aligned", thread);
  const BlockMemory::Access who = {role_, first_ + thread, (first_ + thread) / kWarp};
  const int64_t cell = address / BlockMemory::kCellBytes;
  Expect(write ? memory.Write(who, cell, 2 * count, kind, numbers)
               : memory.Read(who, cell, 2 * count, kind, numbers),
         thread);
}

void Machine::MakeWord(const Call& call, const Mask& mask) {
  Change(call.places[0].variable);
  const Cells to = CellsOf(call.places[0], 2, mask);
  int64_t* const words = Registers(call.places[0].variable);
  for (int n = 0; n < NumbersPerWord(kernel_.words); ++n) {
    const Operand value = Evaluate(*call.args[n], mask);
    for (int i = 0; i < threads_ && !stopped(); ++i) {
      if (mask.on[i] != 0) words[(to[i] + n) * threads_ + i] = value.At(i);
    }
  }
}

void Machine::MoveWords(const Call& call, const Mask& mask) {
  const bool store = call.function == Function::kStoreWords;
  const int64_t count = store ? call.sizes[0] : 1;
  const Place& words = call.places[store ? 1 : 0];
  if (!store) Change(words.variable);
  const Cells cells = CellsOf(words, 2 * count, mask);
  const std::vector<int64_t> at = AddressesOf(call.places[store ? 0 : 1], mask);
  int64_t* const registers = Registers(words.variable);
  std::vector<int64_t> numbers(2 * count);
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    if (mask.on[i] == 0) continue;
    for (int64_t n = 0; store && n < 2 * count; ++n) {
      numbers[n] = registers[(cells[i] + n) * threads_ + i];
    }
    AccessShared(store, at[i], count, BlockMemory::Kind::kWord, numbers.data(), i);
    for (int64_t n = 0; !store && n < 2 * count; ++n) {
      registers[(cells[i] + n) * threads_ + i] = numbers[n];
    }
  }
}

namespace {

// The numbers of a product by warp: 16 rows of A, 8 columns of B, and up to 16 of depth.
constexpr int kProductRows = 16, kProductColumns = 8, kProductDepth = 16;

// sums[column][row] += the sum of rows[k][row] * columns[k][column] over k < depth.
void AddProducts(const Field (*rows)[kProductRows], const Field (*columns)[kProductColumns],
                 int depth, Field (*sums)[kProductRows]) {
  uint64_t any = 0;  // a special element has a bit that no other has
  for (int k = 0; k < depth; ++k) {
    for (int i = 0; i < kProductRows; ++i) any |= rows[k][i].raw();
    for (int j = 0; j < kProductColumns; ++j) any |= columns[k][j].raw();
  }
  for (int j = 0; j < kProductColumns; ++j) {
    for (int i = 0; i < kProductRows; ++i) any |= sums[j][i].raw();
  }
  const LaneOps<Field>& ops = Lanes<Field>();
  if (Field::FromRaw(any).is_special() || kProductColumns % ops.mr != 0 ||
      kProductRows % ops.nr != 0) {
    for (int j = 0; j < kProductColumns; ++j) {
      for (int i = 0; i < kProductRows; ++i) {
        for (int k = 0; k < depth; ++k) sums[j][i] = sums[j][i] + rows[k][i] * columns[k][j];
      }
    }
    return;
  }
  Field left[kProductDepth * kProductColumns], right[kProductDepth * kProductRows];
  for (int i = 0; i < kProductRows; i += ops.nr) {
    for (int k = 0; k < depth; ++k) std::copy_n(&rows[k][i], ops.nr, &right[k * ops.nr]);
    for (int j = 0; j < kProductColumns; j += ops.mr) {
      for (int k = 0; k < depth; ++k) std::copy_n(&columns[k][j], ops.mr, &left[k * ops.mr]);
      ops.tile(&sums[j][i], kProductRows, left, right, depth, /*accumulate=*/true);
    }
  }
}

}  // namespace

// Lane l holds words l % 4 and l % 4 + 4 of rows l / 4 and l / 4 + 8 of A and of column l / 4 of B,
// and columns 2 (l % 4) and 2 (l % 4) + 1 of the same rows of the sum.
void Machine::MultiplyAddWarp(const Call& call, int first, const Cells* sums, const Cells& left,
                              const Cells& right) {
  // The number of lane l that lies `offset` cells behind `cells`.
  auto at = [&](int variable, const Cells& cells, int64_t offset, int lane) -> int64_t& {
    return Registers(variable)[(cells[first + lane] + offset) * threads_ + first + lane];
  };
  const int numbers = NumbersPerWord(kernel_.words);
  Field rows[kProductDepth][kProductRows], columns[kProductDepth][kProductColumns];
  Field totals[kProductColumns][kProductRows];
  auto field = [](int64_t raw) { return Field::FromRaw(static_cast<uint64_t>(raw)); };
  for (int half = 0; half < 2; ++half) {  // of the depth
    for (int n = 0; n < numbers; ++n) {
      for (int lane = 0; lane < kWarp; ++lane) {
        const int k = (lane % 4 + 4 * half) * numbers + n;
        rows[k][lane / 4] = field(at(call.places[2].variable, left, 4 * half + n, lane));
        rows[k][lane / 4 + 8] = field(at(call.places[2].variable, left, 4 * half + 2 + n, lane));
        columns[k][lane / 4] = field(at(call.places[3].variable, right, 2 * half + n, lane));
      }
    }
  }
  for (int r = 0; r < 2; ++r) {
    for (int lane = 0; lane < kWarp; ++lane) {
      Field* const to = &totals[lane % 4 * 2][lane / 4 + 8 * r];
      to[0] = field(at(call.places[r].variable, sums[r], 0, lane));
      to[kProductRows] = field(at(call.places[r].variable, sums[r], 1, lane));
    }
  }
  AddProducts(rows, columns, 8 * numbers, totals);
  for (int r = 0; r < 2; ++r) {
    for (int lane = 0; lane < kWarp; ++lane) {
      const Field* const from = &totals[lane % 4 * 2][lane / 4 + 8 * r];
      at(call.places[r].variable, sums[r], 0, lane) = static_cast<int64_t>(from[0].raw());
      at(call.places[r].variable, sums[r], 1, lane) =
          static_cast<int64_t>(from[kProductRows].raw());
    }
  }
}

void Machine::MultiplyAdd(const Call& call, const Mask& mask) {
  constexpr int kWords = 8, kLeft = 4, kRight = 2;
  for (int r = 0; r < 2; ++r) Change(call.places[r].variable);
  Cells sums[2];
  for (int r = 0; r < 2; ++r) sums[r] = CellsOf(call.places[r], 2, mask);
  const Cells left = CellsOf(call.places[2], 2 * kLeft, mask),
              right = CellsOf(call.places[3], 2 * kRight, mask);
  if (mask.count % kWarp != 0) Fault("not all threads of a warp take part in a product", 0);
  for (int first = 0; first < threads_ && !stopped(); first += kWarp) {
    int count = 0;
    for (int i = first; i < first + kWarp; ++i) count += mask.on[i];
    if (count == 0) continue;
    if (count != kWarp) return Fault("not all threads of a warp take part in a product", first);
    MultiplyAddWarp(call, first, sums, left, right);
  }
  Spend(int64_t{threads_} * 4 * kWords * NumbersPerWord(kernel_.words) / 4);
}

void Machine::LoadStaged(const Call& call, const Mask& mask) {
  constexpr int64_t kMost = 4;  // that are one access
  const int64_t count = call.sizes[0];
  if (count % kMost != 0) return Fault("loads a part of 16 bytes", 0);
  Change(call.places[0].variable);
  const std::vector<int64_t> at = AddressesOf(call.places[1], mask);
  int64_t* const to = Registers(call.places[0].variable);
  int64_t numbers[2 * kMost];
  for (int i = 0; i < threads_; ++i) {
    if (mask.on[i] == 0) continue;
    for (int64_t n = 0; n < count && !stopped(); n += kMost) {
      AccessShared(false, at[i] + n * kUnitBytes, kMost, BlockMemory::Kind::kFloat, numbers, i);
      for (int64_t u = 0; u < kMost; ++u) to[(n + u) * threads_ + i] = numbers[2 * u];
    }
  }
}

void Machine::StoreFloats(const Call& call, const Mask& mask) {
  const auto count = static_cast<int64_t>(call.args.size());
  const std::vector<int64_t> at = AddressesOf(call.places[0], mask);
  std::vector<int64_t> numbers(2 * count * threads_);
  for (int64_t n = 0; n < count; ++n) {
    const Operand value = Evaluate(*call.args[n], mask);
    for (int i = 0; i < threads_; ++i) numbers[2 * (i * count + n)] = value.At(i);
  }
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    if (mask.on[i] == 0) continue;
    AccessShared(true, at[i], count, BlockMemory::Kind::kFloat, &numbers[2 * count * i], i);
  }
}

int64_t Machine::Common(const Expr& e, const Mask& mask) {
  const Operand value = Evaluate(e, mask);
  std::optional<int64_t> common;
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    if (mask.on[i] == 0) continue;
    if (common && *common != value.At(i)) Fault("threads call with different arguments", i);
    common = value.At(i);
  }
  return common.value_or(0);
}

}  // namespace lemma::kernels
