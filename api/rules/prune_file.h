// A file of rules without those that the others give.
#ifndef LEMMA_API_RULES_PRUNE_FILE_H_
#define LEMMA_API_RULES_PRUNE_FILE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lemma::api {

struct PruneFileOptions {
  std::string output;         // where to write the rules that are kept
  int64_t max_steps = 4;      // applications of rules in a row, 1 … 64
  int64_t max_graphs = 2000;  // looked at for each rule and its sizes, 1 … 2^30
  const std::atomic<bool>* interrupted = nullptr;  // ends it soon after it becomes true
  // How many rules were looked at, which may be twice each, of how many rules.
  std::function<void(int done, int rules)> progress;

  absl::Status Check() const;  // InvalidArgument names the option
};

struct PrunedFile {
  int64_t rules = 0, kept = 0, left_out = 0;
  std::string pruned_path;  // the file of rules that were left out, now and before; "" if none were
};

// Writes the rules of a file that the others do not give (rewrite/derivation/prune.h) to `output`,
// and those that they do give, after those left out of the file before, to
// PrunedRulesPath(output). FailedPrecondition if a rule is not proved: it gives nothing. Cancelled,
// and nothing is written, if it was interrupted.
absl::StatusOr<PrunedFile> PruneFile(const std::string& rules, const PruneFileOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_PRUNE_FILE_H_
