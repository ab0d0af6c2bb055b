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
      {"folded weights are not related to what they were folded from",
       {"optimizer_255_fold", "optimizer_178_constant_nodes", "optimizer_174_own_kernels",
        "onnx_2677_right_weight", "onnxsim_50_scores_right", "ultralytics_25364_transposed_right",
        "pytorch_180995_transposed_groups_right", "taso_92_with_bias", "ort_23210_steps",
        "tf2onnx_356_shared_kernel_right", "ort_8422_folded_rightly", "ort_12498_conv_add_bias",
        "taso_31_merged_groups_zeros", "taso_rule_24_by_group"}},
      {"prove has no such verdict",
       {"onnxsim_79_output_shape", "ort_32603_scale_expands", "optimizer_35_negative_axes",
        "ort_24492_leading_dimensions", "onnxsim_1030_zero_copies", "ort_28348_allowzero",
        "ort_19600_gather_to_split", "tf2onnx_934_shared_axes", "ort_4110_lost_output",
        "onnxsim_227_lost_output"}},
      {"random inputs do not show the difference",
       {"ort_17953_cast_to_unsigned", "onnxsim_290_zeros_into_max_pool", "ort_16105_sixteen_bits",
        "ort_22580_clip_narrow"}},
      {"exp is not known to be increasing", {"optimizer_281_monotone_argmax"}},
      {"infinite constants are not real numbers", {"onnxsim_290_minus_infinity"}},
      {"QLinearAdd is not known", {"ort_32132_one_step"}},
      {"quantized graphs are not proved",
       {"ort_21176_max_pool_positive", "ort_28130_alpha_right", "ort_28229_bias_scale_right",
        "ort_25259_equal_pairs", "ort_9425_relu_unsigned", "ort_22580_clip_wide",
        "ort_21793_axis_moved"}},
  };
  return *lists;
}

// Deserves "refuted", and is proved as an equation of real numbers: storing in float16 counts as
// rounding, also where 123456.7 becomes infinite.
constexpr char kRealOnly[] = "ort_8787_cast_to_half";

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
  LemmaResult result = RunLemma(
      {"prove", absl::StrCat(folder, "/before.onnx"), absl::StrCat(folder, "/after.onnx")});
  Answer answer{"unknown", "", absl::StrCat(result.out, result.err)};
  if (result.exit_status == 0) {
    answer.verdict = "proved";
    for (const auto& line : absl::StrSplit(result.out, '\n')) {
      std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() == 2 && words[0] == "contract") answer.contract = words[1];
    }
  } else if (result.exit_status == 2) {
    // BEFORE is valid, so it has to be AFTER that is refused.
    answer.verdict = absl::StrContains(result.err, "/after.onnx: ") ? "invalid" : "error";
  } else if (result.exit_status == 1 && !absl::StartsWith(result.out, "unknown: ")) {
    answer.verdict = "refuted";
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
  if (pair.name == kRealOnly) {
    EXPECT_EQ(answer.verdict, "proved");
    EXPECT_EQ(answer.contract, "real_only");
    return;
  }
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
  EXPECT_EQ(pairs[kRealOnly].verdict, "refuted");
  for (const auto& [reason, names] : Undecided()) {
    for (const std::string& name : names) EXPECT_EQ(pairs.count(name), size_t{1}) << name;
  }
}

}  // namespace
}  // namespace lemma
