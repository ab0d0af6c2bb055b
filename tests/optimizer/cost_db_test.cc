#include "optimizer/cost_db.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace lemma {
namespace {

std::string TempPath(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/" + name;
  for (const char* end : {"", "-wal", "-shm"}) unlink((path + end).c_str());
  return path;
}

TEST(CostDbTest, KeepsTheFirstMeasurement) {
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("cpu", "conv", {1.5, 0.25, 3}).ok());
  EXPECT_EQ(db->Put("cpu", "conv", {9, 0, 1})->median_ms, 1.5);
  auto found = db->Find("cpu", "conv");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->variance_ms2, 0.25);
  EXPECT_EQ((*found)->runs, 3);
  EXPECT_FALSE(db->Find("gpu", "conv")->has_value());
}

TEST(CostDbTest, SurvivesReopening) {
  const std::string path = TempPath("reopen.sqlite");
  ASSERT_TRUE((*CostDb::Open(path))->Put("cpu", "a", {2, 0, 1}).ok());
  EXPECT_EQ(*(*CostDb::Open(path))->Count(), 1);
}

// The first to come creates the file while the others open it.
TEST(CostDbTest, ProcessesCreateItAtTheSameTime) {
  for (int round = 0; round < 30; ++round) {
    const std::string path = TempPath(std::to_string(round) + ".sqlite");
    for (int child = 0; child < 4; ++child) {
      if (fork() == 0) _exit(CostDb::Open(path).ok() ? 0 : 1);
    }
    for (int child = 0; child < 4; ++child) {
      int status = 0;
      wait(&status);
      EXPECT_EQ(WEXITSTATUS(status), 0) << "round " << round;
    }
  }
}

TEST(CostDbTest, ProcessesWriteAtTheSameTime) {
  const std::string path = TempPath("parallel.sqlite");
  for (int child = 0; child < 4; ++child) {
    if (fork() != 0) continue;
    auto db = CostDb::Open(path);
    bool ok = db.ok();
    for (int i = 0; ok && i < 50; ++i) {
      ok = (*db)->Put("cpu", std::to_string(child * 50 + i), {1, 0, 1}).ok() &&
           (*db)->Put("cpu", "shared", {1.0 + child, 0, 1}).ok();
    }
    _exit(ok ? 0 : 1);
  }
  for (int child = 0; child < 4; ++child) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(*(*CostDb::Open(path))->Count(), 201);
}

TEST(CostDbTest, RefusesAnotherFile) {
  const std::string path = TempPath("other.sqlite");
  std::ofstream(path) << "This is a letter to a friend, and no database at all.";
  auto db = CostDb::Open(path);
  ASSERT_FALSE(db.ok());
  EXPECT_EQ(db.status().message().find(path), 0u) << db.status();
}

TEST(CostDbTest, NamesAPathThatCannotBeOpened) {
  auto db = CostDb::Open("/proc/nowhere/costs.sqlite");
  EXPECT_EQ(db.status().code(), absl::StatusCode::kPermissionDenied) << db.status();
}

}  // namespace
}  // namespace lemma
