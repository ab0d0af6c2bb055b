#include "graph/expr/tensor_expr.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lemma {

ExprType Definition::TypeOf(TensorId id) const {
  if (id < num_inputs()) return inputs[id];
  const TensorExpr& tensor = tensors[id - num_inputs()];
  ExprType type{tensor.dtype, {}};
  for (const Axis& axis : tensor.axes) type.dims.push_back(axis.extent);
  return type;
}

std::string Definition::ToString() const {
  std::string out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TensorId id = num_inputs() + static_cast<TensorId>(i);
    bool is_output = std::find(outputs.begin(), outputs.end(), id) != outputs.end();
    absl::StrAppend(&out, is_output ? "out " : "let ", "t", id, "[");
    const char* separator = "";
    for (const Axis& axis : tensors[i].axes) {
      absl::StrAppend(&out, separator, "i", axis.var, " < ", axis.extent.ToString());
      separator = ", ";
    }
    absl::StrAppend(&out, "] = ", tensors[i].body.ToString(), "\n");
  }
  return out;
}

}  // namespace lemma
