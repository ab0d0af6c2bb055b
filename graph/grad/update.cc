#include "graph/grad/update.h"

namespace lemma {
namespace {

// a x + b y.
Value Blend(Formula& f, double a, const Value& x, double b, const Value& y) {
  return f.Add(f.Mul(x, a), f.Mul(y, b));
}

Value Decayed(Formula& f, const Update& update, const UpdateInput& in) {
  if (update.weight_decay == 0) return in.gradient;
  return Blend(f, 1, in.gradient, update.weight_decay, in.weight);
}

Value Sgd(Formula& f, const Update& update, const UpdateInput& in) {
  const Value g = Decayed(f, update, in);
  Value direction = g;
  if (update.momentum != 0) {
    const Value m = Blend(f, update.momentum, in.state("m"), 1, g);
    in.set_state("m", m);
    direction = update.nesterov ? Blend(f, 1, g, update.momentum, m) : m;
  }
  return f.Sub(in.weight, f.Mul(direction, in.rate));
}

// 1 - base^t.
Value Correction(Formula& f, double base, const Value& t) {
  return f.Sub(f.Scalar(t.dtype(), 1), f.Op("pow", {f.Scalar(t.dtype(), base), t}));
}

Value Adam(Formula& f, const Update& update, const UpdateInput& in) {
  const bool decoupled = update.kind == UpdateKind::kAdamW;
  const Value g = decoupled ? in.gradient : Decayed(f, update, in);
  const Value m = Blend(f, update.beta1, in.state("m"), 1 - update.beta1, g);
  const Value v = Blend(f, update.beta2, in.state("v"), 1 - update.beta2, f.Square(g));
  in.set_state("m", m);
  in.set_state("v", v);
  Value weight = in.weight;
  if (decoupled && update.weight_decay != 0) {
    const Value kept = f.Sub(f.Scalar(in.rate.dtype(), 1), f.Mul(in.rate, update.weight_decay));
    weight = f.Mul(weight, kept);
  }
  const Value root = f.Op("sqrt", {Correction(f, update.beta2, in.step)});
  const Value deviation = f.Add(f.Div(f.Op("sqrt", {v}), root), update.epsilon);
  const Value rate = f.Div(in.rate, Correction(f, update.beta1, in.step));
  return f.Sub(weight, f.Div(f.Mul(m, rate), deviation));
}

}  // namespace

Value UpdatedWeight(Formula& f, const Update& update, const UpdateInput& in) {
  return update.kind == UpdateKind::kSgd ? Sgd(f, update, in) : Adam(f, update, in);
}

}  // namespace lemma
