// Cuts and rearranges tensors of transformers. B is the batch size, H the number of heads, L the
// number of positions, D the size of a head. On an error, `b` records it and the result is empty.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_SHAPES_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_SHAPES_H_

#include <string>
#include <vector>

#include "graph/onnx/composites/build.h"

namespace lemma::ops {

// The greatest number of positions of one sequence that the importers accept.
constexpr int64_t kMaxPositions = int64_t{1} << 24;

// Records an InvalidArgument error in `b`.
void Fail(OnnxBuild& b, const std::string& message);

// [B,L,H*D] as [B,H,L,D], and back.
Value SplitHeads(OnnxBuild& b, const Value& x, int64_t heads);
Value MergeHeads(OnnxBuild& b, const Value& x);

// Elements begin, begin + step, … before `end` of dimension `axis`.
Value Slice(OnnxBuild& b, const Value& x, int axis, int64_t begin, int64_t end, int64_t step = 1);
// `x` split into parts of these sizes along dimension `axis`; always sizes.size() values.
std::vector<Value> Split(OnnxBuild& b, const Value& x, int axis, std::vector<int64_t> sizes);
Value Expand(OnnxBuild& b, const Value& x, Shape shape);

// A tensor filled with one value, a constant unless its sizes are symbolic.
Value Filled(OnnxImport& node, OnnxBuild& b, DType dtype, Shape shape, double value);
// An i64 tensor of rank `rank` with 0, 1, …, count - 1 along dimension `axis`; its other sizes are
// 1. A constant unless `count` is symbolic. Records Unimplemented if `count` exceeds
// kMaxPositions.
Value Positions(OnnxImport& node, OnnxBuild& b, int64_t count, int rank, int axis);

// A size, which may be symbolic, as an i64 of rank 0.
Value SizeAsNumber(OnnxBuild& b, int64_t size);

// `a` with `update` written over it along dimension `axis`, from position
// `start` on. `update` has the rank and, except along `axis`, the sizes of `a`.
// `start` is of type i64, has size 1 along `axis`, and is broadcast to the
// shape of `a`. Elements that would lie outside `a` are left out. If
// `circular`, positions count modulo the size of the dimension, and `update`
// must not be longer than `a` along it.
Value WriteAt(OnnxImport& node, OnnxBuild& b, const Value& a, const Value& update,
              const Value& start, int axis, bool circular);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_TRANSFORMER_SHAPES_H_
