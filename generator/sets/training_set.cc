// Operators of backward passes. Sizes: matrices 3 x 5; images 2 x 4 x 5 x 6, kernels 3 x 4 x 3 x 3.
#include "generator/sets/table_sets.h"

namespace lemma::generator {

const TableSetText& TrainingSet() {
  const Attrs window = {{"t", std::vector<int64_t>{1, 1}}, {"p", std::vector<int64_t>{1, 1, 1, 1}}};
  static const TableSetText* const set = new TableSetText{
      {
          {"matmul", "x: [m, k], y: [k, n]", "matmul(x, y)", {}, true},
          // The gradients of a product: xᵀ·y and x·yᵀ.
          {"matmul_tn",
           "x: [k, m], y: [k, n]",
           "a = transpose(x) {perm = [1, 0]} z = matmul(a, y) return z",
           {},
           true},
          {"matmul_nt",
           "x: [m, k], y: [n, k]",
           "a = transpose(y) {perm = [1, 0]} z = matmul(x, a) return z",
           {},
           true},
          {"transpose", "x: [m, n]", "transpose(x) {perm = [1, 0]}", {}},
          {"add", "x: [b..], y: [b..]", "add(x, y)", {}, true},
          {"sub", "x: [b..], y: [b..]", "sub(x, y)", {}, true},
          {"mul", "x: [b..], y: [b..]", "mul(x, y)", {}},
          {"scale", "x: [b.., n], s: []", "mul(x, s)", {}},
          {"relu", "x: [b..]", "relu(x)", {}},
          // 1 where x > 0, otherwise 0; and y where x > 0, otherwise 0.
          {"step",
           "x: [b..]",
           "o = constant [] fill 0 c = greater(x, o) z = cast(c) {dtype = \"f32\"} return z",
           {}},
          {"relu_grad",
           "x: [b..], y: [b..]",
           "o = constant [] fill 0 c = greater(x, o) z = where(c, y, o) return z",
           {}},
          // Broadcasting, and its gradient.
          {"expand", "x: [n]", "expand(x) {shape = [m, n]}", {{"m", int64_t{3}}}},
          {"sum_rows", "x: [m, n]", "reduce_sum(x) {axes = [0]}", {}},
          {"add_bias", "x: [m, n], y: [n]", "add(x, y)", {}},
          {"mul_bias", "x: [m, n], y: [n]", "mul(x, y)", {}},
          // x·yᵀ of two vectors.
          {"outer",
           "x: [m], y: [n]",
           "a = reshape(x) {shape = [m, 1]} z = mul(a, y) return z",
           {},
           true},
          {"concat0", "x: [p, n], y: [q, n]", "concat(x, y) {axis = 0}", {}, true},
          {"concat1", "x: [m, p], y: [m, q]", "concat(x, y) {axis = 1}", {}, true},
          {"split0",
           "x: [p+q, n]",
           "y, z = split(x) {axis = 0, sizes = [p, q]} return y, z",
           {{"p", int64_t{3}}, {"q", int64_t{3}}}},
          {"split1",
           "x: [m, p+q]",
           "y, z = split(x) {axis = 1, sizes = [p, q]} return y, z",
           {{"p", int64_t{5}}, {"q", int64_t{5}}}},
          // A convolution of one group, and its gradients.
          {"conv2d", "x: [n, c, h, w], f: [k, c, r, s]", "conv2d(x, f) {strides = t, pads = p}",
           window},
          {"conv_data_grad", "y: [n, k, h, w], f: [k, c, r, s]",
           "conv_transpose2d(y, f) {strides = t, pads = p}", window},
          {"conv_weight_grad", "x: [n, c, h, w], y: [n, k, u, v]",
           "a = transpose(x) {perm = [1, 0, 2, 3]} o = transpose(y) {perm = [1, 0, 2, 3]} "
           "z = conv2d(a, o) {dilations = t, pads = p} "
           "g = transpose(z) {perm = [1, 0, 2, 3]} return g",
           window},
          {"add_channel_bias",
           "x: [n, c, h, w], y: [c]",
           "a = reshape(y) {shape = [c, 1, 1]} z = add(x, a) return z",
           {}},
          {"sum_channels", "x: [n, c, h, w]", "reduce_sum(x) {axes = [0, 2, 3]}", {}},
          {"concat0_4d", "x: [p, c, h, w], y: [q, c, h, w]", "concat(x, y) {axis = 0}", {}, true},
          {"concat1_4d", "x: [n, p, h, w], y: [n, q, h, w]", "concat(x, y) {axis = 1}", {}, true},
      },
      {
          {"x", 3, {3, 5}},
          {"b", 2, {5}},
          {"s", 1, {}},
          {"i", 2, {2, 4, 5, 6}},  // images
          {"o", 2, {2, 3, 5, 6}},  // results of the kernels
          {"f", 2, {3, 4, 3, 3}},
          {"k", 1, {3}},
      }};
  return *set;
}

}  // namespace lemma::generator
