// The program writes the shipped files of generated rules today, byte for byte, by the command that
// their first line states.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class ShippedRulesTest : public testing::TestWithParam<const char*> {};

TEST_P(ShippedRulesTest, AreWhatTheProgramWrites) {
  const std::string shipped = Contents(absl::StrCat("data/rules/", GetParam(), ".txt"));
  constexpr char kMadeBy[] = "# Made by: lemma ";
  ASSERT_TRUE(absl::StartsWith(shipped, kMadeBy));
  const std::string line =
      shipped.substr(sizeof(kMadeBy) - 1, shipped.find('\n') + 1 - sizeof(kMadeBy));
  std::vector<std::string> command = absl::StrSplit(line, ' ');
  const std::string out = absl::StrCat(testing::TempDir(), "/", GetParam(), ".txt");
  command.insert(command.end(), {"-o", out});
  const LemmaResult result = RunLemma(command);
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_TRUE(Contents(out) == shipped)
      << "tools/generate_rules " << GetParam() << " makes another file";
  const std::string pruned = absl::StrCat(testing::TempDir(), "/", GetParam(), ".pruned.txt");
  EXPECT_TRUE(Contents(pruned) == Contents(absl::StrCat("data/rules/", GetParam(), ".pruned.txt")));
}

INSTANTIATE_TEST_SUITE_P(All, ShippedRulesTest,
                         testing::Values("taso", "taso_plus", "training", "transformer"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lemma
