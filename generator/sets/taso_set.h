// TASO's operator instances and inputs (SOSP'19, its generator's defaults).
//
// The instances mean what rewrite/taso says of the operators of TASO's rule files, so that a pair
// of graphs is lifted as a rule read from such a file is.
#ifndef LEMMA_GENERATOR_SETS_TASO_SET_H_
#define LEMMA_GENERATOR_SETS_TASO_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/sets/operator_set.h"

namespace lemma::generator {

enum class TasoInstances {
  kTaso,
  // And sigmoid, tanh, convolutions of stride 2, without padding and in two groups, pooling of
  // stride 2, and the kernels that these take; and enlarges any kernel, not inputs only.
  kPlus,
};
std::vector<std::string> TasoInstanceNames(TasoInstances which);

// The whole set, or the instances of these names (in the set's order) and all inputs.
// InvalidArgument names an instance that does not exist.
absl::StatusOr<std::unique_ptr<OperatorSet>> TasoSet(const std::vector<std::string>& only = {},
                                                     TasoInstances which = TasoInstances::kTaso);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TASO_SET_H_
