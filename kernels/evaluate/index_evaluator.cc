#include "kernels/evaluate/index_evaluator.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/lanes/lane_ops.h"

namespace lemma {
namespace loops {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// Indices that are computed from data may be any numbers: they wrap, as integers of operators do.
int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t Times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

int64_t Later(int64_t at, int64_t steps) { return steps > kForever - at ? kForever : at + steps; }

// The number of steps from `value` on during which floor(value / m) stays, if value grows by
// `slope`.
int64_t StepsInQuotient(int64_t value, int64_t slope, int64_t m) {
  int64_t rest = value - m * FloorDivide(value, m);
  if (slope > 0) return (m - rest + slope - 1) / slope;
  return rest / -slope + 1;
}

// The number of steps during which the truth of value <= 0 stays.
int64_t StepsInSign(int64_t value, int64_t slope) {
  if (value <= 0) return slope > 0 ? -value / slope + 1 : kForever;
  return slope < 0 ? (value - slope - 1) / -slope : kForever;
}

}  // namespace

IndexEvaluator::IndexEvaluator(const Nest& nest, absl::Span<const BoundSlot> slots, int num_inputs)
    : nest_(nest),
      slots_(slots),
      num_inputs_(num_inputs),
      values_(nest.vars.size(), 0),
      epochs_(nest.vars.size(), 1) {}

void IndexEvaluator::Set(int var, int64_t value) {
  if (values_[var] == value) return;
  values_[var] = value;
  epochs_[var] = ++clock_;
}

bool IndexEvaluator::Unchanged(const Node& node, int64_t stamp) const {
  for (int var : node.dep_list) {
    if (epochs_[var] > stamp) return false;
  }
  return true;
}

int64_t IndexEvaluator::Value(const Affine& p, int lane, int64_t at) {
  int64_t sum = p.base;
  for (const auto& [t, c] : p.terms) {
    const IndexLeaf& leaf = nest_.leaves[t];
    if (leaf.kind == IndexLeaf::Kind::kVar) {
      sum = Plus(sum, Times(c, values_[t] + (t == lane ? at : 0)));
    } else {
      sum = Plus(sum, Times(c, LeafValue(leaf, lane, at)));
    }
  }
  return sum;
}

int64_t IndexEvaluator::LeafValue(const IndexLeaf& leaf, int lane, int64_t at) {
  if (leaf.kind == IndexLeaf::Kind::kLoad) return Integer(leaf.load, lane, at);
  int64_t a = Value(leaf.a, lane, at), b = Value(leaf.b, lane, at);
  switch (leaf.kind) {
    case IndexLeaf::Kind::kDiv:
      return b > 0 ? FloorDivide(a, b) : 0;
    case IndexLeaf::Kind::kMod:
      return b > 0 ? a - b * FloorDivide(a, b) : 0;
    case IndexLeaf::Kind::kMin:
      return std::min(a, b);
    case IndexLeaf::Kind::kMax:
      return std::max(a, b);
    default:
      return Times(a, b);
  }
}

LaneRun IndexEvaluator::Scan(const Affine& p, int lane, int64_t at) {
  LaneRun run = {p.base, 0, kForever};
  for (const auto& [t, c] : p.terms) {
    const IndexLeaf& leaf = nest_.leaves[t];
    if (leaf.kind == IndexLeaf::Kind::kVar) {
      run.value = Plus(run.value, Times(c, values_[t] + (t == lane ? at : 0)));
      if (t == lane) run.slope = Plus(run.slope, c);
      continue;
    }
    LaneRun inner = ScanLeaf(leaf, lane, at);
    run.value = Plus(run.value, Times(c, inner.value));
    run.slope = Plus(run.slope, Times(c, inner.slope));
    run.end = std::min(run.end, inner.end);
  }
  return run;
}

LaneRun IndexEvaluator::ScanLeaf(const IndexLeaf& leaf, int lane, int64_t at) {
  if (lane < 0 || !leaf.deps.test(lane)) return {LeafValue(leaf, lane, at), 0, kForever};
  if (leaf.kind == IndexLeaf::Kind::kLoad) return {Integer(leaf.load, lane, at), 0, at + 1};
  LaneRun a = Scan(leaf.a, lane, at);
  LaneRun b = {leaf.b.base, 0, kForever};
  if (!leaf.b.is_const()) b = Scan(leaf.b, lane, at);
  int64_t end = std::min(a.end, b.end);
  switch (leaf.kind) {
    case IndexLeaf::Kind::kDiv: {
      int64_t m = b.value;
      if (b.slope != 0 || m <= 0) return {LeafValue(leaf, lane, at), 0, at + 1};
      int64_t q = FloorDivide(a.value, m);
      if (a.slope % m == 0) return {q, a.slope / m, end};
      return {q, 0, std::min(end, Later(at, StepsInQuotient(a.value, a.slope, m)))};
    }
    case IndexLeaf::Kind::kMod: {
      int64_t m = b.value;
      if (b.slope != 0 || m <= 0) return {LeafValue(leaf, lane, at), 0, at + 1};
      int64_t rest = a.value - m * FloorDivide(a.value, m);
      if (a.slope % m == 0) return {rest, 0, end};
      return {rest, a.slope, std::min(end, Later(at, StepsInQuotient(a.value, a.slope, m)))};
    }
    case IndexLeaf::Kind::kMin:
    case IndexLeaf::Kind::kMax: {
      bool a_first = (a.value <= b.value) == (leaf.kind == IndexLeaf::Kind::kMin);
      const LaneRun& chosen = a_first ? a : b;
      int64_t steps = StepsInSign(Minus(a.value, b.value), Minus(a.slope, b.slope));
      return {chosen.value, chosen.slope, std::min(end, Later(at, steps))};
    }
    default:
      if (a.slope != 0 && b.slope != 0) end = at + 1;
      return {Times(a.value, b.value), Plus(Times(a.slope, b.value), Times(a.value, b.slope)), end};
  }
}

void IndexEvaluator::Points(const Affine& p, int lane, int64_t from, int64_t to, int64_t* out) {
  Affine affine;
  affine.base = p.base;
  for (const auto& term : p.terms) {
    const IndexLeaf& t = nest_.leaves[term.first];
    bool varies = t.kind != IndexLeaf::Kind::kVar && lane >= 0 && t.deps.test(lane);
    if (!varies) affine.terms.push_back(term);
  }
  LaneRun run = Scan(affine, lane, from);
  int64_t n = to - from;
  for (int64_t i = 0; i < n; ++i) out[i] = Plus(run.value, Times(run.slope, i));
  if (affine.terms.size() == p.terms.size()) return;
  std::vector<int64_t> values(n);
  for (const auto& [t, c] : p.terms) {
    const IndexLeaf& leaf = nest_.leaves[t];
    if (leaf.kind == IndexLeaf::Kind::kVar || !leaf.deps.test(lane)) continue;
    LeafPoints(leaf, lane, from, to, values.data());
    for (int64_t i = 0; i < n; ++i) out[i] = Plus(out[i], Times(c, values[i]));
  }
}

void IndexEvaluator::LeafPoints(const IndexLeaf& leaf, int lane, int64_t from, int64_t to,
                                int64_t* out) {
  int64_t n = to - from;
  if (leaf.kind == IndexLeaf::Kind::kDiv && leaf.b.is_const() && leaf.b.base > 0) {
    Points(leaf.a, lane, from, to, out);
    for (int64_t i = 0; i < n; ++i) out[i] = FloorDivide(out[i], leaf.b.base);
    return;
  }
  if (leaf.kind == IndexLeaf::Kind::kLoad) {
    const Node& node = nest_.nodes[leaf.load];
    if (node.kind == ScalarExpr::Kind::kRead && node.checks.empty()) {
      Points(node.index, lane, from, to, out);
      const BoundSlot& slot = slots_[node.slot];
      for (int64_t i = 0; i < n; ++i) out[i] = slot.read_integer(slot.data, out[i]);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) out[i] = LeafValue(leaf, lane, from + i);
}

bool IndexEvaluator::Test(int cond, int lane, int64_t at) {
  const Cond& c = nest_.conds[cond];
  switch (c.kind) {
    case Cond::Kind::kFalse:
      return false;
    case Cond::Kind::kTrue:
      return true;
    case Cond::Kind::kLe:
      return Value(c.affine, lane, at) <= 0;
    case Cond::Kind::kEq:
      return Value(c.affine, lane, at) == 0;
    case Cond::Kind::kAnd:
      return Test(c.left, lane, at) && Test(c.right, lane, at);
    case Cond::Kind::kOr:
      return Test(c.left, lane, at) || Test(c.right, lane, at);
    case Cond::Kind::kNot:
      return !Test(c.left, lane, at);
  }
  return false;
}

CondRun IndexEvaluator::ScanCond(int cond, int lane, int64_t at, int64_t to) {
  const Cond& c = nest_.conds[cond];
  if (lane < 0 || !c.deps.test(lane)) return {Test(cond, lane, at), to};
  switch (c.kind) {
    case Cond::Kind::kLe: {
      LaneRun run = Scan(c.affine, lane, at);
      int64_t end = std::min(run.end, Later(at, StepsInSign(run.value, run.slope)));
      return {run.value <= 0, std::min(end, to)};
    }
    case Cond::Kind::kEq: {
      LaneRun run = Scan(c.affine, lane, at);
      int64_t end = std::min(run.end, to);
      if (run.slope == 0) return {run.value == 0, end};
      if (run.value == 0) return {true, at + 1};
      int64_t steps = -run.value / run.slope;
      if (run.value % run.slope == 0 && steps > 0) end = std::min(end, Later(at, steps));
      return {false, end};
    }
    case Cond::Kind::kNot: {
      CondRun run = ScanCond(c.left, lane, at, to);
      return {!run.value, run.end};
    }
    case Cond::Kind::kAnd:
    case Cond::Kind::kOr: {
      bool absorbing = c.kind == Cond::Kind::kOr;
      CondRun left = ScanCond(c.left, lane, at, to);
      if (left.value == absorbing) return left;
      return ScanCond(c.right, lane, at, left.end);
    }
    default:
      return {c.kind == Cond::Kind::kTrue, to};
  }
}

bool IndexEvaluator::InBounds(const Node& node, const Check& check, int64_t index) {
  if (0 <= index && index < check.size) return true;
  if (!failed()) {
    std::string message = absl::StrCat("index ", index, " of dimension ", check.dim, " of ",
                                       node.slot < num_inputs_ ? "input " : "tensor ", node.slot,
                                       " is outside [0, ", check.size, ")");
    error_ = check.data_dependent ? absl::OutOfRangeError(message) : absl::InternalError(message);
  }
  return false;
}

bool IndexEvaluator::CheckAffine(const Node& node, int lane, int64_t from, int64_t to) {
  for (const Check& check : node.checks) {
    LaneRun run = Scan(check.index, lane, from);
    if (!InBounds(node, check, run.value)) return false;
    if (run.slope != 0 && !InBounds(node, check, run.value + run.slope * (to - 1 - from))) {
      return false;
    }
  }
  return true;
}

bool IndexEvaluator::CheckPoints(const Node& node, int lane, int64_t from, int64_t to,
                                 int64_t* scratch) {
  for (const Check& check : node.checks) {
    Points(check.index, lane, from, to, scratch);
    for (int64_t i = 0; i < to - from; ++i) {
      if (!InBounds(node, check, scratch[i])) return false;
    }
  }
  return true;
}

int64_t IndexEvaluator::Integer(int n, int lane, int64_t at) {
  const Node& node = nest_.nodes[n];
  switch (node.kind) {
    case ScalarExpr::Kind::kConst:
      return IntegerFromNumber<double>(node.value);
    case ScalarExpr::Kind::kIndex:
      return Value(node.index, lane, at);
    case ScalarExpr::Kind::kRead: {
      for (const Check& check : node.checks) {
        if (!InBounds(node, check, Value(check.index, lane, at))) return 0;
      }
      if (failed()) return 0;
      const BoundSlot& slot = slots_[node.slot];
      return slot.read_integer(slot.data, Value(node.index, lane, at));
    }
    case ScalarExpr::Kind::kApply: {
      int64_t args[3] = {0, 0, 0};
      for (size_t i = 0; i < node.args.size(); ++i) args[i] = Integer(node.args[i], lane, at);
      if (node.fn == ScalarFn::kWhere) return args[0] != 0 ? args[1] : args[2];
      const LaneOps<int64_t>& ops = Lanes<int64_t>();
      int64_t result = 0;
      if (auto unary = ops.unary[static_cast<int>(node.fn)]) unary(&result, args, 1);
      if (auto binary = ops.vv[static_cast<int>(node.fn)]) binary(&result, args, args + 1, 1);
      return result;
    }
    case ScalarExpr::Kind::kSelect:
      return Integer(node.args[Test(node.guard, lane, at) ? 0 : 1], lane, at);
    case ScalarExpr::Kind::kReduce:
      return ReduceInteger(node, 0, ReduceIdentity<int64_t>(node.reduce), lane, at);
    case ScalarExpr::Kind::kParam:
      break;
  }
  return 0;
}

int64_t IndexEvaluator::ReduceInteger(const Node& node, size_t axis, int64_t so_far, int lane,
                                      int64_t at) {
  constexpr ScalarFn kFns[] = {ScalarFn::kAdd, ScalarFn::kMul, ScalarFn::kMax, ScalarFn::kMin};
  if (axis == node.axes.size()) {
    if (!Test(node.guard, lane, at)) return so_far;
    int64_t value = Integer(node.args[0], lane, at);
    ScalarFn fn = kFns[static_cast<int>(node.reduce)];
    Lanes<int64_t>().vv[static_cast<int>(fn)](&so_far, &so_far, &value, 1);
    return so_far;
  }
  int64_t extent = Value(node.axes[axis].second, lane, at);
  for (int64_t i = 0; i < extent; ++i) {
    Set(node.axes[axis].first, i);
    so_far = ReduceInteger(node, axis + 1, so_far, lane, at);
  }
  return so_far;
}

}  // namespace loops
}  // namespace lemma
