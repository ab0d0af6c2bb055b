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

// "taso", "taso_plus", "transformer", "training", and the names of InferenceSets (table_sets.h).
std::vector<std::string> SetNames();

// Makes the set that `names` describes: the name of a set; the name of a set, followed by some of
// its variants; or only variants, which are taken from the first set that has all of them. Variants
// keep the set's order, and all inputs of the set are included. InvalidArgument, with the existing
// names, if there is no such set or variant.
absl::StatusOr<std::unique_ptr<OperatorSet>> NamedSet(const std::vector<std::string>& names);

// Whether a set of SetNames(), or a variant of such a set, has this name.
bool IsNamedSet(const std::string& name);
// The set that the text of a file defines, with all inputs and with the variants that `only` names
// (empty: all). `file` is the name of the file in errors. Errors as in ReadSetFile
// (generator/sets/set_file.h) and TableSet; InvalidArgument if `only` has a name that no variant of
// the set has.
absl::StatusOr<std::unique_ptr<OperatorSet>> SetFromFile(absl::string_view text,
                                                         const std::string& file,
                                                         const std::vector<std::string>& only);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_NAMED_SETS_H_
