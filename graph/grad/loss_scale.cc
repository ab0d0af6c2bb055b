#include "graph/grad/loss_scale.h"

#include <limits>

namespace lemma {
namespace {

Value IsAtMostLargest(Formula& f, const Value& x) {
  const double largest = x.dtype() == DType::kF64 ? std::numeric_limits<double>::max()
                                                  : std::numeric_limits<float>::max();
  return f.Op("less_equal", {f.Op("abs", {x}), f.Scalar(x.dtype(), largest)});
}

}  // namespace

// A comparison with NaN is false. No rewrite for real numbers may drop this comparison.
Value AllFinite(Formula& f, const std::vector<Value>& gradients) {
  Value tensors;  // the number of tensors with an element that is not finite
  for (const Value& g : gradients) {
    if (!g) return Value();
    if (g.type().num_elements() == 0) continue;
    const Value one = f.Scalar(DType::kF32, 1);
    const Value outside = f.Where(IsAtMostLargest(f, g), Value(), one);
    const std::vector<int64_t> axes = AxesBut(g.type().rank());
    tensors =
        f.Add(tensors, axes.empty() ? outside : f.Op("reduce_max", {outside}, {{"axes", axes}}));
  }
  if (!tensors) tensors = f.Scalar(DType::kF32, 0);
  return f.Op("less", {tensors, f.Scalar(DType::kF32, 1)});
}

LossScale NextLossScale(Formula& f, const LossScale& now, const Value& finite, int64_t interval) {
  const Value count = f.Add(now.good, 1);
  const Value grows =
      f.Op("greater_equal", {count, f.Constant(Tensor::FromInts({DType::kI64, {}}, {interval}))});
  const Value doubled = f.Mul(now.scale, 2);
  const Value grown = f.Where(IsAtMostLargest(f, doubled), doubled, now.scale);
  const Value if_finite = f.Where(grows, grown, now.scale);
  return {f.Where(finite, if_finite, f.Mul(now.scale, 0.5)),
          f.Where(finite, f.Where(grows, Value(), count), Value())};
}

}  // namespace lemma
