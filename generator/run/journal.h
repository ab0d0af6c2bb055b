// A journal of decisions on disk, so that the decisions of a killed run need not be made again.
#ifndef LEMMA_GENERATOR_RUN_JOURNAL_H_
#define LEMMA_GENERATOR_RUN_JOURNAL_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "generator/run/generate.h"
#include "generator/run/run_id.h"

namespace lemma::generator {

// An append-only file of records, each with a checksum. An incomplete last record, left by a kill,
// is dropped when the file is opened. Thread-safe.
class Journal {
 public:
  // Opens the file, or creates it for `run`. Only one process at a time can have the file open.
  // InvalidArgument, with the path, if another process has the file open, or if the file is not
  // writable, is not a journal, or is damaged.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& path, const RunId& run);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The run for which the journal was created. The caller must compare it with its own run
  // (Difference).
  const RunId& run() const { return run_; }
  // The number of decisions.
  int64_t size() const;

  // The decision on the candidate; the candidate's name does not matter. nullopt if the journal has
  // no decision.
  std::optional<Decision> Find(const Substitution& candidate) const;
  // Adds a decision. Once Add has returned, the decision survives the end of the process. Records
  // are synced to disk at most once a second, so a crash of the machine may lose the last
  // decisions. InvalidArgument, with the path, if this call or an earlier call cannot write the
  // file.
  absl::Status Add(const Substitution& candidate, const Decision& decision);

 private:
  Journal(std::string path, int file) : path_(std::move(path)), file_(file) {}
  absl::Status Lock();
  absl::Status Read(const std::string& bytes);
  absl::Status AddRecord(const std::string& payload);

  const std::string path_;
  const int file_;
  RunId run_;
  int64_t end_ = 0;  // of the last complete record
  std::chrono::steady_clock::time_point synced_;
  bool is_dirty_ = false;  // a record was added since the last sync
  absl::Status failure_;   // of a write; nothing is added afterwards
  mutable std::mutex mutex_;
  // By the candidate's text: the rest of its record.
  absl::flat_hash_map<std::string, std::string> decided_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_JOURNAL_H_
