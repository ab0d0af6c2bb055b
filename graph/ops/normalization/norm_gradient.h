// Parts that the gradients of normalizations share.
#ifndef LEMMA_GRAPH_OPS_NORMALIZATION_NORM_GRADIENT_H_
#define LEMMA_GRAPH_OPS_NORMALIZATION_NORM_GRADIENT_H_

#include <vector>

#include "graph/ops/formula.h"

namespace lemma::ops {

// z = (x - mean) * inverse, inverse = 1 / sqrt(variance + epsilon), with the mean and the
// population variance of x over `axes`.
struct Normalized {
  std::vector<int64_t> axes;
  Value z;        // of x's shape
  Value inverse;  // of x's shape with size 1 along `axes`
};
Normalized Normalize(Formula& f, const Value& x, std::vector<int64_t> axes, double epsilon);

// The gradient for x, given the gradient `dz` for n.z:
// dx = inverse * (dz - mean(dz) - z * mean(dz * z)).
Value NormalizeGradient(Formula& f, const Normalized& n, const Value& dz);

// 1 / sqrt(variance + epsilon).
Value InverseDeviation(Formula& f, const Value& variance, double epsilon);

// `vector`, [C], as [C,1,…], which broadcasts to a tensor [N,C,spatial…] of `rank` dimensions;
// empty if `vector` is empty.
Value PerChannel(Formula& f, const Value& vector, int rank);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_NORMALIZATION_NORM_GRADIENT_H_
