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

struct RandomValues {
  uint64_t seed = 1;
  // Unknown integers are 0 or 1, so that they may serve as positions. If `zeros` is true, all are
  // 0.
  bool zeros = false;
  // In double, unknown reals are in (0, 2], where every function has a value. If `positive` is
  // false, they are in [-2, 2].
  bool positive = true;
  int threads = 1;
  // Weights that keep their values. Other float weights become random, like unknown values. Known
  // integers always keep their values.
  absl::flat_hash_set<const Node*> kept;
};

// The elements of each of `wanted`, in row-major order. Inputs and the values in `free` are random.
// The result of an operator without a definition is a random function of its operands. Shared
// values are computed once and dropped after their last use. Number is Field or double. OutOfRange
// if an element is used as an index and lies outside the tensor that it indexes.
template <class Number>
absl::StatusOr<std::vector<std::vector<Number>>> Evaluate(absl::Span<const Value> wanted,
                                                          absl::Span<const Value> free,
                                                          const RandomValues& random);

// The seed for the elements of a graph's input. It depends on the input's number, so that two
// inputs of one type have different elements.
uint64_t RandomOf(uint64_t seed, const Value& input);

// The definition to evaluate over the field. Real attributes of f32 operators are rounded to f32,
// as constants are.
absl::StatusOr<Definition> FieldDefinitionOf(const Node& node);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_RUN_GRAPHS_H_
