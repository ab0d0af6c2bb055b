// Recognizes values that are integers of 8 bits, or such integers less a zero point, by their
// definitions and payloads.
#ifndef LEMMA_RUNTIME_PLAN_INTEGER_VALUES_H_
#define LEMMA_RUNTIME_PLAN_INTEGER_VALUES_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"

namespace lemma {

struct IntegerRange {
  int64_t low = 0, high = 0;
};

// Whether the type is u8 or i8, and the range of such a type.
bool IsByteType(DType dtype);
IntegerRange RangeOfBytes(DType dtype);

// The largest magnitude of an integer of 8 bits less a zero point of its type.
constexpr int64_t kLargestStep = 255;

// The operands a and b if `v` is fn(a, b), element by element; nullopt otherwise.
std::optional<std::pair<Value, Value>> OperandsOfFunction(ScalarFn fn, const Value& v,
                                                          NodeTraitsCache& traits);

// Whether `v` holds, in f32 or i32, the integers of its only operand, which are of 8 bits.
bool WidensBytes(const Value& v, NodeTraitsCache& traits);

// A range from 0 or below to 0 or above that contains the elements of `v`, by its payload, its type
// or the definitions of at most `steps` operators; nullopt unless they are known to be integers of
// magnitude at most kLargestStep.
std::optional<IntegerRange> RangeOfIntegers(const Value& v, NodeTraitsCache& traits, int steps = 8);

// A value `source` - `zero`, element by element, in f32 or i32.
struct CenteredBytes {
  Value source;                // u8 or i8
  Value zero;                  // one number of the value's type; empty: 0
  std::vector<NodePtr> nodes;  // the nodes that compute the value, operands before users
};
// `v` as CenteredBytes; nullopt if it is not of this form.
std::optional<CenteredBytes> CenteredBytesOf(const Value& v, NodeTraitsCache& traits);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_INTEGER_VALUES_H_
