// Executes a model for another program, over pipes. docs/python.md describes the protocol.
#ifndef LEMMA_API_EXECUTION_SESSION_SERVER_H_
#define LEMMA_API_EXECUTION_SESSION_SERVER_H_

#include <cstdio>

#include "absl/status/status.h"
#include "api/session.h"

namespace lemma::api {

// Obeys the requests "run OUTPUT...", where each OUTPUT is the number of an output, and "quit",
// read from `in`, until the end of the input. Writes answers and outputs to `out`. If an execution
// fails, the answer says so, and the session goes on. InvalidArgument if a request cannot be read
// or an answer cannot be written; ResourceExhausted if there is no memory for the inputs.
absl::Status ServeSession(Session* session, std::FILE* in, std::FILE* out);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_SESSION_SERVER_H_
