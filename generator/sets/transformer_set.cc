// Operators of transformers. Sizes: batch 2, sequence 5, 3 heads of 4, so 12 features.
#include "generator/sets/table_sets.h"

namespace lemma::generator {

const TableSetText& TransformerSet() {
  static const TableSetText* const set = new TableSetText{
      {
          // Products within a batch, and with weights that the batch shares.
          {"matmul", "x: [b.., m, k], y: [b.., k, n]", "matmul(x, y)", {}, true},
          {"linear", "x: [b.., l, m, k], w: [k, n]", "matmul(x, w)", {}},
          {"add", "x: [b..], y: [b..]", "add(x, y)", {}, true},
          {"mul", "x: [b..], y: [b..]", "mul(x, y)", {}},
          // One number per feature, per row, or in all.
          {"add_bias", "x: [b.., m, n], y: [n]", "add(x, y)", {}},
          {"mul_bias", "x: [b.., m, n], y: [n]", "mul(x, y)", {}},
          {"sub_row", "x: [b.., m, n], y: [b.., m, 1]", "sub(x, y)", {}},
          {"mul_row", "x: [b.., m, n], y: [b.., m, 1]", "mul(x, y)", {}},
          {"div_row", "x: [b.., m, n], y: [b.., m, 1]", "div(x, y)", {}},
          {"scale", "x: [b.., n], s: []", "mul(x, s)", {}},
          {"exp", "x: [b..]", "exp(x)", {}},
          {"gelu", "x: [b..]", "gelu(x)", {}},
          {"tanh", "x: [b..]", "tanh(x)", {}},
          {"erf", "x: [b..]", "erf(x)", {}},
          {"sum_last", "x: [b.., m, n]", "reduce_sum(x) {axes = [-1], keepdims = 1}", {}},
          {"max_last", "x: [b.., m, n]", "reduce_max(x) {axes = [-1], keepdims = 1}", {}},
          {"mean_last", "x: [b.., m, n]", "reduce_mean(x) {axes = [-1], keepdims = 1}", {}},
          // The softmax of a row of one element is always 1.
          {"softmax", "x: [b.., m, n]", "softmax(x)", {}, false, true},
          {"split_heads",
           "x: [n, m, h*d]",
           "reshape(x) {shape = [n, m, h, d]}",
           {{"h", int64_t{3}}}},
          {"merge_heads", "x: [n, m, h, d]", "reshape(x) {shape = [n, m, h*d]}", {}},
          {"swap_heads", "x: [n, m, h, d]", "transpose(x) {perm = [0, 2, 1, 3]}", {}},
          {"transpose", "x: [m, n]", "transpose(x) {perm = [1, 0]}", {}},
          {"transpose_3d", "x: [l, m, n]", "transpose(x) {perm = [0, 2, 1]}", {}},
          {"transpose_4d", "x: [l, h, m, n]", "transpose(x) {perm = [0, 1, 3, 2]}", {}},
          {"concat_last", "x: [b.., p], y: [b.., q]", "concat(x, y) {axis = -1}", {}, true},
          {"concat_rows", "x: [b.., p, n], y: [b.., q, n]", "concat(x, y) {axis = -2}", {}, true},
          {"split_last",
           "x: [b.., p+q]",
           "y, z = split(x) {axis = -1, sizes = [p, q]} return y, z",
           {{"p", int64_t{12}}, {"q", int64_t{12}}}},
      },
      {
          {"x", 3, {2, 5, 12}},    // activations
          {"w", 3, {12, 12}},      // weights
          {"z", 3, {2, 3, 5, 4}},  // of heads
          {"y", 1, {2, 5, 3, 4}},  // before the heads' dimension is exchanged
          {"b", 3, {12}},
          {"r", 2, {2, 5, 1}},
          {"s", 1, {}},
      }};
  return *set;
}

}  // namespace lemma::generator
