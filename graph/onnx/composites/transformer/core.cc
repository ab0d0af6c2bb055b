#include "graph/onnx/composites/transformer/core.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/onnx/composites/transformer/shapes.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// p where a row of the bias has a finite number, else 0.
Value ZeroHiddenRows(OnnxBuild& b, const Value& p, const Value& bias) {
  if (!p || !bias) return Value();
  Attrs over = {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}};
  const Value most = b.Op("reduce_max", {bias}, over);
  if (!most) return most;
  const Value hidden = b.Op("equal", {most, b.Scalar(bias.dtype(), -kInfinity)});
  return b.Op("where", {hidden, b.Scalar(p.dtype(), 0), p});
}

}  // namespace

double DefaultScale(const Value& q) {
  return q && q.type().rank() > 0 ? 1 / std::sqrt(static_cast<double>(q.shape().back())) : 1;
}

Value BiasOf(OnnxBuild& b, const Value& allowed, DType dtype) {
  return b.Op("where", {allowed, b.Scalar(dtype, 0), b.Scalar(dtype, -kInfinity)});
}

Value SumOf(OnnxBuild& b, const Value& x, const Value& y) {
  if (!x || !y) return x ? x : y;
  return b.Add(x, y);
}

AttentionValues Attend(OnnxImport& node, OnnxBuild& b, const AttentionCore& core) {
  AttentionValues r;
  if (!core.q || !core.k || !core.v) return r;
  const Shape &q = core.q.shape(), &k = core.k.shape(), &v = core.v.shape();
  const bool have_ranks = q.size() == 4 && k.size() == 4 && v.size() == 4;
  if (!have_ranks || k[0] != q[0] || v[0] != q[0] || k[3] != q[3] || v[1] != k[1] || v[2] != k[2] ||
      IsSymbolic({q[1], k[1], q[3]}) || k[1] < 1 || q[1] % k[1] != 0) {
    Fail(b, absl::StrCat("query ", ToString(q), ", key ", ToString(k), " and value ", ToString(v),
                         " must be [B,H,L,D], [B,K,S,D] and [B,K,S,E] with K dividing H"));
    return r;
  }
  if (!(core.scale >= 0)) {
    Fail(b, absl::StrCat("scale is ", core.scale, ", it must not be negative"));
    return r;
  }
  if (k[2] == 0) {
    b.Take<Value>(node.Unsupported("there are no keys"));
    return r;
  }
  const Shape scores = {q[0], q[1], q[2], k[2]};
  // The query heads that share a head of the keys are more rows of one product.
  const int64_t rows = ProductOf({q[1] / k[1], q[2]});
  const double root = std::sqrt(core.scale);
  const Value left = b.Reshape(b.Mul(core.q, root), {q[0], k[1], rows, q[3]});
  const Value right = b.Transpose(b.Mul(core.k, root), {0, 1, 3, 2});
  r.s = b.Reshape(b.Op("matmul", {left, right}), scores);
  r.c = r.s;
  if (core.cap != 0) {
    const Value cap = b.Scalar(core.q.dtype(), core.cap);
    r.c = b.Mul(b.Op("tanh", {b.Div(r.s, cap)}), cap);
  }
  r.biased = core.bias ? b.Add(r.c, core.bias) : r.c;
  if (!r.biased) return r;
  if (r.biased.shape() != scores) {
    Fail(b, absl::StrCat("a mask ", ToString(core.bias.shape()), " does not broadcast to ",
                         ToString(scores)));
    return r;
  }
  Value x = b.Cast(r.biased, core.softmax);
  if (core.score_mod) x = core.score_mod(x);
  r.p = b.Op("softmax", {x}, {{"axis", int64_t{3}}});
  if (core.prob_mod) r.p = core.prob_mod(r.p);
  r.p = b.Cast(r.p, core.v.dtype());
  if (core.may_hide_rows && core.bias) r.p = ZeroHiddenRows(b, r.p, core.bias);
  const Value y = b.Op("matmul", {b.Reshape(r.p, {q[0], k[1], rows, k[2]}), core.v});
  r.y = b.Reshape(y, {q[0], q[1], q[2], v[3]});
  return r;
}

}  // namespace lemma::ops
