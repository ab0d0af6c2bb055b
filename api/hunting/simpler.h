// Simpler attributes and values than given ones, the simplest first.
#ifndef LEMMA_API_HUNTING_SIMPLER_H_
#define LEMMA_API_HUNTING_SIMPLER_H_

#include <vector>

#include "graph/attr.h"
#include "graph/op_def.h"
#include "graph/tensor.h"

namespace lemma::hunt {

// 0 is simpler than 1, that than other integers, small ones before large ones, these than fractions
// and these than infinities and NaN. Positive numbers are simpler than negative ones.
double Complexity(double number);

// Other values for an attribute: its default, and simpler numbers. They need not be valid. Empty
// if the attribute has its default.
std::vector<AttrValue> SimplerAttrs(const AttrValue& value, const AttrSpec& spec);

// Other tensors of the same type: of zeros, of ones, with finite numbers, with integers, and with
// parts of zeros or ones.
std::vector<Tensor> SimplerTensors(const Tensor& tensor);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_SIMPLER_H_
