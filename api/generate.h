// Generate: rules found by machine (docs/generator.md).
//
// Enumerates all graphs over a set of operators, proves those that are equal on random values equal
// for all sizes, leaves out what follows from other rules, and writes the rest.
#ifndef LEMMA_API_GENERATE_H_
#define LEMMA_API_GENERATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/process_use.h"
#include "generator/run/class_file.h"
#include "generator/run/generate.h"

namespace lemma::api {

struct GenerateOptions {
  std::vector<std::string> ops = {"taso"};  // operator sets and instances, as NamedSet takes them
  int64_t max_ops = 2;                      // operators in a graph, 1 … generator::kMostOps
  int64_t seed = 1;                         // of the random values
  int64_t threads = 1;                      // 1 … 256; the rules do not depend on it
  // Bytes for the enumeration, at least 16 MB; with less it takes longer and finds the same.
  int64_t memory = generator::EnumeratorOptions().max_memory;
  std::string output;    // where to write the rules, or the shard
  std::string rejected;  // where to list what is refuted or undecided; "": nowhere
  // Whether to go on with a run of the same options that did not end. Without it, the folder that
  // such a run left is an error.
  bool resume = false;
  // Files that EnumerateShard wrote, all of one run. Where there are some, nothing is enumerated,
  // and ops, max_ops and seed are theirs.
  std::vector<std::string> shards;

  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
  // Reports the stage of the work for people, as "comparing graphs", how much of it is done, and
  // how much there is (0: unknown). These three functions are called one at a time.
  std::function<void(const std::string& stage, int64_t done, int64_t all)> progress;
  // One more candidate is decided; `known`: by an earlier process.
  std::function<void(bool proved, bool known)> decided;
  std::function<void(const std::string&)> note;  // one line that the user should know

  // InvalidArgument names the option that is out of range.
  absl::Status Check() const;
};

struct GenerateResult {
  generator::EnumeratorStats enumerated;
  generator::GenerateStats decided;
  int64_t written = 0;     // rules in `output`
  int64_t resumed = 0;     // candidates that an earlier process had decided
  ProcessUse enumeration;  // what the process had used when all graphs were enumerated
};

// Writes the rules to `output`, and those that follow from them to PrunedRulesPath(output)
// (api/rules/rules_file.h), each file whole or not at all. Until then the folder OUTPUT.run keeps
// what was enumerated and decided, so that an interrupted or killed run can be resumed; it goes
// with the last result. The results depend on ops, max_ops and seed only. ResourceExhausted if the
// enumeration does not fit in `memory`. Messages name an option as in "option max_ops".
absl::StatusOr<GenerateResult> Generate(const GenerateOptions& options);

// Enumerates and compares only, all graphs or one part of them; nothing is proved or written.
absl::StatusOr<generator::EnumeratorStats> CountGraphs(const GenerateOptions& options,
                                                       const generator::Shard& shard = {});

// Enumerates one part of the graphs and writes it to `output`, for GenerateOptions::shards of the
// process that puts all parts together. With `resume`, a file that is this part stays as it is.
absl::StatusOr<generator::EnumeratorStats> EnumerateShard(const GenerateOptions& options,
                                                          const generator::Shard& shard);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATE_H_
