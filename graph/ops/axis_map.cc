#include "graph/ops/axis_map.h"

#include <algorithm>

namespace lemma::ops {

Value Identity(Formula& f, DType dtype, int64_t size) {
  std::vector<double> values(static_cast<size_t>(size * size), 0);
  for (int64_t i = 0; i < size; ++i) values[i * size + i] = 1;
  return f.Constant(Tensor::FromDoubles({dtype, {size, size}}, values));
}

Value TransposedAlongAxis(Formula& f, const Value& dy, int64_t axis, const Value& m) {
  if (!dy) return dy;
  std::vector<int64_t> to_last = AxesBut(dy.type().rank());
  std::swap(to_last[axis], to_last.back());  // its own inverse
  const Value lines = f.Transpose(dy, to_last);
  if (lines.type().rank() > 1) {
    return f.Transpose(f.Op("matmul", {lines, f.MatrixTranspose(m)}), to_last);
  }
  const Value row = f.Reshape(lines, {1, lines.shape()[0]});
  return f.Reshape(f.Op("matmul", {row, f.MatrixTranspose(m)}), {m.type().shape[0]});
}

}  // namespace lemma::ops
