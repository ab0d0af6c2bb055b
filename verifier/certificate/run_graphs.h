// Evaluates graphs over the field of graph/expr/field.h or over double.
#ifndef LEMMA_VERIFIER_CERTIFICATE_RUN_GRAPHS_H_
#define LEMMA_VERIFIER_CERTIFICATE_RUN_GRAPHS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma::certificate {

// How random elements are drawn.
struct RandomValues {
  uint64_t seed = 1;
  // Random integers are 0 or 1, so that they can be used as indices. If `zeros` is true, all are 0.
  bool zeros = false;
  // In double, random reals are in (0, 2], where nearly every function has a value. If `positive`
  // is false, they are in [-2, 2]. In the field, all elements are equally likely.
  bool positive = true;
  int threads = 1;  // the number of threads that evaluate an operator
  // Float weights that keep their values. Other float weights become random. Integer weights with
  // values, and constants, keep their values too. `free` (see Evaluate) takes precedence: every
  // value in it is random.
  absl::flat_hash_set<const Node*> kept;
};

// The elements of each value in `wanted`, in row-major order. Inputs and the values in `free` are
// not computed; their elements are random. Weights are random too, except those that keep their
// values (RandomValues::kept). The result of an operator without a definition is a random function
// of its operands. Number is Field or double. OutOfRange if an element is used as an index and lies
// outside the tensor that it indexes.
template <class Number>
absl::StatusOr<std::vector<std::vector<Number>>> Evaluate(absl::Span<const Value> wanted,
                                                          absl::Span<const Value> free,
                                                          const RandomValues& random);

// A seed for random elements of `input`, which must be an input of a graph. It depends on `seed`
// and on the input's number. For callers that evaluate elements themselves; Evaluate does not use
// it.
uint64_t SeedOf(uint64_t seed, const Value& input);

// The definition of `node`, to be evaluated over the field. Real attributes are rounded to f32, as
// constants are, unless an operand or result is f64.
absl::StatusOr<Definition> FieldDefinitionOf(const Node& node);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_RUN_GRAPHS_H_
