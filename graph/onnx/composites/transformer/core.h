// Scaled dot-product attention, which all attention operators except LinearAttention have in
// common.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_CORE_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_CORE_H_

#include <functional>

#include "graph/onnx/composites/build.h"

namespace lemma::ops {

// For each batch and head, y = p v, where p = softmax(c + bias),
// c = cap * tanh(s / cap) and s = (q √scale) (k √scale)ᵀ. B: batch size. H
// query heads share K heads of keys and values. K divides H, and query head h
// reads head floor(h / (H / K)). L: number of queries, S: number of keys,
// D: size of a head of q and k, E: size of a head of v.
struct AttentionCore {
  Value q, k, v;  // [B,H,L,D], [B,K,S,D], [B,K,S,E]; p gets the type of v
  double scale = 1;
  double cap = 0;               // 0: c = s
  Value bias;                   // broadcasts to [B,H,L,S]; empty: none
  bool may_hide_rows = false;   // true: p is 0 in rows whose bias is all -inf (if there is a bias)
  DType softmax = DType::kF32;  // the type in which softmax is computed
  // score_mod is applied to c + bias, and prob_mod to the softmax, both in the type `softmax`.
  // score_mod may change the last size; the result of prob_mod must have the shape [B,H,L,S]. An
  // empty function changes nothing.
  std::function<Value(const Value&)> score_mod, prob_mod;
};

// y has shape [B,H,L,E], the other values have shape [B,H,L,S]. `biased` is c + bias, before
// score_mod; p is after prob_mod. After an error, values that could not be built are empty.
struct AttentionValues {
  Value y, s, c, biased, p;
};

// Builds y and the intermediate values. `b` records InvalidArgument if the
// shapes do not fit, if H, K or D is symbolic, or if the scale is negative. It
// records Unimplemented if S is 0.
AttentionValues Attend(OnnxImport& node, OnnxBuild& b, const AttentionCore& core);

// 1 / √D, where D is the last size of q; 1 if q is empty.
double DefaultScale(const Value& q);

// A bias of type `dtype`: 0 where `allowed`, else -inf.
Value BiasOf(OnnxBuild& b, const Value& allowed, DType dtype);
// x + y; an empty value stands for 0.
Value SumOf(OnnxBuild& b, const Value& x, const Value& y);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_CORE_H_
