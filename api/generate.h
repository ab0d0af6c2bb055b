// Finds rules automatically (docs/generator.md). Code: api/generation, which drives generator/run.
//
// Enumerates all graphs over a set of operators, and takes pairs of graphs that
// are equal on random values (candidates). Tries to prove each pair equal for
// all sizes. Drops the proved rules that follow from other rules, and writes
// the other proved rules.
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
  int64_t seed = 1;     // the seed of the random values
  int64_t threads = 1;  // 1 … 256; the rules do not depend on it
  // Bytes for the enumeration, at least 2^24. A smaller value makes the enumeration slower, but if
  // it suffices, the results are the same.
  int64_t memory = generator::EnumeratorOptions().max_memory;
  std::string output;    // the file for the rules or the shard; CountGraphs needs no file
  std::string rejected;  // the file that lists candidates that gave no rule, and why; "": none
  // Whether Generate continues an unfinished run. True: an unfinished run with other options is an
  // error; if there is no unfinished run, a new run begins. False: an unfinished run that has left
  // results is an error, even if it has the same options. EnumerateShard describes its own use of
  // `resume`.
  bool resume = false;
  // All files that EnumerateShard wrote in one run. If given, nothing is enumerated; ops, max_ops
  // and seed are taken from the files.
  std::vector<std::string> shards;

  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
  // Receives, for people, the current stage ("comparing graphs"), the amount done, and the total
  // (0: unknown). Calls of `progress`, `decided` and `note` never overlap.
  std::function<void(const std::string& stage, int64_t done, int64_t all)> progress;
  // Called after each decision on a candidate. `known`: an earlier process made the decision.
  std::function<void(bool proved, bool known)> decided;
  std::function<void(const std::string&)> note;  // receives a line for the user

  // InvalidArgument names the option that is out of range.
  absl::Status Check() const;
};

struct GenerateResult {
  generator::EnumeratorStats enumerated;  // set even if an earlier process enumerated the graphs
  generator::GenerateStats decided;
  int64_t written = 0;     // rules in `output`
  int64_t resumed = 0;     // candidates that an earlier process had decided
  ProcessUse enumeration;  // time and memory of this process until the end of the enumeration
};

// Writes the rules to `output`, and the proved rules that follow from them to
// PrunedRulesPath(output) (api/rules/rules_file.h); if there are no such rules, removes a file at
// PrunedRulesPath(output). Each file is written completely or not at all.
// Until all results are written, the folder OUTPUT.run (OUTPUT: the path `output`) keeps the
// enumerated classes and the decisions, so that an interrupted or killed run can be resumed; then
// the folder is removed. The results depend on ops, max_ops and seed only. ResourceExhausted if the
// enumeration does not fit in `memory`; Cancelled if interrupted. Messages name an option as in
// "option max_ops".
absl::StatusOr<GenerateResult> Generate(const GenerateOptions& options);

// Only enumerates and compares graphs: all graphs (the default), or the graphs of one shard. Proves
// and writes nothing. CountGraphs and EnumerateShard return the errors of Generate, and
// InvalidArgument for a wrong shard.
absl::StatusOr<generator::EnumeratorStats> CountGraphs(const GenerateOptions& options,
                                                       const generator::Shard& shard = {});

// Enumerates the graphs of one shard, and writes them to `output`. A later call of Generate gets
// the files of all shards as GenerateOptions::shards. With `resume`, an existing file with this
// shard of the same run is kept, and nothing is enumerated; any other existing file is overwritten.
absl::StatusOr<generator::EnumeratorStats> EnumerateShard(const GenerateOptions& options,
                                                          const generator::Shard& shard);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATE_H_
