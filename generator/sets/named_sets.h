// The operator sets that `lemma generate --ops=` knows.
#ifndef LEMMA_GENERATOR_SETS_NAMED_SETS_H_
#define LEMMA_GENERATOR_SETS_NAMED_SETS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "generator/sets/operator_set.h"

namespace lemma::generator {

// "taso", "taso_plus", "transformer", "training".
std::vector<std::string> SetNames();

// A set's name; or one and then some of its instances; or instances only, of the first set that has
// them all. They come in the set's order, with all of its inputs. InvalidArgument names what there
// is.
absl::StatusOr<std::unique_ptr<OperatorSet>> NamedSet(const std::vector<std::string>& names);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_NAMED_SETS_H_
