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
  double median_ms = 0;     // time of one execution: the least of the repetitions' medians
  double variance_ms2 = 0;  // of the repetitions' medians
  int repetitions = 0;      // number of repetitions
  // The kernel's work: scalar operations, and bytes of its operands and results. 0: unknown.
  double flops = 0, bytes = 0;
  double in_graph_ms = 0;  // the kernel's time in runs of whole graphs; 0: never timed there
  // The share of the machine's processors, from 0 to 1, that other processes took during the
  // measurement.
  double load = 0;
  int64_t measured_at = 0;  // seconds since 1970; 0: unknown

  // The standard error of median_ms: from the spread of the repetitions, from the load, and one
  // percent for influences that repetitions do not show, such as the place of code and weights in
  // memory.
  double ErrorMs() const;
};

// Summarizes the medians of repetitions, in milliseconds; `ms` must not be empty. The least of them
// becomes median_ms, because other work on the machine only adds time. Sets only median_ms,
// variance_ms2 and repetitions.
MeasuredCost Summarize(const std::vector<double>& ms);

// Pairs of a kernel's signature and its time in milliseconds.
using KernelTimes = std::vector<std::pair<std::string, double>>;

struct CostEntry {
  std::string device, signature;
  MeasuredCost cost;
};

// One table, keyed by device (KernelMeasurer::device(): device, back end, library version, threads)
// and kernel signature. The first measurement of a key stays unless it is replaced on purpose; so
// processes that measure at the same time agree afterwards, and searches are repeatable. Costs are
// finite and not negative: to write any other cost, or to read one from the file, is an error
// (InvalidArgument). Failures of SQLite after Open are InvalidArgument too. Writes are atomic and
// wait up to 30 seconds for other processes. Not thread-safe: open one CostDb per thread.
class CostDb {
 public:
  // Creates the file and its folder if necessary; upgrades a file of an older version. "" is a
  // database in memory. InvalidArgument, with the path, if the file is not such a database or has a
  // newer version; PermissionDenied if it cannot be opened.
  static absl::StatusOr<std::unique_ptr<CostDb>> Open(const std::string& path);
  // ~/.cache/lemma/costs.sqlite, or "" (in memory) if there is no home folder.
  static std::string DefaultPath();

  ~CostDb();
  CostDb(const CostDb&) = delete;

  // The entry's cost; nullopt if there is no entry.
  absl::StatusOr<std::optional<MeasuredCost>> Find(absl::string_view device,
                                                   absl::string_view signature);
  // Stores the measurement if the key has none yet. Returns the measurement that the key has
  // afterwards.
  absl::StatusOr<MeasuredCost> Put(absl::string_view device, absl::string_view signature,
                                   const MeasuredCost& cost);
  // Stores the measurement, including in_graph_ms, in place of an earlier measurement, if any.
  absl::Status Replace(absl::string_view device, absl::string_view signature,
                       const MeasuredCost& cost);
  // Stores kernel times from runs of whole graphs (MeasuredCost::in_graph_ms). Skips kernels that
  // have no entry or that have such a time already. Returns the number of kernels whose time was
  // stored. On error, none is stored.
  absl::StatusOr<int64_t> PutInGraph(absl::string_view device, const KernelTimes& times);
  // The number of entries.
  absl::StatusOr<int64_t> Count();
  // All entries of the device (of all devices if it is ""), sorted by device and signature.
  absl::StatusOr<std::vector<CostEntry>> Entries(absl::string_view device = "");
  absl::StatusOr<std::vector<std::string>> Devices();  // the devices with entries, sorted
  // Stores the entries in one transaction, each as Put does or, if `replace` is true, as Replace
  // does. Returns how many entries were new or replaced. On error, none is stored.
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
