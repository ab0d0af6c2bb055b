// Makes the operator sets that `lemma generate --ops=` names.
#ifndef LEMMA_GENERATOR_SETS_NAMED_SETS_H_
#define LEMMA_GENERATOR_SETS_NAMED_SETS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "generator/sets/operator_set.h"

namespace lemma::generator {

// "taso", "taso_plus", "transformer", "training", and the sets for inference.
std::vector<std::string> SetNames();

// Makes the set that `names` describes: the name of a set; the name of a set and then some of its
// variants; or variants only, which are taken from the first set that has them all. Variants keep
// the set's order; all of its inputs are included. InvalidArgument, with the existing names, if
// there is no such set or variant.
absl::StatusOr<std::unique_ptr<OperatorSet>> NamedSet(const std::vector<std::string>& names);

// Whether `name` is that of a set of the program or of a variant in one.
bool IsNamedSet(const std::string& name);
// The set of the file `text`, or those of its variants that `only` names; `file` is the name of the
// text in errors. Errors as in ReadSetFile (generator/sets/set_file.h) and TableSet.
absl::StatusOr<std::unique_ptr<OperatorSet>> SetFromFile(absl::string_view text,
                                                         const std::string& file,
                                                         const std::vector<std::string>& only);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_NAMED_SETS_H_
