#include "tests/cli/lemma_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "gtest/gtest.h"

namespace lemma {

namespace {

// Runs the command. Once `at_work` is true, if it is given, sends the signal.
LemmaResult Run(const std::vector<std::string>& arguments, const std::string& input,
                const std::function<bool()>& at_work, int signal_to_send = SIGINT,
                const std::vector<std::string>& wrapper = {}) {
  // Output goes to files: with pipes, a full one could block the command.
  static const std::string home = NewFolder();
  const std::string folder = NewFolder();
  std::ofstream(folder + "/in", std::ios::binary) << input;
  const pid_t child = fork();
  if (child == 0) {
    setenv("HOME", home.c_str(), 1);
    signal(SIGINT, SIG_DFL);
    dup2(open((folder + "/in").c_str(), O_RDONLY), 0);
    dup2(open((folder + "/out").c_str(), O_WRONLY | O_CREAT, 0600), 1);
    dup2(open((folder + "/err").c_str(), O_WRONLY | O_CREAT, 0600), 2);
    std::vector<char*> argv;
    argv.reserve(wrapper.size() + arguments.size() + 2);
    for (const std::string& a : wrapper) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(const_cast<char*>("cli/lemma"));
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  bool ended = false;
  while (at_work && !at_work() && !ended) {
    usleep(2000);
    ended = waitpid(child, &status, WNOHANG) == child;
  }
  if (at_work && !ended) kill(child, signal_to_send);
  if (!ended) waitpid(child, &status, 0);
  LemmaResult result;
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = ReadAll(folder + "/out");
  result.err = ReadAll(folder + "/err");
  // With a wrapper, status 127 may be the result to be tested.
  if (wrapper.empty()) {
    EXPECT_NE(result.exit_status, 127) << "cli/lemma cannot be started";
  }
  return result;
}

}  // namespace

LemmaResult RunLemma(const std::vector<std::string>& arguments, const std::string& input) {
  return Run(arguments, input, nullptr);
}

LemmaResult InterruptLemma(const std::vector<std::string>& arguments,
                           const std::function<bool()>& at_work) {
  return Run(arguments, "", at_work);
}

LemmaResult KillLemma(const std::vector<std::string>& arguments,
                      const std::function<bool()>& at_work) {
  return Run(arguments, "", at_work, SIGKILL);
}

LemmaResult RunLemmaUnder(const std::vector<std::string>& wrapper,
                          const std::vector<std::string>& arguments) {
  return Run(arguments, "", nullptr, SIGINT, wrapper);
}

std::vector<std::string> Ulimit(const std::string& limit) {
  return {"sh", "-c", "ulimit " + limit + " && exec \"$@\"", "sh"};
}

void ExpectOneLine(const LemmaResult& result, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.err.find("lemma: "), 0u) << result.err;
  for (const std::string& part : parts) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " not in: " << result.err;
  }
}

}  // namespace lemma
