// RNN, GRU, LSTM and DynamicQuantizeLSTM, unrolled over their time steps.
#include "graph/onnx/composites/recurrent/recurrent.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/quantized.h"
#include "graph/onnx/composites/recurrent/activations.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// Attributes and sizes that all three have.
struct RecurrentLayer {
  int64_t steps = 0, batch = 0, hidden = 0, directions = 1;
  int64_t gates = 1;
  bool is_quantized = false;  // the weights are integers, with scales and zero points
  bool has_lengths = false;   // input 4 gives each sequence's number of steps
  bool reverse = false;       // the only direction runs backwards
  bool batch_first = false;   // layout = 1
  std::optional<double> clip;
  std::vector<RecurrentActivation> activations;  // for one direction after the other

  const RecurrentActivation& Activation(int64_t direction, int64_t i) const {
    return activations[direction * (static_cast<int64_t>(activations.size()) / directions) + i];
  }
};

// One direction's parameters: [in, gates * hidden], [hidden, gates * hidden], and vectors. Without
// a scale, the matrices are floats.
struct Weights {
  QuantizedMatrix w, r;
  Value w_bias, r_bias;
  Value peephole;  // [3 * hidden] or empty
};

struct State {
  Value h, c;
};

class Recurrence {
 public:
  Recurrence(OnnxImport& node, RecurrentLayer layer)
      : node_(node), b_(node), layer_(std::move(layer)) {}
  virtual ~Recurrence() = default;
  Values Run(bool has_cell);

 protected:
  // The next state from the gate inputs x [batch, gates * hidden], before biases are added.
  virtual State Step(int64_t direction, const Value& x, const State& state, const Weights& w) = 0;

  // x m. If m is of integers, x is quantized as a whole, as by DynamicQuantizeLinear.
  Value Product(const Value& x, const QuantizedMatrix& m) {
    if (!m.scale) return b_.Op("matmul", {x, m.x});
    const std::vector<Value> left = QuantizeDynamically(b_, x);
    if (!b_.status().ok()) return Value();
    return FloatProduct(b_, {left[0], left[1], left[2]}, m, Value());
  }

  // Gate number `gate` of a [.., gates * hidden] value.
  Value Gate(const Value& x, int64_t gate, int64_t count = 1) {
    if (!x || layer_.gates == count) return x;
    Shape sizes = x.shape();
    std::vector<int64_t> starts(sizes.size(), 0);
    starts.back() = gate * layer_.hidden;
    sizes.back() = count * layer_.hidden;
    return b_.Op("slice", {x}, {{"starts", starts}, {"sizes", sizes}});
  }
  Value Activate(int64_t direction, int64_t i, Value x) {
    if (layer_.clip) x = b_.Op("clip", {x}, {{"min", -*layer_.clip}, {"max", *layer_.clip}});
    return ops::Activate(b_, layer_.Activation(direction, i), x);
  }
  // The last activation is not preceded by clipping.
  Value Apply(int64_t direction, int64_t i, const Value& x) {
    return ops::Activate(b_, layer_.Activation(direction, i), x);
  }

  OnnxImport& node_;
  OnnxBuild b_;
  RecurrentLayer layer_;

 private:
  // Slice `direction` of a [directions, ...] input, that dimension dropped; empty if it is absent.
  Value OfDirection(int input, int64_t direction, int axis = 0);
  Weights WeightsOf(int64_t direction);
  // `next` for sequences that are longer than `step`, `rest` for the others.
  Value IfLonger(int64_t step, const Value& next, const Value& rest);
  Value Zeros(DType dtype);
  State InitialState(int64_t direction, DType dtype, bool has_cell);
};

Value Recurrence::OfDirection(int input, int64_t direction, int axis) {
  if (!node_.HasInput(input)) return Value();
  Value x = b_.Input(input);
  if (!x) return x;
  Shape sizes = x.shape();
  if (axis >= static_cast<int>(sizes.size()) || sizes[axis] != layer_.directions) {
    b_.Take<Value>(absl::InvalidArgumentError(absl::StrCat("input ", input, " ", ToString(sizes),
                                                           " needs ", layer_.directions,
                                                           " directions in dimension ", axis)));
    return Value();
  }
  std::vector<int64_t> starts(sizes.size(), 0);
  starts[axis] = direction;
  sizes[axis] = 1;
  if (layer_.directions > 1) x = b_.Op("slice", {x}, {{"starts", starts}, {"sizes", sizes}});
  sizes.erase(sizes.begin() + axis);
  return b_.Reshape(x, sizes);
}

Weights Recurrence::WeightsOf(int64_t direction) {
  Weights result;
  result.w.x = OfDirection(1, direction);
  result.r.x = OfDirection(2, direction);
  if (layer_.is_quantized) {
    for (const auto& [matrix, first] : {std::pair(&result.w, 8), {&result.r, 10}}) {
      matrix->scale = ScalarOrPerColumn(b_, OfDirection(first, direction));
      matrix->zero = ScalarOrPerColumn(b_, OfDirection(first + 1, direction));
    }
  } else {
    result.w.x = b_.Transpose(result.w.x, {1, 0});
    result.r.x = b_.Transpose(result.r.x, {1, 0});
  }
  if (Value bias = OfDirection(3, direction)) {
    const int64_t half = layer_.gates * layer_.hidden;
    std::vector<Value> parts =
        b_.Ops("split", {bias}, {{"axis", int64_t{0}}, {"sizes", Shape{half, half}}});
    if (parts.size() == 2) {
      result.w_bias = parts[0];
      result.r_bias = parts[1];
    }
  }
  result.peephole = OfDirection(7, direction);
  return result;
}

Value Recurrence::IfLonger(int64_t step, const Value& next, const Value& rest) {
  const Value lengths = b_.Input(4);
  if (!lengths || !next || !rest) return Value();
  const Value longer =
      b_.Op("less", {b_.Scalar(lengths.dtype(), static_cast<double>(step)), lengths});
  return b_.Op("where", {b_.Reshape(longer, {layer_.batch, 1}), next, rest});
}

Value Recurrence::Zeros(DType dtype) {
  const Shape shape = {layer_.batch, layer_.hidden};
  if (IsSymbolic(shape)) return b_.Op("expand", {b_.Scalar(dtype, 0)}, {{"shape", shape}});
  auto tensor = b_.Take(Tensor::Filled({dtype, shape}, 0));
  return b_.status().ok() ? node_.Constant(std::move(tensor)) : Value();
}

State Recurrence::InitialState(int64_t direction, DType dtype, bool has_cell) {
  const int axis = layer_.batch_first ? 1 : 0;
  State state{OfDirection(5, direction, axis), OfDirection(6, direction, axis)};
  if (!state.h) state.h = Zeros(dtype);
  if (!state.c && has_cell) state.c = Zeros(dtype);
  return state;
}

Values Recurrence::Run(bool has_cell) {
  const int64_t steps = layer_.steps, batch = layer_.batch, hidden = layer_.hidden;
  Value x = b_.Input(0);
  if (layer_.batch_first) x = b_.Transpose(x, {1, 0, 2});
  if (!x) return b_.status();
  Value rows = b_.Reshape(x, {ProductOf({steps, batch}), x.shape()[2]});
  std::vector<Value> all, last_h, last_c;
  for (int64_t d = 0; d < layer_.directions; ++d) {
    Weights w = WeightsOf(d);
    State state = InitialState(d, x.dtype(), has_cell);
    // The inputs' contribution for all steps at once.
    Value inputs = Product(rows, w.w);
    if (w.w_bias) inputs = b_.Add(inputs, w.w_bias);
    std::vector<Value> parts = {inputs};
    if (steps > 1) {
      parts = b_.Ops("split", {inputs}, {{"axis", int64_t{0}}, {"sizes", Shape(steps, batch)}});
    }
    if (!b_.status().ok()) return b_.status();
    const bool backwards = d == 1 || layer_.reverse;
    std::vector<Value> outputs(steps);
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = backwards ? steps - 1 - i : i;
      const State next = Step(d, parts[t], state, w);
      if (!layer_.has_lengths) {
        state = next;
        outputs[t] = state.h;
        continue;
      }
      // A sequence that has ended keeps its state, and its results are 0.
      state = {IfLonger(t, next.h, state.h), has_cell ? IfLonger(t, next.c, state.c) : Value()};
      outputs[t] = IfLonger(t, next.h, Zeros(x.dtype()));
    }
    all.push_back(b_.Reshape(b_.Concat(outputs, 0), {steps, 1, batch, hidden}));
    last_h.push_back(b_.Reshape(state.h, {1, batch, hidden}));
    if (has_cell) last_c.push_back(b_.Reshape(state.c, {1, batch, hidden}));
  }
  std::vector<Value> results = {b_.Concat(all, 1), b_.Concat(last_h, 0)};
  if (has_cell) results.push_back(b_.Concat(last_c, 0));
  if (layer_.batch_first) {
    results[0] = b_.Transpose(results[0], {2, 0, 1, 3});
    for (size_t i = 1; i < results.size(); ++i) results[i] = b_.Transpose(results[i], {1, 0, 2});
  }
  if (!b_.status().ok()) return b_.status();
  return results;
}

// h' = f(x + h R + rb).
class PlainCell : public Recurrence {
 public:
  using Recurrence::Recurrence;

 private:
  State Step(int64_t d, const Value& x, const State& state, const Weights& w) override {
    Value sum = b_.Add(x, Product(state.h, w.r));
    if (w.r_bias) sum = b_.Add(sum, w.r_bias);
    return {Activate(d, 0, sum), Value()};
  }
};

// Gates z, r, h: z = f(.), r = f(.), h~ = g(.), h' = (1 - z) h~ + z h.
class GruCell : public Recurrence {
 public:
  GruCell(OnnxImport& node, RecurrentLayer layer, bool linear_before_reset)
      : Recurrence(node, std::move(layer)), linear_before_reset_(linear_before_reset) {}

 private:
  State Step(int64_t d, const Value& x, const State& state, const Weights& w) override {
    Value zr_sum = b_.Add(Gate(x, 0, 2), b_.Op("matmul", {state.h, Gate(w.r.x, 0, 2)}));
    if (w.r_bias) zr_sum = b_.Add(zr_sum, Gate(w.r_bias, 0, 2));
    Value zr = Activate(d, 0, zr_sum);
    Value z = Half(zr, 0), r = Half(zr, 1);
    Value inner;
    if (linear_before_reset_) {
      inner = b_.Op("matmul", {state.h, Gate(w.r.x, 2)});
      if (w.r_bias) inner = b_.Add(inner, Gate(w.r_bias, 2));
      inner = b_.Mul(r, inner);
    } else {
      inner = b_.Op("matmul", {b_.Mul(r, state.h), Gate(w.r.x, 2)});
      if (w.r_bias) inner = b_.Add(inner, Gate(w.r_bias, 2));
    }
    Value candidate = Activate(d, 1, b_.Add(Gate(x, 2), inner));
    return {b_.Add(b_.Mul(b_.Sub(1, z), candidate), b_.Mul(z, state.h)), Value()};
  }

  Value Half(const Value& zr, int64_t i) {
    return b_.Op(
        "slice", {zr},
        {{"starts", Shape{0, i * layer_.hidden}}, {"sizes", Shape{layer_.batch, layer_.hidden}}});
  }

  bool linear_before_reset_;
};

// Gates i, o, f, c: c' = f c + i c~, h' = o h(c'), with peepholes from c to i and f, from c' to o.
class LstmCell : public Recurrence {
 public:
  LstmCell(OnnxImport& node, RecurrentLayer layer, bool input_forget)
      : Recurrence(node, std::move(layer)), input_forget_(input_forget) {}

 private:
  State Step(int64_t d, const Value& x, const State& state, const Weights& w) override {
    Value sum = b_.Add(x, Product(state.h, w.r));
    if (w.r_bias) sum = b_.Add(sum, w.r_bias);
    auto peep = [&](Value gate, int64_t i, const Value& c) {
      if (!w.peephole) return gate;
      Value p = b_.Op("slice", {w.peephole},
                      {{"starts", Shape{i * layer_.hidden}}, {"sizes", Shape{layer_.hidden}}});
      return b_.Add(gate, b_.Mul(p, c));
    };
    Value i = Activate(d, 0, peep(Gate(sum, 0), 0, state.c));
    Value f = input_forget_ ? b_.Sub(1, i) : Activate(d, 0, peep(Gate(sum, 2), 2, state.c));
    Value candidate = Activate(d, 1, Gate(sum, 3));
    Value c = b_.Add(b_.Mul(f, state.c), b_.Mul(i, candidate));
    Value o = Activate(d, 0, peep(Gate(sum, 1), 1, c));
    return {b_.Mul(o, Apply(d, 2, c)), c};
  }

  bool input_forget_;
};

absl::StatusOr<RecurrentLayer> ReadLayer(OnnxImport& node, int64_t gates,
                                         const std::vector<std::string>& activations,
                                         bool is_quantized = false) {
  RecurrentLayer layer;
  layer.gates = gates;
  layer.is_quantized = is_quantized;
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value r, node.Input(2));
  if (x.type().rank() != 3 || r.type().rank() != 3) {
    return absl::InvalidArgumentError("X and R must have rank 3");
  }
  LEMMA_ASSIGN_OR_RETURN(int64_t layout, node.Int("layout", 0));
  layer.batch_first = layout == 1;
  layer.steps = x.shape()[layer.batch_first ? 1 : 0];
  layer.batch = x.shape()[layer.batch_first ? 0 : 1];
  layer.hidden = r.shape()[is_quantized ? 1 : 2];
  LEMMA_ASSIGN_OR_RETURN(int64_t hidden, node.Int("hidden_size", layer.hidden));
  if (hidden != layer.hidden) return absl::InvalidArgumentError("hidden_size is not that of R");
  LEMMA_ASSIGN_OR_RETURN(std::string direction, node.String("direction", "forward"));
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.reverse = direction == "reverse";
  if (node.FindAttr("clip") != nullptr) {
    LEMMA_ASSIGN_OR_RETURN(layer.clip, node.Float("clip"));
  }
  LEMMA_ASSIGN_OR_RETURN(layer.activations, ReadActivations(node, activations, layer.directions));
  if (node.HasInput(4)) {
    LEMMA_ASSIGN_OR_RETURN(const Value given, node.Input(4));
    if (given.shape() != Shape{layer.batch}) {
      return absl::InvalidArgumentError(absl::StrCat("sequence_lens ", ToString(given.shape()),
                                                     " must be ", ToString(Shape{layer.batch})));
    }
    layer.has_lengths = true;
    if (given.node().has_payload()) {
      const std::vector<int64_t> lengths = given.node().payload().ToInts();
      layer.has_lengths = std::any_of(lengths.begin(), lengths.end(),
                                      [&](int64_t length) { return length != layer.steps; });
    }
  }
  if (IsSymbolic({layer.steps, layer.hidden, x.shape()[2]})) {
    return node.Unsupported("a symbolic number of time steps");
  }
  if (layer.steps < 1 || layer.steps > 4096) return node.Unsupported("more than 4096 time steps");
  return layer;
}

Values ImportRnn(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(RecurrentLayer layer, ReadLayer(node, 1, {"Tanh"}));
  return PlainCell(node, layer).Run(false);
}

Values ImportGru(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(RecurrentLayer layer, ReadLayer(node, 3, {"Sigmoid", "Tanh"}));
  LEMMA_ASSIGN_OR_RETURN(int64_t linear, node.Int("linear_before_reset", 0));
  return GruCell(node, layer, linear != 0).Run(false);
}

Values ImportLstm(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(RecurrentLayer layer, ReadLayer(node, 4, {"Sigmoid", "Tanh", "Tanh"}));
  LEMMA_ASSIGN_OR_RETURN(int64_t coupled, node.Int("input_forget", 0));
  return LstmCell(node, layer, coupled != 0).Run(true);
}

// LSTM with weights [directions, in, 4 * hidden] and [directions, hidden, 4 * hidden] of integers.
// All inputs of a direction are quantized together, and the states of all sequences before each
// step.
Values ImportQuantizedLstm(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(RecurrentLayer layer,
                         ReadLayer(node, 4, {"Sigmoid", "Tanh", "Tanh"}, /*is_quantized=*/true));
  // It would quantize only the steps up to the longest length together.
  if (layer.has_lengths) return node.Unsupported("sequences of different lengths");
  for (int i : {1, 2}) {
    LEMMA_ASSIGN_OR_RETURN(const Value weights, node.Input(i));
    if (weights.dtype() != DType::kU8 && weights.dtype() != DType::kI8) {
      return absl::InvalidArgumentError("W and R must be u8 or i8");
    }
    if (weights.type().rank() != 3 || weights.shape()[2] != 4 * layer.hidden) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " ", ToString(weights.shape()),
                                                     " needs ", 4 * layer.hidden,
                                                     " elements in dimension 2"));
    }
  }
  LEMMA_ASSIGN_OR_RETURN(int64_t coupled, node.Int("input_forget", 0));
  return LstmCell(node, layer, coupled != 0).Run(true);
}

}  // namespace

std::vector<OnnxImporter> RecurrentComposites() {
  return {{"RNN", ImportRnn},
          {"GRU", ImportGru},
          {"LSTM", ImportLstm},
          {"com.microsoft.DynamicQuantizeLSTM", ImportQuantizedLstm}};
}

}  // namespace lemma::ops
