// The files that a run of the generator keeps on disk are read back as written, or refused.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "generator/run/class_file.h"
#include "generator/run/journal.h"
#include "generator/sets/taso_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::generator {
namespace {

using ::testing::HasSubstr;

const RunId kRun = {"relu,transpose", 2, 1, 77};

std::string PathOf(const std::string& name) {
  const char* base = std::getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(base == nullptr ? "/tmp" : base, "/", getpid(), "_", name);
  unlink(path.c_str());
  return path;
}
std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

Substitution Rule(const std::string& name, const std::string& op, const std::string& record = "") {
  const std::string text = absl::StrReplaceAll(
      R"(# Says what it does.
rule NAME(x: [n]) bit_exact {
  a = OP(x)
  b = OP(a)
  return b
} => {
  c = OP(x)
  return c
}
)",
      {{"NAME", name}, {"OP", op}});
  auto rules = ParseRules(text + record);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules->at(0);
}
// Candidates and their decisions.
struct Case {
  Substitution candidate;
  Decision decision;
};
std::vector<Case> Cases() {
  return {{Rule("candidate_1", "relu"),
           {Decision::Answer::kProved,
            Rule("candidate_1", "relu", "proved bit_exact \"1f\" \"all sizes >= 1\"\n"), ""}},
          {Rule("candidate_2", "tanh"),
           {Decision::Answer::kRefuted, Rule("candidate_2", "tanh"), "x = [1]:\n0.6 is not 0.76"}},
          {Rule("candidate_3", "abs"),
           {Decision::Answer::kUnknown, Rule("candidate_3", "abs"), "no idea"}}};
}
bool Same(const Decision& a, const Decision& b) {
  return a.answer == b.answer && PrintRule(a.rule) == PrintRule(b.rule) && a.reason == b.reason;
}
std::string JournalOf(const std::vector<Case>& cases) {
  const std::string path = PathOf("made");
  {
    auto journal = Journal::Open(path, kRun);
    EXPECT_TRUE(journal.ok()) << journal.status();
    for (const Case& one : cases) {
      EXPECT_TRUE((*journal)->Add(one.candidate, one.decision).ok());
    }
  }
  return ReadAll(path);
}

TEST(JournalTest, FindsWhatWasDecidedBefore) {
  const std::string path = PathOf("journal");
  WriteAll(path, JournalOf(Cases()));
  auto journal = Journal::Open(path, {"relu", 4, 9, 1});
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ(Difference((*journal)->run(), kRun), "");
  EXPECT_EQ((*journal)->size(), 3);
  for (const Case& one : Cases()) {
    Substitution candidate = one.candidate;
    candidate.name = "candidate_99";
    auto found = (*journal)->Find(candidate);
    ASSERT_TRUE(found) << one.candidate.name;
    EXPECT_EQ(found->rule.name, "candidate_99");
    found->rule.name = one.candidate.name;
    EXPECT_TRUE(Same(*found, one.decision)) << one.candidate.name;
  }
  EXPECT_FALSE((*journal)->Find(Rule("candidate_1", "exp")));
  EXPECT_THAT(Journal::Open(path, kRun).status().message(), HasSubstr("another lemma generate"));
}

TEST(JournalTest, DropsATornRecordAndGoesOn) {
  const std::vector<Case> cases = Cases();
  const std::string whole = JournalOf(cases), before = JournalOf({cases[0], cases[1]});
  ASSERT_EQ(whole.substr(0, before.size()), before);
  const std::string path = PathOf("torn");
  for (size_t size = before.size(); size < whole.size(); ++size) {
    WriteAll(path, whole.substr(0, size));
    auto journal = Journal::Open(path, kRun);
    ASSERT_TRUE(journal.ok()) << journal.status() << " at " << size;
    EXPECT_EQ((*journal)->size(), 2);
    EXPECT_FALSE((*journal)->Find(cases[2].candidate));
    ASSERT_TRUE((*journal)->Add(cases[2].candidate, cases[2].decision).ok());
    EXPECT_EQ(ReadAll(path), whole);
  }
  // After a crash of the machine a file may end in zeros.
  WriteAll(path, before + std::string(100, '\0'));
  auto journal = Journal::Open(path, kRun);
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ((*journal)->size(), 2);
}

// If any byte is flipped, the journal is refused or loses its last record only.
TEST(JournalTest, NoFlippedByteChangesADecision) {
  const std::vector<Case> cases = Cases();
  const std::string whole = JournalOf(cases);
  const size_t last = JournalOf({cases[0], cases[1]}).size();
  const std::string path = PathOf("flipped");
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
    WriteAll(path, bytes);
    auto journal = Journal::Open(path, kRun);
    if (!journal.ok()) {
      EXPECT_THAT(journal.status().message(), HasSubstr(absl::StrCat(path, ": is damaged")));
      ++refused;
      continue;
    }
    EXPECT_GE(i, last);
    EXPECT_EQ((*journal)->size(), 2);
    for (int k : {0, 1}) {
      auto found = (*journal)->Find(cases[k].candidate);
      EXPECT_TRUE(found && Same(*found, cases[k].decision)) << "byte " << i;
    }
  }
  EXPECT_GE(refused, static_cast<int>(last));
}

std::unique_ptr<OperatorSet> Set(const std::vector<std::string>& names) {
  auto set = TasoSet(names);
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}
Enumerated SomeClasses() {
  auto set = Set({"relu", "transpose"});
  EnumeratorOptions options;
  options.max_ops = 3;
  auto enumerated = Enumerate(set.get(), options);
  EXPECT_TRUE(enumerated.ok()) << enumerated.status();
  SortClasses(&*enumerated);
  EXPECT_GT(enumerated->classes.size(), 10u);
  return *std::move(enumerated);
}
bool Same(const Enumerated& a, const Enumerated& b) {
  auto bytes = [](const Enumerated& enumerated) {
    const std::string path = PathOf("bytes");
    EXPECT_TRUE(WriteClassFile(path, kRun, {}, enumerated).ok());
    return ReadAll(path);
  };
  return bytes(a) == bytes(b);
}

TEST(ClassFileTest, ReadsBackWhatItWrote) {
  const Enumerated enumerated = SomeClasses();
  const std::string path = PathOf("classes");
  ASSERT_TRUE(WriteClassFile(path, kRun, {1, 3}, enumerated).ok());
  auto file = ReadClassFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Difference(file->run, kRun), "");
  EXPECT_EQ(file->shard, (Shard{1, 3}));
  EXPECT_EQ(file->enumerated.stats.graphs, enumerated.stats.graphs);
  ASSERT_EQ(file->enumerated.classes.size(), enumerated.classes.size());
  EXPECT_TRUE(Same(file->enumerated, enumerated));
  EXPECT_TRUE(CheckClasses(file->enumerated, *Set({"relu", "transpose"})).ok());
  EXPECT_FALSE(CheckClasses(file->enumerated, *Set({"relu"})).ok());
}

TEST(ClassFileTest, RefusesWhatIsDamaged) {
  const std::string path = PathOf("damaged");
  ASSERT_TRUE(WriteClassFile(path, kRun, {}, SomeClasses()).ok());
  const std::string whole = ReadAll(path);
  for (size_t i = 0; i < whole.size(); i += 1 + i / 50) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    for (const std::string& bytes : {flipped, whole.substr(0, i)}) {
      WriteAll(path, bytes);
      auto file = ReadClassFile(path);
      ASSERT_FALSE(file.ok()) << i;
      EXPECT_THAT(file.status().message(), HasSubstr(path));
    }
  }
  EXPECT_THAT(ReadClassFile("/nonexistent/s").status().message(), HasSubstr("/nonexistent/s"));
}

TEST(ClassFileTest, MergesAllShardsOfOneRunOnly) {
  const Enumerated all = SomeClasses();
  auto shard = [&](int64_t index, const std::string& path) {
    ClassFile file{path, kRun, {index, 3}, {}};
    file.enumerated.max_ops = all.max_ops;
    for (size_t i = index; i < all.classes.size(); i += 3) {
      file.enumerated.classes.push_back(all.classes[i]);
    }
    return file;
  };
  auto merged = Merged({shard(2, "c"), shard(0, "a"), shard(1, "b")});
  ASSERT_TRUE(merged.ok()) << merged.status();
  merged->stats = all.stats;
  EXPECT_TRUE(Same(*merged, all));
  auto problem = [](std::vector<ClassFile> files) {
    return std::string(Merged(std::move(files)).status().message());
  };
  EXPECT_THAT(problem({shard(1, "b")}), HasSubstr("shards are missing: 0/3, 2/3"));
  EXPECT_THAT(problem({shard(0, "a"), shard(0, "b"), shard(1, "c")}),
              HasSubstr("a and b are both shard 0/3"));
  ClassFile other = shard(1, "b");
  other.run.max_ops = 4;
  EXPECT_THAT(problem({shard(0, "a"), other, shard(2, "c")}),
              HasSubstr("b does not go with a: it is of --max-ops=4, not --max-ops=2"));
}

TEST(ShardTest, IsReadFromItsText) {
  for (const Shard& shard : {Shard{0, 1}, Shard{2, 3}})
    EXPECT_TRUE(*ParseShard(ToString(shard)) == shard);
  for (const char* text : {"", "1", "1/1", "-1/2", "1/0", "a/2", "1/2/3"}) {
    EXPECT_THAT(ParseShard(text).status().message(), HasSubstr("is not I/N with I in 0…N-1"))
        << text;
  }
  EXPECT_FALSE(ParseShard(absl::StrCat("0/", kMostShards + 1)).ok());
}

}  // namespace
}  // namespace lemma::generator
