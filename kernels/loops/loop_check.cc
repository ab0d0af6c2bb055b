#include "kernels/loops/loop_check.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {
namespace {

// Visits one tensor's body and keeps the first error. Subterms shared by pointer are visited once
// per scope.
class Checker {
 public:
  Checker(const Definition& definition, TensorId self) : definition_(definition), self_(self) {}

  absl::Status Check();

 private:
  void Visit(const IndexExpr& e);
  void Visit(const Guard& g);
  void Visit(const ScalarExpr& e);
  void VisitReduce(const ScalarExpr& e);
  void Fail(const std::string& message) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat("tensor t", self_, ": ", message));
    }
  }

  const Definition& definition_;
  TensorId self_;
  absl::flat_hash_set<VarId> bound_;
  absl::flat_hash_set<const ScalarNode*> seen_;
  size_t num_vars_ = 0;
  absl::Status status_;
};

absl::Status Checker::Check() {
  const TensorExpr& tensor = definition_.tensors[self_ - definition_.num_inputs()];
  for (const Axis& axis : tensor.axes) {
    if (!axis.extent.is_const()) Fail(absl::StrCat("size ", axis.extent.ToString(), " is open"));
    if (!bound_.insert(axis.var).second) Fail(absl::StrCat("i", axis.var, " is bound twice"));
    ++num_vars_;
  }
  Visit(tensor.body);
  if (num_vars_ > kMaxVars) Fail(absl::StrCat("more than ", kMaxVars, " index variables"));
  return status_;
}

void Checker::Visit(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return;
    case IndexExpr::Kind::kSymbol:
      return Fail(absl::StrCat("symbol ", e.name(), " has no value"));
    case IndexExpr::Kind::kVar:
      if (!bound_.contains(e.var())) Fail(absl::StrCat("i", e.var(), " is not bound"));
      return;
    case IndexExpr::Kind::kLoad:
      return Visit(ScalarExpr(e.load()));
    default:
      Visit(e.lhs());
      Visit(e.rhs());
  }
}

void Checker::Visit(const Guard& g) {
  if (g.is_true() || g.is_false()) return;
  if (g.kind() == Guard::Kind::kLe || g.kind() == Guard::Kind::kEq) {
    Visit(g.lhs());
    return Visit(g.rhs());
  }
  Visit(g.left());
  if (g.kind() != Guard::Kind::kNot) Visit(g.right());
}

void Checker::Visit(const ScalarExpr& e) {
  if (!status_.ok() || !seen_.insert(e.node().get()).second) return;
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return;
    case ScalarExpr::Kind::kParam:
      return Fail(absl::StrCat("parameter ", e.name(), " has no value"));
    case ScalarExpr::Kind::kIndex:
      return Visit(e.index());
    case ScalarExpr::Kind::kRead: {
      if (e.tensor() < 0 || e.tensor() >= self_) {
        return Fail(absl::StrCat("reads t", e.tensor(), ", which does not come before it"));
      }
      int rank = definition_.TypeOf(e.tensor()).rank();
      if (rank != static_cast<int>(e.indices().size())) {
        return Fail(absl::StrCat("reads t", e.tensor(), " of rank ", rank, " at ",
                                 e.indices().size(), " indices"));
      }
      for (const IndexExpr& index : e.indices()) Visit(index);
      return;
    }
    case ScalarExpr::Kind::kApply:
      if (static_cast<int>(e.args().size()) != Info(e.fn()).arity) {
        Fail(absl::StrCat(Info(e.fn()).name, " of ", e.args().size(), " arguments"));
      }
      for (const ScalarExpr& arg : e.args()) Visit(arg);
      return;
    case ScalarExpr::Kind::kSelect:
      Visit(e.guard());
      for (const ScalarExpr& arg : e.args()) Visit(arg);
      return;
    case ScalarExpr::Kind::kReduce:
      return VisitReduce(e);
  }
}

void Checker::VisitReduce(const ScalarExpr& e) {
  // Visited subterms may contain variables with another meaning in this scope, and vice versa.
  auto outside = seen_;
  auto bound = bound_;
  for (const Axis& axis : e.axes()) {
    Visit(axis.extent);
    bound_.insert(axis.var);
    ++num_vars_;
  }
  Visit(e.guard());
  Visit(e.args()[0]);
  bound_ = std::move(bound);
  seen_ = std::move(outside);
}

}  // namespace

absl::Status CheckEvaluable(const Definition& definition) {
  for (int i = 0; i < definition.num_inputs(); ++i) {
    for (const IndexExpr& dim : definition.inputs[i].dims) {
      if (!dim.is_const()) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", i, ": size ", dim.ToString(), " is open"));
      }
    }
  }
  const TensorId end = definition.num_inputs() + static_cast<TensorId>(definition.tensors.size());
  for (TensorId id = definition.num_inputs(); id < end; ++id) {
    if (absl::Status status = Checker(definition, id).Check(); !status.ok()) return status;
  }
  for (TensorId id : definition.outputs) {
    if (id < 0 || id >= end) {
      return absl::InvalidArgumentError(absl::StrCat("output t", id, " does not exist"));
    }
  }
  return absl::OkStatus();
}

}  // namespace loops
}  // namespace lemma
