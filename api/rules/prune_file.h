// Copies a file of rules without the rules that follow from its other rules.
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
  std::string output;         // where to write the remaining rules; must not be empty
  int64_t max_steps = 4;      // limit on the length of a derivation, 1 … 64
  int64_t max_graphs = 2000;  // limit on the graphs visited per rule and choice of sizes, 1 … 2^30
  const std::atomic<bool>* interrupted = nullptr;  // may be null; soon after it is true, work ends
  // Called before each attempt to derive a rule, with the number of earlier attempts and the number
  // of all rules. A rule is tried once or twice, so `done` can exceed `rules`. May be empty.
  std::function<void(int done, int rules)> progress;

  absl::Status Check() const;  // InvalidArgument names the option
};

struct PrunedFile {
  int64_t rules = 0, kept = 0, left_out = 0;  // numbers of rules: read, kept, removed by this call
  std::string pruned_path;  // the file of the rules removed by this or earlier calls; "" if none
};

// Reads `rules` with LoadRulesFile (api/rules/rules_file.h). Writes the rules that do not follow
// from others (rewrite/derivation/prune.h) to options.output. Writes the removed rules to
// PrunedRulesPath(options.output), after the rules in PrunedRulesFiles(rules), which earlier calls
// removed; if neither this call nor earlier calls removed a rule, deletes the file
// PrunedRulesPath(options.output).
// FailedPrecondition if a rule is not proved, because derivations must not use it. Cancelled, with
// nothing written, if it was interrupted.
absl::StatusOr<PrunedFile> PruneFile(const std::string& rules, const PruneFileOptions& options);
// The result in one line.
std::string TextOf(const PrunedFile& pruned);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_PRUNE_FILE_H_
