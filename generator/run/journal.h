// A journal of decisions on disk, so that a run that was killed need not repeat them.
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
  // Opens or creates the file. Only one process at a time can have it open. InvalidArgument, with
  // the path, if another process has it open, or if it is not writable, not a journal, or damaged.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& path, const RunId& run);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The run for which the journal was created.
  const RunId& run() const { return run_; }
  int64_t size() const;

  // The decision on the candidate, under any name; nullopt if the journal has none.
  std::optional<Decision> Find(const Substitution& candidate) const;
  // After the return, the record survives the end of the process. Records are synced to disk at
  // most once a second; decisions that are lost when the machine crashes are made again.
  // InvalidArgument, with the path, if the file cannot be written, now or in an earlier call.
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
