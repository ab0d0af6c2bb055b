#include "optimizer/cost_db.h"

#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kBusyTimeoutMs = 30000;
constexpr int kRetryMs = 10;

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
  void Bind(int i, int value) { sqlite3_bind_int(statement_, i, value); }
  int Step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  double Double(int column) { return sqlite3_column_double(statement_, column); }
  int64_t Int(int column) { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

std::string CostDb::DefaultPath() {
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return "";
  return absl::StrCat(home, "/.cache/lemma/costs.sqlite");
}

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

absl::Status CostDb::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return Failure("the database of costs cannot be used");
}

absl::Status CostDb::Prepare() {
  // SQLite's own waiting leaves out the change of a new file's journal, for fear of a deadlock: of
  // several processes that open it at once, all but one are told at once that it is busy.
  for (int waited = 0;; waited += kRetryMs) {
    absl::Status status = TryPrepare();
    const bool busy = (sqlite3_errcode(db_) & 0xff) == SQLITE_BUSY;
    if (status.ok() || !busy || waited >= kBusyTimeoutMs) return status;
    if (!sqlite3_get_autocommit(db_)) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    sqlite3_sleep(kRetryMs);
  }
}

absl::Status CostDb::TryPrepare() {
  // With a write-ahead log readers do not wait for writers. Where a file system lacks what it
  // needs, SQLite stays with its rollback journal.
  if (absl::Status s = Execute("PRAGMA journal_mode = WAL"); !s.ok()) return s;
  if (absl::Status s = Execute("PRAGMA synchronous = NORMAL"); !s.ok()) return s;
  int64_t version = 0;
  {
    Statement query(db_, "PRAGMA user_version");
    if (query.Step() != SQLITE_ROW) return Failure("no version");
    version = query.Int(0);
  }
  if (version != 0 && version != kSchemaVersion) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": costs of version ", version,
                                                   ", this program reads version ", kSchemaVersion,
                                                   "; give another file with --cost-db"));
  }
  if (version == kSchemaVersion) return absl::OkStatus();
  return Execute(
      absl::StrCat("BEGIN IMMEDIATE;"
                   "CREATE TABLE IF NOT EXISTS kernel_cost ("
                   "  device TEXT NOT NULL, signature TEXT NOT NULL,"
                   "  median_ms REAL NOT NULL, variance_ms2 REAL NOT NULL, runs INTEGER NOT NULL,"
                   "  PRIMARY KEY (device, signature)) WITHOUT ROWID;"
                   "PRAGMA user_version = ",
                   kSchemaVersion, "; COMMIT")
          .c_str());
}

absl::StatusOr<std::optional<MeasuredCost>> CostDb::Find(absl::string_view device,
                                                         absl::string_view signature) {
  Statement query(db_,
                  "SELECT median_ms, variance_ms2, runs FROM kernel_cost"
                  " WHERE device = ? AND signature = ?");
  query.Bind(1, device);
  query.Bind(2, signature);
  switch (query.Step()) {
    case SQLITE_ROW:
      return MeasuredCost{query.Double(0), query.Double(1), static_cast<int>(query.Int(2))};
    case SQLITE_DONE:
      return std::optional<MeasuredCost>();
    default:
      return Failure("a cost cannot be read");
  }
}

absl::StatusOr<MeasuredCost> CostDb::Put(absl::string_view device, absl::string_view signature,
                                         const MeasuredCost& cost) {
  {
    Statement insert(db_, "INSERT OR IGNORE INTO kernel_cost VALUES (?, ?, ?, ?, ?)");
    insert.Bind(1, device);
    insert.Bind(2, signature);
    insert.Bind(3, cost.median_ms);
    insert.Bind(4, cost.variance_ms2);
    insert.Bind(5, cost.runs);
    if (insert.Step() != SQLITE_DONE) return Failure("a cost cannot be written");
  }
  auto kept = Find(device, signature);
  if (!kept.ok()) return kept.status();
  return kept->value_or(cost);
}

absl::StatusOr<int64_t> CostDb::Count() {
  Statement query(db_, "SELECT COUNT(*) FROM kernel_cost");
  if (query.Step() != SQLITE_ROW) return Failure("costs cannot be counted");
  return query.Int(0);
}

}  // namespace lemma
