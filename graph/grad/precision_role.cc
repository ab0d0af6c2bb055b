#include "graph/grad/precision_role.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "graph/expr/free_vars.h"
#include "graph/op_def.h"

namespace lemma {
namespace {

using Kind = ScalarExpr::Kind;

class Reader {
 public:
  explicit Reader(const Definition& definition) : definition_(definition) {}

  // Whether `e` has no sum or product over an axis, and all its functions are cheap.
  bool IsCheap(const ScalarExpr& e) {
    if (!seen_.insert(e.node().get()).second) return true;
    switch (e.kind()) {
      case Kind::kRead:
        return !IsLocal(e.tensor()) || IsCheap(BodyOf(e.tensor()));
      case Kind::kApply:
        if (!Info(e.fn()).cheap() && !IsStored(e.fn())) return false;
        break;
      case Kind::kReduce:
        if (e.reduce() == ReduceKind::kSum || e.reduce() == ReduceKind::kProd) return false;
        break;
      case Kind::kSelect:
        break;
      default:
        return true;
    }
    return std::all_of(e.args().begin(), e.args().end(),
                       [this](const ScalarExpr& arg) { return IsCheap(arg); });
  }

  // Whether `e` is a sum of products of elements of different operands, possibly plus elements.
  bool IsProduct(const ScalarExpr& e) const {
    if (e.kind() == Kind::kRead) return IsLocal(e.tensor()) && IsProduct(BodyOf(e.tensor()));
    if (e.kind() == Kind::kApply && e.fn() == ScalarFn::kAdd) {
      const ScalarExpr &a = e.args()[0], &b = e.args()[1];
      return (IsProduct(a) && IsElement(b)) || (IsElement(a) && IsProduct(b));
    }
    if (e.kind() != Kind::kReduce || e.reduce() != ReduceKind::kSum) return false;
    std::set<TensorId> operands;
    return AddFactors(e.args()[0], &operands) && operands.size() > 1;
  }

 private:
  bool IsLocal(TensorId id) const { return id >= definition_.num_inputs(); }
  const ScalarExpr& BodyOf(TensorId local) const {
    return definition_.tensors[local - definition_.num_inputs()].body;
  }

  // An element of an operand, or a constant where a guard forbids to read it.
  bool IsElement(const ScalarExpr& e) const {
    if (e.kind() == Kind::kRead) return !IsLocal(e.tensor());
    if (e.kind() != Kind::kSelect) return false;
    return std::all_of(e.args().begin(), e.args().end(), [this](const ScalarExpr& arg) {
      return arg.kind() == Kind::kConst || IsElement(arg);
    });
  }

  // Adds the operands whose elements `e` multiplies. False if `e` is anything but their product.
  bool AddFactors(const ScalarExpr& e, std::set<TensorId>* operands) const {
    if (e.kind() == Kind::kRead && !IsLocal(e.tensor())) {
      operands->insert(e.tensor());
      return true;
    }
    const bool multiplies = e.kind() == Kind::kApply && e.fn() == ScalarFn::kMul;
    if (!multiplies && e.kind() != Kind::kSelect) return e.kind() == Kind::kConst;
    return std::all_of(e.args().begin(), e.args().end(),
                       [&](const ScalarExpr& arg) { return AddFactors(arg, operands); });
  }

  const Definition& definition_;
  absl::flat_hash_set<const ScalarNode*> seen_;
};

// Marks the operands of which `e`, an element of `tensor`, reads the same element for several
// values of an output index.
void MarkRepeated(const TensorExpr& tensor, const ScalarExpr& e, FreeVars* free,
                  std::vector<bool>* repeats) {
  if (e.kind() == Kind::kRead) {
    VarSet read;
    for (const IndexExpr& index : e.indices()) read = Union(read, free->Of(index));
    for (const Axis& axis : tensor.axes) {
      const bool several = !(axis.extent.is_const() && axis.extent.value() == 1);
      const auto operand = static_cast<size_t>(e.tensor());
      if (several && operand < repeats->size() && !Contains(read, axis.var)) {
        (*repeats)[operand] = true;
      }
    }
    return;
  }
  if (e.kind() != Kind::kApply && e.kind() != Kind::kSelect && e.kind() != Kind::kReduce) return;
  for (const ScalarExpr& arg : e.args()) MarkRepeated(tensor, arg, free, repeats);
}

bool AllFloats(const std::vector<TensorType>& types) {
  return std::all_of(types.begin(), types.end(),
                     [](const TensorType& type) { return IsFloat(type.dtype); });
}

}  // namespace

PrecisionRole PrecisionRoleOf(const Node& node) {
  PrecisionRole role;
  const std::vector<TensorType> types = node.input_types();
  const auto definition = Define(node.op(), types, node.attrs());
  if (!definition.ok()) return role;
  Reader reader(*definition);
  if (definition->outputs.size() == 1 && AllFloats(types) &&
      reader.IsProduct(ScalarExpr::Read(definition->outputs[0], {}))) {
    role.kind = PrecisionRole::Kind::kProduct;
    return role;
  }
  for (TensorId output : definition->outputs) {
    if (output < definition->num_inputs()) continue;
    if (!reader.IsCheap(definition->tensors[output - definition->num_inputs()].body)) return role;
  }
  role.kind = PrecisionRole::Kind::kFollows;
  role.repeats.resize(types.size());
  FreeVars free;
  for (const TensorExpr& tensor : definition->tensors) {
    MarkRepeated(tensor, tensor.body, &free, &role.repeats);
  }
  return role;
}

bool IsConversion(const Node& node) {
  if (node.inputs().size() != 1 || node.num_outputs() != 1) return false;
  const TensorType &from = node.inputs()[0].type(), &to = node.type(0);
  if (!IsFloat(from.dtype) || !IsFloat(to.dtype) || from.dtype == to.dtype ||
      from.shape != to.shape) {
    return false;
  }
  const auto definition = Define(node.op(), node.input_types(), node.attrs());
  if (!definition.ok() || definition->tensors.size() != 1) return false;
  const TensorExpr& y = definition->tensors[0];
  if (y.body.kind() != Kind::kRead) return false;
  for (size_t d = 0; d < y.axes.size(); ++d) {
    const IndexExpr& index = y.body.indices()[d];
    const bool same = index.kind() == IndexExpr::Kind::kVar && index.var() == y.axes[d].var;
    if (!same && to.shape[d] != 1) return false;
  }
  return true;
}

}  // namespace lemma
