// Measured kernel times, kept in SQLite between runs and shared by processes.
#ifndef LEMMA_OPTIMIZER_COST_DB_H_
#define LEMMA_OPTIMIZER_COST_DB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;

namespace lemma {

struct MeasuredCost {
  double median_ms = 0;     // of the runs in one repetition, the quietest
  double variance_ms2 = 0;  // between repetitions
  int runs = 0;             // repetitions
};

// One table, keyed by device (KernelMeasurer::device(): device, back end, library version and
// threads) and kernel signature. The first measurement of a key stays, so that processes that
// measure at the same time agree afterwards and a search can be repeated. Writes are atomic and
// wait for other processes. Not thread-safe; open one per thread.
class CostDb {
 public:
  // Creates the file and its folder if need be. "" is a database in memory. InvalidArgument, with
  // the path, if the file is something else or of another version; PermissionDenied if it cannot
  // be opened for writing.
  static absl::StatusOr<std::unique_ptr<CostDb>> Open(const std::string& path);
  // ~/.cache/lemma/costs.sqlite; "" (in memory) where there is no home folder.
  static std::string DefaultPath();

  ~CostDb();
  CostDb(const CostDb&) = delete;

  absl::StatusOr<std::optional<MeasuredCost>> Find(absl::string_view device,
                                                   absl::string_view signature);
  // Keeps an earlier measurement of the same key; returns the one that is in force.
  absl::StatusOr<MeasuredCost> Put(absl::string_view device, absl::string_view signature,
                                   const MeasuredCost& cost);
  absl::StatusOr<int64_t> Count();
  const std::string& path() const { return path_; }

 private:
  explicit CostDb(std::string path) : path_(std::move(path)) {}
  absl::Status Prepare();
  absl::Status TryPrepare();
  absl::Status Execute(const char* sql);
  absl::Status Failure(absl::string_view doing) const;

  std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace lemma

#endif  // LEMMA_OPTIMIZER_COST_DB_H_
