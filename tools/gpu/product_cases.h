// Graphs with sums of products (matrix products and convolutions). gpu_precision_main.cc compares
// their results with exact results, and measures their times on a GPU.
#ifndef LEMMA_TOOLS_GPU_PRODUCT_CASES_H_
#define LEMMA_TOOLS_GPU_PRODUCT_CASES_H_

#include <cstdint>

namespace lemma::gpu {

struct NamedGraph {
  const char* name;
  int64_t terms;  // the number of products in each sum; used only in kExact
  const char* text;
};

// Graphs whose results are compared with exact results. The error of a sum of products a·b is
// divided by the sum of |a|·|b|. This divisor is the result of the same graph on the absolute
// values of its inputs.
inline constexpr NamedGraph kExact[] = {
    {"matmul, in packs", 520,
     "graph g(x: f32[300,520], w: f32[520,260]) { y = matmul(x, w) return y }"},
    {"matmul of transposed, one by one", 333, R"(graph g(x: f32[333,131], w: f32[77,333]) {
       a = transpose(x) {perm = [1,0]}
       b = transpose(w) {perm = [1,0]}
       y = matmul(a, b)
       return y
     })"},
    {"conv 3x3, strided", 576, R"(graph g(x: f32[2,64,29,27], w: f32[96,64,3,3], b: f32[96]) {
       c = conv2d(x, w, b) {pads = [1,1,1,1], strides = [2,2]}
       y = relu(c)
       return y
     })"},
    {"conv 5x5 in groups", 400, R"(graph g(x: f32[2,64,20,18], w: f32[96,16,5,5]) {
       y = conv2d(x, w) {pads = [2,2,2,2], groups = 4}
       return y
     })"},
    {"batch of products", 2048,
     "graph g(x: f32[3,65,2048], w: f32[3,2048,68]) { y = matmul(x, w) return y }"},
    {"product of 16-bit matrices", 256, R"(graph g(x: bf16[200,256], w: f16[256,136]) {
       a = cast(x) {dtype = "f32"}
       b = cast(w) {dtype = "f32"}
       y = matmul(a, b)
       return y
     })"},
    {"product of bf16 matrices", 1032, R"(graph g(x: bf16[300,1032], w: bf16[1032,264]) {
       a = cast(x) {dtype = "f32"}
       b = cast(w) {dtype = "f32"}
       y = matmul(a, b)
       return y
     })"},
    {"product of transposed f16 matrices", 520, R"(graph g(x: f16[520,136], w: f16[264,520]) {
       t = transpose(x) {perm = [1,0]}
       u = transpose(w) {perm = [1,0]}
       a = cast(t) {dtype = "f32"}
       b = cast(u) {dtype = "f32"}
       y = matmul(a, b)
       return y
     })"},
    {"heads of bf16", 64, R"(graph g(x: bf16[3,130,5,64], w: bf16[3,200,5,64]) {
       t = transpose(x) {perm = [0,2,1,3]}
       u = transpose(w) {perm = [0,2,3,1]}
       a = cast(t) {dtype = "f32"}
       b = cast(u) {dtype = "f32"}
       y = matmul(a, b)
       return y
     })"},
};

// Graphs that are only timed. tools/gpu/gpu_product_peers.py has the same graphs in PyTorch.
inline constexpr NamedGraph kTimed[] = {
    {"matmul 1024^3", 1024,
     "graph g(x: f32[1024,1024], w: f32[1024,1024]) { y = matmul(x, w) return y }"},
    {"matmul 4096^3", 4096,
     "graph g(x: f32[4096,4096], w: f32[4096,4096]) { y = matmul(x, w) return y }"},
    {"matmul 4096^3, second factor transposed", 4096,
     R"(graph g(x: f32[4096,4096], w: f32[4096,4096]) {
       t = transpose(w) {perm = [1,0]}
       y = matmul(x, t)
       return y
     })"},
    {"matmul 512x768x3072", 768,
     "graph g(x: f32[512,768], w: f32[768,3072]) { y = matmul(x, w) return y }"},
    {"matmul 128x3072x768", 3072,
     "graph g(x: f32[128,3072], w: f32[3072,768]) { y = matmul(x, w) return y }"},
    {"matmul 4096x768x3072", 768,
     "graph g(x: f32[4096,768], w: f32[768,3072]) { y = matmul(x, w) return y }"},
    {"scores 96 x 512x64x512", 64,
     "graph g(x: f32[96,512,64], w: f32[96,64,512]) { y = matmul(x, w) return y }"},
    {"conv 3x3 32x256x14x14", 2304,
     "graph g(x: f32[32,256,14,14], w: f32[256,256,3,3]) { y = conv2d(x, w) {pads = [1,1,1,1]} "
     "return y }"},
    {"conv 3x3 32x64x56x56", 576,
     "graph g(x: f32[32,64,56,56], w: f32[64,64,3,3]) { y = conv2d(x, w) {pads = [1,1,1,1]} return "
     "y }"},
    {"conv 1x1 32x256x56x56 to 64", 256,
     "graph g(x: f32[32,256,56,56], w: f32[64,256,1,1]) { y = conv2d(x, w) return y }"},
    {"conv 3x3 1x256x14x14", 2304,
     "graph g(x: f32[1,256,14,14], w: f32[256,256,3,3]) { y = conv2d(x, w) {pads = [1,1,1,1]} "
     "return y }"},
    {"matmul 1024^3, stored in bf16", 1024,
     "graph g(x: bf16[1024,1024], w: bf16[1024,1024]) { y = matmul(x, w) return y }"},
    {"matmul 4096^3, stored in bf16", 4096,
     "graph g(x: bf16[4096,4096], w: bf16[4096,4096]) { y = matmul(x, w) return y }"},
    {"matmul 4096^3, second factor transposed, stored in bf16", 4096,
     R"(graph g(x: bf16[4096,4096], w: bf16[4096,4096]) {
       t = transpose(w) {perm = [1,0]}
       y = matmul(x, t)
       return y
     })"},
    {"matmul 8192^3, stored in bf16", 8192,
     "graph g(x: bf16[8192,8192], w: bf16[8192,8192]) { y = matmul(x, w) return y }"},
    {"matmul 512x768x3072, stored in bf16", 768,
     "graph g(x: bf16[512,768], w: bf16[768,3072]) { y = matmul(x, w) return y }"},
    {"matmul 128x3072x768, stored in bf16", 3072,
     "graph g(x: bf16[128,3072], w: bf16[3072,768]) { y = matmul(x, w) return y }"},
    {"matmul 4096x768x3072, stored in bf16", 768,
     "graph g(x: bf16[4096,768], w: bf16[768,3072]) { y = matmul(x, w) return y }"},
    {"scores 96 x 512x64x512, stored in bf16", 64,
     "graph g(x: bf16[96,512,64], w: bf16[96,64,512]) { y = matmul(x, w) return y }"},
    {"conv 1x1 32x256x56x56 to 64, stored in bf16", 256,
     "graph g(x: bf16[32,256,56,56], w: bf16[64,256,1,1]) { y = conv2d(x, w) return y }"},
};

// Graphs of Mirage's benchmarks (benchmark/ in mirage-project/mirage), in f16.
// tools/gpu/gpu_shape_peers.py has the same graphs in PyTorch.
inline constexpr NamedGraph kShapes[] = {
    {"RMSNorm and product 2x4096x6144", 0, R"(graph rms(x: f16[2,4096], w: f16[4096,6144]) {
  c = constant f32[1] fill 1e-6
  a = cast(x) {dtype = "f32"}
  s = mul(a, a)
  m = reduce_mean(s) {axes = [1], keepdims = 1}
  e = add(m, c)
  r = sqrt(e)
  n = div(a, r)
  h = cast(n) {dtype = "f16"}
  y = matmul(h, w)
  return y
})"},
    {"gated MLP 8x4096x4096", 0,
     R"(graph mlp(x: f16[8,4096], v: f16[4096,4096], w: f16[4096,4096]) {
  p = matmul(x, v)
  s = sigmoid(p)
  g = mul(p, s)
  q = matmul(x, w)
  y = mul(g, q)
  return y
})"},
    {"LoRA 16x256x4096, rank 16", 0,
     R"(graph lora(x: f16[16,256], w: f16[256,4096], a: f16[256,16], b: f16[16,4096]) {
  c = matmul(x, w)
  d = matmul(x, a)
  e = matmul(d, b)
  y = add(c, e)
  return y
})"},
    {"grouped attention 2x256x4096, width 64", 0,
     R"(graph gqa(q: f16[2,256,64], k: f16[2,64,4096], v: f16[2,4096,64]) {
  s = matmul(q, k)
  p = softmax(s) {axis = 2}
  y = matmul(p, v)
  return y
})"},
    {"QK-norm attention 2x256x4096, width 64", 0,
     R"(graph qknorm(q: f16[2,256,64], k: f16[2,64,4096], v: f16[2,4096,64]) {
  c = constant f32[1] fill 1e-6
  qa = cast(q) {dtype = "f32"} qs = mul(qa, qa) qm = reduce_mean(qs) {axes = [2], keepdims = 1}
  qe = add(qm, c) qr = sqrt(qe) qn = div(qa, qr) qh = cast(qn) {dtype = "f16"}
  ka = cast(k) {dtype = "f32"} ks = mul(ka, ka) km = reduce_mean(ks) {axes = [1], keepdims = 1}
  ke = add(km, c) kr = sqrt(ke) kn = div(ka, kr) kh = cast(kn) {dtype = "f16"}
  s = matmul(qh, kh)
  p = softmax(s) {axis = 2}
  y = matmul(p, v)
  return y
})"},
};

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_PRODUCT_CASES_H_
