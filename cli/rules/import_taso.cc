// lemma rules import-taso: decides TASO's rules.
#include "api/rules/import_taso.h"

#include <string>

#include "api/json/rules.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "cli/common_flags.h"
#include "cli/proof_commands.h"
#include "cli/rules/commands.h"

namespace lemma::cli {
namespace {

absl::StatusOr<int> Import(const std::string& path, api::ImportTasoOptions options, bool json) {
  InterruptScope interrupt;
  options.proof.interrupted = &interrupt.flag();
  absl::StatusOr<api::ImportedTaso> imported;
  {
    ProgressLine progress(json);
    options.progress = ShowRules(&progress);
    imported = api::ImportTasoFile(path, options);
  }
  if (!imported.ok()) return WithFlags(imported.status());
  json ? PrintJson(ToJson(path, *imported)) : PrintText(TextOf(*imported, options.output));
  return imported->ok() ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> RunImportTaso(Arguments arguments) {
  api::ImportTasoOptions import;
  bool json = false;
  Flags flags("rules import-taso", "FILE -o RULES",
              "Reads a file of rules in TASO's format, proves each, and writes those that are "
              "proved. Exit status 1 if one is not.");
  flags.String("output|o", &import.output, "RULES", "where to write the proved rules");
  flags.Bool(
      "synthesize", &import.synthesize,
      "where a rule is false, look for the weakest guard under which it is true (default true)");
  flags.Int("jobs", &import.jobs, "rules proved at the same time; verdicts do not depend on it");
  AddProofFlags(&flags, &import.proof);
  AddJson(&flags, &json);
  return ParseAndRun(&flags, arguments, "FILE", [&](const auto& path) -> absl::StatusOr<int> {
    if (absl::Status s = import.Check(); !s.ok()) return WithFlags(s);
    return Import(path, import, json);
  });
}

}  // namespace lemma::cli
