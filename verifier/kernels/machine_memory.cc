// Evaluates what reads memory, and what the threads of a warp or a block compute together.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/lanes/lane_ops.h"
#include "verifier/kernels/machine.h"

namespace lemma::kernels {

using Kind = Expr::Kind;
using Op = Expr::Op;

namespace {

const Field* Fields(const int64_t* data) { return reinterpret_cast<const Field*>(data); }
Field* Fields(int64_t* data) { return reinterpret_cast<Field*>(data); }

}  // namespace

Machine::Operand Machine::Load(const Expr& e, const Mask& mask) {
  const Operand index = Evaluate(*e.args[0], mask);
  int64_t* out = Scratch(e);
  if (e.uniform) {
    for (int i = 0; i < threads_ && !stopped(); ++i) {
      if (mask.on[i] == 0) continue;
      *out = LoadAs(e.type, slots_[e.slot], ReadElement(e.slot, index.data[0], i));
      if (slots_[e.slot].touched == nullptr) break;
    }
    return {out, true};
  }
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    out[i] =
        mask.on[i] == 0 ? 0 : LoadAs(e.type, slots_[e.slot], ReadElement(e.slot, index.At(i), i));
  }
  Spend(threads_);
  return {out, false};
}

bool Machine::Steady(Expr* e, const Mask& mask, Operand* values, Range* range) {
  if (e->steady) {
    if (e->known_at != now_) {
      *values = Evaluate(*e, mask);
      const auto [least, most] = std::minmax_element(values->data, values->data + threads_);
      e->least = *least;
      e->most = *most;
      e->known_at = now_;
    } else {
      *values = {e->kind == Kind::kVariable ? Registers(e->variable)
                 : e->kind == Kind::kThread ? thread_numbers_.data()
                                            : Scratch(*e)};
    }
    *range = {e->least, e->most};
    return true;
  }
  const bool sum = e->kind == Kind::kBinary && e->op == Op::kAdd;
  if (!sum && e->kind != Kind::kConvert) return false;
  Expr* part = e->args[0].get();
  int64_t offset = 0;
  if (sum) {
    Expr* other = e->args[1].get();
    if (part->uniform) std::swap(part, other);
    if (!other->uniform) return false;
    offset = EvaluateUniform(*other, mask);
  }
  constexpr int64_t kSmall = int64_t{1} << 60;
  if (!Steady(part, mask, values, range) || offset < -kSmall || offset > kSmall) return false;
  values->offset += offset;
  if (range->least < -kSmall || range->most > kSmall) return false;
  *range = {range->least + offset, range->most + offset};
  return Fits(e->type, range->least) && Fits(e->type, range->most);
}

int64_t* Machine::RegistersAt(int variable, const std::vector<ExprPtr>& indices, const Mask& mask) {
  const Variable& v = kernel_.variables[variable];
  int64_t cell = 0;
  for (size_t k = 0; k < indices.size(); ++k) {
    const int64_t at = EvaluateUniform(*indices[k], mask), size = v.dims[k];
    if (at < 0 || at >= size) {
      Fault(absl::StrCat("index ", at, " of ", v.name, ", whose size is ", size), 0);
      return nullptr;
    }
    cell = cell * size + at;
  }
  return stopped() ? nullptr : Registers(variable) + cell * threads_;
}

Machine::Operand Machine::Cell(int variable, const std::vector<ExprPtr>& indices,
                               const Mask& mask) {
  const Variable& v = kernel_.variables[variable];
  int64_t same = 0;  // the part of the cell's number that is the same for all threads
  Operand steady;    // the only index that is not, if it is steady
  int varying = 0;
  int64_t stride = v.cells;
  auto outside = [&](int64_t x, int64_t size, int thread) {
    Fault(absl::StrCat("index ", x, " of ", v.name, ", whose size is ", size), thread);
  };
  for (size_t k = 0; k < indices.size() && !stopped(); ++k) {
    const int64_t size = v.dims[k];
    stride /= size;
    Range range;
    if (k + 1 == indices.size() && varying == 0 && !indices[k]->uniform && mask.count == threads_ &&
        Steady(indices[k].get(), mask, &steady, &range) && range.least >= 0 && range.most < size) {
      steady.offset += same;
      return steady;
    }
    if (indices[k]->uniform) {
      const int64_t at = EvaluateUniform(*indices[k], mask);
      if (at < 0 || at >= size) outside(at, size, 0);
      same += at * stride;
      continue;
    }
    const Operand at = Evaluate(*indices[k], mask);
    if (varying++ == 0) std::fill(cells_.begin(), cells_.end(), 0);
    for (int i = 0; i < threads_; ++i) {
      const bool inside = static_cast<uint64_t>(at.data[i]) < static_cast<uint64_t>(size);
      if (!inside && mask.on[i] != 0) outside(at.data[i], size, i);
      cells_[i] += inside ? at.data[i] * stride : 0;
    }
  }
  if (varying == 0) cells_[0] = 0;
  return {cells_.data(), varying == 0, same};
}

Machine::Operand Machine::LoadCell(const Expr& e, const Mask& mask) {
  const Variable& v = kernel_.variables[e.variable];
  const Operand cell = Cell(e.variable, e.args, mask);
  int64_t* out = Scratch(e);
  if (InFlight(e.variable)) Fault(absl::StrCat(v.name, " is read while products add to it"), 0);
  if (stopped()) return {out, false};
  if (!v.shared) {
    CheckSet(v, cell, mask);
    const int64_t* const from = Registers(e.variable);
    if (cell.uniform) return {from + cell.At(0) * threads_, false};
    for (int i = 0; i < threads_; ++i) {
      out[i] = mask.on[i] == 0 ? 0 : from[cell.At(i) * threads_ + i];
    }
    return {out, false};
  }
  SharedMemory& shared = shared_[e.variable];
  Spend(threads_);
  const bool all = mask.count == threads_ && !cell.uniform;
  if (all && shared.ReadAll(cell.data, cell.offset, threads_, out)) return {out, false};
  for (int i = 0; i < threads_ && !stopped(); ++i) {
    if (mask.on[i] == 0) continue;
    const char* what = shared.Read(cell.At(i), i, &out[i]);
    if (*what != 0) Fault(absl::StrCat(v.name, ": ", what), i);
  }
  return {out, false};
}

Machine::Operand Machine::ElementOf(const Expr& e, const Mask& mask) {
  const Operand cell = Cell(e.variable, e.args, mask);
  int64_t* out = Scratch(e);
  if (stopped()) return {out, false};
  const SlotMemory& slot = slots_[kernel_.variables[e.variable].slot];
  CheckSet(kernel_.variables[e.variable], cell, mask);
  const int64_t* const from = Registers(e.variable);
  for (int i = 0; i < threads_; ++i) {
    if (mask.on[i] != 0) out[i] = LoadAs(e.type, slot, from[cell.At(i) * threads_ + i]);
  }
  return {out, false};
}

// sum[i] = fn(sum[i], with[i]) for all threads.
void Machine::Combine(const Expr& e, int64_t* sum, const int64_t* with) {
  if (extremes_ && IsReal(e.type) && (e.fn == ScalarFn::kMax || e.fn == ScalarFn::kMin)) {
    for (int i = 0; i < threads_; ++i) {
      Fields(sum)[i] = extremes_->Apply(e.fn, Fields(sum)[i], Fields(with)[i]);
    }
    return;
  }
  const int f = static_cast<int>(e.fn);
  if (IsReal(e.type)) {
    Lanes<Field>().vv[f](Fields(sum), Fields(sum), Fields(with), threads_);
  } else {
    Lanes<int64_t>().vv[f](sum, sum, with, threads_);
  }
}

Machine::Operand Machine::WarpReduce(const Expr& e, const Mask& mask) {
  constexpr int kWarp = 32;
  const Operand value = Evaluate(*e.args[0], mask);
  int64_t* out = Scratch(e);
  if (stopped()) return {out, false};
  for (int first = 0; first < threads_; first += kWarp) {
    int count = 0;
    for (int i = first; i < std::min(first + kWarp, threads_); ++i) count += mask.on[i];
    if (count != 0 && count != kWarp) {
      Fault("not all threads of a warp take part in its reduction", first);
      return {out, false};
    }
  }
  for (int i = 0; i < threads_; ++i) out[i] = value.At(i);
  std::vector<int64_t> other(threads_);
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    for (int i = 0; i < threads_; ++i) other[i] = out[std::min(i ^ distance, threads_ - 1)];
    Combine(e, out, other.data());
  }
  Spend(threads_);
  return {out, false};
}

// As in the prelude: thread 0 of each warp stores the warp's result, and all threads combine these
// between two barriers.
Machine::Operand Machine::BlockReduce(const Expr& e, const Mask& mask) {
  constexpr int kWarp = 32;
  WarpReduce(e, mask);
  int64_t* const out = Scratch(e);
  const int warps = threads_ / kWarp;
  const Variable& v = kernel_.variables[e.variable];
  if (stopped()) return {out, false};
  if (v.cells < warps) {
    Fault(absl::StrCat(v.name, " has room for ", v.cells, " of ", warps, " warps"), 0);
  }
  auto check = [&](const char* what, int thread) {
    if (*what != 0) Fault(absl::StrCat(v.name, ": ", what), thread);
  };
  SharedMemory& shared = shared_[e.variable];
  for (int w = 0; w < warps && !stopped(); ++w) {
    check(shared.Write(w, w * kWarp, out[w * kWarp]), w * kWarp);
  }
  Barrier(mask);
  std::vector<int64_t> other(threads_);
  for (int w = 0; w < warps && !stopped(); ++w) {
    for (int i = 0; i < threads_; ++i) check(shared.Read(w, i, &other[i]), i);
    if (w == 0) {
      std::copy(other.begin(), other.end(), out);
    } else {
      Combine(e, out, other.data());
    }
  }
  if (!stopped()) Barrier(mask);
  return {out, false};
}

}  // namespace lemma::kernels
