// Runs the `lemma` command as a user does.
#ifndef LEMMA_TESTS_CLI_LEMMA_PROCESS_H_
#define LEMMA_TESTS_CLI_LEMMA_PROCESS_H_

#include <functional>
#include <string>
#include <vector>

#include "tests/base/temp_files.h"

namespace lemma {

// How the command ended, and what it printed.
struct LemmaResult {
  int exit_status = -1;  // 128 + the signal's number if a signal ended the command
  std::string out, err;  // all of standard output and standard error
};

// Runs the command with these arguments and with `input` on standard input; waits for its end. HOME
// is a new folder, which all commands of one test program share.
LemmaResult RunLemma(const std::vector<std::string>& arguments, const std::string& input = "");

// The same with empty input. Calls `at_work` repeatedly; once it returns true, interrupts the
// command as Ctrl-C does (SIGINT), unless the command has ended.
LemmaResult InterruptLemma(const std::vector<std::string>& arguments,
                           const std::function<bool()>& at_work);
// As InterruptLemma, but kills the command (SIGKILL).
LemmaResult KillLemma(const std::vector<std::string>& arguments,
                      const std::function<bool()>& at_work);

// As RunLemma with empty input, but runs the command line "WRAPPER lemma ARGUMENTS". `wrapper` is a
// program with its first arguments, such as {"nice", "-n", "5"}; this program must start the
// command.
LemmaResult RunLemmaUnder(const std::vector<std::string>& wrapper,
                          const std::vector<std::string>& arguments);
// A wrapper for RunLemmaUnder that sets a limit by the shell's `ulimit`. `limit` holds the
// arguments of `ulimit`, such as "-v 500000" (500,000 KiB of address space).
std::vector<std::string> Ulimit(const std::string& limit);

// Expects exit status 2, and exactly one line on standard error, which begins with "lemma: " and
// contains all `parts`.
void ExpectOneLine(const LemmaResult& result, const std::vector<std::string>& parts);

}  // namespace lemma

#endif  // LEMMA_TESTS_CLI_LEMMA_PROCESS_H_
