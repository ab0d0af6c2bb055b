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

// The integers from `low` to `high`, both included.
struct IntegerRange {
  int64_t low = 0, high = 0;
};

// Whether the type is u8 or i8.
bool IsByteType(DType dtype);
// The range of the type, which must be u8 or i8.
IntegerRange RangeOfBytes(DType dtype);

// The largest magnitude of an integer of 8 bits less a zero point of its type.
constexpr int64_t kLargestStep = 255;

// The operands a and b if `v` is fn(a, b), element by element; nullopt otherwise. `fn` takes two
// operands.
std::optional<std::pair<Value, Value>> OperandsOfFunction(ScalarFn fn, const Value& v,
                                                          NodeTraitsCache& traits);

// Whether `v` holds, in f32 or i32, the integers of its only operand, which are of 8 bits.
bool WidensBytes(const Value& v, NodeTraitsCache& traits);

// A range that contains 0 and all elements of `v`, from its type, its payload or the definitions of
// at most `steps` operators. nullopt unless `v` has an integer type of at most 8 bits, or is f32 or
// i32 and known to hold only integers of magnitude at most kLargestStep.
std::optional<IntegerRange> RangeOfIntegers(const Value& v, NodeTraitsCache& traits, int steps = 8);

// A value `source` - `zero`, element by element, in f32 or i32. `zero` may be any number. A caller
// that needs a zero point of the type of `source` must check this.
struct CenteredBytes {
  Value source;  // u8 or i8
  Value zero;    // one element, of the value's type; empty: 0
  // The nodes from `source` to the value, operands before users; not those that compute `zero`.
  std::vector<NodePtr> nodes;
};
// `v` as CenteredBytes; nullopt if it is not of this form.
std::optional<CenteredBytes> CenteredBytesOf(const Value& v, NodeTraitsCache& traits);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_INTEGER_VALUES_H_
