// The commands of docs/tutorial-referee.md print what the page shows, and end as it says.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

struct Shown {
  std::string command;
  int exit_status = 0;             // of "# exit status 1" behind the command
  std::vector<std::string> lines;  // below it; "…" stands for anything
};

// The indented commands of the page. A line that ends in \ goes on.
std::vector<Shown> CommandsOf(const std::string& page) {
  std::vector<Shown> commands;
  bool inside = false, goes_on = false;
  for (absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::ConsumePrefix(&line, "    ")) {
      inside = false;
      continue;
    }
    const bool starts = absl::StartsWith(line, "lemma ");
    if (starts) commands.emplace_back();
    if (!starts && !inside) continue;
    inside = true;
    Shown& shown = commands.back();
    if (!starts && !goes_on) {
      for (const auto& part : absl::StrSplit(line, "…")) shown.lines.emplace_back(part);
      continue;
    }
    goes_on = absl::ConsumeSuffix(&line, "\\");
    const std::vector<std::string> parts = absl::StrSplit(line, "  # exit status ");
    absl::StrAppend(&shown.command, parts[0], " ");
    if (parts.size() > 1) {
      EXPECT_TRUE(absl::SimpleAtoi(parts[1], &shown.exit_status)) << line;
    }
  }
  return commands;
}

// The arguments, with files of the reader's own in `folder`.
std::vector<std::string> ArgumentsIn(const std::string& folder, const std::string& command) {
  std::vector<std::string> arguments;
  for (absl::string_view part : absl::StrSplit(command, ' ', absl::SkipEmpty())) {
    std::string word(part);
    const size_t equal = absl::StartsWith(word, "--") ? word.find('=') : std::string::npos;
    const size_t start = equal == std::string::npos ? 0 : equal + 1;
    for (const char* own : {"mean.onnx", "mean_128.onnx", "mean_any.onnx", "page.html",
                            "optimized.verdict", "difference"}) {
      if (absl::StartsWith(word.substr(start), own)) {
        word.insert(start, folder + "/");
        break;
      }
    }
    arguments.push_back(word);
  }
  arguments.erase(arguments.begin());  // lemma
  return arguments;
}

// What the page lets the reader write.
void WriteModels(const std::string& folder) {
  const std::string interface = "g (float[batch,seq] x) => (float[batch,1] y) ";
  const std::string axis = "{ axis = Constant<value = int64[1] {1}>() ";
  std::ofstream(folder + "/mean.onnx")
      << OnnxModel(interface + "{ y = ReduceMean<axes = [1]>(x) }").SerializeAsString();
  std::ofstream(folder + "/mean_128.onnx")
      << OnnxModel(interface + axis +
                   "size = Constant<value = float {128.0}>() sum = ReduceSum(x, axis) "
                   "y = Div(sum, size) }")
             .SerializeAsString();
  std::ofstream(folder + "/mean_any.onnx")
      << OnnxModel(interface + axis +
                   "shape = Shape<start = 1>(x) size = Cast<to = 1>(shape) "
                   "sum = ReduceSum(x, axis) y = Div(sum, size) }")
             .SerializeAsString();
}

TEST(TutorialTest, TheCommandsPrintWhatThePageShows) {
  std::ifstream file("docs/tutorial-referee.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::vector<Shown> commands = CommandsOf(page.str());
  EXPECT_GE(commands.size(), 10u);
  const std::string folder = NewFolder();
  WriteModels(folder);
  for (const Shown& shown : commands) {
    const LemmaResult result = RunLemma(ArgumentsIn(folder, shown.command));
    EXPECT_EQ(result.exit_status, shown.exit_status) << shown.command << result.out << result.err;
    for (const std::string& line : shown.lines) {
      EXPECT_THAT(result.out, HasSubstr(line)) << shown.command;
    }
  }
  EXPECT_THAT(FilesIn(folder), testing::IsSupersetOf({"page.html", "difference"}));
}

}  // namespace
}  // namespace lemma
