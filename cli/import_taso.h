// lemma rules import-taso: TASO's rules, each decided.
#ifndef LEMMA_CLI_IMPORT_TASO_H_
#define LEMMA_CLI_IMPORT_TASO_H_

#include "absl/status/statusor.h"
#include "cli/commands.h"

namespace lemma::cli {

// As Command::run; what follows "import-taso".
absl::StatusOr<int> RunImportTaso(Arguments arguments);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_IMPORT_TASO_H_
