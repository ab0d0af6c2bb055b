// What was decided of candidates, on disk: a run that is killed need not decide it again.
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

// A file of records, each with a checksum, that only grows. A last record that is not whole, as a
// kill leaves it, is dropped when the file is opened. Thread-safe.
class Journal {
 public:
  // Opens it, or makes it. One process at a time can have it open. InvalidArgument, with the path,
  // if that is another one, or if the file cannot be written, is no journal, or is damaged.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& path, const RunId& run);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Of the run that it was made for.
  const RunId& run() const { return run_; }
  int64_t size() const;

  // What was decided of the candidate, whatever its name was.
  std::optional<Decision> Find(const Substitution& candidate) const;
  // When it returns, the record outlives the process. The disk is asked for it once a second at
  // most: what a machine that stops has not written is decided again.
  absl::Status Add(const Substitution& candidate, const Decision& decision);

 private:
  Journal(std::string path, int file) : path_(std::move(path)), file_(file) {}
  absl::Status Lock();
  absl::Status Read(const std::string& bytes);
  absl::Status AddRecord(const std::string& payload);

  const std::string path_;
  const int file_;
  RunId run_;
  int64_t end_ = 0;  // of the last whole record
  std::chrono::steady_clock::time_point synced_;
  bool is_dirty_ = false;  // a record was added since
  absl::Status failure_;   // of a write; nothing is added after it
  mutable std::mutex mutex_;
  // By the candidate's text: the rest of the record.
  absl::flat_hash_map<std::string, std::string> decided_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_JOURNAL_H_
