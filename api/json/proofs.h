// Writes verdicts and proofs as JSON.
#ifndef LEMMA_API_JSON_PROOFS_H_
#define LEMMA_API_JSON_PROOFS_H_

#include <string>

#include "api/prove.h"
#include "api/verify.h"
#include "base/json.h"
#include "verifier/verdict.h"

namespace lemma::api {

// Adds the verdict's members to `json`, an object.
void AddVerdict(const Verdict& verdict, Json* json);
// The same for the verdict and the answers of the programs that repeated the proof: the second
// solver and the small checker.
void AddOutcome(const ProofOutcome& outcome, Json* json);

// The answer about the graphs in the files `a` and `b`.
Json ToJson(const std::string& a, const std::string& b, const ProveResult& result);
Json ToJson(const VerifyResult& result);
Json ToJson(const ReplayResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_PROOFS_H_
