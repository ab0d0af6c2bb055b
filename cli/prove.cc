// lemma prove: are two graphs equal?
#include "api/prove.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/json/proofs.h"
#include "base/interrupt.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/proof_commands.h"

namespace lemma::cli {
namespace {

struct ProveFlags {
  CommonFlags common;
  api::ProofOptions proof;
};

void Print(const std::string& a, const std::string& b, const api::ProveResult& result) {
  const api::ProofOutcome& outcome = result.outcome;
  auto* proved = std::get_if<Proved>(&outcome.verdict);
  if (proved == nullptr) {
    std::printf("%s%s\n", IsRefuted(outcome.verdict) ? "" : "unknown: ",
                Explanation(outcome.verdict).c_str());
    return;
  }
  std::printf("proved: %s = %s\n", a.c_str(), b.c_str());
  std::printf("contract  %s\n", Name(proved->contract));
  std::printf("sizes     %s\n", proved->coverage.c_str());
  std::printf("proof id  %s\n", proved->id.c_str());
  std::printf("time      %s, %d queries\n", FormatMs(outcome.seconds * 1e3).c_str(),
              static_cast<int>(proved->queries));
  if (outcome.recheck) {
    std::printf("recheck   %s: %s\n", result.solver.c_str(), RecheckCell(outcome).c_str());
  }
  if (outcome.checked) std::printf("checker   %s\n", CheckCell(outcome).c_str());
  for (const std::string& problem : Problems(outcome)) std::puts(problem.c_str());
}

absl::StatusOr<int> Prove(const ProveFlags& flags, const std::string& a, const std::string& b) {
  InterruptScope interrupt;
  api::ProveOptions options;
  options.proof = flags.proof;
  options.proof.interrupted = &interrupt.flag();
  options.dims = flags.common.dims;
  if (flags.common.reseed >= 0) options.weights_seed = static_cast<uint64_t>(flags.common.reseed);
  options.note = [&](const std::string& path, const std::string& note) {
    if (flags.common.json) return;
    std::fprintf(stderr, "lemma: note: %s: %s\n", path.c_str(), note.c_str());
  };
  auto result = api::Prove(a, b, options);
  if (!result.ok()) return WithFlags(result.status());
  flags.common.json ? PrintJson(ToJson(a, b, *result)) : Print(a, b, *result);
  if (std::holds_alternative<Unknown>(result->outcome.verdict)) return kExitUnknown;
  return result->outcome.ok() ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunProve(Arguments arguments) {
  ProveFlags prove;
  Flags flags(
      "prove", "A B",
      "Proves that two graphs are equal, or finds where they differ. Exit status 0: proved; "
      "1: refuted, with a counterexample; 4: unknown, with the reason.");
  AddProofFlags(&flags, &prove.proof);
  prove.common.AddModel(&flags);
  flags.Note(
      "Inputs correspond by position, weights by name. In the text form a size may be a symbol\n"
      "(x: f32[m,k]); then the proof is for all sizes, and symbols correspond by name.");
  return ParseAndRun(&flags, arguments, [&](const Positional& graphs) -> absl::StatusOr<int> {
    if (graphs.size() == 2) return Prove(prove, graphs[0], graphs[1]);
    return absl::InvalidArgumentError(
        absl::StrCat("two graphs, please, not ", graphs.size(), "; see lemma prove --help"));
  });
}

}  // namespace lemma::cli
