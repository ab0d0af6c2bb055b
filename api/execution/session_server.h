// Executes a model for another program, over pipes. docs/python.md describes the protocol.
#ifndef LEMMA_API_EXECUTION_SESSION_SERVER_H_
#define LEMMA_API_EXECUTION_SESSION_SERVER_H_

#include <cstdio>

#include "absl/status/status.h"
#include "api/session.h"

namespace lemma::api {

// Writes a line that describes the model to `out`. Then reads requests from `in` and writes answers
// to `out`, until the request "quit" or the end of `in`. "run OUTPUT..." executes the model; each
// OUTPUT is the number of an output, from 0. If an execution fails, the answer says so, and the
// session goes on. InvalidArgument if a request cannot be read or an answer cannot be written;
// ResourceExhausted if there is not enough memory for the inputs.
absl::Status ServeSession(Session* session, std::FILE* in, std::FILE* out);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_SESSION_SERVER_H_
