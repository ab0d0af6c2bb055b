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
  // Channels in a block of the layout NCHWc: 8 or 16. 0: as the models suggest (LoadOptions in
  // api/models/model_file.h); if that proves nothing, 8 is tried too.
  int64_t channel_block = 0;
  // Seconds for a comparison, reading not included. There are several if `channel_block` is 0, or
  // if AFTER can be read only at given sizes; each has this time. After it, the answer is
  // "unknown".
  double time_limit = 300;
  int64_t work = 100000000;  // limit on the steps of the proof of one region
  int64_t seed = 1;          // of random inputs and of the prover
  // A set of values of BEFORE's inputs, on which the models are executed first: files of tensors,
  // or folders with input_0.pb, …. Empty: only random inputs.
  std::vector<std::string> inputs;
  int64_t samples = 2;    // sets of random inputs for each choice of sizes, at least 1
  int64_t int_range = 2;  // random integers lie in [0, int_range)
  int64_t threads = 1;
  // The loosest contract that is accepted.
  FloatContract accept = FloatContract::kRealOnly;
  // A folder, created if missing, for a refutation: the inputs on which the models differ, as
  // input_0.pb, …; and the smallest pair of graphs that differ, as pair_before.onnx and
  // pair_after.onnx, with their inputs pair_input_0.pb, …. "": no files.
  std::string counterexample;
  // Called with a model's path and a decision made while it was read, one line.
  std::function<void(const std::string&, const std::string&)> note;
  // Whether RefereeResult::verdict.evidence keeps the log of the proofs.
  bool keep_obligations = false;
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
};

struct RefereeResult {
  referee::RefereeResult verdict;
  // The graphs that were compared: as they were read or, if AFTER can be read only at given sizes,
  // at these sizes.
  Graph before, after;
  double seconds = 0;
  std::vector<std::string> files;  // paths of the files written
  bool accepted = false;           // proved, and the contract is not looser than `accept`
};

// BEFORE and AFTER are the paths of models. Errors of reading are those of LoadModel and begin with
// a file's path. A wrong option is InvalidArgument, and the message names it. Cancelled if
// interrupted. If AFTER can be read only at given sizes, the models are compared at these, and the
// answer is never "proved".
absl::StatusOr<RefereeResult> Referee(const std::string& before, const std::string& after,
                                      const RefereeOptions& options = {});
// The same for graphs in memory. Options about reading (dims, ranges, channel_block, note) have no
// effect; InvalidArgument if options.inputs is not empty.
absl::StatusOr<RefereeResult> Referee(const Graph& before, const Graph& after,
                                      const RefereeOptions& options = {});

// The verdict in one line: "proved", "unknown: REASON", ….
std::string Headline(const RefereeResult& result);
// The result for people: the headline, then what it rests on. `verbose`: all regions and weights.
std::string TextOf(const RefereeResult& result, bool verbose);

}  // namespace lemma::api

#endif  // LEMMA_API_REFEREE_H_
