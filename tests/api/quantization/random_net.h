// Makes random small networks in ONNX's text form, for tests of quantization.
#ifndef LEMMA_TESTS_API_QUANTIZATION_RANDOM_NET_H_
#define LEMMA_TESTS_API_QUANTIZATION_RANDOM_NET_H_

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lemma {

// The text of a Constant node with the output `name`. The elements of the
// output are normally distributed. `dims` is the shape of the output, such as
// "5,3,3,3", and `count` is its number of elements.
inline std::string RandomConstant(const std::string& name, const std::string& dims, int count,
                                  std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  std::string text = absl::StrCat(name, " = Constant <value = float[", dims, "] {");
  for (int i = 0; i < count; ++i) {
    absl::StrAppendFormat(&text, "%s%.6f", i == 0 ? "" : ", ", normal(*random));
  }
  return text + "}> ()\n";
}

// The text of a network with the input x, a float[1,3,6,6], and the output y, a
// float[1,4]. It consists of two convolutions, two relus, a max pool, padding
// with zeros, a batch normalization, a sum of two branches, a flatten, and a
// matrix product with a bias. Equal seeds give equal networks.
inline std::string RandomConvNet(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text = "g (float[1,3,6,6] x) => (float[1,4] y) {\n";
  absl::StrAppend(&text, RandomConstant("w1", "5,3,3,3", 135, &random));
  absl::StrAppend(&text, RandomConstant("b1", "5", 5, &random));
  absl::StrAppend(&text, RandomConstant("w2", "5,5,1,1", 25, &random));
  absl::StrAppend(&text, RandomConstant("g2", "5", 5, &random));
  absl::StrAppend(&text, RandomConstant("e2", "5", 5, &random));
  absl::StrAppend(&text, RandomConstant("m2", "5", 5, &random));
  absl::StrAppend(&text, "v2 = Constant <value = float[5] {1.0, 0.5, 2.0, 1.5, 1.0}> ()\n");
  absl::StrAppend(&text, RandomConstant("w3", "4,80", 320, &random));
  absl::StrAppend(&text, RandomConstant("b3", "4", 4, &random));
  return absl::StrCat(text, R"(
    c1 = Conv <pads = [1,1,1,1]> (x, w1, b1)
    r1 = Relu (c1)
    p0 = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r1)
    pads = Constant <value = int64[8] {0, 0, 1, 0, 0, 0, 0, 1}> ()
    p1 = Pad (p0, pads)
    c2 = Conv (p1, w2)
    n2 = BatchNormalization (c2, g2, e2, m2, v2)
    s2 = Add (n2, p1)
    r2 = Relu (s2)
    f = Flatten (r2)
    y = Gemm <transB = 1> (f, w3, b3)
  })");
}

}  // namespace lemma

#endif  // LEMMA_TESTS_API_QUANTIZATION_RANDOM_NET_H_
