#include "tests/verifier/kernels/schedule_examples.h"

#include "tests/runtime/runtime_testutil.h"

namespace lemma {

std::vector<ScheduleExample> ScheduleExamples() {
  return {
      {"element", R"(graph g(x: f32[5,7], y: f32[7,5]) {
        t = transpose(y) {perm = [1,0]}
        s = mul(x, t)
        e = exp(s)
        return e
      })"},
      {"packed", R"(graph g(x: f16[256,512], b: f16[512]) {
        s = add(x, b)
        r = relu(s)
        return r
      })"},
      {"pad", R"(graph g(x: f32[5,7]) {
        s = pad(x) {pads = [1,0,0,2], value = 0.5}
        return s
      })"},
      {"gather", R"(graph g(x: f32[9,7], i: i64[5]) {
        s = gather(x, i) {axis = 0}
        return s
      })"},
      {"pool", R"(graph g(x: f32[1,2,8,8]) {
        s = max_pool2d(x) {kernel = [3,3], strides = [2,2], pads = [1,1,1,1]}
        return s
      })"},
      {"integers", R"(graph g(x: i32[4,6], y: i32[4,6]) {
        s = mul(x, y)
        r = reduce_sum(s) {axes = [1], keepdims = 0}
        return r
      })"},
      {"integer_maximum", R"(graph g(x: i32[4,6]) {
        r = reduce_max(x) {axes = [1], keepdims = 0}
        return r
      })"},
      {"sum", R"(graph g(x: f32[3,40]) {
        s = reduce_sum(x) {axes = [1], keepdims = 0}
        return s
      })"},
      {"softmax", R"(graph g(x: f32[6,70]) {
        s = softmax(x) {axis = 1}
        return s
      })"},
      {"wide_softmax", R"(graph g(x: f32[3,1500]) {
        s = softmax(x) {axis = 1}
        return s
      })"},
      {"parts", R"(graph g(x: f32[2,40000]) {
        s = reduce_sum(x) {axes = [1], keepdims = 0}
        return s
      })"},
      {"tile", R"(graph g(x: f32[70,50], w: f32[50,90], b: f32[90]) {
        p = matmul(x, w)
        q = add(p, b)
        r = relu(q)
        return r
      })"},
      {"convolution", R"(graph g(x: f32[1,16,12,12], w: f32[24,16,3,3]) {
        p = conv2d(x, w) {pads = [1,1,1,1]}
        return p
      })"},
      {"side_by_side", R"(graph g(s: f32[70], m: f32[30], x: f32[70], y: f32[30]) {
        a = mul(s, x)
        s.next = sub(s, a)
        b = mul(m, y)
        m.next = add(m, b)
        return s.next, m.next
      })"},
  };
}

Graph GraphOfExample(const ScheduleExample& example) { return GraphWithWeights(example.text); }

}  // namespace lemma
