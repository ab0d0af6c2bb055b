// Files that are staged, and what writers leave to each other.
#include "base/file.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FileTest : public testing::Test {
 protected:
  FileTest() : folder_(testing::TempDir() + "/file_test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  const std::string folder_;
};

TEST_F(FileTest, WhatIsNotCommittedIsAsItWas) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), {"old"}).ok());
  {
    auto staged = StagedFile::Write(Path("a"), {"n", "ew"});
    ASSERT_TRUE(staged.ok());
    EXPECT_EQ(*ReadFile(Path("a"), 10), "old");
    EXPECT_EQ(*ReadFile(staged->temporary(), 10), "new");
  }
  EXPECT_EQ(*ReadFile(Path("a"), 10), "old");
  EXPECT_THAT(Files(), ElementsAre("a"));
}

TEST_F(FileTest, SeveralAreCommittedTogether) {
  std::vector<StagedFile> files;
  for (const char* name : {"a", "b"}) files.push_back(*StagedFile::Write(Path(name), {name}));
  EXPECT_FALSE(fs::exists(Path("a")));
  ASSERT_TRUE(CommitAll(std::move(files)).ok());
  EXPECT_THAT(Files(), ElementsAre("a", "b"));
}

// The lock tells a writer that is at work from one that was killed.
TEST_F(FileTest, WriterThatLivesKeepsItsFileAndOneThatWasKilledDoesNot) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto staged = StagedFile::Write(Path("a"), {"of the child"});
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char c;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  ASSERT_TRUE(WriteFileAtomically(Path("a"), {"first"}).ok());
  EXPECT_THAT(Files(), SizeIs(2));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(WriteFileAtomically(Path("a"), {"second"}).ok());
  EXPECT_THAT(Files(), ElementsAre("a"));
  EXPECT_EQ(*ReadFile(Path("a"), 10), "second");
}

TEST_F(FileTest, ManyWritersOfOneFileDoNotDisturbEachOther) {
  for (int child = 0; child < 4; ++child) {
    if (fork() != 0) continue;
    for (int i = 0; i < 50; ++i) {
      if (!WriteFileAtomically(Path("a"), {"whole"}).ok()) _exit(1);
    }
    _exit(0);
  }
  for (int child = 0; child < 4; ++child) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(*ReadFile(Path("a"), 10), "whole");
  EXPECT_THAT(Files(), ElementsAre("a"));
}

TEST_F(FileTest, LinksThatLeadNowhereAreSaid) {
  fs::create_symlink("b", Path("a"));
  fs::create_symlink("a", Path("b"));
  EXPECT_THAT(std::string(WriteFileAtomically(Path("a"), {"x"}).message()),
              HasSubstr("too many links"));
}

TEST_F(FileTest, OneFileHasManyNames) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), {"x"}).ok());
  fs::create_symlink("a", Path("b"));
  fs::create_hard_link(Path("a"), Path("c"));
  EXPECT_TRUE(AreOneFile(Path("a"), Path("b")));
  EXPECT_TRUE(AreOneFile(Path("a"), Path("c")));
  EXPECT_FALSE(AreOneFile(Path("a"), Path("none")));
}

}  // namespace
}  // namespace lemma
