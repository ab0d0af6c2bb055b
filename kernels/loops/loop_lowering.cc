#include "kernels/loops/loop_lowering.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kernels/loops/leaf_table.h"
#include "kernels/loops/loop_merge.h"
#include "kernels/loops/separate_scopes.h"

namespace lemma {
namespace loops {
namespace {

// CompileLoops rejects definitions that would end here.
[[noreturn]] void Impossible(const std::string& what) {
  std::fprintf(stderr, "loop lowering: %s\n", what.c_str());
  std::abort();
}

class Lowerer {
 public:
  explicit Lowerer(absl::Span<const Slot> slots) : slots_(slots) {
    nest_.conds.resize(2);
    nest_.conds[kCondFalse].kind = Cond::Kind::kFalse;
  }

  Nest Lower(const NestSource& source);

 private:
  void DeclareVars(const IndexExpr& e);
  void DeclareVars(const Guard& g);
  void DeclareVars(const ScalarExpr& e);
  void Declare(VarId var, int64_t extent);

  BoundedAffine LowerIndex(const IndexExpr& e);
  int LowerGuard(const Guard& g);
  int Compare(Cond::Kind kind, const BoundedAffine& difference);
  int Combine(Cond::Kind kind, int left, int right);
  int AddCond(Cond cond);

  int LowerScalar(const ScalarExpr& e);
  // Lowers `e` where `cond` is known to have the value `holds`.
  int LowerUnder(int cond, bool holds, const ScalarExpr& e);
  void Assume(int cond, bool holds);
  bool IsNotPositive(const Affine& p) const;
  int Build(const ScalarExpr& e);
  int LowerRead(const ScalarExpr& e);
  int LowerReduce(const ScalarExpr& e);
  int MakeConst(double value);
  int AddNode(Node node);

  absl::Span<const Slot> slots_;
  Nest nest_;
  LeafTable table_;
  absl::flat_hash_map<VarId, int> vars_;
  absl::flat_hash_map<const ScalarNode*, bool> declared_;
  absl::flat_hash_map<const ScalarNode*, int> memo_;
  // Polynomials known to be <= 0 where the current expression is evaluated, and the nodes lowered
  // under them. Those nodes rely on these facts and cannot be used elsewhere.
  std::vector<Affine> facts_;
  std::vector<const ScalarNode*> lowered_under_facts_;
};

void Lowerer::Declare(VarId var, int64_t extent) {
  if (!vars_.emplace(var, static_cast<int>(nest_.vars.size())).second) Impossible("bound twice");
  if (nest_.vars.size() == kMaxVars) Impossible("too many variables");
  nest_.vars.push_back({extent});
  table_.AddVar(extent);
}

// Variables must come before all other terms.
void Lowerer::DeclareVars(const IndexExpr& e) {
  if (e.is_const() || e.kind() == IndexExpr::Kind::kVar) return;
  if (e.kind() == IndexExpr::Kind::kLoad) return DeclareVars(ScalarExpr(e.load()));
  DeclareVars(e.lhs());
  DeclareVars(e.rhs());
}

void Lowerer::DeclareVars(const Guard& g) {
  if (g.is_true() || g.is_false()) return;
  if (g.kind() == Guard::Kind::kLe || g.kind() == Guard::Kind::kEq) {
    DeclareVars(g.lhs());
    return DeclareVars(g.rhs());
  }
  DeclareVars(g.left());
  if (g.kind() != Guard::Kind::kNot) DeclareVars(g.right());
}

void Lowerer::DeclareVars(const ScalarExpr& e) {
  if (!declared_.emplace(e.node().get(), true).second) return;
  for (const Axis& axis : e.axes()) {
    Declare(axis.var, 1);
    DeclareVars(axis.extent);
  }
  DeclareVars(e.index());
  for (const IndexExpr& index : e.indices()) DeclareVars(index);
  DeclareVars(e.guard());
  for (const ScalarExpr& arg : e.args()) DeclareVars(arg);
}

BoundedAffine Lowerer::LowerIndex(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return {Affine::Of(e.value()), Interval{e.value(), e.value()}};
    case IndexExpr::Kind::kVar:
      return table_.Var(vars_.at(e.var()));
    case IndexExpr::Kind::kLoad: {
      int node = LowerScalar(ScalarExpr(e.load()));
      return table_.Load(node, nest_.nodes[node].deps);
    }
    case IndexExpr::Kind::kAdd:
      return table_.Sum(LowerIndex(e.lhs()), LowerIndex(e.rhs()));
    case IndexExpr::Kind::kMul:
      return table_.Product(LowerIndex(e.lhs()), LowerIndex(e.rhs()));
    case IndexExpr::Kind::kFloorDiv:
      return table_.Div(LowerIndex(e.lhs()), LowerIndex(e.rhs()));
    case IndexExpr::Kind::kMod:
      return table_.Mod(LowerIndex(e.lhs()), LowerIndex(e.rhs()));
    case IndexExpr::Kind::kMin:
      return table_.Extreme(IndexLeaf::Kind::kMin, LowerIndex(e.lhs()), LowerIndex(e.rhs()));
    case IndexExpr::Kind::kMax:
      return table_.Extreme(IndexLeaf::Kind::kMax, LowerIndex(e.lhs()), LowerIndex(e.rhs()));
    case IndexExpr::Kind::kSymbol:
      break;
  }
  Impossible("symbol " + e.ToString());
}

int Lowerer::AddCond(Cond cond) {
  cond.deps = table_.DepsOf(cond.affine);
  if (cond.left >= 0) cond.deps |= nest_.conds[cond.left].deps;
  if (cond.right >= 0) cond.deps |= nest_.conds[cond.right].deps;
  nest_.conds.push_back(std::move(cond));
  return static_cast<int>(nest_.conds.size()) - 1;
}

int Lowerer::Compare(Cond::Kind kind, const BoundedAffine& difference) {
  if (auto bounds = difference.bounds) {
    if (kind == Cond::Kind::kLe && bounds->hi <= 0) return kCondTrue;
    if (kind == Cond::Kind::kLe && bounds->lo > 0) return kCondFalse;
    if (kind == Cond::Kind::kEq && bounds->lo == 0 && bounds->hi == 0) return kCondTrue;
    if (kind == Cond::Kind::kEq && (bounds->lo > 0 || bounds->hi < 0)) return kCondFalse;
  }
  Cond cond;
  cond.kind = kind;
  cond.affine = difference.affine;
  return AddCond(std::move(cond));
}

int Lowerer::Combine(Cond::Kind kind, int left, int right) {
  int absorbing = kind == Cond::Kind::kAnd ? kCondFalse : kCondTrue;
  int neutral = kind == Cond::Kind::kAnd ? kCondTrue : kCondFalse;
  if (left == absorbing || right == absorbing) return absorbing;
  if (left == neutral || left == right) return right;
  if (right == neutral) return left;
  Cond cond;
  cond.kind = kind;
  cond.left = left;
  cond.right = right;
  return AddCond(std::move(cond));
}

int Lowerer::LowerGuard(const Guard& g) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
      return kCondTrue;
    case Guard::Kind::kFalse:
      return kCondFalse;
    case Guard::Kind::kLe:
      return Compare(Cond::Kind::kLe, table_.Sum(LowerIndex(g.lhs()), LowerIndex(g.rhs()), -1));
    case Guard::Kind::kEq:
      return Compare(Cond::Kind::kEq, table_.Sum(LowerIndex(g.lhs()), LowerIndex(g.rhs()), -1));
    case Guard::Kind::kAnd:
      return Combine(Cond::Kind::kAnd, LowerGuard(g.left()), LowerGuard(g.right()));
    case Guard::Kind::kOr:
      return Combine(Cond::Kind::kOr, LowerGuard(g.left()), LowerGuard(g.right()));
    case Guard::Kind::kNot: {
      int negated = LowerGuard(g.left());
      if (negated == kCondFalse || negated == kCondTrue) return 1 - negated;
      Cond cond;
      cond.kind = Cond::Kind::kNot;
      cond.left = negated;
      return AddCond(std::move(cond));
    }
  }
  return kCondTrue;
}

bool SameChecks(const std::vector<Check>& a, const std::vector<Check>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Check& x, const Check& y) {
    return x.dim == y.dim && x.size == y.size && x.index == y.index;
  });
}

// Adds `node` unless an equal one exists. Each reduction has its own variables, so no two are
// equal.
int Lowerer::AddNode(Node node) {
  using Kind = ScalarExpr::Kind;
  for (size_t i = 0; i < nest_.nodes.size(); ++i) {
    const Node& n = nest_.nodes[i];
    if (n.kind != node.kind || n.kind == Kind::kReduce || n.fn != node.fn || n.slot != node.slot ||
        n.guard != node.guard || n.args != node.args || !(n.index == node.index)) {
      continue;
    }
    // Compared bitwise, for NaN and -0.
    if (n.kind == Kind::kConst && std::memcmp(&n.value, &node.value, sizeof(double)) != 0) continue;
    if (SameChecks(n.checks, node.checks)) return static_cast<int>(i);
  }
  node.deps |= table_.DepsOf(node.index);
  for (const Check& check : node.checks) node.deps |= table_.DepsOf(check.index);
  for (int arg : node.args) node.deps |= nest_.nodes[arg].deps;
  node.deps |= nest_.conds[node.guard].deps;
  for (auto axis = node.axes.rbegin(); axis != node.axes.rend(); ++axis) {
    node.deps.reset(axis->first);
    node.deps |= table_.DepsOf(axis->second);
  }
  nest_.nodes.push_back(std::move(node));
  return static_cast<int>(nest_.nodes.size()) - 1;
}

int Lowerer::MakeConst(double value) {
  Node node;
  node.value = value;
  return AddNode(std::move(node));
}

void Lowerer::Assume(int cond, bool holds) {
  const Cond& c = nest_.conds[cond];
  switch (c.kind) {
    case Cond::Kind::kLe:
      // If the condition is false, poly >= 1.
      facts_.push_back(holds ? c.affine : Sum(Affine::Of(1), c.affine, -1));
      return;
    case Cond::Kind::kEq:
      if (!holds) return;
      facts_.push_back(c.affine);
      facts_.push_back(Scaled(c.affine, -1));
      return;
    case Cond::Kind::kNot:
      return Assume(c.left, !holds);
    case Cond::Kind::kAnd:
    case Cond::Kind::kOr:
      if (holds != (c.kind == Cond::Kind::kAnd)) return;
      Assume(c.left, holds);
      return Assume(c.right, holds);
    default:
      return;
  }
}

bool Lowerer::IsNotPositive(const Affine& p) const {
  auto bounds = table_.BoundsOf(p);
  if (bounds && bounds->hi <= 0) return true;
  for (const Affine& fact : facts_) {
    bounds = table_.BoundsOf(Sum(p, fact, -1));
    if (bounds && bounds->hi <= 0) return true;
  }
  return false;
}

int Lowerer::LowerUnder(int cond, bool holds, const ScalarExpr& e) {
  const size_t facts = facts_.size(), lowered = lowered_under_facts_.size();
  Assume(cond, holds);
  const bool new_facts = facts_.size() > facts;
  int node = LowerScalar(e);
  if (!new_facts) return node;
  facts_.resize(facts);
  for (size_t i = lowered; i < lowered_under_facts_.size(); ++i) {
    memo_.erase(lowered_under_facts_[i]);
  }
  lowered_under_facts_.resize(lowered);
  return node;
}

int Lowerer::LowerRead(const ScalarExpr& e) {
  const Slot& slot = slots_[e.tensor()];
  Node node;
  node.kind = ScalarExpr::Kind::kRead;
  node.slot = e.tensor();
  for (size_t d = 0; d < e.indices().size(); ++d) {
    BoundedAffine index = LowerIndex(e.indices()[d]);
    node.index = Sum(node.index, index.affine, slot.strides[d]);
    if (index.bounds && index.bounds->lo >= 0 && index.bounds->hi < slot.dims[d]) continue;
    if (IsNotPositive(Scaled(index.affine, -1)) &&
        IsNotPositive(Sum(index.affine, Affine::Of(slot.dims[d] - 1), -1))) {
      continue;
    }
    bool data_dependent = table_.DataDependent(index.affine);
    node.checks.push_back({static_cast<int>(d), std::move(index.affine), slot.dims[d],
                           data_dependent, e.indices()[d], index.bounds});
  }
  return AddNode(std::move(node));
}

int Lowerer::LowerReduce(const ScalarExpr& e) {
  Node node;
  node.kind = ScalarExpr::Kind::kReduce;
  node.reduce = e.reduce();
  bool empty = e.guard().is_false();
  for (const Axis& axis : e.axes()) {
    BoundedAffine extent = LowerIndex(axis.extent);
    int var = vars_.at(axis.var);
    int64_t most = extent.bounds ? extent.bounds->hi : std::numeric_limits<int32_t>::max();
    nest_.vars[var].extent = std::max<int64_t>(most, 0);
    // A variable axis of at most one step still takes 0 or 1 steps.
    table_.SetExtent(var, most);
    if (most <= 0) empty = true;
    if (!(extent.affine.is_const() && extent.affine.base == 1)) {
      node.axes.push_back({var, std::move(extent.affine)});
    }
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double identity = e.reduce() == ReduceKind::kSum    ? 0
                    : e.reduce() == ReduceKind::kProd ? 1
                    : e.reduce() == ReduceKind::kMax  ? -kInf
                                                      : kInf;
  if (empty) return MakeConst(identity);
  node.guard = LowerGuard(e.guard());
  int body = LowerUnder(node.guard, true, e.args()[0]);
  // sum(if g then x else 0) = sum of x where g; similarly for other reductions.
  if (nest_.nodes[body].kind == ScalarExpr::Kind::kSelect) {
    const Node& select = nest_.nodes[body];
    const Node& otherwise = nest_.nodes[select.args[1]];
    if (otherwise.kind == ScalarExpr::Kind::kConst && otherwise.value == identity) {
      node.guard = Combine(Cond::Kind::kAnd, node.guard, select.guard);
      body = select.args[0];
    }
  }
  if (node.guard == kCondFalse) return MakeConst(identity);
  node.args = {body};
  if (node.axes.empty()) {
    if (node.guard == kCondTrue) return body;
    node.kind = ScalarExpr::Kind::kSelect;
    node.reduce = ReduceKind::kSum;
    node.args.push_back(MakeConst(identity));
  }
  return AddNode(std::move(node));
}

int Lowerer::LowerScalar(const ScalarExpr& e) {
  auto it = memo_.find(e.node().get());
  if (it != memo_.end()) return it->second;
  int node = Build(e);
  if (!facts_.empty()) lowered_under_facts_.push_back(e.node().get());
  return memo_[e.node().get()] = node;
}

int Lowerer::Build(const ScalarExpr& e) {
  Node node;
  node.kind = e.kind();
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return MakeConst(e.value());
    case ScalarExpr::Kind::kIndex:
      node.index = LowerIndex(e.index()).affine;
      if (node.index.is_const()) return MakeConst(static_cast<double>(node.index.base));
      return AddNode(std::move(node));
    case ScalarExpr::Kind::kRead:
      return LowerRead(e);
    case ScalarExpr::Kind::kApply:
      node.fn = e.fn();
      for (const ScalarExpr& arg : e.args()) node.args.push_back(LowerScalar(arg));
      return AddNode(std::move(node));
    case ScalarExpr::Kind::kSelect:
      node.guard = LowerGuard(e.guard());
      if (node.guard == kCondTrue) return LowerScalar(e.args()[0]);
      if (node.guard == kCondFalse) return LowerScalar(e.args()[1]);
      node.args = {LowerUnder(node.guard, true, e.args()[0]),
                   LowerUnder(node.guard, false, e.args()[1])};
      return AddNode(std::move(node));
    case ScalarExpr::Kind::kReduce:
      return LowerReduce(e);
    case ScalarExpr::Kind::kParam:
      break;
  }
  Impossible("parameter " + e.ToString());
}

Nest Lowerer::Lower(const NestSource& source) {
  for (const Axis& axis : source.axes) {
    Declare(axis.var, axis.extent.value());
    if (axis.extent.value() != 1) nest_.axes.push_back(vars_.at(axis.var));
  }
  ScalarExpr body = SeparateScopes(source.body);
  DeclareVars(body);
  nest_.out_slot = source.slot;
  for (size_t d = 0; d < source.out.size(); ++d) {
    nest_.out = Sum(nest_.out, LowerIndex(source.out[d]).affine, slots_[source.slot].strides[d]);
  }
  nest_.root = LowerScalar(body);
  nest_.leaves = table_.Take();
  return std::move(nest_);
}

// Puts the axes in the order of their strides in the result, so that axes whose elements are
// adjacent in memory can become one.
void SortAxes(Nest* nest) {
  auto stride = [nest](int axis) { return std::abs(nest->out.CoefficientOf(axis)); };
  if (!std::all_of(nest->axes.begin(), nest->axes.end(), stride)) return;
  std::stable_sort(nest->axes.begin(), nest->axes.end(),
                   [&](int a, int b) { return stride(a) > stride(b); });
}

}  // namespace

Nest Lower(const NestSource& source, absl::Span<const Slot> slots, const LowerOptions& options) {
  Nest nest = Lowerer(slots).Lower(source);
  Compact(&nest);
  if (options.merge_axes) {
    SortAxes(&nest);
    MergeAxes(&nest, &nest.axes);
  }
  MergeReductionAxes(&nest);
  return nest;
}

}  // namespace loops
}  // namespace lemma
