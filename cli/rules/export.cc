// lemma rules export: rules as text, JSON or DOT.
#include "api/rules/export.h"

#include <string>

#include "api/models/model_file.h"
#include "base/flags.h"
#include "cli/common_flags.h"
#include "cli/rules/commands.h"

namespace lemma::cli {

absl::StatusOr<int> RunRulesExport(Arguments arguments) {
  std::string format = "text", output;
  Flags flags("rules export", "RULES [NAME…]",
              "Writes the rules of a file, or those named, in another format.");
  flags.Choice("format", &format, {"text", "json", "dot"}, "what to write");
  flags.String("output|o", &output, "FILE", "where to; else to standard output");
  flags.Note("lemma rules export --format dot RULES NAME | dot -Tsvg > rule.svg draws a rule.");
  return ParseAndRun(&flags, arguments, [&](const Positional& words) -> absl::StatusOr<int> {
    if (words.empty()) {
      return absl::InvalidArgumentError(
          "which RULES? a file, please; see lemma rules export --help");
    }
    auto text = api::ExportRules(words[0], {words.begin() + 1, words.end()}, format);
    if (!text.ok()) return text.status();
    if (absl::Status s = api::WriteText(output, *text); !s.ok()) return s;
    return kExitOk;
  });
}

}  // namespace lemma::cli
