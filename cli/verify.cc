// lemma verify: proves every rule of a file, lets others repeat the proofs, keeps the records.
#include "api/verify.h"

#include <string>

#include "api/json/proofs.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/proof_commands.h"

namespace lemma::cli {
namespace {

struct VerifyFlags {
  api::VerifyOptions options;
  std::string replay;
  bool json = false;
};

absl::StatusOr<int> Verify(const VerifyFlags& flags, const std::string& path) {
  InterruptScope interrupt;
  api::VerifyOptions options = flags.options;
  options.proof.interrupted = &interrupt.flag();
  absl::StatusOr<api::VerifyResult> result;
  {
    ProgressLine progress(flags.json);
    options.progress = ShowRules(&progress);
    result = api::Verify(path, options);
  }
  if (!result.ok()) return WithFlags(result.status());
  flags.json ? PrintJson(ToJson(*result)) : PrintText(TextOf(*result, options));
  return result->ok() ? kExitOk : kExitNo;
}

absl::StatusOr<int> Replay(const VerifyFlags& flags, const std::string& path) {
  InterruptScope interrupt;
  api::ReplayOptions options;
  options.only = flags.options.only;
  options.interrupted = &interrupt.flag();
  absl::StatusOr<api::ReplayResult> result;
  {
    ProgressLine progress(flags.json);
    options.progress = [&](const std::string& rule) { progress.Show(rule); };
    result = api::Replay(path, flags.replay, options);
  }
  if (!result.ok()) return WithFlags(result.status());
  PrintResult(flags.json, *result);
  return result->accepted() == static_cast<int64_t>(result->rules.size()) ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunVerify(Arguments arguments) {
  VerifyFlags verify;
  api::VerifyOptions& options = verify.options;
  Flags flags("verify", "RULES",
              "Proves every rule of a file for all sizes. Exit status 1 if one is not proved, or "
              "promises a stricter float contract than is proved.");
  flags.String("output|o", &options.output, "FILE",
               "write RULES with each rule's proof record; FILE may be RULES");
  flags.Bool(
      "relax", &options.relax,
      "write a rule that promises a stricter float contract than is proved with the one that "
      "is");
  flags.List("only", &options.only, "RULE,...", "the only rules to prove");
  flags.Int("jobs", &options.jobs, "rules proved at the same time; verdicts do not depend on it");
  AddProofFlags(&flags, &options.proof);
  flags.String("replay", &verify.replay, "DIR",
               "prove nothing; let the small checker repeat the proofs that --proofs wrote there");
  AddJson(&flags, &verify.json);
  flags.Note("Ctrl-C ends it, within a second or so; no records are written then.");
  return ParseAndRun(&flags, arguments, "RULES", [&](const auto& path) -> absl::StatusOr<int> {
    if (absl::Status s = options.Check(); !s.ok()) return WithFlags(s);
    if (verify.replay.empty()) return Verify(verify, path);
    if (!options.output.empty() || !options.proof.proofs.empty() ||
        !options.proof.recheck.empty()) {
      return absl::InvalidArgumentError(
          "--replay proves nothing: leave out -o, --proofs, --recheck");
    }
    return Replay(verify, path);
  });
}

}  // namespace lemma::cli
