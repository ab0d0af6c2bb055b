#include "kernels/loops/loop_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/loops/leaf_table.h"
#include "kernels/loops/loop_merge.h"

namespace lemma {
namespace loops {
namespace {

using Kind = ScalarExpr::Kind;

// Estimated nanoseconds: to interpret a node once, and per lane.
constexpr double kNodeNs = 15;
constexpr double kRunNs = 12;  // to start a run of a piecewise index
constexpr double kContiguousNs = 0.06;
constexpr double kStridedNs = 1.2;  // a cache line per element, shared with neighboring blocks
constexpr double kPointNs = 4;      // for an index of its own per lane
constexpr double kCheapFnNs = 0.08;
constexpr double kDearFnNs = 1;
constexpr double kMaxBlock = 1024;

// Pieces with at least this many lanes are handled one by one.
constexpr int64_t kWorthwhileRun = 6;

// The typical number of consecutive values of `lane` over which a polynomial stays affine in it.
int64_t RunLength(const Nest& nest, const Affine& p, int lane);

int64_t RunLength(const Nest& nest, const IndexLeaf& leaf, int lane) {
  constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();
  if (!leaf.deps.test(lane) || leaf.kind == IndexLeaf::Kind::kVar) return kAlways;
  int64_t inner = std::min(RunLength(nest, leaf.a, lane), RunLength(nest, leaf.b, lane));
  switch (leaf.kind) {
    case IndexLeaf::Kind::kDiv:
    case IndexLeaf::Kind::kMod: {
      if (!leaf.b.is_const() || leaf.b.base <= 0) return 1;
      int64_t slope = std::abs(leaf.a.CoefficientOf(lane));
      if (slope == 0 || slope % leaf.b.base == 0) return inner;
      return std::min(inner, std::max<int64_t>(1, leaf.b.base / slope));
    }
    case IndexLeaf::Kind::kMin:
    case IndexLeaf::Kind::kMax:
      return std::min(inner, std::max<int64_t>(1, nest.vars[lane].extent / 2));
    default:
      return 1;
  }
}

int64_t RunLength(const Nest& nest, const Affine& p, int lane) {
  int64_t length = std::numeric_limits<int64_t>::max();
  for (const auto& term : p.terms) {
    length = std::min(length, RunLength(nest, nest.leaves[term.first], lane));
  }
  return length;
}

int64_t RunLength(const Nest& nest, const Node& node, int lane) {
  int64_t length = RunLength(nest, node.index, lane);
  for (const Check& check : node.checks) {
    length = std::min(length, RunLength(nest, check.index, lane));
  }
  return length;
}

int64_t RunLength(const Nest& nest, int cond, int lane) {
  const Cond& c = nest.conds[cond];
  int64_t length = RunLength(nest, c.affine, lane);
  if (c.left >= 0) length = std::min(length, RunLength(nest, c.left, lane));
  if (c.right >= 0) length = std::min(length, RunLength(nest, c.right, lane));
  return length;
}

// The time to evaluate an index or a condition once.
double ScanNs(const Nest& nest, const Affine& p) {
  double ns = 4;
  for (const auto& [t, c] : p.terms) {
    const IndexLeaf& leaf = nest.leaves[t];
    ns += 1;
    if (leaf.kind != IndexLeaf::Kind::kVar) ns += 6 + ScanNs(nest, leaf.a) + ScanNs(nest, leaf.b);
  }
  return ns;
}

double ScanNs(const Nest& nest, int cond) {
  const Cond& c = nest.conds[cond];
  double ns = ScanNs(nest, c.affine);
  if (c.left >= 0) ns += ScanNs(nest, c.left);
  if (c.right >= 0) ns += ScanNs(nest, c.right);
  return ns;
}

double ScanNs(const Nest& nest, const Node& node) {
  double ns = ScanNs(nest, node.index);
  for (const Check& check : node.checks) ns += 2 * ScanNs(nest, check.index);
  return ns;
}

LaneMode ModeOf(int64_t run_length) {
  if (run_length == std::numeric_limits<int64_t>::max()) return LaneMode::kAffine;
  return run_length >= kWorthwhileRun ? LaneMode::kRuns : LaneMode::kPoints;
}

// The time for one lane of a read or a write whose index takes `scan_ns` to evaluate.
double AccessNs(int64_t run_length, int64_t slope, double scan_ns) {
  switch (ModeOf(run_length)) {
    case LaneMode::kAffine:
      return slope == 0 || slope == 1 ? kContiguousNs : kStridedNs;
    case LaneMode::kRuns:
      return (kRunNs + scan_ns) / static_cast<double>(run_length) + 2 * kContiguousNs;
    case LaneMode::kPoints:
      return kPointNs;
  }
  return 0;
}

double FunctionNs(ScalarFn fn) { return Info(fn).cheap() ? kCheapFnNs : kDearFnNs; }

// Estimates times for a choice of lanes.
class Estimator {
 public:
  explicit Estimator(const Nest& nest) : nest_(nest), seen_(nest.nodes.size(), false) {}

  // The time of node n and its operands, without those that an earlier call counted, if `lane` is
  // the lane.
  double Cost(int n, int lane);
  // The best own lane of a scalar reduction.
  std::pair<int, double> BestOwnLane(const Node& node);

 private:
  // How often a node is interpreted, and over how many lanes in total.
  struct Count {
    double times, lanes;
  };
  Count CountOf(const Vars& deps, int lane) const;
  double GuardNs(int cond, const Count& count, int lane) const;

  const Nest& nest_;
  std::vector<bool> seen_;
};

Estimator::Count Estimator::CountOf(const Vars& deps, int lane) const {
  double times = 1, lanes = 1;
  for (size_t v = 0; v < nest_.vars.size(); ++v) {
    if (!deps.test(v)) continue;
    double extent = static_cast<double>(nest_.vars[v].extent);
    lanes *= extent;
    times *= static_cast<int>(v) == lane ? std::ceil(extent / kMaxBlock) : extent;
  }
  return {times, lanes};
}

double Estimator::GuardNs(int cond, const Count& count, int lane) const {
  if (cond == kCondTrue) return 0;
  const double scan = ScanNs(nest_, cond);
  if (lane < 0 || !nest_.conds[cond].deps.test(lane)) return count.times * scan;
  // Two or three runs per block; with quotients, as many per few lanes.
  const int64_t run = std::min(RunLength(nest_, cond, lane), nest_.vars[lane].extent);
  const double blocks = std::max(count.times, count.lanes / static_cast<double>(run));
  return blocks * (2 * scan + kRunNs);
}

std::pair<int, double> Estimator::BestOwnLane(const Node& node) {
  std::pair<int, double> best = {-1, std::numeric_limits<double>::infinity()};
  for (const auto& [var, extent] : node.axes) {
    bool determines_others = false;
    for (const auto& axis : node.axes) {
      for (const auto& term : axis.second.terms) {
        if (nest_.leaves[term.first].deps.test(var)) determines_others = true;
      }
    }
    if (determines_others) continue;
    Estimator alternative = *this;
    double cost = alternative.Cost(node.args[0], var);
    Vars deps = node.deps | nest_.nodes[node.args[0]].deps;
    for (const auto& axis : node.axes) deps.set(axis.first);
    Count count = CountOf(deps, var);
    cost += count.times * kNodeNs + count.lanes * kCheapFnNs + GuardNs(node.guard, count, var);
    if (cost < best.second) best = {var, cost};
  }
  return best;
}

double Estimator::Cost(int n, int lane) {
  if (seen_[n]) return 0;
  seen_[n] = true;
  const Node& node = nest_.nodes[n];
  bool vector = lane >= 0 && node.deps.test(lane);
  Count count = CountOf(node.deps, vector ? lane : -1);
  double cost = count.times * kNodeNs;
  if (node.kind == Kind::kReduce) {
    if (!vector) {
      auto [own_lane, own_cost] = BestOwnLane(node);
      if (own_lane >= 0) {
        Cost(node.args[0], own_lane);  // only to mark them as counted
        return cost + own_cost + 20 * count.times;
      }
    }
    Vars deps = node.deps | nest_.nodes[node.args[0]].deps;
    for (const auto& axis : node.axes) deps.set(axis.first);
    Count steps = CountOf(deps, vector ? lane : -1);
    cost += steps.times * kNodeNs + steps.lanes * kCheapFnNs + GuardNs(node.guard, steps, lane);
    return cost + Cost(node.args[0], lane);
  }
  for (int arg : node.args) cost += Cost(arg, lane);
  if (!vector) return cost;
  if (node.kind == Kind::kRead || node.kind == Kind::kIndex) {
    int64_t slope = node.index.CoefficientOf(lane);
    cost += count.lanes * AccessNs(RunLength(nest_, node, lane), slope, ScanNs(nest_, node));
  }
  if (node.kind == Kind::kApply) cost += count.lanes * FunctionNs(node.fn);
  if (node.kind == Kind::kSelect) cost += GuardNs(node.guard, count, lane);
  return cost;
}

double NestCost(const Nest& nest, int lane) {
  double cost = Estimator(nest).Cost(nest.root, lane);
  double lanes = 1, times = 1;
  for (int axis : nest.axes) {
    double extent = static_cast<double>(nest.vars[axis].extent);
    lanes *= extent;
    times *= axis == lane ? std::ceil(extent / kMaxBlock) : extent;
  }
  cost += times * 2 * kNodeNs;
  if (lane >= 0) {
    cost += lanes * AccessNs(RunLength(nest, nest.out, lane), nest.out.CoefficientOf(lane),
                             ScanNs(nest, nest.out));
  }
  return cost;
}

int AddCond(Nest* nest, Cond cond) {
  for (const auto& term : cond.affine.terms) cond.deps |= nest->leaves[term.first].deps;
  if (cond.left >= 0) cond.deps |= nest->conds[cond.left].deps;
  if (cond.right >= 0) cond.deps |= nest->conds[cond.right].deps;
  nest->conds.push_back(std::move(cond));
  return static_cast<int>(nest->conds.size()) - 1;
}

int AddAnd(Nest* nest, int left, int right) {
  if (left == kCondTrue) return right;
  if (right == kCondTrue) return left;
  Cond cond;
  cond.kind = Cond::Kind::kAnd;
  cond.left = left;
  cond.right = right;
  return AddCond(nest, std::move(cond));
}

// An axis whose extent depends on the lane runs to its greatest extent under a guard.
void GuardLaneExtents(Nest* nest, Node* node) {
  for (auto& [var, extent] : node->axes) {
    bool depends = false;
    for (const auto& term : extent.terms) {
      depends = depends || nest->leaves[term.first].deps.test(node->lane);
    }
    if (!depends) continue;
    Cond inside;
    inside.kind = Cond::Kind::kLe;
    Affine step;
    step.base = 1;
    step.terms.push_back({var, 1});
    inside.affine = Sum(step, extent, -1);  // var + 1 - extent <= 0
    node->guard = AddAnd(nest, node->guard, AddCond(nest, std::move(inside)));
    extent = Affine::Of(nest->vars[var].extent);
  }
}

void Conjuncts(const Nest& nest, int cond, std::vector<int>* out) {
  if (nest.conds[cond].kind == Cond::Kind::kAnd) {
    Conjuncts(nest, nest.conds[cond].left, out);
    Conjuncts(nest, nest.conds[cond].right, out);
  } else if (cond != kCondTrue) {
    out->push_back(cond);
  }
}

// Distributes the guard of a reduction over its loops; own_lane's loop is innermost.
void PlaceGuards(Nest* nest, Node* node) {
  int lane = node->lane >= 0 ? node->lane : node->own_lane;
  auto own = std::find_if(node->axes.begin(), node->axes.end(),
                          [&](const auto& axis) { return axis.first == node->own_lane; });
  if (own != node->axes.end()) std::rotate(own, own + 1, node->axes.end());
  size_t loops = node->axes.size() - (node->own_lane >= 0 ? 1 : 0);
  node->level_guards.assign(loops + 1, {});
  node->lane_guard = kCondTrue;
  std::vector<int> conjuncts;
  Conjuncts(*nest, node->guard, &conjuncts);
  for (int cond : conjuncts) {
    const Vars& deps = nest->conds[cond].deps;
    if (lane >= 0 && deps.test(lane)) {
      node->lane_guard = AddAnd(nest, node->lane_guard, cond);
      continue;
    }
    size_t level = loops;
    while (level > 0 && !deps.test(node->axes[level - 1].first)) --level;
    node->level_guards[level].push_back(cond);
  }
}

// Gives every node its lane; reductions that stay scalar choose their own lane.
void AssignLanes(Nest* nest, int n, int lane, std::vector<bool>* seen) {
  if ((*seen)[n]) return;
  (*seen)[n] = true;
  Node& node = nest->nodes[n];
  node.lane = lane >= 0 && node.deps.test(lane) ? lane : -1;
  node.own_lane = -1;
  if (node.kind == Kind::kReduce) {
    if (node.lane >= 0) {
      GuardLaneExtents(nest, &node);
    } else {
      node.own_lane = Estimator(*nest).BestOwnLane(node).first;
      if (node.own_lane >= 0) lane = node.own_lane;
    }
    PlaceGuards(nest, &nest->nodes[n]);
  }
  if (node.lane >= 0 && (node.kind == Kind::kRead || node.kind == Kind::kIndex)) {
    node.mode = ModeOf(RunLength(*nest, node, node.lane));
  }
  for (int arg : nest->nodes[n].args) AssignLanes(nest, arg, lane, seen);
}

int64_t ChooseBlock(const Nest& nest) {
  int64_t vectors = 1, reads = 0, longest = 1;
  bool sums = false;
  if (nest.lane >= 0) longest = nest.vars[nest.lane].extent;
  for (const Node& node : nest.nodes) {
    // Such lanes are read in place, at least if they are stored in the number type.
    const bool in_place = node.kind == Kind::kRead && node.mode == LaneMode::kAffine &&
                          node.index.CoefficientOf(node.lane) == 1;
    if (node.lane >= 0) ++(in_place ? reads : vectors);
    if (node.own_lane < 0) continue;
    longest = std::max(longest, nest.vars[node.own_lane].extent);
    sums = true;
  }
  if (sums) vectors += reads;  // a sum's order depends on its block and must not change
  // The buffers of all nodes together fit into the first-level cache.
  int64_t most = std::clamp<int64_t>(24 * 1024 / (8 * vectors), 128, 1024);
  if (longest <= most) return longest;
  int64_t blocks = (longest + most - 1) / most;
  return std::min(most, ((longest + blocks - 1) / blocks + 15) / 16 * 16);
}

}  // namespace

void ScheduleAmong(Nest* nest, const std::vector<int>& lanes) {
  nest->cost_ns = std::numeric_limits<double>::infinity();
  for (int lane : lanes) {
    double cost = NestCost(*nest, lane);
    if (cost >= nest->cost_ns) continue;
    nest->cost_ns = cost;
    nest->lane = lane;
  }
  auto it = std::find(nest->axes.begin(), nest->axes.end(), nest->lane);
  if (it != nest->axes.end()) std::rotate(it, it + 1, nest->axes.end());
  std::vector<bool> seen(nest->nodes.size(), false);
  AssignLanes(nest, nest->root, nest->lane, &seen);
  if (nest->lane >= 0) nest->out_mode = ModeOf(RunLength(*nest, nest->out, nest->lane));
  nest->block = ChooseBlock(*nest);
}

void Schedule(Nest* nest) {
  std::vector<int> lanes(nest->axes.rbegin(), nest->axes.rend());
  lanes.push_back(-1);
  ScheduleAmong(nest, lanes);
}

}  // namespace loops
}  // namespace lemma
