#include "kernels/evaluate/nest_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lemma {
namespace loops {
namespace {

constexpr int kArities[] = {
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) (arity),
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) (arity),
#include "graph/expr/scalar_functions.inc"
};
constexpr int FunctionsOfThreeArguments() {
  int result = 0;
  for (const int arity : kArities) result += arity == 3 ? 1 : 0;
  return result;
}
// ApplyVector takes each function of three arguments for `where`, and so does the check of CUDA
// kernels (verifier/kernels/machine_expressions.cc).
static_assert(FunctionsOfThreeArguments() == 1, "a function of three arguments other than where");

using Kind = ScalarExpr::Kind;

int FunctionOf(ReduceKind kind) {
  constexpr ScalarFn kFns[] = {ScalarFn::kAdd, ScalarFn::kMul, ScalarFn::kMax, ScalarFn::kMin};
  return static_cast<int>(kFns[static_cast<int>(kind)]);
}

int64_t LaneExtent(const Nest& nest) { return nest.lane < 0 ? 1 : nest.vars[nest.lane].extent; }

// Prefetches the cache lines of elements [offset, offset + count) of the slot, which need not
// exist. Inlined, since GCC removes calls of a function that does nothing else.
[[gnu::always_inline]] inline void Prefetch(const BoundSlot& slot, int64_t offset, int64_t count) {
  constexpr int64_t kLine = 64, kMost = 16;
  const char* at = static_cast<const char*>(slot.At(offset));
  const int64_t lines = std::min((count * slot.element_size + kLine - 1) / kLine, kMost);
  for (int64_t i = 0; i < lines; ++i) __builtin_prefetch(at + i * kLine);
}

int64_t NumBlocks(const Nest& nest) { return (LaneExtent(nest) + nest.block - 1) / nest.block; }

}  // namespace

template <class T>
NestRunner<T>::NestRunner(const Nest& nest, absl::Span<const BoundSlot> slots, int num_inputs)
    : nest_(nest),
      slots_(slots),
      ops_(Lanes<T>()),
      index_(nest, slots, num_inputs),
      memo_(nest.nodes.size()),
      scalars_(nest.nodes.size()),
      buffer_(nest.nodes.size(), -1),
      offsets_(nest.block),
      scratch_(nest.block) {
  constexpr int64_t kAlign = 64 / sizeof(T);
  const int64_t size = (nest.block + kAlign - 1) / kAlign * kAlign;
  int64_t total = 0;
  for (size_t n = 0; n < nest.nodes.size(); ++n) {
    const Node& node = nest.nodes[n];
    if (node.kind == Kind::kConst) scalars_[n] = NumberFromDouble<T>(node.value);
    if (node.lane < 0 && node.own_lane < 0) continue;
    buffer_[n] = total;  // of a scalar reduction, for a body that does not depend on its lane
    total += size;
  }
  buffers_.reset(new T[total + size]);
  root_buffer_ = buffers_.get() + total;
}

template <class T>
int64_t NestRunner<T>::NumItems(const Nest& nest) {
  int64_t items = NumBlocks(nest);
  for (int axis : nest.axes) {
    if (axis != nest.lane) items *= nest.vars[axis].extent;
  }
  return items;
}

template <class T>
absl::Status NestRunner<T>::Run(int64_t begin, int64_t end) {
  const int64_t blocks = NumBlocks(nest_);
  const int64_t extent = LaneExtent(nest_);
  const size_t loops = nest_.axes.size() - (nest_.lane >= 0 ? 1 : 0);
  int64_t last_outer = -1;
  for (int64_t item = begin; item < end; ++item) {
    int64_t outer = item / blocks, block = item - outer * blocks;
    if (outer != last_outer) {
      int64_t rest = outer;
      for (size_t i = loops; i-- > 0;) {
        int64_t size = nest_.vars[nest_.axes[i]].extent;
        index_.Set(nest_.axes[i], rest % size);
        rest /= size;
      }
      last_outer = outer;
    }
    RunItem(block, std::min(nest_.block, extent - block * nest_.block));
    if (index_.failed()) return index_.error();
  }
  return absl::OkStatus();
}

template <class T>
void NestRunner<T>::RunItem(int64_t block, int64_t lanes) {
  const BoundSlot& out = slots_[nest_.out_slot];
  if (nest_.lane < 0) {
    T value = Scalar(nest_.root);
    return Store(out, index_.Value(nest_.out, -1, 0), 1, &value, 1);
  }
  index_.Set(nest_.lane, block * nest_.block);
  if (nest_.out_mode == LaneMode::kAffine) {
    LaneRun run = index_.Scan(nest_.out, nest_.lane, 0);
    const bool direct = out.has_number_type && run.slope == 1 && direct_output_;
    T* to = direct ? static_cast<T*>(out.At(run.value)) : root_buffer_;
    Operand root = Get(nest_.root, 0, lanes, to);
    if (!root.vector) {
      ops_.fill(to, *root.data, lanes);
      root.data = to;
    }
    if (!direct || root.data != to) Store(out, run.value, run.slope, root.data, lanes);
    return;
  }
  Operand root = Get(nest_.root, 0, lanes, root_buffer_);
  if (!root.vector) {
    ops_.fill(root_buffer_, *root.data, lanes);
    root.data = root_buffer_;
  }
  StoreRuns(root.data, lanes);
}

template <class T>
void NestRunner<T>::StoreRuns(const T* values, int64_t lanes) {
  for (int64_t at = 0; at < lanes;) {
    LaneRun run = index_.Scan(nest_.out, nest_.lane, at);
    int64_t end = std::min(run.end, lanes);
    Store(slots_[nest_.out_slot], run.value, run.slope, values + at, end - at);
    at = end;
  }
}

template <class T>
const T* NestRunner<T>::Root(int64_t first, int64_t count) {
  if (nest_.lane >= 0) index_.Set(nest_.lane, first);
  Operand root = Get(nest_.root, 0, count, root_buffer_);
  if (root.vector) return root.data;
  ops_.fill(root_buffer_, *root.data, count);
  return root_buffer_;
}

template <class T>
void NestRunner<T>::Load(const BoundSlot& slot, int64_t offset, int64_t stride, T* dst, int64_t n) {
  auto load = slot.has_number_type ? ops_.load_number : ops_.load[static_cast<int>(*slot.storage)];
  load(dst, slot.At(offset), stride, n);
}

template <class T>
void NestRunner<T>::Store(const BoundSlot& slot, int64_t offset, int64_t stride, const T* src,
                          int64_t n) {
  auto store =
      slot.has_number_type ? ops_.store_number : ops_.store[static_cast<int>(*slot.storage)];
  store(slot.At(offset), stride, src, n);
}

// A child may compute into its parent's destination if its value has no other use, now or later.
template <class T>
bool NestRunner<T>::MayUseParentBuffer(const Node& parent, int child) const {
  const Node& node = nest_.nodes[child];
  return node.uses == 1 && node.lane == parent.lane && node.dep_list == parent.dep_list;
}

template <class T>
typename NestRunner<T>::Operand NestRunner<T>::Get(int n, int64_t from, int64_t to, T* into) {
  if (nest_.nodes[n].lane >= 0) return {Vector(n, from, to, into), true};
  scalars_[n] = Scalar(n);
  return {&scalars_[n], false};
}

template <class T>
const T* NestRunner<T>::Vector(int n, int64_t from, int64_t to, T* into) {
  const Node& node = nest_.nodes[n];
  if (node.kind == Kind::kRead && node.mode == LaneMode::kAffine &&
      slots_[node.slot].has_number_type) {
    LaneRun run = index_.Scan(node.index, node.lane, from);
    if (run.slope == 1 && (node.checks.empty() || index_.CheckAffine(node, node.lane, from, to))) {
      return static_cast<const T*>(slots_[node.slot].At(run.value));
    }
  }
  Memo& memo = memo_[n];
  if (into == nullptr && memo.stamp >= 0 && memo.from <= from && to <= memo.to &&
      index_.Unchanged(node, memo.stamp)) {
    return Buffer(n) + from;
  }
  T* dst = into != nullptr ? into : Buffer(n) + from;
  const T* result = dst;
  switch (node.kind) {
    case Kind::kRead:
      result = ReadVector(node, from, to, dst);
      break;
    case Kind::kIndex:
      IndexVector(node, from, to, dst);
      break;
    case Kind::kApply:
      ApplyVector(node, from, to, dst);
      break;
    case Kind::kSelect:
      result = SelectVector(node, from, to, dst);
      break;
    default:
      ReduceVector(node, from, to, dst);
      break;
  }
  if (into == nullptr) memo = {result == dst ? index_.now() : -1, from, to};
  return result;
}

template <class T>
const T* NestRunner<T>::ReadVector(const Node& node, int64_t from, int64_t to, T* dst) {
  const BoundSlot& slot = slots_[node.slot];
  const int64_t n = to - from;
  if (node.mode == LaneMode::kPoints) {
    if (!index_.CheckPoints(node, node.lane, from, to, scratch_.data())) {
      ops_.fill(dst, T{}, n);
      return dst;
    }
    index_.Points(node.index, node.lane, from, to, offsets_.data());
    auto gather =
        slot.has_number_type ? ops_.gather_number : ops_.gather[static_cast<int>(*slot.storage)];
    gather(dst, slot.data, offsets_.data(), n);
    return dst;
  }
  int64_t last = 0;
  for (int64_t at = from; at < to;) {
    LaneRun run = index_.Scan(node.index, node.lane, at);
    int64_t end = std::min(run.end, to);
    // Hardware prefetching does not cross gaps. The next runs probably have the same distance as
    // the last two.
    constexpr int64_t kAhead = 6;
    if (at > from && run.slope == 1) {
      Prefetch(slot, run.value + kAhead * (run.value - last), end - at);
    }
    last = run.value;
    for (const Check& check : node.checks) {
      end = std::min(end, index_.Scan(check.index, node.lane, at).end);
    }
    T* part = dst + (at - from);
    if (!node.checks.empty() && !index_.CheckAffine(node, node.lane, at, end)) {
      ops_.fill(part, T{}, end - at);
    } else if (end - at == n && slot.has_number_type && run.slope == 1) {
      return static_cast<const T*>(slot.At(run.value));
    } else {
      Load(slot, run.value, run.slope, part, end - at);
    }
    at = end;
  }
  return dst;
}

template <class T>
void NestRunner<T>::IndexVector(const Node& node, int64_t from, int64_t to, T* dst) {
  if (node.mode == LaneMode::kAffine) {
    LaneRun run = index_.Scan(node.index, node.lane, from);
    return ops_.iota(dst, run.value, run.slope, to - from);
  }
  index_.Points(node.index, node.lane, from, to, offsets_.data());
  ops_.load[static_cast<int>(DType::kI64)](dst, offsets_.data(), 1, to - from);
}

template <class T>
template <class Then, class Otherwise>
void NestRunner<T>::ForRuns(int cond, int lane, int64_t from, int64_t to, const Then& then,
                            const Otherwise& otherwise) {
  if (cond == kCondTrue) return then(from, to);
  CondRun run = index_.ScanCond(cond, lane, from, to);
  for (int64_t at = from; at < to;) {
    const bool holds = run.value;
    int64_t end = run.end;
    while (end < to) {
      run = index_.ScanCond(cond, lane, end, to);
      if (run.value != holds) break;
      end = run.end;
    }
    if (holds) {
      then(at, end);
    } else {
      otherwise(at, end);
    }
    at = end;
  }
}

template <class T>
const T* NestRunner<T>::SelectVector(const Node& node, int64_t from, int64_t to, T* dst) {
  const T* whole = nullptr;
  auto branch = [&](int child) {
    return [&, child](int64_t a, int64_t b) {
      T* part = dst + (a - from);
      Operand value = Get(child, a, b, MayUseParentBuffer(node, child) ? part : nullptr);
      if (!value.vector) {
        ops_.fill(part, *value.data, b - a);
      } else if (b - a == to - from) {
        whole = value.data;
      } else if (value.data != part) {
        std::memcpy(part, value.data, (b - a) * sizeof(T));
      }
    };
  };
  ForRuns(node.guard, node.lane, from, to, branch(node.args[0]), branch(node.args[1]));
  return whole != nullptr ? whole : dst;
}

template <class T>
void NestRunner<T>::ApplyVector(const Node& node, int64_t from, int64_t to, T* dst) {
  if (MulThenVector(node, from, to, dst)) return;
  const int fn = static_cast<int>(node.fn);
  const int64_t n = to - from;
  auto share = [&](int i) { return MayUseParentBuffer(node, node.args[i]) ? dst : nullptr; };
  Operand a = Get(node.args[0], from, to, share(0));
  if (node.args.size() == 1) return ops_.unary[fn](dst, a.data, n);
  Operand b = Get(node.args[1], from, to, a.data == dst ? nullptr : share(1));
  if (node.args.size() == 2) {
    auto apply = !a.vector ? ops_.sv[fn] : !b.vector ? ops_.vs[fn] : ops_.vv[fn];
    return apply(dst, a.data, b.data, n);
  }
  Operand c = Get(node.args[2], from, to, nullptr);
  if (a.vector) return ops_.where(dst, a.data, b.data, b.vector, c.data, c.vector, n);
  const Operand& chosen = *a.data != T{} ? b : c;
  if (!chosen.vector) return ops_.fill(dst, *chosen.data, n);
  if (chosen.data != dst) std::memcpy(dst, chosen.data, n * sizeof(T));
}

template <class T>
bool NestRunner<T>::MulThenVector(const Node& node, int64_t from, int64_t to, T* dst) {
  const bool adds = node.fn == ScalarFn::kAdd;
  if (!adds && node.fn != ScalarFn::kSub) return false;
  for (int i : {0, 1}) {
    const Node& product = nest_.nodes[node.args[i]];
    const int other = node.args[1 - i];
    if (product.kind != Kind::kApply || product.fn != ScalarFn::kMul ||
        !MayUseParentBuffer(node, node.args[i]) || nest_.nodes[other].lane < 0) {
      continue;
    }
    Operand a = Get(product.args[0], from, to, nullptr);
    Operand b = Get(product.args[1], from, to, nullptr);
    if (!a.vector) std::swap(a, b);
    const Operand c = Get(other, from, to, MayUseParentBuffer(node, other) ? dst : nullptr);
    const auto& loops = adds ? ops_.mul_plus : i == 0 ? ops_.mul_minus : ops_.minus_mul;
    loops[b.vector](dst, a.data, b.data, c.data, to - from);
    return true;
  }
  return false;
}

template <class T>
template <class Leaf>
void NestRunner<T>::ForEachStep(const Node& node, size_t level, const Leaf& leaf) {
  for (int cond : node.level_guards[level]) {
    if (!index_.Test(cond, -1, 0)) return;
  }
  if (level + 1 == node.level_guards.size()) return leaf();
  const auto& [var, extent] = node.axes[level];
  const int64_t steps = index_.Value(extent, -1, 0);
  for (int64_t i = 0; i < steps; ++i) {
    index_.Set(var, i);
    ForEachStep(node, level + 1, leaf);
  }
}

template <class T>
void NestRunner<T>::ReduceVector(const Node& node, int64_t from, int64_t to, T* dst) {
  ops_.fill(dst, ReduceIdentity<T>(node.reduce), to - from);
  ForEachStep(node, 0, [&] {
    ForRuns(
        node.lane_guard, node.lane, from, to,
        [&](int64_t a, int64_t b) { AccumulateVector(node, a, b, dst + (a - from)); },
        [](int64_t, int64_t) {});
  });
}

template <class T>
void NestRunner<T>::AccumulateVector(const Node& node, int64_t from, int64_t to, T* acc) {
  const Node& body = nest_.nodes[node.args[0]];
  const int64_t n = to - from;
  if (node.reduce == ReduceKind::kSum && body.kind == Kind::kApply && body.fn == ScalarFn::kMul &&
      body.lane >= 0 && body.uses == 1) {
    Operand a = Get(body.args[0], from, to, nullptr);
    Operand b = Get(body.args[1], from, to, nullptr);
    if (!a.vector) std::swap(a, b);
    return (b.vector ? ops_.mul_add_vv : ops_.mul_add_vs)(acc, a.data, b.data, n);
  }
  Operand value = Get(node.args[0], from, to, nullptr);
  const int fn = FunctionOf(node.reduce);
  (value.vector ? ops_.vv : ops_.vs)[fn](acc, acc, value.data, n);
}

template <class T>
T NestRunner<T>::Scalar(int n) {
  const Node& node = nest_.nodes[n];
  if (node.kind == Kind::kConst) return scalars_[n];
  if (node.kind == Kind::kRead) return ReadScalar(node);
  Memo& memo = memo_[n];
  if (memo.stamp >= 0 && index_.Unchanged(node, memo.stamp)) return scalars_[n];
  scalars_[n] = ComputeScalar(node);
  memo.stamp = index_.now();
  return scalars_[n];
}

template <class T>
T NestRunner<T>::ComputeScalar(const Node& node) {
  switch (node.kind) {
    case Kind::kIndex: {
      T value;
      ops_.iota(&value, index_.Value(node.index, -1, 0), 0, 1);
      return value;
    }
    case Kind::kApply:
      return ApplyScalar(node);
    case Kind::kSelect:
      return Scalar(node.args[index_.Test(node.guard, -1, 0) ? 0 : 1]);
    default:
      return ReduceScalar(node);
  }
}

template <class T>
T NestRunner<T>::ReadScalar(const Node& node) {
  T value{};
  if (!node.checks.empty() && !index_.CheckAffine(node, -1, 0, 1)) return value;
  Load(slots_[node.slot], index_.Value(node.index, -1, 0), 0, &value, 1);
  return value;
}

template <class T>
T NestRunner<T>::ApplyScalar(const Node& node) {
  T args[3] = {};
  for (size_t i = 0; i < node.args.size(); ++i) args[i] = Scalar(node.args[i]);
  const int fn = static_cast<int>(node.fn);
  T result{};
  if (node.args.size() == 1) {
    ops_.unary[fn](&result, args, 1);
  } else if (node.args.size() == 2) {
    ops_.vv[fn](&result, args, args + 1, 1);
  } else {
    result = args[0] != T{} ? args[1] : args[2];
  }
  return result;
}

template <class T>
T NestRunner<T>::ReduceScalar(const Node& node) {
  const int fn = FunctionOf(node.reduce);
  if (node.own_lane < 0) {
    T acc = ReduceIdentity<T>(node.reduce);
    ForEachStep(node, 0, [&] {
      T value = Scalar(node.args[0]);
      ops_.vv[fn](&acc, &acc, &value, 1);
    });
    return acc;
  }
  T partials[kPartials];
  ops_.fill(partials, ReduceIdentity<T>(node.reduce), kPartials);
  ForEachStep(node, 0, [&] { AccumulateLanes(node, partials); });
  for (int half = kPartials / 2; half > 0; half /= 2) {
    ops_.vv[fn](partials, partials, partials + half, half);
  }
  return partials[0];
}

template <class T>
void NestRunner<T>::AccumulateLanes(const Node& node, T* partials) {
  const int64_t extent = index_.Value(node.axes.back().second, -1, 0);
  for (int64_t base = 0; base < extent; base += nest_.block) {
    index_.Set(node.own_lane, base);
    ForRuns(
        node.lane_guard, node.own_lane, 0, std::min(nest_.block, extent - base),
        [&](int64_t a, int64_t b) { AccumulateRun(node, a, b, partials); },
        [](int64_t, int64_t) {});
  }
}

template <class T>
void NestRunner<T>::AccumulateRun(const Node& node, int64_t from, int64_t to, T* partials) {
  const Node& body = nest_.nodes[node.args[0]];
  const int64_t n = to - from;
  if (node.reduce == ReduceKind::kSum && body.kind == Kind::kApply && body.fn == ScalarFn::kMul &&
      body.lane >= 0 && body.uses == 1) {
    Operand a = Get(body.args[0], from, to, nullptr);
    Operand b = Get(body.args[1], from, to, nullptr);
    if (a.vector && b.vector) return ops_.partial_dot(partials, a.data, b.data, n);
  }
  Operand value = Get(node.args[0], from, to, nullptr);
  if (!value.vector) {
    T* filled = Buffer(static_cast<int>(&node - nest_.nodes.data()));
    ops_.fill(filled, *value.data, n);
    value.data = filled;
  }
  ops_.partial[static_cast<int>(node.reduce)](partials, value.data, n);
}

template class NestRunner<double>;
template class NestRunner<float>;
template class NestRunner<int64_t>;
template class NestRunner<Field>;

}  // namespace loops
}  // namespace lemma
