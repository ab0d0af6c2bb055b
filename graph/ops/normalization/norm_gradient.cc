#include "graph/ops/normalization/norm_gradient.h"

#include <utility>

namespace lemma::ops {

Value InverseDeviation(Formula& f, const Value& variance, double epsilon) {
  return f.Op("rsqrt", {f.Add(variance, epsilon)});
}

Value PerChannel(Formula& f, const Value& vector, int rank) {
  if (!vector) return vector;
  Shape shape(rank - 1, 1);
  shape[0] = vector.type().num_elements();
  return f.Reshape(vector, shape);
}

Normalized Normalize(Formula& f, const Value& x, std::vector<int64_t> axes, double epsilon) {
  const Value centered = f.Sub(x, f.Mean(x, axes, /*keepdims=*/true));
  const Value variance = f.Mean(f.Square(centered), axes, /*keepdims=*/true);
  const Value inverse = InverseDeviation(f, variance, epsilon);
  return {std::move(axes), f.Mul(centered, inverse), inverse};
}

Value NormalizeGradient(Formula& f, const Normalized& n, const Value& dz) {
  const Value mean = f.Mean(dz, n.axes, /*keepdims=*/true);
  const Value along_z = f.Mean(f.Mul(dz, n.z), n.axes, /*keepdims=*/true);
  return f.Mul(f.Sub(f.Sub(dz, mean), f.Mul(n.z, along_z)), n.inverse);
}

}  // namespace lemma::ops
