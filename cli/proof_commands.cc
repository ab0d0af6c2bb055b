#include "cli/proof_commands.h"

#include <chrono>

#include "absl/strings/str_format.h"

namespace lemma::cli {

void AddProofFlags(Flags* flags, api::ProofOptions* options) {
  flags->String("proofs", &options->proofs, "DIR",
                "write each proof: NAME.proof, its steps, and NAME.smt2, its obligations");
  flags->String("recheck", &options->recheck, "cvc5",
                "put every obligation to a second solver too; a path to cvc5 will do");
  flags->Bool("check", &options->check,
              "repeat every proof with the small checker, at small sizes");
  flags->Int("seed", &options->seed, "of the instances tried before a proof");
  flags->Int("work", &options->work,
             "steps after which a proof is given up; 30 million take about a second");
}

std::function<void(int, int)> ShowRules(ProgressLine* line) {
  const auto start = std::chrono::steady_clock::now();
  return [=](int done, int all) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    line->Show(absl::StrFormat("%d of %d rules, %.0f s", done, all, elapsed.count()));
  };
}

std::function<void(const std::string&, int64_t, int64_t)> ShowStages(ProgressLine* line) {
  const auto start = std::chrono::steady_clock::now();
  return [=](const std::string& stage, int64_t done, int64_t all) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const std::string of = all > 0 ? absl::StrFormat(": %d of %d", done, all) : "";
    line->Show(absl::StrFormat("%s%s, %.0f s", stage, of, elapsed.count()));
  };
}

}  // namespace lemma::cli
