// Simpler attributes and values than given ones, roughly the simplest first.
#ifndef LEMMA_API_HUNTING_SIMPLER_H_
#define LEMMA_API_HUNTING_SIMPLER_H_

#include <vector>

#include "graph/attr.h"
#include "graph/op_def.h"
#include "graph/tensor.h"

namespace lemma::hunt {

// Grows in this order: 0, 1, other integers by magnitude, fractions, infinities and NaN. A negative
// number counts as slightly more complex than its absolute value.
double Complexity(double number);

// Other values for an attribute: its default, simpler numbers, and lists with an entry less or a
// simpler one. They need not be valid. Empty if the attribute has its default.
std::vector<AttrValue> SimplerAttrs(const AttrValue& value, const AttrSpec& spec);

// Tensors of the same type whose elements have a smaller sum of complexities: of zeros, of ones,
// with finite numbers, with integers, and with parts of zeros or ones.
std::vector<Tensor> SimplerTensors(const Tensor& tensor);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_SIMPLER_H_
