#include "optimizer/cost/cost_db.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace lemma::optimizer {
namespace {

// Version 2 added flops and bytes, version 3 times in runs of graphs, version 4 load and date.
constexpr int kSchemaVersion = 4;
constexpr int kBusyTimeoutMs = 30000;
constexpr int kRetryMs = 10;

constexpr char kCostColumns[] =
    "median_ms, variance_ms2, runs, flops, bytes, in_graph_ms, load, measured_at";
constexpr int kNumCostColumns = 8;

bool IsCost(const MeasuredCost& cost) {
  for (double x :
       {cost.median_ms, cost.variance_ms2, cost.flops, cost.bytes, cost.in_graph_ms, cost.load}) {
    if (!std::isfinite(x) || x < 0) return false;
  }
  return cost.repetitions >= 0 && cost.measured_at >= 0;
}

// A prepared statement that is finalized on every path.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) {
    if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) statement_ = nullptr;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;

  void Bind(int i, absl::string_view text) {
    sqlite3_bind_text(statement_, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void Bind(int i, double value) { sqlite3_bind_double(statement_, i, value); }
  void Bind(int i, int64_t value) { sqlite3_bind_int64(statement_, i, value); }
  void Bind(int i, const MeasuredCost& cost) {  // kCostColumns, the first at `i`
    for (double x : {cost.median_ms, cost.variance_ms2}) Bind(i++, x);
    Bind(i++, static_cast<int64_t>(cost.repetitions));
    for (double x : {cost.flops, cost.bytes, cost.in_graph_ms, cost.load}) Bind(i++, x);
    Bind(i, cost.measured_at);
  }
  int Step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  double Double(int column) { return sqlite3_column_double(statement_, column); }
  int64_t Int(int column) { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }
  // Reads kCostColumns, starting at `column`. Nothing if a column is not a number, which SQLite
  // allows everywhere, or not a valid cost.
  std::optional<MeasuredCost> ReadCost(int column) {
    for (int i = column; i < column + kNumCostColumns; ++i) {
      const int type = sqlite3_column_type(statement_, i);
      if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return std::nullopt;
    }
    const MeasuredCost cost = {
        Double(column),     Double(column + 1), static_cast<int>(Int(column + 2)),
        Double(column + 3), Double(column + 4), Double(column + 5),
        Double(column + 6), Int(column + 7)};
    if (!IsCost(cost)) return std::nullopt;
    return cost;
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

MeasuredCost Summarize(const std::vector<double>& ms) {
  MeasuredCost result;
  result.repetitions = static_cast<int>(ms.size());
  result.median_ms = *std::min_element(ms.begin(), ms.end());
  double mean = 0;
  for (double x : ms) mean += x / result.repetitions;
  for (double x : ms) result.variance_ms2 += (x - mean) * (x - mean) / result.repetitions;
  return result;
}

double MeasuredCost::ErrorMs() const {
  constexpr double kLeast = 0.01;
  // Work on all other processors changes a kernel's own processor time by some percent.
  constexpr double kAtFullLoad = 0.04;
  const double spread = repetitions > 0 ? variance_ms2 / repetitions : 0;
  return std::sqrt(spread + std::pow(kLeast * median_ms, 2) +
                   std::pow(kAtFullLoad * load * median_ms, 2));
}

std::string CostDb::DefaultPath() { return CachePath("costs.sqlite"); }

absl::StatusOr<std::unique_ptr<CostDb>> CostDb::Open(const std::string& path) {
  std::unique_ptr<CostDb> db(new CostDb(path));
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const char* name = path.empty() ? ":memory:" : path.c_str();
  if (sqlite3_open_v2(name, &db->db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) !=
      SQLITE_OK) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": cannot be opened: ", sqlite3_errmsg(db->db_)));
  }
  sqlite3_busy_timeout(db->db_, kBusyTimeoutMs);
  if (absl::Status s = db->Prepare(); !s.ok()) return s;
  return db;
}

CostDb::~CostDb() { sqlite3_close(db_); }

absl::Status CostDb::Failure(absl::string_view doing) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": ", doing, ": ", sqlite3_errmsg(db_),
                   "; give another file with --cost-db, or delete this one"));
}

absl::Status CostDb::NoCost(absl::string_view device, absl::string_view signature) const {
  return absl::InvalidArgumentError(absl::StrCat(
      path_, ": the cost of ", signature, " on ", device,
      ": must be finite numbers that are not negative; give another file with --cost-db, or delete "
      "this one"));
}

absl::Status CostDb::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return Failure("the database of costs cannot be used");
}

// Rolls back the current transaction, if any.
void CostDb::Rollback() {
  if (!sqlite3_get_autocommit(db_)) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

absl::Status CostDb::Prepare() {
  // SQLite's busy timeout does not cover the journal change of a new file, because of possible
  // deadlocks: if several processes open the file at once, all but one get SQLITE_BUSY immediately.
  for (int waited = 0;; waited += kRetryMs) {
    absl::Status status = TryPrepare();
    const bool busy = (sqlite3_errcode(db_) & 0xff) == SQLITE_BUSY;
    Rollback();
    if (status.ok() || !busy || waited >= kBusyTimeoutMs) return status;
    sqlite3_sleep(kRetryMs);
  }
}

absl::StatusOr<int64_t> CostDb::Version() {
  Statement query(db_, "PRAGMA user_version");
  if (query.Step() != SQLITE_ROW) return Failure("no version");
  return query.Int(0);
}

absl::Status CostDb::TryPrepare() {
  // With a write-ahead log, readers do not wait for writers. On file systems without support for
  // it, SQLite keeps its rollback journal.
  if (absl::Status s = Execute("PRAGMA journal_mode = WAL"); !s.ok()) return s;
  if (absl::Status s = Execute("PRAGMA synchronous = NORMAL"); !s.ok()) return s;
  auto version = Version();
  if (!version.ok() || *version == kSchemaVersion) return version.status();
  if (absl::Status s = Execute("BEGIN IMMEDIATE"); !s.ok()) return s;
  if (absl::Status s = BringUpToDate(); !s.ok()) return s;
  return Execute("COMMIT");
}

absl::Status CostDb::BringUpToDate() {
  auto version = Version();  // again: another process may have upgraded it
  if (!version.ok() || *version == kSchemaVersion) return version.status();
  const std::string set_version = absl::StrCat("PRAGMA user_version = ", kSchemaVersion);
  if (*version == 0) {
    return Execute(
        absl::StrCat("CREATE TABLE kernel_cost ("
                     "  device TEXT NOT NULL, signature TEXT NOT NULL,"
                     "  median_ms REAL NOT NULL, variance_ms2 REAL NOT NULL, runs INTEGER NOT NULL,"
                     "  flops REAL NOT NULL, bytes REAL NOT NULL, in_graph_ms REAL NOT NULL,"
                     "  load REAL NOT NULL, measured_at INTEGER NOT NULL,"
                     "  PRIMARY KEY (device, signature)) WITHOUT ROWID;",
                     set_version)
            .c_str());
  }
  if (*version >= 1 && *version < kSchemaVersion) {
    std::string changes = set_version;
    auto add = [&changes](absl::string_view column) {
      absl::StrAppend(&changes, "; ALTER TABLE kernel_cost ADD COLUMN ", column,
                      " REAL NOT NULL DEFAULT 0");
    };
    if (*version == 1) {
      add("flops");
      add("bytes");
    }
    if (*version <= 2) add("in_graph_ms");
    add("load");
    add("measured_at");
    return Execute(changes.c_str());
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": costs of version ", *version, ", this program reads up to version ",
                   kSchemaVersion, "; give another file with --cost-db"));
}

absl::StatusOr<std::optional<MeasuredCost>> CostDb::Find(absl::string_view device,
                                                         absl::string_view signature) {
  Statement query(db_, absl::StrCat("SELECT ", kCostColumns,
                                    " FROM kernel_cost WHERE device = ? AND signature = ?")
                           .c_str());
  query.Bind(1, device);
  query.Bind(2, signature);
  switch (query.Step()) {
    case SQLITE_ROW: {
      std::optional<MeasuredCost> cost = query.ReadCost(0);
      if (!cost) return NoCost(device, signature);
      return cost;
    }
    case SQLITE_DONE:
      return std::optional<MeasuredCost>();
    default:
      return Failure("a cost cannot be read");
  }
}

absl::StatusOr<bool> CostDb::Insert(const char* verb, const CostEntry& entry) {
  if (!IsCost(entry.cost)) return NoCost(entry.device, entry.signature);
  Statement insert(db_, absl::StrCat(verb, " INTO kernel_cost (device, signature, ", kCostColumns,
                                     ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
                            .c_str());
  insert.Bind(1, entry.device);
  insert.Bind(2, entry.signature);
  insert.Bind(3, entry.cost);
  if (insert.Step() != SQLITE_DONE) return Failure("a cost cannot be written");
  return sqlite3_changes(db_) > 0;
}

absl::StatusOr<MeasuredCost> CostDb::Put(absl::string_view device, absl::string_view signature,
                                         const MeasuredCost& cost) {
  auto inserted = Insert("INSERT OR IGNORE", {std::string(device), std::string(signature), cost});
  if (!inserted.ok()) return inserted.status();
  auto kept = Find(device, signature);
  if (!kept.ok()) return kept.status();
  return kept->value_or(cost);
}

absl::Status CostDb::Replace(absl::string_view device, absl::string_view signature,
                             const MeasuredCost& cost) {
  return Insert("INSERT OR REPLACE", {std::string(device), std::string(signature), cost}).status();
}

absl::StatusOr<int64_t> CostDb::PutInGraph(absl::string_view device, const KernelTimes& times) {
  if (absl::Status s = Execute("BEGIN IMMEDIATE"); !s.ok()) return s;
  int64_t kept = 0;
  for (const auto& [signature, ms] : times) {
    if (!std::isfinite(ms) || ms < 0) {
      Rollback();
      return NoCost(device, signature);
    }
    Statement update(db_,
                     "UPDATE kernel_cost SET in_graph_ms = ?"
                     " WHERE device = ? AND signature = ? AND in_graph_ms = 0");
    update.Bind(1, ms);
    update.Bind(2, device);
    update.Bind(3, signature);
    if (update.Step() != SQLITE_DONE) {
      absl::Status failure = Failure("a time cannot be written");
      Rollback();
      return failure;
    }
    kept += sqlite3_changes(db_);
  }
  absl::Status committed = Execute("COMMIT");
  if (committed.ok()) return kept;
  Rollback();
  return committed;
}

absl::StatusOr<int64_t> CostDb::Count() {
  Statement query(db_, "SELECT COUNT(*) FROM kernel_cost");
  if (query.Step() != SQLITE_ROW) return Failure("costs cannot be counted");
  return query.Int(0);
}

absl::StatusOr<std::vector<CostEntry>> CostDb::Entries(absl::string_view device) {
  Statement query(db_, absl::StrCat("SELECT device, signature, ", kCostColumns,
                                    " FROM kernel_cost WHERE ?1 = '' OR device = ?1"
                                    " ORDER BY device, signature")
                           .c_str());
  query.Bind(1, device);
  std::vector<CostEntry> entries;
  int status;
  while ((status = query.Step()) == SQLITE_ROW) {
    const std::optional<MeasuredCost> cost = query.ReadCost(2);
    if (!cost) return NoCost(query.Text(0), query.Text(1));
    entries.push_back({query.Text(0), query.Text(1), *cost});
  }
  if (status != SQLITE_DONE) return Failure("costs cannot be read");
  return entries;
}

absl::StatusOr<std::vector<std::string>> CostDb::Devices() {
  Statement query(db_, "SELECT DISTINCT device FROM kernel_cost ORDER BY device");
  std::vector<std::string> devices;
  int status;
  while ((status = query.Step()) == SQLITE_ROW) devices.push_back(query.Text(0));
  if (status != SQLITE_DONE) return Failure("devices cannot be read");
  return devices;
}

absl::StatusOr<int64_t> CostDb::PutAll(const std::vector<CostEntry>& entries, bool replace) {
  if (absl::Status s = Execute("BEGIN IMMEDIATE"); !s.ok()) return s;
  int64_t changed = 0;
  for (const CostEntry& entry : entries) {
    auto inserted = Insert(replace ? "INSERT OR REPLACE" : "INSERT OR IGNORE", entry);
    if (!inserted.ok()) {
      Rollback();
      return inserted.status();
    }
    changed += *inserted ? 1 : 0;
  }
  absl::Status committed = Execute("COMMIT");
  if (committed.ok()) return changed;
  Rollback();
  return committed;
}

}  // namespace lemma::optimizer
