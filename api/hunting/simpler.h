// Makes attributes and tensors that are simpler than given ones, for the reduction of a finding
// (api/hunting/reduce.h). The returned lists begin, roughly, with the simplest entries.
#ifndef LEMMA_API_HUNTING_SIMPLER_H_
#define LEMMA_API_HUNTING_SIMPLER_H_

#include <vector>

#include "graph/attr.h"
#include "graph/op_def.h"
#include "graph/tensor.h"

namespace lemma::hunt {

// The complexity of a number. It grows in this order: 0, 1, -0, other integers by magnitude up to
// 10,000 (larger ones are equally complex), fractions, infinities and NaN. A negative integer or
// fraction comes directly after the positive numbers of the same magnitude.
double Complexity(double number);

// Simpler values for an attribute: its default value, simpler numbers, and lists without one of the
// entries or with a simpler entry. The operator need not accept them. Empty if the attribute has
// its default value.
std::vector<AttrValue> SimplerAttrs(const AttrValue& value, const AttrSpec& spec);

// Tensors of the same type whose elements have a smaller sum of complexities: all 0; all 1; with
// numbers made finite, rounded, or replaced by their signs; with parts that are all 0 or all 1.
std::vector<Tensor> SimplerTensors(const Tensor& tensor);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_SIMPLER_H_
