#include "optimizer/cost/cost_db.h"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "optimizer/cost/cost_text.h"

namespace lemma::optimizer {
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
  EXPECT_EQ((*found)->repetitions, 3);
  EXPECT_FALSE(db->Find("gpu", "conv")->has_value());
}

TEST(CostDbTest, KeepsTheFirstTimeInAGraph) {
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("cpu", "conv", {1.5, 0.25, 3}).ok());
  EXPECT_EQ((*db->Find("cpu", "conv"))->in_graph_ms, 0);
  EXPECT_EQ(*db->PutInGraph("cpu", {{"conv", 2}, {"never measured", 3}, {"conv", 4}}), 1);
  EXPECT_EQ(*db->PutInGraph("cpu", {{"conv", 5}}), 0);
  EXPECT_EQ(*db->PutInGraph("gpu", {{"conv", 6}}), 0);
  EXPECT_EQ((*db->Find("cpu", "conv"))->in_graph_ms, 2);
  EXPECT_EQ((*db->Find("cpu", "conv"))->median_ms, 1.5);
  EXPECT_EQ(*db->Count(), 1);
}

TEST(CostDbTest, SurvivesReopening) {
  const std::string path = TempPath("reopen.sqlite");
  ASSERT_TRUE((*CostDb::Open(path))->Put("cpu", "a", {2, 0, 1}).ok());
  EXPECT_EQ(*(*CostDb::Open(path))->Count(), 1);
}

// The first process creates the file while the others open it.
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

TEST(CostDbTest, KeepsWhatOlderProgramsMeasured) {
  const std::pair<std::string, std::string> versions[] = {
      {"1", ""}, {"2", ", flops REAL NOT NULL DEFAULT 8, bytes REAL NOT NULL DEFAULT 9"}};
  for (const auto& [version, columns] : versions) {
    const std::string path = TempPath("version" + version + ".sqlite");
    sqlite3* old = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &old), SQLITE_OK);
    const std::string create =
        "CREATE TABLE kernel_cost (device TEXT NOT NULL, signature TEXT NOT NULL,"
        " median_ms REAL NOT NULL, variance_ms2 REAL NOT NULL, runs INTEGER NOT NULL" +
        columns + ", PRIMARY KEY (device, signature)) WITHOUT ROWID;" +
        "INSERT INTO kernel_cost (device, signature, median_ms, variance_ms2, runs)"
        " VALUES ('cpu', 'conv', 1.5, 0.25, 3); PRAGMA user_version = " +
        version;
    ASSERT_EQ(sqlite3_exec(old, create.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(old);
    for (int child = 0; child < 4; ++child) {
      if (fork() == 0) _exit(CostDb::Open(path).ok() ? 0 : 1);
    }
    for (int child = 0; child < 4; ++child) {
      int status = 0;
      wait(&status);
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    auto db = *CostDb::Open(path);
    auto found = db->Find("cpu", "conv");
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_EQ((*found)->median_ms, 1.5);
    EXPECT_EQ((*found)->flops, version == "1" ? 0 : 8);
    EXPECT_EQ((*found)->in_graph_ms, 0);
  }
}

TEST(CostDbTest, TextReadsBackAsTheSameCosts) {
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("gpu, b", "conv(f32[1,2]) -> f32[1]", {1.0 / 3, 1e-12, 3, 1e9, 7}).ok());
  ASSERT_TRUE(db->Put("cpu, a", "relu", {0.1, 0, 1, 0, 0}).ok());
  EXPECT_EQ(*db->PutInGraph("cpu, a", {{"relu", 1.0 / 7}}), 1);
  ASSERT_TRUE(db->Put("cpu, a", "add", {5e-324, 0.3, 1, 0, 0}).ok());
  const std::string text = PrintCosts(*db->Entries());
  auto entries = ParseCosts(text);
  ASSERT_TRUE(entries.ok()) << entries.status();
  auto copy = *CostDb::Open("");
  EXPECT_EQ(*copy->PutAll(*entries, false), 3);
  EXPECT_EQ(PrintCosts(*copy->Entries()), text);
  EXPECT_EQ((*copy->Find("gpu, b", "conv(f32[1,2]) -> f32[1]"))->median_ms, 1.0 / 3);
  EXPECT_EQ((*copy->Find("cpu, a", "relu"))->in_graph_ms, 1.0 / 7);
  EXPECT_EQ(copy->Entries("cpu, a")->size(), 2u);
}

TEST(CostDbTest, LoadAndDateAreKept) {
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("cpu", "relu", {1, 0, 1, 0, 0, 0, 0.25, 1795550400}).ok());
  EXPECT_EQ(*db->PutInGraph("cpu", {{"relu", 2}}), 1);
  ASSERT_TRUE(db->Replace("cpu", "relu", {3, 0, 1, 0, 0, 0, 0.5, 1795550401}).ok());
  auto entries = ParseCosts(PrintCosts(*db->Entries()));
  ASSERT_TRUE(entries.ok()) << entries.status();
  const MeasuredCost& cost = entries->front().cost;
  EXPECT_EQ(cost.median_ms, 3);
  EXPECT_EQ(cost.in_graph_ms, 0);
  EXPECT_EQ(cost.load, 0.5);
  EXPECT_EQ(cost.measured_at, 1795550401);
  auto old = ParseCosts("lemma costs 2\ndevice cpu\n1 0 3 0 0 0 relu (a)\n");
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->front().signature, "relu (a)");
  EXPECT_EQ(old->front().cost.measured_at, 0);
}

TEST(CostDbTest, ImportKeepsOrReplaces) {
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("cpu", "relu", {1, 0, 1}).ok());
  const std::vector<CostEntry> entries = {{"cpu", "relu", {2, 0, 1}}, {"cpu", "add", {3, 0, 1}}};
  EXPECT_EQ(*db->PutAll(entries, false), 1);
  EXPECT_EQ((*db->Find("cpu", "relu"))->median_ms, 1);
  EXPECT_EQ(*db->PutAll(entries, true), 2);
  EXPECT_EQ((*db->Find("cpu", "relu"))->median_ms, 2);
}

TEST(CostDbTest, BadTextNamesTheLine) {
  const std::string head = "lemma costs 3\ndevice cpu\n";
  const std::pair<std::string, std::string> bad[] = {
      {"", "ends within"},
      {"lemma costs 1\n", "line 1"},
      {head + "1 0 3 0 0 0 0 9 relu", "ends within"},
      {head + "1 0 3 0 0 0 0 9 relu\n1 0 3 0 0 0 0 9 relu\n", "line 4"},
      {head + "nan 0 3 0 0 0 0 9 relu\n", "line 3"},
      {head + "-1 0 3 0 0 0 0 9 relu\n", "line 3"},
      {head + "1 0 0 0 0 0 0 9 relu\n", "line 3"},
      {head + "1 0 3 0 0 0 -1 9 relu\n", "line 3"},
      {head + "1 0 3 0 0 0 relu\n", "line 3"},
      {head + "1 0 3 0 0 0 0 -9 relu\n", "line 3"},
      {head + "1 0 3 0 0 0 0 soon relu\n", "line 3"},
      {head + "\n", "line 3"},
      {"lemma costs 2\n1 0 3 0 0 0 relu\n", "before the first device"},
  };
  for (const auto& [text, part] : bad) {
    auto entries = ParseCosts(text);
    ASSERT_FALSE(entries.ok()) << text;
    EXPECT_NE(entries.status().message().find(part), std::string::npos) << entries.status();
  }
}

TEST(CostDbTest, TakesNoCostsThatAreNone) {
  auto db = *CostDb::Open("");
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (double bad : {-1.0, inf, -inf, nan}) {
    EXPECT_NE(db->Put("cpu", "conv", {bad, 0, 1}).status().message().find("conv on cpu"),
              std::string::npos);
    EXPECT_FALSE(db->Put("cpu", "conv", {1, bad, 1}).ok());
    EXPECT_FALSE(db->PutAll({{"cpu", "ok", {1, 0, 1}}, {"cpu", "conv", {bad, 0, 1}}}, true).ok());
    ASSERT_TRUE(db->Put("cpu", "known", {1, 0, 1}).ok());
    EXPECT_FALSE(db->PutInGraph("cpu", {{"known", bad}}).ok());
  }
  EXPECT_EQ(*db->Count(), 1);
}

// SQLite accepts texts in columns of numbers.
TEST(CostDbTest, RefusesCostsThatAreNone) {
  for (const std::string bad : {"'quick'", "-1", "9e999", "x'00'"}) {
    const std::string path = TempPath("bad.sqlite");
    ASSERT_TRUE((*CostDb::Open(path))->Put("cpu", "conv", {2, 0, 1}).ok());
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(raw, ("UPDATE kernel_cost SET median_ms = " + bad).c_str(), nullptr,
                           nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(raw);
    auto db = *CostDb::Open(path);
    const auto found = db->Find("cpu", "conv");
    EXPECT_NE(found.status().message().find(path + ": the cost of conv on cpu"), std::string::npos)
        << bad << found.status();
    EXPECT_FALSE(db->Entries().ok()) << bad;
  }
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
}  // namespace lemma::optimizer
