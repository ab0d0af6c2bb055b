// Verdicts and proof records for people and machines.
#ifndef LEMMA_CLI_VERDICT_TEXT_H_
#define LEMMA_CLI_VERDICT_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "base/json.h"
#include "verifier/prover/proof_file.h"
#include "verifier/prover/prover.h"
#include "verifier/verdict.h"

namespace lemma::cli {

// The verdict's members are added to `json`, an object.
void AddVerdict(const Verdict& verdict, Json* json);

// At most `width` characters, the last a "…" if there were more.
std::string Shortened(const std::string& text, size_t width);

// Makes the folder if it is missing, its parents too.
absl::Status MakeFolder(const std::string& path);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_VERDICT_TEXT_H_
