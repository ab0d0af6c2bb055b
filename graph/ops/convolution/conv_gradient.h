// Gradients of conv2d and conv_transpose2d. As linear maps of x, the two operators are each other's
// transposes.
#ifndef LEMMA_GRAPH_OPS_CONVOLUTION_CONV_GRADIENT_H_
#define LEMMA_GRAPH_OPS_CONVOLUTION_CONV_GRADIENT_H_

#include "graph/gradient_builder.h"

namespace lemma::ops {

// The transpose of the window sums of kernel `w` over [N,C,H,W], with the attributes strides, pads
// and dilations of `node`. Maps y, [N,K,P,Q], to x, whose height and width are `sizes`. Rows and
// columns that no window reaches are 0.
Value SpreadWindows(Formula& f, const Node& node, const Value& y, const Value& w, int64_t groups,
                    const Shape& sizes);

// dw[k,c,r,s] = sum(n < N, p < P, q < Q) x[n, g*C + c, p*sh + r*dh - top, q*sw + s*dw - left]
//                                        * y[n,k,p,q],  g = k div (K div groups),
// for an x of [N,C*groups,H,W] and y of [N,K,P,Q]; `shape` is w's.
Value WindowProducts(Formula& f, const Node& node, const Value& x, const Value& y, int64_t groups,
                     const Shape& shape);

// db[k] = sum(n < N, p < P, q < Q) dy[n,k,p,q].
inline Value ChannelSums(Formula& f, const Value& dy) { return f.Sum(dy, {0, 2, 3}); }

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_CONVOLUTION_CONV_GRADIENT_H_
