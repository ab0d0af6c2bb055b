// Writes verdicts and proofs as JSON.
#ifndef LEMMA_API_JSON_PROOFS_H_
#define LEMMA_API_JSON_PROOFS_H_

#include <string>

#include "api/prove.h"
#include "api/verify.h"
#include "base/json.h"
#include "verifier/verdict.h"

namespace lemma::api {

// Adds the verdict to `json`, an object: verdict ("proved", "refuted", "unknown"), and the fields
// of Proved, Refuted or Unknown (verifier/verdict.h), except the log. `reason` says in words why
// something is not proved.
void AddVerdict(const Verdict& verdict, Json* json);
// Adds outcome.verdict as AddVerdict does; also ok, seconds, recheck (the answer of the second
// solver) and checker (the answer of the small checker). An answer is missing if that program did
// not repeat the proof.
void AddOutcome(const ProofOutcome& outcome, Json* json);

// An object with a and b (the files of the graphs), symbolic (as in ProveResult), and the members
// of AddOutcome.
Json ToJson(const std::string& a, const std::string& b, const ProveResult& result);
// An object with file, seconds, solver (if one was used), the counts proved, refuted, unknown,
// failed and queries (VerifyCounts), and rules: a list with rule (its name), promised (its float
// contract), record ("current" or the problem of its proof record) and the members of AddOutcome.
Json ToJson(const VerifyResult& result);
// An object with file, accepted (a number), and rules: a list with rule (its name), accepted,
// instances (compared), steps, checks, undecided and problem.
Json ToJson(const ReplayResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_PROOFS_H_
