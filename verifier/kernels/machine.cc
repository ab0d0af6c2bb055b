#include "verifier/kernels/machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/lanes/lane_ops.h"

namespace lemma::kernels {

using Kind = Statement::Kind;

namespace {
// What a number is before it gets a value.
const auto kUnset = static_cast<int64_t>(Field::NaN().raw());
}  // namespace

Machine::Machine(PrintedKernel* kernel, KernelRun* run, int role)
    : kernel_(*kernel),
      run_(*run),
      slots_(run->slots),
      extremes_(run->extremes),
      role_(role),
      first_(run->roles[role].first),
      threads_(run->roles[role].second),
      products_(kernel->warpgroups ? kernel->variables.size() : 0) {
  AssignPlaces();
  for (int i = 0; i < threads_; ++i) thread_numbers_.push_back(first_ + i);
  cells_.resize(threads_);
}

// Gives variables and results of expressions their places.
void Machine::AssignPlaces() {
  int64_t registers = 0;
  for (Variable& v : kernel_.variables) {
    shared_.emplace_back(v.shared ? v.cells : 0);
    v.place = registers;
    registers += v.shared ? 0 : v.uniform ? 1 : v.cells * threads_;
  }
  registers_.resize(registers);
  set_.resize(registers);
  if (AreBytes(kernel_.words)) terms_.resize(registers);
  AssignPlaces(kernel_.body.get());
}

void Machine::AssignPlaces(Expr* e) {
  e->scratch = static_cast<int64_t>(scratch_.size());
  e->known_at = -1;  // what an earlier machine knew is gone
  scratch_.resize(scratch_.size() + (e->uniform ? 1 : threads_));
  for (const ExprPtr& arg : e->args) AssignPlaces(arg.get());
}

void Machine::AssignPlaces(Statement* s) {
  if (s->kind == Kind::kDeclare && s->value == nullptr) {
    // In arithmetic on reals, NaN says it as well. Comparisons hide it; arrays are not compared.
    Variable& v = kernel_.variables[s->variable];
    const bool numbers = IsReal(v.type) || v.type == Type::kWord || v.type == Type::kRow;
    v.tracked = !v.shared && !(numbers && !v.dims.empty());
  }
  if (s->call != nullptr) {
    for (const ExprPtr& arg : s->call->args) AssignPlaces(arg.get());
    for (const Place& place : s->call->places) {
      for (const ExprPtr& index : place.indices) AssignPlaces(index.get());
    }
  }
  for (const ExprPtr& index : s->indices) AssignPlaces(index.get());
  if (s->value != nullptr) AssignPlaces(s->value.get());
  for (const StatementPtr& inner : s->body) AssignPlaces(inner.get());
  if (s->first != nullptr) AssignPlaces(s->first.get());
  if (s->next != nullptr) AssignPlaces(s->next.get());
}

void Machine::Fault(const std::string& what, int thread) {
  if (stopped()) return;
  status_ = absl::FailedPreconditionError(
      absl::StrCat(what, " (block ", block_, ", thread ", first_ + thread, ")"));
  if (run_.schedule != nullptr) run_.schedule->Stop();
}

void Machine::Spend(int64_t operations) {
  *run_.work -= operations;
  if (*run_.work < 0 && !stopped()) {
    status_ = absl::ResourceExhaustedError("it has too many operations");
    if (run_.schedule != nullptr) run_.schedule->Stop();
  }
}

absl::Status Machine::RunBlock(int64_t block) {
  block_ = block;
  ++now_;
  for (SharedMemory& shared : shared_) shared.Clear(kUnset);
  std::fill(products_.begin(), products_.end(), ProductUse());
  returned_ = 0;
  Mask all{std::vector<uint8_t>(threads_, 1), threads_};
  Execute(*kernel_.body, &all);
  return status_;
}

Machine::Mask Machine::Where(const Mask& mask, const Operand& condition, bool value) const {
  Mask result{std::vector<uint8_t>(threads_, 0), 0};
  for (int i = 0; i < threads_; ++i) {
    if (mask.on[i] == 0 || (condition.At(i) != 0) != value) continue;
    result.on[i] = 1;
    ++result.count;
  }
  return result;
}

void Machine::Execute(const Statement& s, Mask* mask) {
  if (stopped() || mask->count == 0) return;
  switch (s.kind) {
    case Kind::kBlock:
      for (const StatementPtr& inner : s.body) Execute(*inner, mask);
      return;
    case Kind::kDeclare:
      return Declare(s, *mask);
    case Kind::kAssign:
      return Assign(s, *mask);
    case Kind::kStoreCell:
      return StoreCell(s, *mask);
    case Kind::kIf:
      return If(s, mask);
    case Kind::kFor:
      return For(s, mask);
    case Kind::kBreak:
      for (int i = 0; i < threads_; ++i) loops_.back()->on[i] |= mask->on[i];
      mask->on.assign(threads_, 0);
      mask->count = 0;
      return;
    case Kind::kReturn:
      returned_ += mask->count;
      mask->on.assign(threads_, 0);
      mask->count = 0;
      return;
    case Kind::kStore:
      return Store(s, *mask);
    case Kind::kLoadPack:
      return LoadPack(s, *mask);
    case Kind::kStorePack:
      return StorePack(s, *mask);
    case Kind::kBarrier:
      return Barrier(*mask);
    case Kind::kError:
      if (run_.reported == nullptr) return Fault("an index that is valid is reported as wrong", 0);
      *run_.reported = true;
      return;
    case Kind::kCall:
      return Execute(*s.call, *mask);
  }
}

void Machine::Barrier(const Mask& mask) {
  if (mask.count != threads_) return Fault("not all threads of a block reach a barrier", 0);
  for (SharedMemory& shared : shared_) shared.Barrier();
  if (run_.memory != nullptr) SyncThreads(kernel_.threads, /*named=*/false, mask);
}

void Machine::Declare(const Statement& s, const Mask& mask) {
  const Variable& v = kernel_.variables[s.variable];
  if (v.shared) return;
  if (v.constant && (IsIndex(v.type) || v.type == Type::kPointer)) ++now_;
  if (s.value != nullptr) return Assign(s, mask);
  if (InFlight(s.variable)) return Fault(absl::StrCat(v.name, ": products still use it"), 0);
  // Until it is assigned it holds no number: a result that uses it is no number either.
  std::fill_n(Registers(s.variable), v.cells * threads_, kUnset);
  std::fill_n(&set_[static_cast<size_t>(v.place)], v.cells * threads_, 0);
  if (!terms_.empty()) std::fill_n(&terms_[static_cast<size_t>(v.place)], v.cells * threads_, 0);
  if (v.type == Type::kRow) std::fill_n(Registers(s.variable), v.cells * threads_, 0);
}

void Machine::Set(const Variable& v, int64_t cell, int thread) {
  if (v.tracked) set_[static_cast<size_t>(v.place + cell * threads_ + thread)] = 1;
}

void Machine::CheckSet(const Variable& v, const Operand& cell, const Mask& mask) {
  for (int i = 0; v.tracked && i < threads_; ++i) {
    if (mask.on[i] == 0 || set_[static_cast<size_t>(v.place + cell.At(i) * threads_ + i)] != 0) {
      continue;
    }
    return Fault(absl::StrCat(v.name, " is used before it has a value"), i);
  }
}

// Adds a product to a cell in one step.
bool Machine::Accumulate(const Statement& s, const Mask& mask) {
  if (mask.count != threads_) return false;
  const Expr& product = *s.value->args[1];
  auto factor = [&](const Expr& e) {
    const bool cell = e.kind == Expr::Kind::kVariable && !e.args.empty() &&
                      !kernel_.variables[e.variable].shared && !InFlight(e.variable) &&
                      !kernel_.variables[e.variable].tracked;
    const bool known = cell && std::all_of(e.args.begin(), e.args.end(),
                                           [](const ExprPtr& index) { return index->uniform; });
    return known ? Operand{RegistersAt(e.variable, e.args, mask)} : Evaluate(e, mask);
  };
  Operand a = factor(*product.args[0]), b = factor(*product.args[1]);
  int64_t* const to = RegistersAt(s.variable, s.indices, mask);
  if (stopped()) return true;
  if (a.uniform) std::swap(a, b);
  if (a.uniform) return false;
  Spend(threads_);
  const LaneOps<Field>& ops = Lanes<Field>();
  (b.uniform ? ops.mul_add_vs : ops.mul_add_vv)(reinterpret_cast<Field*>(to),
                                                reinterpret_cast<const Field*>(a.data),
                                                reinterpret_cast<const Field*>(b.data), threads_);
  return true;
}

void Machine::Assign(const Statement& s, const Mask& mask) {
  const Variable& v = kernel_.variables[s.variable];
  if (v.uniform) {
    const Operand value = Evaluate(*s.value, mask);
    if (!stopped()) *Registers(s.variable) = value.data[0];
    return;
  }
  Change(s.variable);
  if (s.accumulates && Accumulate(s, mask)) return;
  const Operand value = Evaluate(*s.value, mask);
  const Operand cell = Cell(s.variable, s.indices, mask);
  if (stopped()) return;
  if (v.shared) {
    SharedMemory& shared = shared_[s.variable];
    for (int i = 0; i < threads_ && !stopped(); ++i) {
      if (mask.on[i] == 0) continue;
      const char* what = shared.Write(cell.At(i), i, value.At(i));
      if (*what != 0) Fault(absl::StrCat(v.name, ": ", what), i);
    }
    return Spend(threads_);
  }
  for (int i = 0; v.tracked && i < threads_; ++i) {
    if (mask.on[i] != 0) Set(v, cell.At(i), i);
  }
  int64_t* const to = Registers(s.variable);
  if (mask.count == threads_ && cell.uniform && !value.uniform) {
    std::copy_n(value.data, threads_, to + cell.At(0) * threads_);
    return;
  }
  for (int i = 0; i < threads_; ++i) {
    if (mask.on[i] != 0) to[cell.At(i) * threads_ + i] = value.At(i);
  }
}

void Machine::If(const Statement& s, Mask* mask) {
  const Operand condition = Evaluate(*s.value, *mask);
  if (stopped()) return;
  if (condition.uniform) {
    const size_t branch = condition.data[0] != 0 ? 0 : 1;
    if (branch < s.body.size()) Execute(*s.body[branch], mask);
    return;
  }
  Mask then = Where(*mask, condition, true), otherwise = Where(*mask, condition, false);
  Execute(*s.body[0], &then);
  if (s.body.size() > 1) Execute(*s.body[1], &otherwise);
  for (int i = 0; i < threads_; ++i) mask->on[i] = then.on[i] | otherwise.on[i];
  mask->count = then.count + otherwise.count;
}

void Machine::For(const Statement& s, Mask* mask) {
  Execute(*s.first, mask);
  if (!s.diverges && !s.body[0]->exits && s.value != nullptr) {
    while (!stopped() && *Evaluate(*s.value, *mask).data != 0) {
      Execute(*s.body[0], mask);
      Execute(*s.next, mask);
      Spend(32);
    }
    return;
  }
  Mask left{std::vector<uint8_t>(threads_, 0), 0};  // threads behind the loop
  Mask running = *mask;
  loops_.push_back(&left);
  while (!stopped() && running.count > 0) {
    if (s.value != nullptr) {
      const Operand condition = Evaluate(*s.value, running);
      if (stopped()) break;
      if (condition.uniform ? condition.data[0] == 0 : true) {
        for (int i = 0; i < threads_; ++i) {
          if (running.on[i] == 0 || condition.At(i) != 0) continue;
          left.on[i] = 1;
          running.on[i] = 0;
          --running.count;
        }
      }
      if (running.count == 0) break;
    }
    Execute(*s.body[0], &running);
    if (running.count > 0) Execute(*s.next, &running);
    Spend(32);
  }
  loops_.pop_back();
  left.count = static_cast<int>(std::count(left.on.begin(), left.on.end(), 1));
  *mask = std::move(left);
}

void Machine::Change(int variable) {
  if (products_.empty()) return;
  if (InFlight(variable)) {
    Fault(absl::StrCat(kernel_.variables[variable].name, " changes while products use it"), 0);
  }
  products_[variable].changed = true;
  products_[variable].weights = false;
}

int64_t Machine::StoredIn(const SlotMemory& slot, int64_t number, Type type) const {
  if (slot.integers) return Wrapped(number, slot.dtype);
  return type == Type::kInt64 ? static_cast<int64_t>(Field(number).raw()) : number;
}

int64_t Machine::LoadAs(Type type, const SlotMemory& slot, int64_t element) const {
  if (type == Type::kInt64) {
    return slot.integers ? element
                         : IntegerFromNumber<Field>(Field::FromRaw(static_cast<uint64_t>(element)));
  }
  return slot.integers ? static_cast<int64_t>(Field(element).raw()) : element;
}

int64_t Machine::ReadElement(int slot, int64_t index, int thread) {
  SlotMemory& memory = slots_[slot];
  if (!memory.read_by_kernel || index < 0 || index >= memory.size()) {
    Fault(absl::StrCat("reads element ", index, " of tensor ", slot, ", which has ", memory.size()),
          thread);
    return 0;
  }
  if (!memory.written.empty() && !memory.written[index]) {
    Fault(absl::StrCat("reads element ", index, " of tensor ", slot, ", which nothing wrote"),
          thread);
  }
  if (memory.touched != nullptr) {
    const int64_t who = block_ * kernel_.threads + first_ + thread;
    int64_t& reader = memory.touched->reader[index];
    if (memory.touched->writer[index] != Touched::kNobody) {
      Fault(absl::StrCat("reads element ", index, " of tensor ", slot,
                         ", in whose place another tensor has been written"),
            thread);
    }
    reader = reader == Touched::kNobody || reader == who ? who : Touched::kSeveral;
  }
  return memory.values[index];
}

void Machine::WriteElement(int slot, int64_t index, int thread, int64_t value) {
  SlotMemory& memory = slots_[slot];
  if (!memory.written_by_kernel || index < 0 || index >= memory.size()) {
    return Fault(
        absl::StrCat("writes element ", index, " of tensor ", slot, ", which has ", memory.size()),
        thread);
  }
  if (run_.finds_maxima) return;
  if (memory.written[index]) {
    return Fault(absl::StrCat("element ", index, " of tensor ", slot, " is written twice"), thread);
  }
  if (memory.touched != nullptr) {
    const int64_t reader = memory.touched->reader[index];
    const int64_t who = block_ * kernel_.threads + first_ + thread;
    if (reader != Touched::kNobody && reader != who) {
      return Fault(absl::StrCat("writes element ", index, " of tensor ", slot,
                                " in a place that another thread reads"),
                   thread);
    }
    memory.touched->writer[index] = who;
  }
  memory.written[index] = true;
  memory.values[index] = value;
}

void Machine::Store(const Statement& s, const Mask& mask) {
  const Operand index = Evaluate(*s.indices[0], mask), value = Evaluate(*s.value, mask);
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    if (mask.on[i] != 0) {
      WriteElement(s.slot, index.At(i), i, StoredIn(slots_[s.slot], value.At(i), s.value->type));
    }
  }
  Spend(threads_);
}

void Machine::StoreCell(const Statement& s, const Mask& mask) {
  const Operand value = Evaluate(*s.value, mask);
  const Operand cell = Cell(s.variable, s.indices, mask);
  if (stopped()) return;
  const SlotMemory& slot = slots_[kernel_.variables[s.variable].slot];
  int64_t* const to = Registers(s.variable);
  for (int i = 0; i < threads_; ++i) {
    if (mask.on[i] == 0) continue;
    to[cell.At(i) * threads_ + i] = StoredIn(slot, value.At(i), s.value->type);
    Set(kernel_.variables[s.variable], cell.At(i), i);
  }
}

void Machine::LoadPack(const Statement& s, const Mask& mask) {
  const Operand index = Evaluate(*s.indices[0], mask);
  if (stopped()) return;
  const int64_t width = kernel_.variables[s.variable].cells;
  int64_t* const to = Registers(s.variable);
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    if (mask.on[i] == 0) continue;
    const int64_t first = index.At(i);
    if (first % width != 0) Fault("a pack is not aligned", i);
    for (int64_t k = 0; k < width; ++k) to[k * threads_ + i] = ReadElement(s.slot, first + k, i);
  }
  Spend(threads_ * width);
}

void Machine::StorePack(const Statement& s, const Mask& mask) {
  const Operand index = Evaluate(*s.indices[0], mask);
  if (stopped()) return;
  const int64_t width = kernel_.variables[s.variable].cells;
  const int64_t* const from = Registers(s.variable);
  for (int64_t k = 0; k < width; ++k) {
    CheckSet(kernel_.variables[s.variable], {&k, true}, mask);
  }
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    if (mask.on[i] == 0) continue;
    const int64_t first = index.At(i);
    if (first % width != 0) Fault("a pack is not aligned", i);
    for (int64_t k = 0; k < width; ++k) {
      WriteElement(s.slot, first + k, i, from[k * threads_ + i]);
    }
  }
  Spend(threads_ * width);
}

}  // namespace lemma::kernels
