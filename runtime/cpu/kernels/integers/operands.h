// Recognizes products of quantized values by the definitions of their operands.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_OPERANDS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_OPERANDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lemma::cpu {

// A value (source - zero) * scales…, element by element, computed in f32 or i32.
struct IntegerOperand {
  Value source;                // u8 or i8, dynamic
  Value zero;                  // one number, an integer in [-255, 255]; empty: 0
  std::vector<Value> scales;   // one f32 each
  int64_t largest = 0;         // the largest |source - zero|
  std::vector<NodePtr> nodes;  // that compute the value, operands before users
};

// `v` as such a value; nullopt if it is not of this form. Linear in the chain's length.
std::optional<IntegerOperand> IntegerOperandOf(const Value& v);

// What a product's head computes.
enum class ProductHead { kNone, kConvolution, kMatrices };
ProductHead HeadOf(const Node& node);  // defined in product_kernel.cc, which lists the operators

// A convolution of images or a matrix product of an integer operand and known integers. If it
// computes in f32, its sums fit in an i32; if it computes in i32, they wrap.
struct IntegerProduct {
  IntegerOperand x;
  // The weight: `integers` [* scale], then transposed: dimension d of the head's operand is
  // dimension permutation[d] of `integers`. Static.
  Value integers;
  Value weight_scale;  // f32, broadcast over `integers`; empty: 1
  std::vector<int> permutation;
  std::vector<NodePtr> weight_nodes;  // that compute the head's operand, operands before users
  // The sums are stored as f32, or as i32.
  bool is_float = false;
};

// `head` as such a product; nullopt if it is another application, if a sum may not fit, or if the
// machine gains nothing by integers.
std::optional<IntegerProduct> IntegerProductOf(const Node& head);

// The largest magnitude of the known integers `v`; nullopt if they are not all integers of at most
// 255.
std::optional<int64_t> LargestKnownInteger(const Value& v);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_OPERANDS_H_
