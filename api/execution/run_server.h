// Executes a prepared model as often as another program asks, such as a benchmark that times
// several programs in turn.
#ifndef LEMMA_API_EXECUTION_RUN_SERVER_H_
#define LEMMA_API_EXECUTION_RUN_SERVER_H_

#include <iosfwd>

#include "absl/status/status.h"
#include "api/run.h"

namespace lemma::api {

// Writes {"ready":true} to `out`, then reads lines from `in` until "quit" or its end, and answers
// each with a line of JSON: "run N" executes the model N times and gives ms, a list of times; "save
// DIR" executes it once, writes its outputs to the folder (SaveOutputs in
// api/models/tensor_files.h), and gives saved, their number. InvalidArgument, about option
// serve (api/models/option_error.h), for any other line that is not blank; the errors of executions
// and of files.
absl::Status ServeRuns(PreparedModel* model, std::istream& in, std::ostream& out);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_RUN_SERVER_H_
