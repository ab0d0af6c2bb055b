// Graphs evaluated over any numbers: in the field of graph/expr/field.h, or in double.
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
  // Integers that are not known are 0 or 1, so that they may be positions; or all 0.
  bool zeros = false;
  // In double, reals that are not known lie in (0, 2], where every function has a value; else in
  // [-2, 2].
  bool positive = true;
  int threads = 1;
  // Weights that keep their values. Others of floats become random, as what is not known is; an
  // integer that is known keeps its value.
  absl::flat_hash_set<const Node*> kept;
};

// The elements of `wanted`, in row-major order. `free` take random values instead of their own, as
// do inputs of graphs. A value without a definition is a random function of its operands. What is
// common to several wanted values is computed once, and dropped after its last use. Number is Field
// or double. OutOfRange if a tensor holds positions outside the tensor they are positions in.
template <class Number>
absl::StatusOr<std::vector<std::vector<Number>>> Evaluate(absl::Span<const Value> wanted,
                                                          absl::Span<const Value> free,
                                                          const RandomValues& random);

// What the random elements of a graph's input are drawn by. Of its number: a hash of its type could
// be that of another input, and both would have the same elements.
uint64_t RandomOf(uint64_t seed, const Value& input);

// What is evaluated over the field: real attributes are f32 numbers beside f32, as constants are.
absl::StatusOr<Definition> FieldDefinitionOf(const Node& node);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_RUN_GRAPHS_H_
