// The flags and the progress line of commands that prove.
#ifndef LEMMA_CLI_PROOF_COMMANDS_H_
#define LEMMA_CLI_PROOF_COMMANDS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "api/prove.h"
#include "base/flags.h"
#include "base/progress_line.h"

namespace lemma::cli {

// Adds --proofs, --recheck, --check, --seed and --work, which set *options.
void AddProofFlags(Flags* flags, api::ProofOptions* options);

// A function that shows "12 of 70 rules, 3 s" on `line`, for VerifyOptions::progress. The time
// counts from this call. `line` must outlive the function.
std::function<void(int done, int all)> ShowRules(ProgressLine* line);

// A function that shows "proving operators: 12 of 70, 3 s" on `line`, for RefereeOptions::progress.
// If `all` is 0 (unknown), it shows the stage and the time only. The time counts from this call.
// `line` must outlive the function.
std::function<void(const std::string& stage, int64_t done, int64_t all)> ShowStages(
    ProgressLine* line);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_PROOF_COMMANDS_H_
