// TASO's operator instances and inputs (SOSP'19, defaults of its generator).
//
// The instances have the meaning that rewrite/taso gives to operators of TASO's rule files, so a
// pair is lifted in the same way as a rule read from such a file.
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
  // Adds sigmoid, tanh, convolutions of stride 2, without padding and in two groups, pooling of
  // stride 2, and the kernels that these need; enlarges any kernel, not only inputs.
  kPlus,
};
std::vector<std::string> TasoInstanceNames(TasoInstances which);

// The whole set, or the named instances (in the set's order) with all inputs. InvalidArgument names
// an instance that does not exist.
absl::StatusOr<std::unique_ptr<OperatorSet>> TasoSet(const std::vector<std::string>& only = {},
                                                     TasoInstances which = TasoInstances::kTaso);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TASO_SET_H_
