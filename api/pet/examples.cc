#include "api/pet/examples.h"

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"

namespace lemma::api {

const std::vector<PetExample>& PetExamples() {
  static const auto& examples = *new std::vector<PetExample>{
      {"batch", R"(graph batch(x: f32[4,1,3,5], w: weight f32[1,1,3,3] = fill 1.0) {
  y = conv2d(x, w) {pads = [1,1,1,1]}
  return y
})"},
      {"halves", R"(graph halves(x: f32[1,1,8,4], w: weight f32[1,1,3,3] = fill 1.0) {
  y = conv2d(x, w) {pads = [1,1,1,1]}
  return y
})"},
      {"dilated", R"(graph dilated(x: f32[1,1,14,14], w: weight f32[1,1,3,3] = fill 1.0) {
  y = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2]}
  return y
})"},
      {"dilated7", R"(graph dilated7(x: f32[1,1,7,7], w: weight f32[1,1,3,3] = fill 1.0) {
  y = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2]}
  return y
})"},
      {"csrnet", R"(graph csrnet(x: f32[1,512,14,14], w: weight f32[512,512,3,3] = fill 1.0) {
  y = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2]}
  return y
})"},
      {"split", R"(graph split(x: f32[1,48,38,38], w: weight f32[64,48,3,3] = fill 1.0) {
  y = conv2d(x, w) {pads = [1,1,1,1]}
  return y
})"},
      {"strided", R"(graph strided(x: f32[1,8,15,15], w: weight f32[16,8,3,3] = fill 1.0) {
  y = conv2d(x, w) {pads = [1,1,1,1], strides = [2,2]}
  return y
})"},
      {"chain", R"(graph chain(x: f32[2,1,3,6], v: weight f32[1,1,3,3] = fill 1.0,
            w: weight f32[1,1,3,3] = fill 2.0) {
  a = conv2d(x, v) {pads = [1,1,1,1]}
  y = conv2d(a, w) {pads = [1,1,1,1]}
  return y
})"},
      {"average", R"(graph average(x: f32[1,6,20,20]) {
  y = avg_pool2d(x) {kernel = [3,3], pads = [1,1,1,1]}
  return y
})"},
      {"pointwise", R"(graph pointwise(x: f32[2,6,5,7], w: weight f32[8,6,1,1] = fill 0.5,
            b: weight f32[8] = fill 0.25) {
  y = conv2d(x, w, b)
  return y
})"},
      {"products", R"(graph products(x: f32[4,3,5], w: weight f32[4,5,6] = fill 0.5) {
  y = matmul(x, w)
  return y
})"},
      {"grouped", R"(graph grouped(x: f32[2,8,7,6], w: weight f32[12,2,3,3] = fill 0.5) {
  y = conv2d(x, w) {pads = [1,0,1,2], groups = 4}
  return y
})"},
      {"siblings", R"(graph siblings(x: f32[2,4,7,6], z: f32[2,4,7,6],
            v: weight f32[6,4,3,3] = fill 0.5, w: weight f32[6,4,3,3] = fill 0.25) {
  a = conv2d(x, v) {pads = [1,1,1,1]}
  b = conv2d(z, w) {pads = [1,1,1,1]}
  y = concat(a, b) {axis = 1}
  return y
})"},
      {"data-gradient", R"(graph data_gradient(d: f32[4,6,7,5], w: f32[6,3,3,3]) {
  y = conv_transpose2d(d, w) {pads = [1,1,1,1]}
  return y
})"},
      {"weight-gradient", R"(graph weight_gradient(x: f32[3,6,10,9], d: f32[8,6,8,7]) {
  y = conv2d(x, d)
  return y
})"},
  };
  return examples;
}

absl::StatusOr<Graph> GraphOfExample(const std::string& name) {
  for (const PetExample& example : PetExamples()) {
    if (name == example.name) return ParseGraph(example.text);
  }
  return absl::NotFoundError(absl::StrCat("there is no example ", name));
}

}  // namespace lemma::api
