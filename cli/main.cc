// The `lemma` command: finds the subcommand, and turns a status into a line and an exit status.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/version.h"
#include "base/failures.h"
#include "base/flags.h"
#include "base/json.h"
#include "base/progress_line.h"
#include "cli/commands.h"

namespace lemma::cli {
namespace {

constexpr char kDoc[] =
    "Lemma rewrites tensor programs by proved rules, so that real models run faster.";
constexpr char kNotes[] =
    "lemma COMMAND --help explains a command; lemma --version prints versions.\n"
    "lemma --pipe COMMAND is for programs: it writes progress and an error's code as lines.\n"
    "MODEL is ONNX, the text form or our protobuf, told apart by content.\n"
    "Exit status: 0 done; 1 the answer is no; 2 wrong use or bad input; 3 an internal "
    "failure; 4 no answer was found; 130 interrupted.\n";

std::string Help() {
  std::string text = absl::StrCat(kDoc, "\n\nUsage: lemma COMMAND [FLAGS] ...\n\n");
  for (const Command& command : AllCommands()) {
    std::string left = absl::StrCat(command.name, " ", command.synopsis);
    left.resize(std::max<size_t>(left.size() + 2, 24), ' ');
    absl::StrAppend(&text, "  ", left, command.summary, "\n");
  }
  absl::StrAppend(&text, "\n", kNotes);
  return text;
}

std::string HelpJson() {
  Json commands = Json::Array();
  for (const Command& command : AllCommands()) {
    Json entry = Json::Object();
    entry.Set("name", command.name).Set("synopsis", command.synopsis);
    entry.Set("summary", command.summary);
    commands.Add(std::move(entry));
  }
  Json result = Json::Object();
  result.Set("doc", kDoc).Set("notes", kNotes).Set("commands", std::move(commands));
  return result.ToString() + "\n";
}

int Report(const absl::Status& status) {
  std::string line = absl::StrReplaceAll(status.message(), {{"\n", " "}});
  std::fflush(stdout);
  if (ProgressLine::for_program) {
    std::fprintf(stderr, "error: %s: %s\n", absl::StatusCodeToString(status.code()).c_str(),
                 line.c_str());
  } else {
    std::fprintf(stderr, "lemma: %s%s\n",
                 ExitOf(status) == kExitInternal ? "internal failure: " : "", line.c_str());
  }
  return ExitOf(status);
}

int Main(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments[0] == "--pipe") {
    ProgressLine::for_program = true;
    arguments.erase(arguments.begin());
  }
  if (arguments.empty()) {
    std::fputs(Help().c_str(), stderr);
    return kExitBadInput;
  }
  if (arguments[0] == "help" && arguments.size() > 1) arguments = {arguments[1], "--help"};
  const std::string& name = arguments[0];
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(Help().c_str(), stdout);
    return kExitOk;
  }
  if (name == "--help=json") {
    std::fputs(HelpJson().c_str(), stdout);
    return kExitOk;
  }
  if (name == "--version") {
    std::puts(api::VersionText().c_str());
    return kExitOk;
  }
  std::vector<std::string> names;
  for (const Command& command : AllCommands()) {
    names.push_back(command.name);
    if (name != command.name) continue;
    absl::StatusOr<int> status = command.run(absl::MakeSpan(arguments).subspan(1));
    if (!status.ok()) return Report(status.status());
    // A full disk or a closed pipe shows only when the buffer is written.
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      return Report(absl::InvalidArgumentError("standard output cannot be written"));
    }
    return *status;
  }
  names.push_back("--version");
  names.push_back("--help");
  std::string nearest = Nearest(name, names);
  return Report(absl::InvalidArgumentError(
      absl::StrCat("unknown command ", name,
                   nearest.empty() ? "; see lemma --help" : "; did you mean " + nearest + "?")));
}

}  // namespace

int ExitOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return kExitInternal;
    default:
      return kExitBadInput;
  }
}

std::vector<Command> AllCommands() {
  return {
#define LEMMA_COMMAND(name, run, synopsis, summary) {name, synopsis, summary, run},
#include "cli/commands.inc"
#undef LEMMA_COMMAND
  };
}

}  // namespace lemma::cli

int main(int argc, char** argv) {
  lemma::InstallFailureHandlers();
  const int status = lemma::WithoutExceptions(
      [=] { return lemma::cli::Main(std::vector<std::string>(argv + 1, argv + argc)); });
  // Skips the libraries' work at exit, which is not needed. OpenBLAS, which another library brings
  // along, would wait forever for a thread of its own that lacks memory.
  std::fflush(nullptr);
  _exit(status);
}
