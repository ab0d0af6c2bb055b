// The subcommands of `lemma rules`. `arguments` are the arguments after the subcommand's name.
// Results and errors are as for Command::run in cli/commands.h.
#ifndef LEMMA_CLI_RULES_COMMANDS_H_
#define LEMMA_CLI_RULES_COMMANDS_H_

#include "absl/status/statusor.h"
#include "cli/commands.h"

namespace lemma::cli {

absl::StatusOr<int> RunImportTaso(Arguments arguments);
absl::StatusOr<int> RunRulesExplain(Arguments arguments);
absl::StatusOr<int> RunRulesExport(Arguments arguments);
absl::StatusOr<int> RunRulesPrune(Arguments arguments);
absl::StatusOr<int> RunRulesShow(Arguments arguments);
absl::StatusOr<int> RunRulesStats(Arguments arguments);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_RULES_COMMANDS_H_
