#include "kernels/loops/cost.h"

#include <algorithm>
#include <vector>

#include "kernels/loops/leaf_table.h"
#include "kernels/loops/loop_check.h"
#include "kernels/loops/loop_lowering.h"

namespace lemma {
namespace {

using lemma::Affine;
using loops::Cond;
using loops::IndexLeaf;
using loops::kCondTrue;
using loops::Nest;
using loops::Node;
using loops::Vars;

constexpr double kMaxEnumerated = 1 << 20;

// Counts one lowered tensor.
class Counter {
 public:
  explicit Counter(const Nest& nest) : nest_(nest), share_(nest.nodes.size(), 0) {}

  double Flops() {
    Visit(nest_.root, 1);
    double flops = 0;
    for (size_t n = 0; n < share_.size(); ++n) flops += share_[n] * FlopsOf(nest_.nodes[n]);
    return flops;
  }
  // Elements touched by one read.
  double Elements(const Node& read, int n) const {
    double share = share_[n] > 0 ? share_[n] : 1;  // reads inside an index are not visited
    return std::max(1.0, Values(read.deps) * share);
  }

 private:
  // Records that node n is evaluated in the given fraction of the enclosing iterations.
  void Visit(int n, double share);
  double FlopsOf(const Node& node) const;
  // The number of joint values of the variables in `vars`.
  double Values(const Vars& vars) const;
  // The fraction of the values of its variables for which a condition holds.
  double Fraction(int cond) const;
  double Enumerate(const Cond& cond, const std::vector<int>& vars) const;
  int64_t Value(const Affine& p, const std::vector<int>& vars, const int64_t* values) const;
  double MeanExtent(const Affine& extent, int var) const;

  const Nest& nest_;
  std::vector<double> share_;  // 0: never evaluated
};

void Counter::Visit(int n, double share) {
  // The largest share among its users.
  if (share <= share_[n]) return;
  share_[n] = share;
  const Node& node = nest_.nodes[n];
  if (node.kind == ScalarExpr::Kind::kSelect) {
    const double holds = Fraction(node.guard);
    Visit(node.args[0], share * holds);
    Visit(node.args[1], share * (1 - holds));
    return;
  }
  if (node.kind == ScalarExpr::Kind::kReduce) {
    share *= Fraction(node.guard);
    for (const auto& [var, extent] : node.axes) {
      if (nest_.nodes[node.args[0]].deps.test(var)) {
        share *= MeanExtent(extent, var) / static_cast<double>(nest_.vars[var].extent);
      }
    }
  }
  for (int arg : node.args) Visit(arg, share);
}

double Counter::FlopsOf(const Node& node) const {
  if (node.kind == ScalarExpr::Kind::kApply) return Values(node.deps);
  if (node.kind != ScalarExpr::Kind::kReduce) return 0;
  double steps = Values(node.deps) * Fraction(node.guard);
  for (const auto& [var, extent] : node.axes) steps *= MeanExtent(extent, var);
  return steps;
}

double Counter::Values(const Vars& vars) const {
  double values = 1;
  for (size_t v = 0; v < nest_.vars.size(); ++v) {
    if (vars.test(v)) values *= static_cast<double>(nest_.vars[v].extent);
  }
  return values;
}

double Counter::MeanExtent(const Affine& extent, int var) const {
  double mean = static_cast<double>(extent.base);
  for (const auto& [t, c] : extent.terms) {
    const IndexLeaf& leaf = nest_.leaves[t];
    if (!leaf.bounded) return static_cast<double>(nest_.vars[var].extent);
    mean += static_cast<double>(c) * 0.5 * static_cast<double>(leaf.bounds.lo + leaf.bounds.hi);
  }
  return std::clamp(mean, 0.0, static_cast<double>(nest_.vars[var].extent));
}

double Counter::Fraction(int cond) const {
  const Cond& c = nest_.conds[cond];
  switch (c.kind) {
    case Cond::Kind::kFalse:
      return 0;
    case Cond::Kind::kTrue:
      return 1;
    case Cond::Kind::kNot:
      return 1 - Fraction(c.left);
    case Cond::Kind::kAnd:
      return Fraction(c.left) * Fraction(c.right);
    case Cond::Kind::kOr:
      return 1 - (1 - Fraction(c.left)) * (1 - Fraction(c.right));
    default:
      break;
  }
  std::vector<int> vars;
  for (size_t v = 0; v < nest_.vars.size(); ++v) {
    if (c.deps.test(v)) vars.push_back(static_cast<int>(v));
  }
  for (const auto& term : c.affine.terms) {
    if (nest_.leaves[term.first].data_dependent) return 1;
  }
  if (vars.empty() || vars.size() > 2 || Values(c.deps) > kMaxEnumerated) return 1;
  return Enumerate(c, vars);
}

double Counter::Enumerate(const Cond& cond, const std::vector<int>& vars) const {
  int64_t holds = 0, values[2] = {0, 0};
  const int64_t second = vars.size() > 1 ? nest_.vars[vars[1]].extent : 1;
  for (values[0] = 0; values[0] < nest_.vars[vars[0]].extent; ++values[0]) {
    for (values[1] = 0; values[1] < second; ++values[1]) {
      const int64_t value = Value(cond.affine, vars, values);
      holds += cond.kind == Cond::Kind::kLe ? value <= 0 : value == 0;
    }
  }
  return static_cast<double>(holds) / Values(cond.deps);
}

int64_t Counter::Value(const Affine& p, const std::vector<int>& vars, const int64_t* values) const {
  auto floor_divide = [](int64_t a, int64_t b) { return b <= 0 ? 0 : (a - ((a % b + b) % b)) / b; };
  int64_t sum = p.base;
  for (const auto& [t, c] : p.terms) {
    const IndexLeaf& leaf = nest_.leaves[t];
    if (leaf.kind == IndexLeaf::Kind::kVar) {
      sum += c * values[t == vars[0] ? 0 : 1];
      continue;
    }
    const int64_t a = Value(leaf.a, vars, values), b = Value(leaf.b, vars, values);
    switch (leaf.kind) {
      case IndexLeaf::Kind::kDiv:
        sum += c * floor_divide(a, b);
        break;
      case IndexLeaf::Kind::kMod:
        sum += c * (a - b * floor_divide(a, b));
        break;
      case IndexLeaf::Kind::kMin:
        sum += c * std::min(a, b);
        break;
      case IndexLeaf::Kind::kMax:
        sum += c * std::max(a, b);
        break;
      default:
        sum += c * a * b;
        break;
    }
  }
  return sum;
}

double NumElements(const std::vector<int64_t>& dims) {
  double n = 1;
  for (int64_t dim : dims) n *= static_cast<double>(dim);
  return n;
}

}  // namespace

absl::StatusOr<Work> CountWork(const Definition& definition) {
  if (absl::Status status = loops::CheckEvaluable(definition); !status.ok()) return status;
  const std::vector<loops::Slot> slots = loops::DenseSlots(definition);
  const size_t num_inputs = definition.inputs.size();
  std::vector<double> touched(num_inputs, 0);
  Work work;
  int fresh = definition.num_vars;
  for (size_t i = 0; i < definition.tensors.size(); ++i) {
    loops::NestSource source =
        loops::SourceOf(definition.tensors[i], static_cast<int>(num_inputs + i), &fresh);
    if (loops::IsEmpty(source)) continue;
    const Nest nest = loops::Lower(source, slots);
    Counter counter(nest);
    work.flops += counter.Flops();
    for (size_t n = 0; n < nest.nodes.size(); ++n) {
      const Node& node = nest.nodes[n];
      if (node.kind != ScalarExpr::Kind::kRead || node.slot >= static_cast<int>(num_inputs)) {
        continue;
      }
      touched[node.slot] += counter.Elements(node, static_cast<int>(n));
    }
  }
  for (size_t i = 0; i < num_inputs; ++i) {
    work.bytes_read += std::min(touched[i], NumElements(slots[i].dims)) *
                       static_cast<double>(SizeOf(definition.inputs[i].dtype));
  }
  for (TensorId id : definition.outputs) {
    work.bytes_written +=
        NumElements(slots[id].dims) * static_cast<double>(SizeOf(definition.TypeOf(id).dtype));
  }
  return work;
}

}  // namespace lemma
