// Options of the library as flags of the command.
#ifndef LEMMA_CLI_OPTION_NAMES_H_
#define LEMMA_CLI_OPTION_NAMES_H_

#include "absl/status/status.h"

namespace lemma::cli {

// The status of a function of api/, which names options as in "option 'max_ops': must be …", with
// flags in their place: "--max-ops: must be …"; -o for 'output'.
absl::Status InFlags(const absl::Status& status);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTION_NAMES_H_
