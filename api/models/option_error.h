// Errors about options.
//
// A message writes an option as "option NAME", as in "option runs: must be at least 1". A program
// that has other names for its options, such as flags, puts these in their place.
#ifndef LEMMA_API_MODELS_OPTION_ERROR_H_
#define LEMMA_API_MODELS_OPTION_ERROR_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lemma::api {

// The same error, marked as one whose message names options: a payload lists them.
absl::Status NamesOptions(absl::Status error);

// The same for an InvalidArgument with this message.
absl::Status OptionError(absl::string_view message);

// The error with rename(NAME) in the place of each "option NAME", and without the mark. A status
// that is not marked stays as it is.
absl::Status RenameOptions(const absl::Status& error,
                           absl::FunctionRef<std::string(absl::string_view name)> rename);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_OPTION_ERROR_H_
