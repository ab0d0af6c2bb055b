// The subcommands of `lemma`. Their table is commands.inc.
#ifndef LEMMA_CLI_COMMANDS_H_
#define LEMMA_CLI_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/failures.h"

namespace lemma::cli {

// Exit statuses.
constexpr int kExitOk = 0;
// The answer is no; for example, outputs differ, a check or a proof failed, `lemma pet` found no
// part, or `lemma hunt` found a difference.
constexpr int kExitNo = 1;
constexpr int kExitUnknown = 4;  // the answer is neither yes nor no
using lemma::kExitBadInput;      // any error for which there is no other status
using lemma::kExitInternal;
constexpr int kExitInterrupted = 130;  // Ctrl-C: 128 + the number of the signal, as in shells

// The exit status of an error: kExitInterrupted for Cancelled; kExitInternal for Internal, Unknown
// and DataLoss; kExitBadInput for other errors. kExitOk if there is no error.
int ExitOf(const absl::Status& status);

// A command gets the arguments after its name and writes results to standard output. It returns
// kExitOk, kExitNo or kExitUnknown, or an error; main then prints the error's message as one line
// on standard error.
using Arguments = absl::Span<const std::string>;
struct Command {
  const char* name;
  const char* synopsis;  // the arguments, for the help page
  const char* summary;   // one line
  absl::StatusOr<int> (*run)(Arguments);
};

// The commands of commands.inc, in its order.
std::vector<Command> AllCommands();

#define LEMMA_COMMAND(name, run, synopsis, summary) absl::StatusOr<int> run(Arguments arguments);
#include "cli/commands.inc"
#undef LEMMA_COMMAND
absl::StatusOr<int> RunCostsCheck(Arguments arguments);  // `lemma costs check`; RunCosts calls it

}  // namespace lemma::cli

#endif  // LEMMA_CLI_COMMANDS_H_
