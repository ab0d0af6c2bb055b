#include "cli/pet_examples.h"

namespace lemma::cli {

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
  };
  return examples;
}

}  // namespace lemma::cli
