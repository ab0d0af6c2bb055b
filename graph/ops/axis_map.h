// Linear maps along one axis, as matrices.
#ifndef LEMMA_GRAPH_OPS_AXIS_MAP_H_
#define LEMMA_GRAPH_OPS_AXIS_MAP_H_

#include "graph/ops/formula.h"

namespace lemma::ops {

// A constant [size,size] with ones on the diagonal.
Value Identity(Formula& f, DType dtype, int64_t size);

// For y[…,i,…] = sum(j) m[j,i] * x[…,j,…] along `axis`: dx[…,j,…] = sum(i) dy[…,i,…] * m[j,i].
// m is what the map makes of Identity(), whose rows are the elements of x.
Value TransposedAlongAxis(Formula& f, const Value& dy, int64_t axis, const Value& m);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_AXIS_MAP_H_
