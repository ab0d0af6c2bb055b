// Finds rules by machine (docs/generator.md). Code: api/generation, which drives generator/run.
//
// Enumerates all graphs over a set of operators, takes pairs that are equal on random values,
// proves them equal for all sizes, drops those that follow from other rules, and writes the rest.
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
  // An operator set, variants of it, or both, as NamedSet (generator/sets/named_sets.h) takes them.
  // The set may be a file (generator/sets/set_file.h).
  std::vector<std::string> ops = {"taso"};
  int64_t max_ops = 2;  // operators in a graph, 1 … generator::kMostOps
  int64_t seed = 1;     // of the random values
  int64_t threads = 1;  // 1 … 256; the rules do not depend on it
  // Bytes for the enumeration, at least 16 MB. A smaller value makes it slower and changes no
  // result.
  int64_t memory = generator::EnumeratorOptions().max_memory;
  std::string output;    // the file for the rules, or for the shard; CountGraphs needs none
  std::string rejected;  // the file that lists refuted and undecided candidates; "": none
  // Whether Generate continues an unfinished run with the same options. If false, the folder that
  // such a run left is an error.
  bool resume = false;
  // All files that EnumerateShard wrote in one run. If given, nothing is enumerated; ops, max_ops
  // and seed are taken from the files.
  std::vector<std::string> shards;

  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
  // Receives, for people, the current stage ("comparing graphs"), the amount done, and the total
  // (0: unknown). Calls of `progress`, `decided` and `note` never overlap.
  std::function<void(const std::string& stage, int64_t done, int64_t all)> progress;
  // Called after each decision on a candidate. `known`: an earlier process made it.
  std::function<void(bool proved, bool known)> decided;
  std::function<void(const std::string&)> note;  // receives a line for the user

  // InvalidArgument names the option that is out of range.
  absl::Status Check() const;
};

struct GenerateResult {
  generator::EnumeratorStats enumerated;  // of the enumeration, also if an earlier process did it
  generator::GenerateStats decided;
  int64_t written = 0;     // rules in `output`
  int64_t resumed = 0;     // candidates that an earlier process had decided
  ProcessUse enumeration;  // time and memory of the process when the enumeration ended
};

// Writes the rules to `output`, and those that follow from them to PrunedRulesPath(output)
// (api/rules/rules_file.h), each file completely or not. Until then the folder OUTPUT.run keeps
// the enumerated classes and the decisions, so that an interrupted or killed run can be resumed.
// The folder is removed when all results are written. The results depend on ops, max_ops and seed
// only. ResourceExhausted if the enumeration does not fit in `memory`; Cancelled if interrupted.
// Messages name an option as in "option max_ops".
absl::StatusOr<GenerateResult> Generate(const GenerateOptions& options);

// Only enumerates and compares, all graphs or one part of them. Proves and writes nothing. Errors
// of this function and the next are those of Generate; InvalidArgument for a wrong shard.
absl::StatusOr<generator::EnumeratorStats> CountGraphs(const GenerateOptions& options,
                                                       const generator::Shard& shard = {});

// Enumerates one part of the graphs and writes it to `output`. A later call of Generate gets all
// parts as GenerateOptions::shards. With `resume`, a file with this part of this run is kept;
// otherwise an existing file is overwritten.
absl::StatusOr<generator::EnumeratorStats> EnumerateShard(const GenerateOptions& options,
                                                          const generator::Shard& shard);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATE_H_
