// lemma verify --replay: proof files repeated by the small checker alone.
#ifndef LEMMA_CLI_REPLAY_H_
#define LEMMA_CLI_REPLAY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/rules/rules_file.h"

namespace lemma::cli {

// Looks at each rule (or at those of `only`) at small sizes, and repeats its proof, NAME.proof in
// `folder`. Prints a table; kExitNo if a proof is missing or is not accepted, or if the sides of a
// rule differ. Neither the prover nor a solver runs.
absl::StatusOr<int> ReplayProofs(const api::RulesFile& file, const std::vector<std::string>& only,
                                 const std::string& folder, bool json);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_REPLAY_H_
