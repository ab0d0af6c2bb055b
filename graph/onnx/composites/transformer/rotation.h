// Rotary position embedding: rotates pairs of elements by an angle that depends on the position.
// Defined in rotary.cc.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_ROTATION_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_ROTATION_H_

#include "graph/onnx/composites/build.h"

namespace lemma::ops {

// Turns pair i, (x0, x1), into (cos[i] x0 - sin[i] x1, sin[i] x0 + cos[i] x1), for i < width/2. The
// pair is (x[i], x[i + width/2]) or, if interleaved, (x[2i], x[2i + 1]). Elements from `width` on
// stay. B: batch size, H: number of heads, L: number of positions, D: size of a head.
struct Rotation {
  Value cos, sin;     // [B,L,width/2]
  int64_t width = 0;  // 0: the size of a head
  bool interleaved = false;
};

// The rotated `x`, [B,H,L,D]. `b` records InvalidArgument if the width is odd or above D, if D is
// symbolic, or if the shapes of cos and sin do not fit.
Value Rotate(OnnxBuild& b, const Value& x, const Rotation& rotation);

// Positions of shape [batch, length]. `given` has either batch * length elements, in any shape, or
// one element: the first position of every row. In the second case the other positions of a row
// count upwards from it, and the result is i64. If `given` is an empty Value, so is the result.
Value PositionsFrom(OnnxImport& node, OnnxBuild& b, const Value& given, int64_t batch,
                    int64_t length);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_ROTATION_H_
