// lemma prove: are two graphs equal?
#include "api/prove.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "api/json/proofs.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/proof_commands.h"

namespace lemma::cli {
namespace {

struct ProveFlags {
  CommonFlags common;
  api::ProofOptions proof;
};

absl::StatusOr<int> Prove(const ProveFlags& flags, const std::string& a, const std::string& b) {
  InterruptScope interrupt;
  api::ProveOptions options;
  options.proof = flags.proof;
  options.proof.interrupted = &interrupt.flag();
  options.dims = flags.common.dims;
  if (flags.common.reseed >= 0) options.weights_seed = static_cast<uint64_t>(flags.common.reseed);
  options.note = [&](const std::string& path, const std::string& note) {
    PrintNote(flags.common.json, absl::StrCat(path, ": ", note));
  };
  auto result = api::Prove(a, b, options);
  if (!result.ok()) return WithFlags(result.status());
  PrintResult(flags.common.json, a, b, *result);
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
