// Keeps values as integers of 8 bits, or as bf16, across operators that only move or select
// elements.
#ifndef LEMMA_RUNTIME_CPU_NARROWING_H_
#define LEMMA_RUNTIME_CPU_NARROWING_H_

#include "runtime/cpu/widening.h"

namespace lemma::cpu {

// A graph that computes the same function of the same inputs as `wide`, bit by bit. Element-wise
// functions f and h of 8-bit integers, such as dequantizations, move behind other operators, and
// quantizations g move in front of concatenations. The main conditions:
//
// - op(f(q)) becomes f(op(q)) if op only moves elements (NodeTraits::views, reshapes, concat_dim)
//   and f is a dequantization, or if op selects largest elements (NodeTraits::selects_largest) and
//   f is monotone;
// - g(concat(f(p), h(q))) becomes concat(g(f(p)), g(h(q))) if g gives integers of 8 bits;
// - g(f(q)) becomes q if g(f(q)) equals q for all q;
// - on processors with HasBf16Products, op(f(x)) becomes f(op(x)) if op only moves elements and f
//   widens bf16 numbers, g(op(x)) becomes op(g(x)) if g rounds to bf16, h(f(g(x))) becomes
//   f(g(h(x))) if h is a relu or bounds by bf16 numbers, and a bf16 number that is widened and
//   rounded to bf16 becomes itself.
//
// A dequantization is recognized by its definition (IntegerOperandOf). Whether f is monotone,
// whether all operands of a concatenation have the same f, and whether g(f(q)) = q is found by
// computing the functions, by their definitions, for all 256 integers. Their other operands must be
// single static numbers.
WideGraph Narrowed(WideGraph wide, NodeTraitsCache& traits);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_NARROWING_H_
