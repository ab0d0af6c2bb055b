// Stores measured kernel times in an SQLite file that runs and processes share.
#ifndef LEMMA_OPTIMIZER_COST_COST_DB_H_
#define LEMMA_OPTIMIZER_COST_COST_DB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;

namespace lemma::optimizer {

struct MeasuredCost {
  double median_ms = 0;     // per run, in the repetition with the least median
  double variance_ms2 = 0;  // between repetitions
  int runs = 0;             // repetitions
  // The kernel's work: scalar operations, and bytes of its operands and results. 0: unknown.
  double flops = 0, bytes = 0;
  double in_graph_ms = 0;  // mean of its medians in runs of whole graphs; 0: never timed there
  // The share of the machine's processors that other processes took meanwhile, from 0 to 1.
  double load = 0;
  int64_t measured_at = 0;  // seconds since 1970; 0: unknown

  // The standard error of median_ms: from the spread of the repetitions, from the load, and half a
  // percent for what repetitions do not show, such as the place in memory.
  double ErrorMs() const;
};

// Kernel signatures and milliseconds.
using KernelTimes = std::vector<std::pair<std::string, double>>;

struct CostEntry {
  std::string device, signature;
  MeasuredCost cost;
};

// One table, keyed by device (KernelMeasurer::device(): device, back end, library version, threads)
// and kernel signature. The first measurement of a key stays, so that processes that measure at the
// same time agree afterwards and searches are repeatable, unless it is replaced on purpose. Costs
// are finite and not negative; others are not written, and reading one from a file is an error
// (InvalidArgument). Writes are atomic and wait for other processes. Not thread-safe: open one per
// thread.
class CostDb {
 public:
  // Creates the file and its folder if necessary. "" is a database in memory. InvalidArgument, with
  // the path, if the file is not such a database or has another version; PermissionDenied if it
  // cannot be opened for writing.
  static absl::StatusOr<std::unique_ptr<CostDb>> Open(const std::string& path);
  // ~/.cache/lemma/costs.sqlite, or "" (in memory) if there is no home folder.
  static std::string DefaultPath();

  ~CostDb();
  CostDb(const CostDb&) = delete;

  // The entry's cost; nullopt if there is none.
  absl::StatusOr<std::optional<MeasuredCost>> Find(absl::string_view device,
                                                   absl::string_view signature);
  // Returns the measurement in force: an earlier one of the same key stays.
  absl::StatusOr<MeasuredCost> Put(absl::string_view device, absl::string_view signature,
                                   const MeasuredCost& cost);
  // Stores the measurement in place of an earlier one, in_graph_ms included.
  absl::Status Replace(absl::string_view device, absl::string_view signature,
                       const MeasuredCost& cost);
  // Stores kernel times from runs of whole graphs. The first time of a kernel stays; kernels
  // without an entry are skipped. Returns how many were stored: all or, on error, none.
  absl::StatusOr<int64_t> PutInGraph(absl::string_view device, const KernelTimes& times);
  // The number of entries.
  absl::StatusOr<int64_t> Count();
  // All entries of one device ("": of all), sorted by device and signature.
  absl::StatusOr<std::vector<CostEntry>> Entries(absl::string_view device = "");
  absl::StatusOr<std::vector<std::string>> Devices();  // sorted
  // Stores each entry as Put would, in one transaction: all or, on error, none. `replace`:
  // overwrite earlier measurements. Returns how many were new or replaced.
  absl::StatusOr<int64_t> PutAll(const std::vector<CostEntry>& entries, bool replace);
  const std::string& path() const { return path_; }

 private:
  explicit CostDb(std::string path) : path_(std::move(path)) {}
  absl::Status Prepare();
  absl::Status TryPrepare();
  absl::StatusOr<int64_t> Version();
  // To be called within a transaction.
  absl::Status BringUpToDate();
  void Rollback();
  // False: an entry existed already.
  absl::StatusOr<bool> Insert(const char* verb, const CostEntry& entry);
  absl::Status Execute(const char* sql);
  absl::Status NoCost(absl::string_view device, absl::string_view signature) const;
  absl::Status Failure(absl::string_view doing) const;

  std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_DB_H_
