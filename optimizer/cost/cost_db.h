// Measured kernel times, kept in SQLite between runs and shared by processes.
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
  double median_ms = 0;     // of the runs in one repetition, the quietest
  double variance_ms2 = 0;  // between repetitions
  int runs = 0;             // repetitions
  // What the kernel does: scalar operations, and bytes of its operands and results. 0: not known.
  double flops = 0, bytes = 0;
  double in_graph_ms = 0;  // mean of its medians in runs of whole graphs; 0: not timed there
};

// Kernel signatures and milliseconds.
using KernelTimes = std::vector<std::pair<std::string, double>>;

struct CostEntry {
  std::string device, signature;
  MeasuredCost cost;
};

// One table, keyed by device (KernelMeasurer::device(): device, back end, library version and
// threads) and kernel signature. The first measurement of a key stays, so that processes that
// measure at the same time agree afterwards and a search can be repeated. Costs are finite and not
// negative: others are not written, and are errors where a database has them (InvalidArgument).
// Writes are atomic and wait for other processes. Not thread-safe; open one per thread.
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
  // Times of kernels in runs of whole graphs. The first of a kernel stays; one whose cost is not
  // known is left out. Returns how many were kept, all or, with an error, none.
  absl::StatusOr<int64_t> PutInGraph(absl::string_view device, const KernelTimes& times);
  absl::StatusOr<int64_t> Count();
  // All of one device ("": of all), in the order of device and signature.
  absl::StatusOr<std::vector<CostEntry>> Entries(absl::string_view device = "");
  absl::StatusOr<std::vector<std::string>> Devices();  // sorted
  // Each entry as Put would keep it, in one transaction: all or, with an error, none. `replace`: in
  // place of an earlier measurement. Returns how many were new or replaced.
  absl::StatusOr<int64_t> PutAll(const std::vector<CostEntry>& entries, bool replace);
  const std::string& path() const { return path_; }

 private:
  explicit CostDb(std::string path) : path_(std::move(path)) {}
  absl::Status Prepare();
  absl::Status TryPrepare();
  absl::StatusOr<int64_t> Version();
  // In a transaction.
  absl::Status BringUpToDate();
  void Rollback();
  // False: there was one already.
  absl::StatusOr<bool> Insert(const char* verb, const CostEntry& entry);
  absl::Status Execute(const char* sql);
  absl::Status NoCost(absl::string_view device, absl::string_view signature) const;
  absl::Status Failure(absl::string_view doing) const;

  std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_DB_H_
