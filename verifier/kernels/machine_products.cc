// Executes calls that barriers order: copies by the copy engine, products by warpgroup (wgmma), and
// the softmax of their sums.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/lanes/lane_ops.h"
#include "verifier/kernels/kernel_run.h"
#include "verifier/kernels/machine.h"

namespace lemma::kernels {

using Function = Call::Function;

namespace {

constexpr int kWarp = 32, kWarpgroup = 128;
constexpr int64_t kDepth = 16, kGroupRows = 64, kLineBytes = 128, kLines = 8;

// Where byte `offset` of a tile lies, from the start of its group of lines: chunk c, of 16 bytes,
// of line r at c ^ r % 8.
int64_t Swizzled(int64_t offset) { return offset ^ (offset / kLineBytes % kLines * 16); }

Field FieldOf(int64_t raw) { return Field::FromRaw(static_cast<uint64_t>(raw)); }

// sums[column, row] += the sum of left[row, depth] * right[column, depth], for kGroupRows rows.
void AddProducts(const std::vector<Field>& left, const std::vector<Field>& right, int64_t columns,
                 std::vector<Field>* sums) {
  uint64_t any = 0;  // a special element has a bit that no other has
  for (const std::vector<Field>* numbers :
       {&left, &right, static_cast<const std::vector<Field>*>(sums)}) {
    for (const Field& number : *numbers) any |= number.raw();
  }
  const LaneOps<Field>& ops = Lanes<Field>();
  if (Field::FromRaw(any).is_special() || columns % ops.mr != 0 || kGroupRows % ops.nr != 0) {
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t row = 0; row < kGroupRows; ++row) {
        Field& sum = (*sums)[column * kGroupRows + row];
        for (int64_t k = 0; k < kDepth; ++k) {
          sum = sum + left[row * kDepth + k] * right[column * kDepth + k];
        }
      }
    }
    return;
  }
  // Panels, as LaneOps::tile takes them.
  std::vector<Field> a(ops.mr * kDepth), b(kGroupRows * kDepth);
  for (int64_t row = 0; row < kGroupRows; ++row) {
    Field* const panel = &b[row / ops.nr * ops.nr * kDepth + row % ops.nr];
    for (int64_t k = 0; k < kDepth; ++k) panel[k * ops.nr] = left[row * kDepth + k];
  }
  for (int64_t column = 0; column < columns; column += ops.mr) {
    for (int64_t i = 0; i < ops.mr; ++i) {
      for (int64_t k = 0; k < kDepth; ++k) a[k * ops.mr + i] = right[(column + i) * kDepth + k];
    }
    for (int64_t row = 0; row < kGroupRows; row += ops.nr) {
      ops.tile(&(*sums)[column * kGroupRows + row], kGroupRows, a.data(), &b[row * kDepth], kDepth,
               /*accumulate=*/true);
    }
  }
}

}  // namespace

void Machine::ExecuteAtBarrier(const Call& call, const Mask& mask) {
  BlockMemory* const memory = run_.memory.get();
  if (memory == nullptr) return Fault("a call without shared memory", 0);
  const auto number = [&] { return Common(*call.args[0], mask); };
  switch (call.function) {
    case Function::kInitBarrier:
    case Function::kArrive:
    case Function::kArriveExpecting: {
      const int64_t argument = call.args.empty() ? 0 : number();
      const std::vector<int64_t> at = AddressesOf(call.places[0], mask);
      int arrived = 0;
      for (int i = 0; i < threads_ && !stopped(); ++i) {
        if (mask.on[i] == 0) continue;
        const bool all = ++arrived == threads_ - returned_;
        Expect(call.function == Function::kInitBarrier
                   ? memory->InitBarrier({role_, first_ + i, 0}, at[i], argument)
                   : memory->Arrive(role_, at[i], argument, all),
               i);
      }
      return;
    }
    case Function::kPublishBarriers:
      for (int i = 0; i < threads_; ++i) {
        if (mask.on[i] != 0) memory->PublishBarriers({role_, first_ + i, 0});
      }
      return;
    case Function::kWaitFor: {
      // One thread's wait says nothing to the others.
      if (mask.count != threads_ - returned_) {
        return Fault("not all threads of a warpgroup wait at a barrier", 0);
      }
      const int64_t parity = number();
      const std::vector<int64_t> at = AddressesOf(call.places[0], mask);
      int first = 0;
      while (mask.on[first] == 0) ++first;
      for (int i = first; i < threads_; ++i) {
        if (mask.on[i] != 0 && at[i] != at[first]) Fault("threads wait at different barriers", i);
      }
      if (stopped()) return;
      const char* what = "";
      const bool over = run_.schedule->WaitUntil(role_, [&] {
        bool ready = false;
        what = memory->Wait(role_, at[first], parity, &ready);
        return ready || *what != 0;
      });
      Expect(what, first);
      if (!over) Fault("threads wait at a barrier for ever", first);
      return;
    }
    case Function::kCopyInBulk:
      return CopyInBulk(call, mask);
    case Function::kSyncThreads:
      return SyncThreads(call.sizes[0], /*named=*/true, mask);
    case Function::kSyncWarp:
      for (int first = 0; first < threads_ && !stopped(); first += kWarp) {
        const int count = static_cast<int>(
            std::count(mask.on.begin() + first, mask.on.begin() + first + kWarp, 1));
        if (count == kWarp) memory->SyncWarp((first_ + first) / kWarp);
        if (count != 0 && count != kWarp) Fault("not all threads of a warp meet", first);
      }
      return;
    default:
      break;
  }
  // The others are for all threads of a warpgroup.
  if (mask.count != threads_ || threads_ != kWarpgroup) {
    return Fault("not all threads of a warpgroup take part in a call", 0);
  }
  switch (call.function) {
    case Function::kPassTurn:
      return Expect(memory->PassTurn(role_, static_cast<int>(number())), 0);
    case Function::kTakeTurn: {
      if (number() != role_) return Fault("takes the turn of another warpgroup", 0);
      const bool over = run_.schedule->WaitUntil(role_, [&] {
        bool ready = false;
        memory->TakeTurn(role_, &ready);
        return ready;
      });
      if (!over) Fault("a warpgroup waits for its turn for ever", 0);
      return;
    }
    case Function::kGiveRegisters:
    case Function::kTakeRegisters:
      return MoveRegisters(call.function == Function::kGiveRegisters, call.sizes[0]);
    case Function::kBeginProducts:
      for (ProductUse& use : products_) use.changed = false;
      return;
    case Function::kCommitProducts:
      return memory->CommitProducts(role_);
    case Function::kWaitForProducts:
      return WaitForProducts(call.sizes[0]);
    case Function::kTakeSums: {
      ProductUse& use = products_[call.places[0].variable];
      if (use.state == ProductState::kInFlight) return Fault("takes sums of products in flight", 0);
      use.state = ProductState::kIdle;
      use.changed = true;  // other code may use it from here on
      return;
    }
    default:
      return IssueProduct(call, mask);
  }
}

// Threads start with an equal share, in eights.
void Machine::MoveRegisters(bool gives, int64_t registers) {
  constexpr int64_t kLeast = 24, kMost = 256, kStep = 8;
  const int64_t share = RegisterShare(kernel_.threads);
  if (registers < kLeast || registers > kMost || registers % kStep != 0 ||
      (gives ? registers > share : registers < share)) {
    return Fault(absl::StrCat("a share of ", share, " registers becomes ", registers), 0);
  }
  run_.registers[role_] = registers;
}

void Machine::SyncThreads(int64_t threads, bool named, const Mask& mask) {
  if (mask.count != threads_) return Fault("not all threads reach a barrier", 0);
  std::vector<int> roles;
  int64_t count = 0;
  for (size_t r = 0; r < run_.roles.size(); ++r) {
    if (run_.roles[r].first >= threads) break;
    roles.push_back(static_cast<int>(r));
    count += run_.roles[r].second;
  }
  if (count != threads || role_ >= static_cast<int>(roles.size())) {
    return Fault(absl::StrCat("a barrier for the first ", threads, " threads"), 0);
  }
  if (run_.schedule == nullptr) return run_.memory->Meet(roles);
  const bool over = run_.schedule->Meet(role_, named, roles, [&] { run_.memory->Meet(roles); });
  if (!over) Fault("not all threads of a block reach a barrier", 0);
}

void Machine::CopyInBulk(const Call& call, const Mask& mask) {
  const codegen::BulkSource& map = kernel_.maps[call.sizes[0]];
  const Place& coordinates = call.places[1];
  const auto rank = static_cast<int64_t>(map.dims.size());
  if (kernel_.variables[coordinates.variable].cells != rank) {
    return Fault("a copy of another rank", 0);
  }
  if (mask.count != 1) return Fault("several threads issue one copy", 0);
  int thread = 0;
  while (mask.on[thread] == 0) ++thread;
  const int64_t start = Common(*call.args[0], mask);
  const int64_t barrier = AddressesOf(call.places[0], mask)[thread];
  if (stopped()) return;
  BlockMemory& memory = *run_.memory;
  int64_t elements = 1;
  for (int box : map.box) elements *= box;
  const int64_t bytes = elements * BlockMemory::kCellBytes;
  if (start % (kLineBytes * kLines) != 0) return Fault("a copy to memory that is not aligned", 0);
  if (start < 0 || start + bytes > memory.bytes()) return Fault("a copy outside its memory", 0);
  const int64_t* const at = Registers(coordinates.variable);
  for (int64_t e = 0; e < elements && !stopped(); ++e) {
    int64_t rest = e, offset = map.offset;
    bool inside = true;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t i = at[d * threads_ + thread] + rest % map.box[d];
      rest /= map.box[d];
      inside = inside && i >= 0 && i < map.dims[d];
      offset += i * map.strides[d];
    }
    const int64_t value = inside ? ReadElement(map.slot, offset, thread) : 0;
    const int64_t cell = (start + Swizzled(e * BlockMemory::kCellBytes)) / BlockMemory::kCellBytes;
    Expect(memory.Copy(role_, cell, barrier, value), thread);
  }
  if (!stopped()) Expect(memory.EndCopy(barrier, bytes), thread);
  Spend(elements);
}

std::vector<Field> Machine::TileNumbers(int64_t start, bool rows_adjacent, int64_t rows) {
  BlockMemory& memory = *run_.memory;
  std::vector<Field> numbers(rows * kDepth);
  constexpr int64_t kChunk = 16;  // a descriptor has no smaller bits of an address
  if (start % kChunk != 0) Fault("a product of a tile that is not aligned", 0);
  const int64_t group = start & ~(kLineBytes * kLines - 1);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < kDepth && !stopped(); ++k) {
      const int64_t at = rows_adjacent ? row / kGroupRows * (kGroupRows * kLineBytes) +
                                             k * kLineBytes + row % kGroupRows * 2
                                       : row * kLineBytes + k * 2;
      // Addresses are swizzled, so the tile's start counts too.
      const int64_t address = group + Swizzled(start - group + at);
      if (address < 0 || address + 2 > memory.bytes()) {
        Fault("a product reads outside of shared memory", 0);
        break;
      }
      int64_t value = 0;
      Expect(memory.ReadForProduct(role_, address / BlockMemory::kCellBytes, &value), 0);
      numbers[row * kDepth + k] = FieldOf(value);
    }
  }
  return numbers;
}

void Machine::IssueProduct(const Call& call, const Mask& mask) {
  const bool tiles = call.function == Function::kMultiplyAddTiles;
  const int sum = call.places[0].variable;
  const int64_t columns = 8 * call.sizes[0];
  const bool adds = call.sizes[1] != 0, rows_a = call.sizes[2] != 0, rows_b = call.sizes[3] != 0;
  const Variable& v = kernel_.variables[sum];
  if (columns != 64 && columns != 128 && columns != 256) {
    return Fault(absl::StrCat("no product has ", columns, " columns"), 0);
  }
  if (v.dims != std::vector<int64_t>{2, columns / 4} || !call.places[0].indices.empty()) {
    return Fault(absl::StrCat(v.name, " has another shape than its product"), 0);
  }
  std::vector<int> used = {sum};
  std::vector<Field> left;
  if (tiles) {
    left = TileNumbers(Common(*call.args[0], mask), rows_a, kGroupRows);
  } else {
    // Lane l holds rows l / 4 and l / 4 + 8 at depths 2 (l % 4) and one more, and 8 more.
    const int words = call.places[1].variable;
    used.push_back(words);
    const Cells cells = CellsOf(call.places[1], 8, mask);
    const int64_t* const numbers = Registers(words);
    left.resize(kGroupRows * kDepth);
    for (int64_t row = 0; row < kGroupRows && !stopped(); ++row) {
      for (int64_t k = 0; k < kDepth; ++k) {
        const int64_t thread = row / 16 * kWarp + row % 8 * 4 + k % 8 / 2;
        const int64_t word = row % 16 / 8 + k / 8 * 2;
        left[row * kDepth + k] =
            FieldOf(numbers[(cells[thread] + 2 * word + k % 2) * threads_ + thread]);
      }
    }
  }
  const std::vector<Field> right = TileNumbers(Common(*call.args.back(), mask), rows_b, columns);
  if (stopped()) return;
  for (int variable : used) {
    ProductUse& use = products_[variable];
    if (use.changed) {
      return Fault(
          absl::StrCat(kernel_.variables[variable].name, " changed since the last BeginProducts"),
          0);
    }
    use.state = ProductState::kInFlight;
    use.group = run_.memory->committed(role_);
    use.is_sum = variable == sum;
    use.weights = false;
  }
  int64_t* const sums = Registers(sum);
  std::vector<Field> totals(columns * kGroupRows);
  // Calls f(number of a thread, its place in `totals`).
  const auto for_all = [&](const auto& f) {
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < columns / 4; ++j) {
        for (int t = 0; t < threads_; ++t) {
          const int64_t row = t / kWarp * 16 + t % kWarp / 4 + 8 * i;
          const int64_t column = j / 2 * 8 + t % 4 * 2 + j % 2;
          f(sums[(i * (columns / 4) + j) * threads_ + t], totals[column * kGroupRows + row]);
        }
      }
    }
  };
  if (adds) for_all([](int64_t number, Field& total) { total = FieldOf(number); });
  AddProducts(left, right, columns, &totals);
  for_all([](int64_t& number, Field total) { number = static_cast<int64_t>(total.raw()); });
  Spend(kGroupRows * columns * kDepth / 4);
}

void Machine::WaitForProducts(int64_t groups) {
  run_.memory->CompleteProducts(role_, groups);
  for (ProductUse& use : products_) {
    if (use.state != ProductState::kInFlight) continue;
    if (use.group >= run_.memory->committed(role_) - groups) continue;
    use.state = use.is_sum ? ProductState::kComplete : ProductState::kIdle;
  }
}

void Machine::ExecuteOnRows(const Call& call, const Mask& mask) {
  if (mask.count != threads_ || threads_ != kWarpgroup || run_.maxima == nullptr) {
    return Fault("not all threads of a warpgroup take part in a call", 0);
  }
  const Place &sum = call.places[0], &other = call.places[1];
  const Variable &v = kernel_.variables[sum.variable], &w = kernel_.variables[other.variable];
  const bool packs = call.function == Function::kPackScores;
  const int64_t count = v.dims.size() == 2 ? v.dims[1] : 0;
  const bool fits =
      v.type == Type::kFloat && count > 0 && v.dims[0] == 2 && sum.indices.empty() &&
      other.indices.empty() &&
      (packs ? w.dims == std::vector<int64_t>{count / 4, 4, 2}
             : w.type == Type::kRow && w.dims == std::vector<int64_t>{2, kRowNumbers});
  if (!fits) return Fault("rows of another shape", 0);
  for (int variable : {sum.variable, other.variable}) {
    if (InFlight(variable)) {
      return Fault(absl::StrCat(kernel_.variables[variable].name, " is used by products"), 0);
    }
  }
  // Factors may be rounded so only if they are what a softmax makes of scores.
  if (packs && !products_[sum.variable].weights) {
    return Fault(absl::StrCat(v.name, " is packed and is no softmax"), 0);
  }
  Change(packs ? other.variable : sum.variable);
  if (call.function == Function::kTakeScores) {
    products_[sum.variable].weights = true;
    return TakeScores(call);
  }
  int64_t *const sums = Registers(sum.variable), *const rows = Registers(other.variable);
  const auto at = [&](int64_t* numbers, int64_t cell, int t) -> int64_t& {
    return numbers[cell * threads_ + t];
  };
  for (int t = 0; t < threads_; ++t) {
    for (int64_t i = 0; i < 2; ++i) {
      if (packs) {
        for (int64_t j = 0; j < count; ++j) {
          // Words i and i + 2 of every four are of row i.
          const int64_t word = j / 4 * 4 + i + j % 4 / 2 * 2;
          at(rows, word * 2 + j % 2, t) = at(sums, i * count + j, t);
        }
        continue;
      }
      Field factor = FieldOf(at(rows, i * kRowNumbers + 2, t));
      if (call.function == Function::kDivideSums) {
        Field total;
        for (int lane = t / 4 * 4; lane < t / 4 * 4 + 4; ++lane) {
          total = total + FieldOf(at(rows, i * kRowNumbers + 1, lane));
        }
        factor = total == Field() ? Field::NaN() : Field(1) / total;
      }
      for (int64_t j = 0; j < count; ++j) {
        int64_t& number = at(sums, i * count + j, t);
        number = static_cast<int64_t>((FieldOf(number) * factor).raw());
      }
    }
  }
}

// A row's numerators are exp(score - its greatest score in the end), times a unit that changes with
// every tile as the prelude's maximum may. So they are those of the definition, and a sum that was
// not multiplied by the right factors is another one.
void Machine::TakeScores(const Call& call) {
  int64_t *const scores = Registers(call.places[0].variable), *const rows = Registers(
                                                                  call.places[1].variable);
  const int64_t count = kernel_.variables[call.places[0].variable].dims[1];
  // Other calls have another unit, as other scores have another maximum.
  ++softmaxes_;
  const auto at = [&](int64_t* numbers, int64_t cell, int t) -> int64_t& {
    return numbers[cell * threads_ + t];
  };
  for (int t = 0; t < threads_; ++t) {
    for (int64_t i = 0; i < 2; ++i) {
      const int row = t / kWarp * 16 + t % kWarp / 4 + 8 * static_cast<int>(i);
      Field& most = run_.maxima->emplace(std::tuple(block_, role_, row), Field::NegativeInfinity())
                        .first->second;
      if (run_.finds_maxima) {
        for (int64_t j = 0; j < count; ++j) {
          most = ApplyField(ScalarFn::kMax, most, FieldOf(at(scores, i * count + j, t)));
        }
        continue;
      }
      int64_t *const unit = &at(rows, i * kRowNumbers, t), *const total =
                                                               &at(rows, i * kRowNumbers + 1, t);
      const Field old = FieldOf(*unit);
      const uint64_t drawn =
          Mix(static_cast<uint64_t>(softmaxes_) +
              Mix(static_cast<uint64_t>(role_) * kWarpgroup + static_cast<uint64_t>(row)));
      const Field now = FieldOf(static_cast<int64_t>(drawn % (Field::kPrime - 1) + 1));
      const Field factor = old == Field() ? Field() : now / old;
      Field sum;
      for (int64_t j = 0; j < count; ++j) {
        int64_t& score = at(scores, i * count + j, t);
        Field power = ApplyField(ScalarFn::kExp, FieldOf(score) - most);
        power = power.is_special() ? Field::NaN() : power * now;
        score = static_cast<int64_t>(power.raw());
        sum = sum + power;
      }
      *total = static_cast<int64_t>((FieldOf(*total) * factor + sum).raw());
      *unit = static_cast<int64_t>(now.raw());
      at(rows, i * kRowNumbers + 2, t) = static_cast<int64_t>(factor.raw());
    }
  }
  Spend(2 * count * threads_);
}

}  // namespace lemma::kernels
