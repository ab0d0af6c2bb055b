// Each pair of data/referee gets the verdict that it deserves (docs/referee-corpus.md), or is
// listed here as one that Lemma does not decide yet.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

// The pairs that are only "unknown" today, by what is missing. A pair that gets its verdict has to
// leave the list.
const std::map<std::string, std::vector<std::string>>& Undecided() {
  static const auto* const lists = new std::map<std::string, std::vector<std::string>>{
      {"folds into transposed convolutions, merged groups and split weights are not explained",
       {"ultralytics_25364_transposed_right", "pytorch_180995_transposed_groups_right",
        "taso_31_merged_groups_zeros", "taso_rule_24_by_group"}},
      {"exp is not known to be increasing", {"optimizer_281_monotone_argmax"}},
      {"definitions in double, which confirm a difference, do not round to f16",
       {"ort_8787_cast_to_half"}},
      {"infinite constants are not real numbers", {"onnxsim_290_minus_infinity"}},
      {"constants of four dimensions are too many cases", {"ort_28229_bias_scale_right"}},
      {"numbers that are quotients of other numbers are not related to them",
       {"ort_32132_one_step"}},
  };
  return *lists;
}

struct Pair {
  std::string name, verdict, contract;
};

void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.name; }

std::vector<Pair> ReadCorpus() {
  std::stringstream text;
  text << std::ifstream("data/referee/corpus.json").rdbuf();
  google::protobuf::Struct corpus;
  if (!google::protobuf::util::JsonStringToMessage(text.str(), &corpus).ok()) return {};
  std::vector<Pair> pairs;
  for (const auto& value : corpus.fields().at("pairs").list_value().values()) {
    const auto& fields = value.struct_value().fields();
    auto field = [&](const std::string& name) -> std::string {
      auto at = fields.find(name);
      return at == fields.end() ? "" : at->second.string_value();
    };
    pairs.push_back({field("name"), field("verdict"), field("contract")});
  }
  return pairs;
}

// What the command answers, in corpus.json's words, or "unknown".
struct Answer {
  std::string verdict, contract, text;
};

Answer Ask(const std::string& name) {
  const std::string folder = absl::StrCat("data/referee/", name);
  LemmaResult result =
      RunLemma({"referee", absl::StrCat(folder, "/before.onnx"),
                absl::StrCat(folder, "/after.onnx"), absl::StrCat("--inputs=", folder)});
  Answer answer{"error", "", absl::StrCat(result.out, result.err)};
  switch (result.exit_status) {
    case 0:
      answer.verdict = "proved";
      for (const auto& line : absl::StrSplit(result.out, '\n')) {
        std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
        if (words.size() == 2 && words[0] == "contract") answer.contract = words[1];
      }
      break;
    case 1:
      if (absl::StartsWith(result.out, "refuted")) answer.verdict = "refuted";
      if (absl::StartsWith(result.out, "different interface")) {
        answer.verdict = "different_interface";
      }
      break;
    case 2:  // BEFORE is valid, so it has to be AFTER that is refused
      if (absl::StrContains(result.err, "/after.onnx: ")) answer.verdict = "invalid";
      break;
    case 4:
      answer.verdict = "unknown";
      break;
  }
  return answer;
}

// The stricter, the smaller.
int Looseness(const std::string& contract) {
  if (contract == "bit_exact") return 0;
  if (contract == "reassociates") return 1;
  return contract == "real_only" ? 2 : -1;
}

std::string WhyUndecided(const std::string& name) {
  for (const auto& [reason, names] : Undecided()) {
    for (const std::string& listed : names) {
      if (listed == name) return reason;
    }
  }
  return "";
}

class CorpusTest : public ::testing::TestWithParam<Pair> {};

TEST_P(CorpusTest, GetsTheVerdictThatItDeserves) {
  const Pair& pair = GetParam();
  const Answer answer = Ask(pair.name);
  const std::string reason = WhyUndecided(pair.name);
  if (!reason.empty()) {
    EXPECT_EQ(answer.verdict, "unknown") << pair.name << " is listed as undecided (" << reason
                                         << "); it deserves " << pair.verdict << "\n"
                                         << answer.text;
    return;
  }
  EXPECT_EQ(answer.verdict, pair.verdict) << answer.text;
  if (pair.verdict == "proved") {
    // A looser contract than deserved is safe, a stricter one is not.
    EXPECT_GE(Looseness(answer.contract), Looseness(pair.contract)) << answer.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, CorpusTest, ::testing::ValuesIn(ReadCorpus()),
                         [](const auto& info) { return info.param.name; });

TEST(CorpusListsTest, NameOnlyPairsOfTheCorpus) {
  std::map<std::string, Pair> pairs;
  for (const Pair& pair : ReadCorpus()) pairs[pair.name] = pair;
  EXPECT_GE(pairs.size(), size_t{40});
  for (const auto& [reason, names] : Undecided()) {
    for (const std::string& name : names) EXPECT_EQ(pairs.count(name), size_t{1}) << name;
  }
}

}  // namespace
}  // namespace lemma
