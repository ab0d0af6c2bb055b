// The subcommands, one file each; commands.inc is their table.
#ifndef LEMMA_CLI_COMMANDS_H_
#define LEMMA_CLI_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/failures.h"

namespace lemma::cli {

// Exit statuses. ExitOf gives the exit status of an error.
constexpr int kExitOk = 0;
constexpr int kExitNo =
    1;  // the answer is no: outputs differ, a check failed, a proof was not found
constexpr int kExitUnknown = 4;  // neither yes nor no
using lemma::kExitBadInput;
using lemma::kExitInternal;
constexpr int kExitInterrupted = 130;  // Ctrl-C, as shells count signals

int ExitOf(const absl::Status& status);

// A command gets the arguments after its name, writes results to standard output, and returns
// kExitOk, kExitNo or kExitUnknown, or an error whose message becomes the one line on standard
// error.
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
absl::StatusOr<int> RunCostsCheck(Arguments arguments);  // of RunCosts

}  // namespace lemma::cli

#endif  // LEMMA_CLI_COMMANDS_H_
