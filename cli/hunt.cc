// lemma hunt: another engine, tested with models whose results are known.
#include "api/hunt.h"

#include "absl/strings/str_cat.h"
#include "api/json/hunt.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {

absl::StatusOr<int> RunHunt(Arguments arguments) {
  api::HuntOptions options;
  bool json = false;
  Flags flags("hunt", "",
              "Tests another engine with random models, both sides of proved rules, and models "
              "beside their own optimizations. Exit status 0: nothing found; 1: found.");
  flags.Choice("engine", &options.engine, {"onnxruntime"}, "which engine");
  flags.String("onnxruntime", &options.onnxruntime, "FILE",
               "its library; by default where tools/lib/ort installs it");
  flags.Real("seconds", &options.seconds, "time limit; 0: none");
  flags.Real("run-seconds", &options.run_seconds,
             "after which a run of the engine counts as no answer");
  flags.Int("cases", &options.cases, "the largest number of cases; 0: no limit");
  flags.Int("seed", &options.seed, "of the cases");
  flags.Int("only", &options.only, "run only the case with this number; -1: all");
  flags.String("rules", &options.rules, "FILE|default|none", "the rules to use");
  flags.String("models", &options.models, "DIR|none", "a folder with more models (.onnx)");
  flags.String("out", &options.output, "DIR", "write minimal models, inputs and records");
  AddJson(&flags, &json);
  return ParseAndRun(&flags, arguments, [&](const Positional& rest) -> absl::StatusOr<int> {
    if (!rest.empty()) return absl::InvalidArgumentError("hunt takes flags only; see --help");
    InterruptScope interrupt;
    ProgressLine line(json);
    options.interrupted = &interrupt.flag();
    options.progress = [&](int64_t cases, int64_t findings) {
      line.Show(absl::StrCat(FormatCount(cases, "case"), ", ", FormatCount(findings, "finding")));
    };
    auto result = api::Hunt(options);
    line.Clear();
    if (!result.ok()) return WithFlags(result.status());
    PrintResult(json, *result);
    return result->findings.empty() && result->own_faults.empty() ? kExitOk : kExitNo;
  });
}

}  // namespace lemma::cli
