// Executes a prepared model as often as another program asks, such as a benchmark that times
// several programs in turn.
#ifndef LEMMA_API_EXECUTION_RUN_SERVER_H_
#define LEMMA_API_EXECUTION_RUN_SERVER_H_

#include <iosfwd>

#include "absl/status/status.h"
#include "api/run.h"

namespace lemma::api {

// Writes {"ready":true} to `out`. Then reads lines from `in` until the line "quit" or the end of
// `in`, and answers each line with a JSON object on one line:
//   "run N"     executes the model N times; the member ms is the list of the times in milliseconds;
//   "save DIR"  executes the model once and writes its outputs to the folder DIR (SaveOutputs in
//               api/models/tensor_files.h); the member saved is the number of outputs.
// Skips blank lines. InvalidArgument, about option serve (api/models/option_error.h), for any other
// line. Other errors are those of executions and of files.
absl::Status ServeRuns(PreparedModel* model, std::istream& in, std::ostream& out);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_RUN_SERVER_H_
