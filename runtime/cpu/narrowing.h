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
// - op(f(q)) becomes f(op(q)) if op only moves elements (NodeTraits::views,
//   reshapes, concat_dim) and f is a dequantization, or if op selects largest
//   elements (NodeTraits::selects_largest) and f never decreases;
// - g(concat(f(p), h(q))) becomes concat(g(f(p)), g(h(q))) if g gives integers of 8 bits;
// - g(f(q)) becomes q if g(f(q)) equals q for all q.
//
// If HasBf16Products() (kernels/bf16_products.h), there are further rewrites. Let `widen` convert
// bf16 numbers to f32, and let `round` round f32 numbers to bf16:
//
// - op(widen(x)) becomes widen(op(x)), and round(op(x)) becomes op(round(x)), if op only moves
//   elements;
// - b(widen(round(x))) becomes widen(round(b(x))) if b is a relu, or a clip whose bounds are bf16
//   numbers;
// - round(widen(x)) becomes x.
//
// A dequantization is recognized by its definition (IntegerOperandOf in
// kernels/integers/operands.h). The functions f, g and h are evaluated, by their definitions, for
// all 256 integers. The results tell whether f is monotone, whether all operands of a concatenation
// have the same f, and whether g(f(q)) = q. Apart from p and q, the operands of the functions must
// be single static numbers (IsStaticValue).
WideGraph Narrowed(WideGraph wide, NodeTraitsCache& traits);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_NARROWING_H_
