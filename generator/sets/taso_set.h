// Makes the operator sets with the variants and inputs of TASO's generator (docs/taso.md).
//
// The variants have the meaning that rewrite/taso gives to the operators in TASO's rule files. So a
// pair is lifted in the same way as a rule that is read from such a file.
#ifndef LEMMA_GENERATOR_SETS_TASO_SET_H_
#define LEMMA_GENERATOR_SETS_TASO_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/sets/operator_set.h"

namespace lemma::generator {

enum class TasoVariants {
  kTaso,
  // The variants of kTaso, sigmoid, tanh, and more variants of pooling and convolution: with stride
  // 2, and without padding. The set has more inputs: convolution kernels of two groups and of size
  // 1 × 1, and a second scalar. Any value of rank 4 can be enlarged; in kTaso, only a convolution
  // kernel that is an input.
  kPlus,
};
std::vector<std::string> TasoVariantNames(TasoVariants which);

// The variants that `only` names (empty: all), in the set's order, with all inputs.
// InvalidArgument, with the name, if `only` names a variant that does not exist.
absl::StatusOr<std::unique_ptr<OperatorSet>> TasoSet(const std::vector<std::string>& only = {},
                                                     TasoVariants which = TasoVariants::kTaso);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TASO_SET_H_
