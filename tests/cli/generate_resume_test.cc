// lemma generate killed, interrupted and resumed.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "generator/run/journal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

// Some seconds of work: tens of thousands of graphs, hundreds of candidates.
const char kOps[] =
    "--ops=matmul,add,mul,scale,relu,transpose,concat0_2d,concat1_2d,split0,split1,"
    "identity_matrix,one";

int64_t SizeOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : -1;
}

// Runs that are repeated in one folder.
struct Session {
  explicit Session(int64_t ops = 3) : max_ops(ops) {}
  std::vector<std::string> Arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"generate",
                                    kOps,
                                    absl::StrCat("--max-ops=", max_ops),
                                    "-o",
                                    folder + "/rules.txt",
                                    "--rejected=" + folder + "/rejected.txt",
                                    "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string state() const { return folder + "/rules.txt.run"; }
  bool has_classes() const { return SizeOf(state() + "/classes") >= 0; }
  int64_t journal_bytes() const { return std::max<int64_t>(SizeOf(state() + "/journal"), 0); }
  // All result files, by name.
  std::string Results() const {
    std::string all;
    for (const char* name : {"rules.txt", "rules.pruned.txt", "rejected.txt"}) {
      absl::StrAppend(&all, name, ":\n", ReadAll(folder + "/" + name));
    }
    return all;
  }

  const int64_t max_ops;
  const std::string folder = NewFolder();
};

// The number of candidates with a decision in the journal, read from a copy.
int64_t Decisions(const Session& session) {
  const std::string copy = WriteTemp("journal", ReadAll(session.state() + "/journal"));
  auto journal = generator::Journal::Open(copy, {});
  EXPECT_TRUE(journal.ok()) << journal.status();
  return journal.ok() ? (*journal)->size() : 0;
}

using Clock = std::chrono::steady_clock;

// Ten kills: some while graphs are enumerated, the others while candidates are decided.
TEST(GenerateResumeTest, KilledAtTenMomentsItWritesTheSame) {
  const Session undisturbed;
  int64_t journal_bytes = 0;
  const LemmaResult whole = KillLemma(undisturbed.Arguments(), [&] {
    journal_bytes = std::max(journal_bytes, undisturbed.journal_bytes());
    return false;
  });
  ASSERT_EQ(whole.exit_status, 0) << whole.err;
  EXPECT_EQ(FilesIn(undisturbed.folder).size(), 3u);  // nothing else is left
  ASSERT_GT(journal_bytes, 20000);

  const unsigned seed = 20261121;
  std::mt19937 random(seed);
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  const Session session;
  int enumerating = 0, deciding = 0;
  int64_t decided = 0;
  for (int kill = 0; kill < 10; ++kill) {
    // A time for the first stage, which reports no progress; a length of the journal for the
    // second.
    const int ms = std::uniform_int_distribution<int>(0, 40)(random);
    const int64_t bytes = session.journal_bytes() +
                          std::uniform_int_distribution<int64_t>(0, journal_bytes / 12)(random);
    std::optional<Clock::time_point> began;
    const LemmaResult killed = KillLemma(session.Arguments({"--resume"}), [&] {
      if (kill < 3) {
        if (!began && session.journal_bytes() > 0) began = Clock::now();
        return began && Clock::now() - *began > std::chrono::milliseconds(ms);
      }
      return session.has_classes() && session.journal_bytes() > bytes;
    });
    ASSERT_EQ(killed.exit_status, 128 + 9) << killed.err << killed.out;
    ASSERT_EQ(SizeOf(session.folder + "/rules.txt"), -1);
    ++(session.has_classes() ? deciding : enumerating);
    const int64_t now = Decisions(session);
    EXPECT_GE(now, decided) << "kill " << kill;
    decided = now;
  }
  EXPECT_GE(enumerating, 2);
  EXPECT_GE(deciding, 5);
  EXPECT_GT(decided, 0);

  const LemmaResult resumed = RunLemma(session.Arguments({"--resume"}));
  ASSERT_EQ(resumed.exit_status, 0) << resumed.err;
  // Candidates decided before are not decided again.
  EXPECT_THAT(resumed.out, HasSubstr(absl::StrCat("\"resumed\":", decided, ",")));
  EXPECT_TRUE(session.Results() == undisturbed.Results());
  EXPECT_EQ(FilesIn(session.folder), FilesIn(undisturbed.folder));
}

TEST(GenerateResumeTest, InterruptedItSaysHowToGoOn) {
  const Session undisturbed(2), session(2);
  ASSERT_EQ(RunLemma(undisturbed.Arguments()).exit_status, 0);
  const LemmaResult interrupted = InterruptLemma(
      session.Arguments(), [&] { return session.has_classes() && session.journal_bytes() > 2000; });
  ASSERT_EQ(interrupted.exit_status, 130) << interrupted.out;
  EXPECT_THAT(interrupted.err, HasSubstr("rules.txt.run keeps what was done, for --resume"));
  EXPECT_EQ(FilesIn(session.folder), std::vector<std::string>{"rules.txt.run"});

  // The unfinished run is not overwritten by accident, nor continued with other options.
  ExpectOneLine(RunLemma(session.Arguments()), {"rules.txt.run", "--resume", "delete"});
  ExpectOneLine(RunLemma(session.Arguments({"--resume", "--seed=7"})), {"--seed=1", "--seed=7"});
  ExpectOneLine(RunLemma(session.Arguments({"--resume", "--max-ops=1"})),
                {"--max-ops=2", "--max-ops=1"});

  const LemmaResult resumed = RunLemma(session.Arguments({"--resume", "--threads=2"}));
  ASSERT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_TRUE(session.Results() == undisturbed.Results());
}

TEST(GenerateResumeTest, DamagedStateIsAnError) {
  const Session session(2);
  ASSERT_EQ(KillLemma(session.Arguments(),
                      [&] { return session.has_classes() && session.journal_bytes() > 2000; })
                .exit_status,
            128 + 9);
  for (const char* name : {"classes", "journal"}) {
    const std::string path = session.state() + "/" + name, bytes = ReadAll(path);
    std::string flipped = bytes;
    flipped[bytes.size() / 2] ^= 1;
    std::ofstream(path, std::ios::binary) << flipped;
    ExpectOneLine(RunLemma(session.Arguments({"--resume"})), {name, "damaged", "delete"});
    std::ofstream(path, std::ios::binary) << bytes;
  }
  EXPECT_EQ(RunLemma(session.Arguments({"--resume"})).exit_status, 0);
}

TEST(GenerateResumeTest, WithNothingToResumeItBegins) {
  const Session session(1);
  std::vector<std::string> arguments = session.Arguments({"--resume"});
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--json"));
  const LemmaResult result = RunLemma(arguments);
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(result.err, HasSubstr("nothing to resume"));
}

TEST(GenerateResumeTest, AFolderThatIsNotItsOwnIsInTheWay) {
  const Session session(1);
  ASSERT_EQ(mkdir(session.state().c_str(), 0777), 0);
  std::ofstream(session.state() + "/thesis.txt") << "precious";
  ExpectOneLine(RunLemma(session.Arguments()), {"rules.txt.run", "thesis.txt"});
  EXPECT_EQ(ReadAll(session.state() + "/thesis.txt"), "precious");
}

}  // namespace
}  // namespace lemma
