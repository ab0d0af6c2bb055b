#include "verifier/checker/evaluator.h"

#include <algorithm>

namespace lemma::checker {

int64_t OffsetOf(const std::vector<int64_t>& dims, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (index[d] < 0 || index[d] >= dims[d]) return -1;
    offset = offset * dims[d] + index[d];
  }
  return offset;
}

Evaluator::Evaluator(Algebra* algebra, const Definition& definition,
                     std::vector<const TensorValue*> inputs)
    : algebra_(*algebra),
      definition_(definition),
      tensors_(std::move(inputs)),
      made_(definition.tensors.size()),
      vars_(definition.num_vars, 0) {
  for (const TensorValue& tensor : made_) tensors_.push_back(&tensor);
}

std::vector<TensorValue> Evaluator::Run() {
  for (size_t t = 0; t < made_.size(); ++t) {
    const TensorExpr& tensor = definition_.tensors[t];
    int64_t size = 1;
    for (const Axis& axis : tensor.axes) {
      made_[t].dims.push_back(std::max<int64_t>(0, Index(axis.extent)));
      size *= made_[t].dims.back();
    }
    for (int64_t i = 0; i < size && algebra_.problem().empty(); ++i) {
      int64_t rest = i;
      for (size_t d = tensor.axes.size(); d-- > 0;) {
        vars_[tensor.axes[d].var] = rest % made_[t].dims[d];
        rest /= made_[t].dims[d];
      }
      made_[t].elements.push_back(Scalar(tensor.body));
    }
  }
  std::vector<TensorValue> outputs;
  for (TensorId id : definition_.outputs) outputs.push_back(*tensors_[id]);
  return outputs;
}

int64_t Evaluator::Index(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return e.value();
    case IndexExpr::Kind::kVar:
      return vars_[e.var()];
    case IndexExpr::Kind::kSymbol:
      if (symbols_ != nullptr && symbols_->count(e.name()) > 0) return symbols_->at(e.name());
      algebra_.Fail("the size " + e.name() + " has no value");
      return 0;
    case IndexExpr::Kind::kLoad: {
      Rational r;
      const Value value = Scalar(ScalarExpr(e.load()));
      if (Algebra::IsNumber(value, &r) && r.den == 1) return r.num;
      needs_positions_ = true;
      algebra_.Fail("a position is not known");
      return 0;
    }
    default:
      break;
  }
  const int64_t a = Index(e.lhs()), b = Index(e.rhs());
  switch (e.kind()) {
    case IndexExpr::Kind::kAdd:
      return a + b;
    case IndexExpr::Kind::kMul:
      return a * b;
    case IndexExpr::Kind::kMin:
      return std::min(a, b);
    case IndexExpr::Kind::kMax:
      return std::max(a, b);
    default:
      break;
  }
  if (b <= 0) {
    algebra_.Fail("a divisor is not positive");
    return 0;
  }
  const int64_t remainder = ((a % b) + b) % b;
  return e.kind() == IndexExpr::Kind::kMod ? remainder : (a - remainder) / b;
}

bool Evaluator::Holds(const Guard& g) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
      return true;
    case Guard::Kind::kFalse:
      return false;
    case Guard::Kind::kLe:
      return Index(g.lhs()) <= Index(g.rhs());
    case Guard::Kind::kEq:
      return Index(g.lhs()) == Index(g.rhs());
    case Guard::Kind::kAnd:
      return Holds(g.left()) && Holds(g.right());
    case Guard::Kind::kOr:
      return Holds(g.left()) || Holds(g.right());
    case Guard::Kind::kNot:
      return !Holds(g.left());
  }
  return false;
}

Value Evaluator::Read(const ScalarExpr& e) {
  const TensorValue& tensor = *tensors_[e.tensor()];
  std::vector<int64_t> index;
  for (const IndexExpr& i : e.indices()) index.push_back(Index(i));
  const int64_t offset = OffsetOf(tensor.dims, index);
  if (offset >= 0 && offset < static_cast<int64_t>(tensor.elements.size())) {
    return tensor.elements[offset];
  }
  read_outside_ = true;
  algebra_.Fail("a read outside its tensor");
  return algebra_.Integer(0);
}

void Evaluator::Collect(const ScalarExpr& reduce, size_t axis, std::vector<Value>* values) {
  if (!algebra_.problem().empty()) return;
  if (axis == reduce.axes().size()) {
    if (Holds(reduce.guard())) values->push_back(Scalar(reduce.args()[0]));
    return;
  }
  const int64_t extent = Index(reduce.axes()[axis].extent);
  for (int64_t i = 0; i < extent; ++i) {
    vars_[reduce.axes()[axis].var] = i;
    Collect(reduce, axis + 1, values);
  }
}

Value Evaluator::Scalar(const ScalarExpr& e) {
  if (!algebra_.problem().empty()) return algebra_.Integer(0);
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return algebra_.Constant(e.value());
    case ScalarExpr::Kind::kParam:
      return algebra_.Param(e.name());
    case ScalarExpr::Kind::kIndex:
      return algebra_.Integer(Index(e.index()));
    case ScalarExpr::Kind::kRead:
      return Read(e);
    case ScalarExpr::Kind::kApply: {
      std::vector<Value> args;
      for (const ScalarExpr& arg : e.args()) args.push_back(Scalar(arg));
      return algebra_.Apply(e.fn(), args);
    }
    case ScalarExpr::Kind::kSelect:
      return Scalar(e.args()[Holds(e.guard()) ? 0 : 1]);
    case ScalarExpr::Kind::kReduce: {
      std::vector<Value> values;
      Collect(e, 0, &values);
      return algebra_.Reduce(e.reduce(), values);
    }
  }
  return algebra_.Integer(0);
}

}  // namespace lemma::checker
