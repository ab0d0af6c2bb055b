#include "runtime/cuda/fusion/read_traits.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/expr/free_vars.h"

namespace lemma::cuda {
namespace {

bool HasLoad(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kVar:
    case IndexExpr::Kind::kSymbol:
      return false;
    case IndexExpr::Kind::kLoad:
      return true;
    default:
      return HasLoad(e.lhs()) || HasLoad(e.rhs());
  }
}

class Inspector {
 public:
  explicit Inspector(const Definition& definition) : definition_(definition) {
    traits_.reads.assign(definition.inputs.size(), 0);
    traits_.at_loads.assign(definition.inputs.size(), false);
  }

  ReadTraits Run() {
    for (const TensorExpr& tensor : definition_.tensors) {
      extents_.clear();
      seen_.clear();
      for (const Axis& axis : tensor.axes) Bind(axis);
      Visit(tensor.body);
    }
    return traits_;
  }

 private:
  void Bind(const Axis& axis) {
    extents_[axis.var] = static_cast<double>(axis.extent.AsConst().value_or(1));
  }

  void Visit(const ScalarExpr& e) {
    if (!seen_.insert(e.node().get()).second) return;
    for (const Axis& axis : e.axes()) Bind(axis);
    if (e.kind() == ScalarExpr::Kind::kReduce) {
      traits_.reduces = true;
      const ScalarExpr& body = e.args()[0];
      traits_.multiplies = traits_.multiplies ||
                           (e.reduce() == ReduceKind::kSum &&
                            body.kind() == ScalarExpr::Kind::kApply && body.fn() == ScalarFn::kMul);
    }
    if (e.kind() == ScalarExpr::Kind::kApply) ++traits_.functions;
    if (e.kind() == ScalarExpr::Kind::kRead && e.tensor() < definition_.num_inputs()) {
      double count = 1;
      for (VarId var : free_.Of(e)) count *= extents_[var];
      traits_.reads[e.tensor()] += count;
    }
    if (e.kind() == ScalarExpr::Kind::kRead &&
        std::any_of(e.indices().begin(), e.indices().end(), HasLoad)) {
      const bool local = e.tensor() >= definition_.num_inputs();  // made from any input
      if (local) traits_.at_loads.assign(traits_.at_loads.size(), true);
      if (!local) traits_.at_loads[e.tensor()] = true;
    }
    for (const ScalarExpr& arg : e.args()) Visit(arg);
  }

  const Definition& definition_;
  ReadTraits traits_;
  absl::flat_hash_map<VarId, double> extents_;
  absl::flat_hash_set<const ScalarNode*> seen_;
  FreeVars free_;
};

}  // namespace

ReadTraits ReadTraitsOf(const Definition& definition) { return Inspector(definition).Run(); }

int CountReads(const ScalarExpr& e, TensorId tensor) {
  int count = e.kind() == ScalarExpr::Kind::kRead && e.tensor() == tensor ? 1 : 0;
  for (const ScalarExpr& arg : e.args()) count += CountReads(arg, tensor);
  return count;
}

}  // namespace lemma::cuda
