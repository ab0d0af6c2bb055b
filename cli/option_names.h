// Replaces option names of the library by flags of the command, in messages that quote the names.
#ifndef LEMMA_CLI_OPTION_NAMES_H_
#define LEMMA_CLI_OPTION_NAMES_H_

#include "absl/status/status.h"

namespace lemma::cli {

// Takes the status of a function of api/. "option 'max_ops': must be …" becomes "--max-ops: must be
// …"; 'output' becomes -o. For messages without quotes see WithFlags (cli/common_flags.h).
absl::Status InFlags(const absl::Status& status);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTION_NAMES_H_
