#include "verifier/prover/recheck.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

extern char** environ;

namespace lemma {
namespace {

// Number of queries per start of the solver.
constexpr size_t kBatch = 64;

// A file in memory: nothing is left of it in any case. Read from its beginning.
class MemoryFile {
 public:
  static absl::StatusOr<std::unique_ptr<MemoryFile>> Holding(const std::string& text) {
    const int file = memfd_create("queries", MFD_CLOEXEC);
    if (file < 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("no file in memory can be made: ", std::strerror(errno)));
    }
    auto result = std::make_unique<MemoryFile>(file);
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = write(file, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    if (done < text.size() || lseek(file, 0, SEEK_SET) != 0) {
      return absl::ResourceExhaustedError("a file in memory cannot be written");
    }
    return result;
  }
  explicit MemoryFile(int file) : file_(file) {}
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int file() const { return file_; }

 private:
  const int file_;
};

// Runs a program on `input` and returns its standard output.
absl::StatusOr<std::string> Output(const std::vector<std::string>& command,
                                   const std::string& input) {
  auto stdin_file = MemoryFile::Holding(input);
  if (!stdin_file.ok()) return stdin_file.status();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::FailedPreconditionError(std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, (*stdin_file)->file(), 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return absl::FailedPreconditionError(
        absl::StrCat(command[0], ": cannot be started: ", std::strerror(error)));
  }
  std::string output;
  char buffer[1 << 14];
  while (true) {
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    output.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // Some systems report a missing program only here.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && output.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(command[0], ": cannot be started"));
  }
  return output;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Rechecker>> Rechecker::Create(const RecheckOptions& options) {
  auto version = Output({options.solver, "--version"}, "");
  if (!version.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(version.status().message(), "; Debian's package cvc5 has it"));
  }
  std::unique_ptr<Rechecker> rechecker(new Rechecker(options));
  // "This is cvc5 version 1.0.3".
  const size_t at = version->find("cvc5 version ");
  if (at == std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.solver, ": is not cvc5: --version does not say so"));
  }
  const size_t end = version->find_first_of(" \n[", at + 13);
  rechecker->version_ = absl::StrCat("cvc5 ", version->substr(at + 13, end - at - 13));
  return rechecker;
}

absl::StatusOr<std::vector<std::string>> Rechecker::Ask(
    const std::vector<const std::string*>& scripts) const {
  std::string text;
  for (size_t i = 0; i < scripts.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "(reset)\n", "(echo \"query ", i, "\")\n", *scripts[i],
                    "\n(check-sat)\n");
  }
  auto output =
      Output({options_.solver, "--lang=smt2", absl::StrCat("--rlimit-per=", options_.rlimit),
              absl::StrCat("--tlimit-per=", options_.milliseconds)},
             text);
  if (!output.ok()) return output.status();
  // Expects "query 3", then its answer. Anything else ends the batch.
  std::vector<std::string> answers;
  size_t begun = 0;
  for (absl::string_view line : absl::StrSplit(*output, '\n')) {
    if (absl::ConsumePrefix(&line, "\"query ") || absl::ConsumePrefix(&line, "query ")) {
      if (answers.size() < begun) break;
      ++begun;
    } else if (answers.size() >= begun) {
      break;
    } else if (line == "unsat" || line == "sat" || line == "unknown") {
      answers.emplace_back(line);
    } else {
      if (absl::StartsWith(line, "(error")) answers.emplace_back(line.substr(0, 400));
      break;
    }
  }
  if (answers.size() < scripts.size() &&
      (answers.empty() || !absl::StartsWith(answers.back(), "(error"))) {
    answers.emplace_back("unknown");
  }
  return answers;
}

absl::StatusOr<RecheckResult> Rechecker::Check(const std::vector<ProofLog::Query>& queries) {
  std::map<std::string, const ProofLog::Query*> distinct;
  for (const ProofLog::Query& query : queries) distinct.emplace(query.smt2, &query);
  std::vector<const std::string*> open;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [script, query] : distinct) {
      if (answers_.count(script) == 0) open.push_back(&script);
    }
  }
  RecheckResult result;
  for (size_t at = 0; at < open.size();) {
    if (options_.interrupted != nullptr && options_.interrupted->load()) break;
    const size_t end = std::min(open.size(), at + kBatch);
    auto answers = Ask({open.begin() + at, open.begin() + end});
    if (!answers.ok()) return answers.status();
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::string& answer : *answers) answers_.emplace(*open[at++], std::move(answer));
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [script, query] : distinct) {
    auto answer = answers_.find(script);
    if (answer == answers_.end() || answer->second == "unknown") {
      ++result.unknown;
    } else if (answer->second == "unsat") {
      ++result.agreed;
    } else {
      result.disagreed.push_back({*query, answer->second});
    }
  }
  return result;
}

}  // namespace lemma
