#include "kernels/loops/loop_source.h"

#include <algorithm>
#include <utility>

#include "graph/expr/substitute.h"

namespace lemma {
namespace loops {

bool IsEmpty(const NestSource& source) {
  return std::any_of(source.axes.begin(), source.axes.end(),
                     [](const Axis& axis) { return axis.extent.value() == 0; });
}

NestSource SourceOf(const TensorExpr& tensor, int slot, int* fresh) {
  NestSource source;
  source.slot = slot;
  source.axes = tensor.axes;
  for (const Axis& axis : tensor.axes) source.out.push_back(IndexExpr::Var(axis.var));
  ExprSubstitution one_binder;
  one_binder.fresh = fresh;
  source.body = Substitute(tensor.body, one_binder);
  return source;
}

std::vector<Slot> DenseSlots(const Definition& definition) {
  std::vector<Slot> slots;
  for (size_t id = 0; id < definition.inputs.size() + definition.tensors.size(); ++id) {
    Slot slot;
    for (const IndexExpr& dim : definition.TypeOf(static_cast<TensorId>(id)).dims) {
      slot.dims.push_back(dim.value());
    }
    slot.strides.assign(slot.dims.size(), 1);
    for (size_t i = slot.dims.size(); i-- > 1;) {
      slot.strides[i - 1] = slot.strides[i] * slot.dims[i];
    }
    slots.push_back(std::move(slot));
  }
  return slots;
}

}  // namespace loops
}  // namespace lemma
