// Files of rules: selecting, pruning, explaining, exporting, counting, importing.
#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/rules/explain.h"
#include "api/rules/export.h"
#include "api/rules/import_taso.h"
#include "api/rules/prune_file.h"
#include "api/rules/rules_file.h"
#include "api/rules/stats.h"
#include "api/verify.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/canonical_text.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"
#include "tests/base/temp_files.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr char kTwice[] =
    "rule twice(x: [n]) bit_exact { y = relu(x) z = relu(y) return z } => "
    "{ y = relu(x) return y }\n";
constexpr char kThrice[] =
    "rule thrice(x: [n]) bit_exact { w = relu(x) y = relu(w) z = relu(y) return z } => "
    "{ y = relu(x) return y }\n";
constexpr char kFive[] =
    "rule five(x: [n]) bit_exact { a = relu(x) b = relu(a) c = relu(b) d = relu(c) e = relu(d) "
    "return e } => { y = relu(x) return y }\n";
constexpr char kNeg[] =
    "rule neg(x: [n]) bit_exact { y = neg(x) z = neg(y) return z } => { return x }\n";

// A file of rules with their records.
std::string ProvedFile(const std::string& text) {
  const std::string path = WriteTemp("r.txt", text);
  api::VerifyOptions options;
  options.output = path;
  EXPECT_TRUE(api::Verify(path, options).ok());
  return path;
}

TEST(RulesFileTest, RulesByName) {
  const auto file = api::LoadRulesFile(WriteTemp("r.txt", absl::StrCat(kTwice, kNeg)));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(api::NamedRules(*file, {})->size(), 2u);
  auto named = api::NamedRules(*file, {"neg"});
  ASSERT_EQ(named->size(), 1u);
  EXPECT_EQ(named->front()->name, "neg");
  EXPECT_THAT(api::NamedRules(*file, {"nex"}).status().message(), HasSubstr("did you mean neg?"));
}

TEST(RulesFileTest, BuiltInRules) {
  const auto all = api::LoadRulesFile(""), starter = api::LoadRulesFile("starter");
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_TRUE(starter.ok()) << starter.status();
  EXPECT_EQ(api::LoadRulesFile("all")->rules.size(), all->rules.size());
  // The rules written by hand come first, under their names.
  const size_t by_hand = starter->rules.size();
  EXPECT_GT(by_hand, 100u);
  EXPECT_GT(all->rules.size(), 1300u);
  EXPECT_EQ(starter->late, std::pair(size_t{0}, size_t{0}));
  EXPECT_EQ(all->late, std::pair(by_hand, all->rules.size()));
  for (size_t i = 0; i < by_hand; ++i) EXPECT_EQ(all->rules[i].name, starter->rules[i].name);
  EXPECT_THAT(all->rules[by_hand].name, StartsWith("generated_inference_"));
  const auto again = ParseRules(api::TextOf(*all));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->size(), all->rules.size());
  std::set<std::string> names, texts;
  for (const Substitution& rule : all->rules) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(texts.insert(CanonicalText(rule)).second) << rule.name;
    EXPECT_EQ(ProofProblem(rule), "") << rule.name;
  }
}

// A file of the name of a built-in set is written with its folder.
TEST(RulesFileTest, AListHasTheRulesOfEach) {
  const auto all = api::LoadRulesFile("all");
  ASSERT_TRUE(all.ok()) << all.status();
  const std::string mine = WriteTemp("mine.txt", kFive), neg = WriteTemp("neg.txt", kNeg);
  for (const bool first : {false, true}) {
    const auto both = api::LoadRulesFile(first ? mine + ",all" : "all," + mine);
    ASSERT_TRUE(both.ok()) << both.status();
    EXPECT_EQ(both->rules.size(), all->rules.size() + 1);
    EXPECT_FALSE(both->is_builtin);
    EXPECT_EQ(both->late.first, all->late.first + (first ? 1 : 0));
    EXPECT_EQ(both->late.second, all->late.second + (first ? 1 : 0));
    EXPECT_EQ(both->rules[both->late.first].name, all->rules[all->late.first].name);
  }
  // Another name makes another rule, which certificates name.
  const std::string named = WriteTemp("named.txt", kTwice);
  EXPECT_EQ(api::LoadRulesFile("all," + named)->rules.size(), all->rules.size() + 1);
  // What comes again adds nothing.
  EXPECT_EQ(api::LoadRulesFile("all,all")->late, all->late);
  EXPECT_EQ(api::LoadRulesFile("starter,all," + mine + ",all")->late, all->late);
  EXPECT_EQ(api::LoadRulesFile(mine + "," + neg)->rules.size(), 2u);
  EXPECT_EQ(api::LoadRulesFile(mine + "," + mine)->rules.size(), 1u);
  // A file may have a comma in its name.
  EXPECT_EQ(api::LoadRulesFile(WriteTemp("a,b.txt", kNeg))->rules.size(), 1u);
  EXPECT_THAT(api::LoadRulesFile(mine + ",,all").status().message(), HasSubstr("empty name"));
  EXPECT_THAT(api::LoadRulesFile(mine + ",none.txt").status().message(), HasSubstr("none.txt"));
  const std::string other =
      WriteTemp("other.txt", absl::StrReplaceAll(kNeg, {{"rule neg(", "rule five("}}));
  EXPECT_THAT(api::LoadRulesFile(mine + "," + other).status().message(), HasSubstr("two rules"));
}

TEST(RulesFileTest, FilesThatAreNamedLikeBuiltInRules) {
  EXPECT_EQ(api::LoadRulesFile(WriteTemp("all", kNeg))->rules.size(), 1u);
}

TEST(PruneFileTest, LeavesOutWhatFollows) {
  api::PruneFileOptions options;
  options.output = NewFolder() + "/out.txt";
  const auto pruned =
      api::PruneFile(ProvedFile(absl::StrCat("# Made.\n\n", kTwice, kThrice, kNeg)), options);
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(pruned->rules, 3);
  EXPECT_EQ(pruned->kept, 2);
  EXPECT_EQ(pruned->left_out, 1);
  EXPECT_THAT(ReadAll(options.output), StartsWith("# Made.\n\nrule twice"));
  EXPECT_THAT(ReadAll(pruned->pruned_path), HasSubstr("# follows from: twice\nrule thrice"));
}

TEST(PruneFileTest, KeepsWhatWasRemovedFromEachFileOfAList) {
  const std::string folder = NewFolder();
  std::vector<std::string> files;
  for (const char* text : {kTwice, kNeg}) {
    files.push_back(absl::StrCat(folder, "/", files.size(), ".txt"));
    ASSERT_TRUE(WriteFileAtomically(files.back(), {ReadAll(ProvedFile(text))}).ok());
  }
  const std::string list = files[0] + "," + files[1];
  EXPECT_THAT(api::PrunedRulesFiles(list), IsEmpty());
  EXPECT_THAT(api::PrunedRulesFiles("all"), IsEmpty());
  const std::vector<std::string> pruned = {folder + "/0.pruned.txt", folder + "/1.pruned.txt"};
  ASSERT_TRUE(WriteFileAtomically(pruned[0], {kThrice}).ok());
  ASSERT_TRUE(WriteFileAtomically(pruned[1], {"# follows from: twice\n", kFive}).ok());
  EXPECT_EQ(api::PrunedRulesFiles(files[1] + ",all," + files[0]),
            (std::vector<std::string>{pruned[1], pruned[0]}));

  const auto explained = api::Explain(list, "five");
  ASSERT_TRUE(explained.ok()) << explained.status();
  EXPECT_FALSE(explained->rules[0].is_member);
  EXPECT_EQ(explained->rules[0].left_out, "follows from: twice");

  api::PruneFileOptions options;
  options.output = folder + "/out.txt";
  const auto result = api::PruneFile(list, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->left_out, 0);
  const auto removed = api::LoadRulesFile(result->pruned_path);
  ASSERT_TRUE(removed.ok()) << removed.status();
  ASSERT_EQ(removed->rules.size(), 2u);
  EXPECT_EQ(removed->rules[0].name, "thrice");
  EXPECT_EQ(removed->rules[1].name, "five");
}

TEST(PruneFileTest, WritesNothingWhereItCannotKnow) {
  const std::string folder = NewFolder();
  api::PruneFileOptions options;
  EXPECT_THAT(api::PruneFile("", options).status().message(), HasSubstr("option output"));
  options.output = folder + "/out.txt";
  const absl::Status unproved = api::PruneFile(WriteTemp("r.txt", kNeg), options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(unproved)) << unproved;
  EXPECT_THAT(unproved.message(), HasSubstr("rule neg gives nothing: it has no proof"));
  const std::atomic<bool> interrupted{true};
  options.interrupted = &interrupted;
  EXPECT_TRUE(absl::IsCancelled(api::PruneFile(ProvedFile(kNeg), options).status()));
  options.max_steps = 0;
  EXPECT_THAT(api::PruneFile("", options).status().message(), HasSubstr("option max_steps"));
  EXPECT_TRUE(FilesIn(folder).empty());
}

TEST(ExplainTest, StepByStep) {
  const std::string rules = ProvedFile(kTwice);
  auto result = api::Explain(rules, WriteTemp("w.txt", absl::StrCat(kThrice, kTwice, kNeg)));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->rules.size(), 3u);
  const api::ExplainedRule& thrice = result->rules[0];
  EXPECT_TRUE(thrice.found);
  EXPECT_EQ(thrice.answer, "follows in 2 steps: twice, twice (bit_exact)");
  ASSERT_FALSE(thrice.typings.empty());
  ASSERT_EQ(thrice.typings[0].steps.size(), 2u);
  EXPECT_EQ(thrice.typings[0].steps[0].rule, "twice");
  // The rule read again without its record counts as another rule, which equals that of the file.
  EXPECT_EQ(result->rules[1].same_as, "twice");
  EXPECT_FALSE(result->rules[2].found);
  EXPECT_FALSE(result->all_follow());
}

TEST(ExplainTest, WhatIsNotProvedIsNotUsed) {
  const std::string rules = WriteTemp("r.txt", kTwice);
  const auto result = api::Explain(rules, "twice");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->unused, ElementsAre(Pair("twice", "it has no proof")));
  EXPECT_TRUE(result->rules[0].is_member);
  EXPECT_EQ(result->rules[0].problem, "it has no proof");
  EXPECT_FALSE(result->rules[0].found);
  EXPECT_TRUE(result->all_follow());
  EXPECT_THAT(api::Explain(rules, "twic").status().message(),
              HasSubstr("did you mean twice?, nor is there a file of that name"));
  api::ExplainOptions options;
  options.typings = 99;
  EXPECT_THAT(api::Explain(rules, "twice", options).status().message(),
              HasSubstr("option typings: must be in 1…20"));
}

TEST(ExportTest, EachFormat) {
  const std::string rules = WriteTemp("r.txt", absl::StrCat(kTwice, kNeg));
  auto text = api::ExportRules(rules, {"neg"});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, *api::ExportRules(WriteTemp("again.txt", *text)));
  auto json = api::ExportRules(rules, {"neg"}, "json");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(*json, HasSubstr("\"rule\":\"neg\""));
  EXPECT_THAT(*json, HasSubstr("\"target_pattern\":{\"nodes\":[],"));
  EXPECT_THAT(*api::ExportRules(rules, {}, "dot"), StartsWith("digraph rules {"));
  EXPECT_THAT(api::ExportRules(rules, {"nex"}).status().message(), HasSubstr("did you mean neg?"));
  EXPECT_THAT(api::ExportRules(rules, {}, "svg").status().message(),
              HasSubstr("option format: 'svg'"));
}

TEST(StatsTest, CountsRecordsAndKinds) {
  const auto file = api::LoadRulesFile(ProvedFile(absl::StrCat(kTwice, kNeg)));
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<Substitution> rules = file->rules;
  rules[0].proof.id += "0";
  const api::RuleStats stats = api::StatsOf(rules);
  EXPECT_EQ(stats.rules, 2);
  EXPECT_EQ(stats.usable, 1);
  EXPECT_THAT(stats.records, ElementsAre(Pair("proved", 1), Pair("stale", 1)));
  EXPECT_THAT(stats.kinds, ElementsAre(Pair("fewer operators", 2)));
}

// The contract `bounded` is proved, and no search may use it.
TEST(StatsTest, BoundedRulesAreProvedAndNotUsable) {
  const auto file = api::LoadRulesFile("data/rules/bounded.txt", RuleKinds::kAll);
  ASSERT_TRUE(file.ok()) << file.status();
  const api::RuleStats stats = api::StatsOf(file->rules);
  EXPECT_EQ(stats.usable, 0);
  EXPECT_THAT(stats.records, ElementsAre(Pair("proved", 20)));
}

constexpr char kTaso[] = "tests/rewrite/taso/sample_rules.pb";

TEST(ImportTasoTest, ProvesAndWrites) {
  api::ImportTasoOptions options;
  options.output = NewFolder() + "/t.txt";
  options.synthesize = false;
  const auto imported = api::ImportTasoFile(kTaso, options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->rules.size(), 25u);
  EXPECT_FALSE(imported->ok());  // two are false without a guard
  int proved = 0, written = 0;
  for (const api::ImportedRule& rule : imported->rules) {
    proved += rule.outcome.ok() ? 1 : 0;
    written += rule.written ? 1 : 0;
  }
  EXPECT_EQ(proved, 23);
  const auto file = api::LoadRulesFile(options.output);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(static_cast<int>(file->rules.size()), written);
}

TEST(ImportTasoTest, WritesNothingWhereItIsWrongOrInterrupted) {
  const std::string folder = NewFolder();
  api::ImportTasoOptions options;
  options.output = folder + "/t.txt";
  EXPECT_THAT(api::ImportTasoFile(WriteTemp("t.pb", ""), options).status().message(),
              HasSubstr("t.pb: the file is empty"));
  std::atomic<bool> interrupted{false};
  options.proof.interrupted = &interrupted;
  options.progress = [&](int, int) { interrupted = true; };
  EXPECT_TRUE(absl::IsCancelled(api::ImportTasoFile(kTaso, options).status()));
  options.jobs = 257;
  EXPECT_THAT(api::ImportTasoFile(kTaso, options).status().message(), HasSubstr("option jobs"));
  EXPECT_TRUE(FilesIn(folder).empty());
}

}  // namespace
}  // namespace lemma
