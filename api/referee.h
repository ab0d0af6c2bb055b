// Decides whether an optimized model still is the model that it was made from. Code:
// api/refereeing; the engine is verifier/referee/referee.h; docs/referee.md says what a verdict
// covers.
#ifndef LEMMA_API_REFEREE_H_
#define LEMMA_API_REFEREE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/rules/substitution.h"
#include "verifier/referee/referee.h"

namespace lemma::api {

struct RefereeOptions {
  // Sizes of symbolic dimensions of ONNX models. Dimensions without one stay symbolic, and the
  // models are compared for all their sizes.
  std::map<std::string, int64_t> dims;
  std::map<std::string, SizeRange> ranges;  // of symbolic dimensions; at least 1 unless given
  // Sizes of symbolic dimensions at which the models are executed; usual ones (UsualSize) unless
  // given. They are executed at others too.
  DimValues hint;
  // Channels in a block of the layout NCHWc: 8 or 16; 0: as LoadOptions::channel_block.
  int64_t channel_block = 0;
  double time_limit = 300;   // seconds for the whole, reading aside
  int64_t work = 100000000;  // limit on the steps of the proof of one region
  int64_t seed = 1;          // of random inputs
  // Values of BEFORE's inputs, on which the models are executed first: files of tensors, or folders
  // with input_0.pb, ….
  std::vector<std::string> inputs;
  int64_t samples = 2;    // random inputs, for each choice of sizes, for executions
  int64_t int_range = 2;  // random integers lie in [0, int_range)
  int64_t threads = 1;
  // The loosest contract that is accepted.
  FloatContract accept = FloatContract::kRealOnly;
  // A folder, created if missing, for what refutes: input_0.pb, … of both models; pair_before.onnx,
  // pair_after.onnx and pair_input_0.pb, …, the smallest pair of graphs. "": no files.
  std::string counterexample;
  // Called with a model's path and a decision made while it was read, one line.
  std::function<void(const std::string&, const std::string&)> note;
  // Whether to fill in the log of `verdict.evidence`.
  bool keep_obligations = false;
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
};

struct RefereeResult {
  referee::RefereeResult verdict;
  Graph before, after;  // as they were read, with numbers for the sizes if `verdict` is for these
  double seconds = 0;
  std::vector<std::string> files;  // that were written
  bool accepted = false;           // proved, with an accepted contract
};

// Errors begin with a file's path or name an option.
absl::StatusOr<RefereeResult> Referee(const std::string& before, const std::string& after,
                                      const RefereeOptions& options = {});
// The same for graphs in memory.
absl::StatusOr<RefereeResult> Referee(const Graph& before, const Graph& after,
                                      const RefereeOptions& options = {});

// The verdict in one line.
std::string Headline(const RefereeResult& result);
// The result for people: the headline, then what it rests on. `verbose`: all regions and weights.
std::string TextOf(const RefereeResult& result, bool verbose);

}  // namespace lemma::api

#endif  // LEMMA_API_REFEREE_H_
