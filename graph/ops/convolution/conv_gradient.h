// Builds gradients of conv2d, conv_transpose2d and average pooling. As linear maps of their input
// x, conv2d and conv_transpose2d are each other's transposes. In all functions, `node` must have
// the attributes strides, pads and dilations. An empty Value stands for zero (graph/ops/formula.h):
// if x, y or dy is empty, the result is empty too.
#ifndef LEMMA_GRAPH_OPS_CONVOLUTION_CONV_GRADIENT_H_
#define LEMMA_GRAPH_OPS_CONVOLUTION_CONV_GRADIENT_H_

#include "graph/gradient_builder.h"

namespace lemma::ops {

// The transpose of conv2d with kernel `w` as a linear map of x: the gradient for x, given the
// gradient `y` of the result, [N,K,P,Q]. For `w` of shape [K,C,R,S], the result is
// [N,C*groups,H,W], where `sizes` is {H, W}. Rows and columns that no window reaches are 0.
Value SpreadWindows(Formula& f, const Node& node, const Value& y, const Value& w, int64_t groups,
                    const Shape& sizes);

// The gradient of conv2d for its kernel w, given the gradient `y` of the result:
// result[k,c,r,s] = sum(n < N, p < P, q < Q) x[n, g*C + c, p*sh + r*dh - top, q*sw + s*dw - left]
//                                            * y[n,k,p,q],  g = k div (K div groups),
// for x, [N,C*groups,H,W], which is 0 outside, and y, [N,K,P,Q]. `shape` is the shape of w,
// [K,C,R,S]; sh, sw are the strides, dh, dw the dilations, top and left the pads.
Value WindowProducts(Formula& f, const Node& node, const Value& x, const Value& y, int64_t groups,
                     const Shape& shape);

// The gradient for a bias: db[k] = sum(n < N, p < P, q < Q) dy[n,k,p,q].
inline Value ChannelSums(Formula& f, const Value& dy) { return f.Sum(dy, {0, 2, 3}); }

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_CONVOLUTION_CONV_GRADIENT_H_
