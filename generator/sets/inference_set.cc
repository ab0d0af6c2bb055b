// Operator sets for rewrites of inference graphs. Sizes in one set differ unless something makes
// them equal. Attributes are symbols, so that rules hold for any stride, padding and dilation.
#include <string>

#include "absl/strings/str_cat.h"
#include "generator/sets/table_sets.h"

namespace lemma::generator {
namespace {

// Attributes of convolutions; the paddings differ, so that they can be distinguished.
Attrs Window() {
  return {{"d", std::vector<int64_t>{1, 1}},
          {"p", std::vector<int64_t>{0, 1, 1, 2}},
          {"t", std::vector<int64_t>{1, 1}}};
}

Attrs Epsilon() { return {{"epsilon", 0.5}}; }

VariantText Conv2d() {
  return {"conv2d", "x: [n, c, h, w], f: [k, c, r, s]",
          "conv2d(x, f) {dilations = d, pads = p, strides = t}", Window()};
}
VariantText Conv2dBias() {
  return {"conv2d_bias", "x: [n, c, h, w], (f: [k, c, r, s], b: [k])",
          "conv2d(x, f, b) {dilations = d, pads = p, strides = t}", Window()};
}

// The same, with groups of channels.
Attrs GroupedWindow() {
  Attrs values = Window();
  values["g"] = int64_t{2};
  return values;
}
VariantText GroupedConv2d() {
  return {"conv2d", "x: [n, g*c, h, w], f: [g*k, c, r, s]",
          "conv2d(x, f) {dilations = d, groups = g, pads = p, strides = t}", GroupedWindow()};
}
VariantText GroupedConv2dBias() {
  return {"conv2d_bias", "x: [n, g*c, h, w], (f: [g*k, c, r, s], b: [g*k])",
          "conv2d(x, f, b) {dilations = d, groups = g, pads = p, strides = t}", GroupedWindow()};
}

VariantText BatchNorm() {
  return {"batch_norm", "x: [n, c, h, w], (s: [c], o: [c], m: [c], v: [c])",
          "batch_norm(x, s, o, m, v) {epsilon = epsilon}", Epsilon()};
}
// The scale and shift equal to a batch normalization.
VariantText NormAffine() {
  return {"norm_affine", "(s: [c], o: [c], m: [c], v: [c])",
          "e = constant [c] fill epsilon u = add(v, e) r = sqrt(u) a = div(s, r) "
          "w = mul(m, a) b = sub(o, w) return (a, b)",
          Epsilon()};
}
VariantText ConcatFiltersBiases() {
  return {"concat_filters_biases",
          "(f: [j, c, r, s], a: [j]), (g: [k, c, r, s], b: [k])",
          "u = concat(f, g) {axis = 0} v = concat(a, b) {axis = 0} return (u, v)",
          {}};
}
VariantText Concat() {
  return {"concat", "x: [n, i, h, w], y: [n, j, h, w]", "concat(x, y) {axis = 1}", {}};
}
VariantText Split() {
  return {"split",
          "x: [n, i+j, h, w]",
          "y, z = split(x) {axis = 1, sizes = [i, j]} return y, z",
          {{"i", int64_t{3}}}};
}

// Batch normalization, with scale and shift made from weights, folded into the convolution before
// it.
TableSetText FoldSet() {
  return {{
              GroupedConv2d(),
              GroupedConv2dBias(),
              BatchNorm(),
              NormAffine(),
              {"scaled_filter",
               "f: [k, c, r, s], (a: [k], b: [k])",
               "a4 = reshape(a) {shape = [k, 1, 1, 1]} u = mul(f, a4) return (u, b)",
               {}},
              {"scaled_filter_bias",
               "(f: [k, c, r, s], e: [k]), (a: [k], b: [k])",
               "a4 = reshape(a) {shape = [k, 1, 1, 1]} u = mul(f, a4) w = mul(e, a) v = add(w, b) "
               "return (u, v)",
               {}},
          },
          {
              {"x", 1, {2, 4, 5, 6}},
              {"f", 1, {6, 2, 3, 3}},
              {"q", 1, {6, 2, 3, 3}, {{6}}},
              {"p", 1, {6}, {{6}, {6}, {6}}},
          }};
}

// Batch normalization as a scale and a shift.
TableSetText NormSet() {
  return {{
              BatchNorm(),
              NormAffine(),
              {"scale_shift",
               "x: [n, c, h, w], (a: [c], b: [c])",
               "a3 = reshape(a) {shape = [c, 1, 1]} b3 = reshape(b) {shape = [c, 1, 1]} u = mul(x, "
               "a3) z = add(u, b3) return z",
               {}},
          },
          {
              {"x", 1, {2, 3, 4, 5}},
              {"p", 1, {3}, {{3}, {3}, {3}}},
          }};
}

// A number per channel, moved into the filters or the bias.
TableSetText ChannelsSet() {
  return {{
              GroupedConv2d(),
              GroupedConv2dBias(),
              {"mul_channels", "x: [n, c, h, w], a: [c, 1, 1]", "mul(x, a)", {}},
              {"add_channels", "x: [n, c, h, w], a: [c, 1, 1]", "add(x, a)", {}},
              {"mul_filter",
               "f: [k, c, r, s], a: [k, 1, 1]",
               "b = reshape(a) {shape = [k, 1, 1, 1]} z = mul(f, b) return z",
               {}},
              {"with_bias",
               "f: [k, c, r, s], a: [k, 1, 1]",
               "b = reshape(a) {shape = [k]} return (f, b)",
               {}},
              {"mul_filter_bias",
               "(f: [k, c, r, s], b: [k]), a: [k, 1, 1]",
               "a4 = reshape(a) {shape = [k, 1, 1, 1]} a1 = reshape(a) {shape = [k]} u = mul(f, "
               "a4) v = mul(b, a1) return (u, v)",
               {}},
              {"add_bias",
               "(f: [k, c, r, s], b: [k]), a: [k, 1, 1]",
               "a1 = reshape(a) {shape = [k]} v = add(b, a1) return (f, v)",
               {}},
          },
          {
              {"x", 1, {2, 4, 5, 6}},
              {"f", 1, {6, 2, 3, 3}},
              {"a", 2, {6, 1, 1}},
              {"q", 1, {6, 2, 3, 3}, {{6}}},
          }};
}

// Merging convolutions of one image.
TableSetText SiblingsSet() {
  return {{
              Conv2d(),
              Conv2dBias(),
              {"concat_filters", "f: [j, c, r, s], g: [k, c, r, s]", "concat(f, g) {axis = 0}", {}},
              ConcatFiltersBiases(),
              Split(),
          },
          {
              {"x", 2, {2, 4, 5, 6}},
              {"f", 2, {3, 4, 3, 3}},
              {"q", 2, {3, 4, 3, 3}, {{3}}},
          }};
}

// The same, each followed by relu.
TableSetText SiblingsReluSet() {
  return {{
              {"conv2d_bias_relu", "x: [n, c, h, w], (f: [k, c, r, s], b: [k])",
               "y = conv2d(x, f, b) {dilations = d, pads = p, strides = t} z = relu(y) return z",
               Window()},
              ConcatFiltersBiases(),
              Split(),
          },
          {
              {"x", 2, {2, 4, 5, 6}},
              {"q", 2, {3, 4, 3, 3}, {{3}}},
          }};
}

// Merging several concats or splits. Operators of three tensors take two of them as a bundle.
TableSetText NestedSet() {
  return {{
              Concat(),
              {"concat3",
               "x: [n, i, h, w], (y: [n, j, h, w], z: [n, k, h, w])",
               "concat(x, y, z) {axis = 1}",
               {}},
              {"pair", "x: [n, i, h, w], y: [n, j, h, w]", "return (x, y)", {}},
              {"unpair", "(x: [n, i, h, w], y: [n, j, h, w])", "return x, y", {}},
              Split(),
              {"split_last",
               "x: [n, i+j, h, w]",
               "y, z = split(x) {axis = 1, sizes = [i, j]} return y, z",
               {{"i", int64_t{6}}}},
              {"split3",
               "x: [n, i+j+k, h, w]",
               "y, z, v = split(x) {axis = 1, sizes = [i, j, k]} return y, (z, v)",
               {{"i", int64_t{3}}, {"j", int64_t{3}}}},
          },
          {
              {"x", 3, {2, 3, 4, 5}},
              {"y", 1, {2, 9, 4, 5}},
          }};
}

// Element-wise functions and concat or split.
TableSetText UnarySet() {
  return {{
              Concat(),
              Split(),
              {"relu", "x: [n, i, h, w]", "relu(x)", {}},
              {"silu", "x: [n, i, h, w]", "silu(x)", {}},
          },
          {
              {"x", 2, {2, 3, 4, 5}},
              {"y", 1, {2, 6, 4, 5}},
          }};
}

// Maximum pooling, and functions that commute with it.
TableSetText PoolSet() {
  const Attrs window = {{"d", std::vector<int64_t>{1, 1}},
                        {"k", std::vector<int64_t>{2, 3}},
                        {"t", std::vector<int64_t>{1, 1}}};
  return {{
              {"relu", "x: [n, c, h, w]", "relu(x)", {}},
              {"max_pool", "x: [n, c, h, w]",
               "max_pool2d(x) {dilations = d, kernel = k, strides = t}", window},
          },
          {
              {"x", 1, {2, 3, 4, 5}},
          }};
}

// Merging products with one matrix. `rows`: the dimensions of x except the last.
TableSetText LinearSet(const std::string& rows, const Shape& x, int axis) {
  const std::string split = absl::StrCat("axis = ", axis, ", sizes = [i, j]");
  return {{
              {"matmul", absl::StrCat("x: [", rows, ", k], w: [k, n]"), "matmul(x, w)", {}},
              {"linear",
               absl::StrCat("x: [", rows, ", k], (w: [k, n], b: [n])"),
               "y = matmul(x, w) z = add(y, b) return z",
               {}},
              {"concat_columns", "w: [k, i], v: [k, j]", "concat(w, v) {axis = 1}", {}},
              {"concat_columns_biases",
               "(w: [k, i], a: [i]), (v: [k, j], b: [j])",
               "u = concat(w, v) {axis = 1} c = concat(a, b) {axis = 0} return (u, c)",
               {}},
              {"split_columns",
               absl::StrCat("x: [", rows, ", i+j]"),
               absl::StrCat("y, z = split(x) {", split, "} return y, z"),
               {{"i", int64_t{3}}}},
          },
          {
              {"x", 2, x},
              {"w", 2, {4, 3}},
              {"q", 2, {4, 3}, {{3}}},
          }};
}

// Products of three matrices, or of three stacks of `batch` matrices.
TableSetText ProductsSet(const std::string& batch, const Shape& sizes) {
  auto with = [&](int64_t rows, int64_t columns) {
    Shape shape = sizes;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  return {{
              {"matmul",
               absl::StrCat("x: [", batch, "m, k], y: [", batch, "k, n]"),
               "matmul(x, y)",
               {}},
          },
          {
              {"x", 1, with(5, 4)},
              {"y", 1, with(4, 3)},
              {"z", 1, with(3, 6)},
          }};
}

// A number per channel of a single image, moved into the filters.
TableSetText GateSet() {
  return {{
              Conv2d(),
              Conv2dBias(),
              {"mul_gate", "x: [1, c, h, w], s: [1, c, 1, 1]", "mul(x, s)", {}},
              {"mul_filter_inputs", "f: [k, c, r, s], g: [1, c, 1, 1]", "mul(f, g)", {}},
              {"mul_inputs_of_filter_bias",
               "(f: [k, c, r, s], b: [k]), g: [1, c, 1, 1]",
               "u = mul(f, g) return (u, b)",
               {}},
          },
          {
              {"x", 1, {1, 4, 5, 6}},
              {"s", 2, {1, 4, 1, 1}},
              {"f", 1, {3, 4, 3, 3}},
              {"q", 1, {3, 4, 3, 3}, {{3}}},
          }};
}

// A 1x1 convolution as a product of matrices.
TableSetText PointwiseSet() {
  return {{
              {"pointwise_conv", "x: [n, c, h, w], f: [k, c, 1, 1]", "conv2d(x, f)", {}},
              {"matrix_of_filter", "f: [k, c, 1, 1]", "reshape(f) {shape = [k, c]}", {}},
              {"flat_image", "x: [n, c, h, w]", "reshape(x) {shape = [n, c, h*w]}", {}},
              {"image", "x: [n, c, h*w]", "reshape(x) {shape = [n, c, h, w]}", {{"h", int64_t{3}}}},
              {"matmul", "f: [k, c], x: [n, c, l]", "matmul(f, x)", {}},
          },
          {
              {"x", 1, {2, 4, 3, 5}},
              {"f", 1, {6, 4, 1, 1}},
          }};
}

TableSetText ScalarsSet() {
  return {{
              {"silu", "x: [b..]", "silu(x)", {}},
              {"sigmoid", "x: [b..]", "sigmoid(x)", {}},
              {"mul", "x: [b..], y: [b..]", "mul(x, y)", {}},
              {"square", "x: [b..]", "c = constant [] fill 2 y = pow(x, c) return y", {}},
              {"div_scalar", "x: [b.., n], s: []", "div(x, s)", {}},
              {"mul_scalar", "x: [b.., n], s: []", "mul(x, s)", {}},
              {"reciprocal", "x: []", "reciprocal(x)", {}},
              {"mul_number",
               "x: [b..]",
               "c = constant [] fill alpha y = mul(x, c) return y",
               {{"alpha", 3.0}}},
              {"scalar_mul", "x: [b..]", "scalar_mul(x) {alpha = alpha}", {{"alpha", 3.0}}},
          },
          {
              {"x", 2, {3, 5}},
              {"s", 2, {}},
          }};
}

TableSetText BiasSet() {
  return {{
              {"add", "x: [b..], y: [b..]", "add(x, y)", {}},
              {"add_bias", "x: [b.., m, n], y: [n]", "add(x, y)", {}},
          },
          {
              {"x", 3, {2, 3, 5}},
              {"c", 2, {5}},
          }};
}

// The steps of layer normalization.
TableSetText LayerNormSet() {
  return {{
              {"centre",
               "x: [l, m, n]",
               "a = reduce_mean(x) {axes = [2], keepdims = 1} z = sub(x, a) return z",
               {}},
              {"deviation", "x: [l, m, n]",
               "s = mul(x, x) v = reduce_mean(s) {axes = [2], keepdims = 1} e = constant [] fill "
               "epsilon u = add(v, e) z = sqrt(u) return z",
               Epsilon()},
              {"div_rows", "x: [l, m, n], y: [l, m, 1]", "div(x, y)", {}},
              {"scale_shift",
               "x: [l, m, n], (s: [n], o: [n])",
               "t = mul(x, s) z = add(t, o) return z",
               {}},
              {"layer_norm", "x: [l, m, n], (s: [n], o: [n])",
               "layer_norm(x, s, o) {axis = 2, epsilon = epsilon}", Epsilon()},
          },
          {
              {"x", 1, {2, 3, 5}},
              {"q", 1, {5}, {{5}}},
          }};
}

}  // namespace

const std::vector<NamedTableSet>& InferenceSets() {
  static const auto* const sets = new std::vector<NamedTableSet>{
      {"fold", FoldSet()},
      {"norm", NormSet()},
      {"channels", ChannelsSet()},
      {"siblings", SiblingsSet()},
      {"siblings_relu", SiblingsReluSet()},
      {"nested", NestedSet()},
      {"unary", UnarySet()},
      {"pool", PoolSet()},
      {"linear", LinearSet("l, m", {2, 5, 4}, 2)},
      {"linear_2d", LinearSet("m", {5, 4}, 1)},
      {"products", ProductsSet("l, ", {2})},
      {"products_2d", ProductsSet("", {})},
      {"gate", GateSet()},
      {"pointwise", PointwiseSet()},
      {"scalars", ScalarsSet()},
      {"bias", BiasSet()},
      {"layer_norm", LayerNormSet()},
  };
  return *sets;
}

}  // namespace lemma::generator
