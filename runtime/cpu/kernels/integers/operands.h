// Recognizes products of quantized values by the definitions of their operands.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_OPERANDS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_OPERANDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lemma::cpu {

// A value (source - zero) * scales[n - 1] * … * scales[0], element by element, in f32 or i32, where
// n is scales.size().
struct IntegerOperand {
  Value source;                // u8 or i8, dynamic
  Value zero;                  // one number, an integer in [-255, 255]; empty: 0
  std::vector<Value> scales;   // one f32 each
  int64_t largest = 0;         // a bound on |source - zero|
  std::vector<NodePtr> nodes;  // the nodes that compute the value, operands before users
};

// `v` as an IntegerOperand; nullopt if it is not of this form. Takes time linear in the number of
// nodes.
std::optional<IntegerOperand> IntegerOperandOf(const Value& v);

// The kind of product that a head application computes; kNone: no such product.
enum class ProductHead { kNone, kConvolution, kMatrices };
ProductHead HeadOf(const Node& node);  // defined in product_kernel.cc, which lists the operators

// A convolution of images or a matrix product of an integer operand and known integers. The sums of
// a product in f32 fit in an i32; the sums of a product in i32 wrap.
struct IntegerProduct {
  IntegerOperand x;
  // The weight: `integers` * weight_scale, then transposed: dimension d of the head's operand is
  // dimension permutation[d] of `integers`. Both factors are static.
  Value integers;
  Value weight_scale;  // f32, broadcast over `integers`; empty: 1
  std::vector<int> permutation;
  std::vector<NodePtr> weight_nodes;  // the nodes that compute the weight, operands before users
  bool is_float = false;              // the sums are stored as f32; false: as i32
};

// `head` as an IntegerProduct; nullopt if it is another application, if a sum in f32 may not fit,
// or if integers gain nothing, on this machine or for so few columns.
std::optional<IntegerProduct> IntegerProductOf(const Node& head);

// A static f32 value `integers` * scale, element by element. The shape of `integers` is the
// value's, and `scale` is broadcast over it.
struct ScaledIntegers {
  Value integers;  // known integers of magnitude at most 255
  Value scale;
};

// `v` as ScaledIntegers; nullopt if it is not of this form.
std::optional<ScaledIntegers> ScaledIntegersOf(const Value& v);

// A bound on the magnitude of the elements of the static value `v`, from their values or types;
// nullopt unless they are known to be integers of magnitude at most 255.
std::optional<int64_t> LargestKnownInteger(const Value& v);

// A number of bits, from 0 to 9, that is enough to tell the elements of `v`
// apart. LargestKnownInteger must have a result for `v`. If `v` is a
// difference, such as of integers and their zero point, the result is the bits
// for the elements before the subtraction.
int BitsBesideZeroOf(const Value& v);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_OPERANDS_H_
