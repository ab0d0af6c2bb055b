// Makes errors about options, and replaces the options' names in them.
//
// A message names an option as "option NAME": "option runs: must be at least 1". A program whose
// options have other names, such as flags, replaces these names.
#ifndef LEMMA_API_MODELS_OPTION_ERROR_H_
#define LEMMA_API_MODELS_OPTION_ERROR_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lemma::api {

// Marks the error, by a payload, as one whose message names options.
absl::Status MarkOptionError(absl::Status error);

// A marked InvalidArgument error with this message.
absl::Status OptionError(absl::string_view message);

// The error of an option `runs` below `least`, or above 1,000,000; OK otherwise.
absl::Status CheckRuns(int64_t runs, int64_t least);

// Removes the mark of a marked error. Replaces by rename(NAME) each "option NAME" whose NAME was in
// the message when the error was marked. Other names stay, for example in a file's name that was
// put before the message later. Returns any other status unchanged.
absl::Status RenameOptions(const absl::Status& error,
                           absl::FunctionRef<std::string(absl::string_view name)> rename);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_OPTION_ERROR_H_
