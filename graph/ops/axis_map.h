// Represents linear maps along one axis as matrices, to transpose them for gradients.
#ifndef LEMMA_GRAPH_OPS_AXIS_MAP_H_
#define LEMMA_GRAPH_OPS_AXIS_MAP_H_

#include "graph/ops/formula.h"

namespace lemma::ops {

// A constant [size,size]: ones on the diagonal, otherwise zeros.
Value Identity(Formula& f, DType dtype, int64_t size);

// The gradient of a linear map y[…,i,…] = sum(j) m[j,i] * x[…,j,…] along `axis`:
// dx[…,j,…] = sum(i) dy[…,i,…] * m[j,i]. To get m, apply the map to the rows of Identity(). `axis`
// must not be negative. An empty `dy` (a zero, see Formula) gives an empty dx.
Value TransposedAlongAxis(Formula& f, const Value& dy, int64_t axis, const Value& m);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_AXIS_MAP_H_
