// lemma referee: is an optimized model still the model that it was made from?
#include "api/referee.h"

#include "absl/strings/str_cat.h"
#include "api/json/referee.h"
#include "api/models/model_file.h"
#include "api/report.h"
#include "base/deadline.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/proof_commands.h"

namespace lemma::cli {
namespace {

// Drawing may take this long, however little the referee has left of its time.
constexpr double kLateSeconds = 10;

absl::Status WriteReport(const std::string& before, const std::string& after,
                         const Deadline& deadline, const std::string& path,
                         api::RefereeResult* result) {
  auto page = api::ReportOf(before, after, *result, deadline.WithAtLeast(kLateSeconds));
  if (!page.ok()) return page.status();
  result->files.push_back(path);
  return WriteFileAtomically(path, {*page});
}

}  // namespace

absl::StatusOr<int> RunReferee(Arguments arguments) {
  CommonFlags common;
  api::RefereeOptions options;
  std::string accept = Name(options.accept);
  std::string report;
  bool verbose = false;
  Flags flags("referee", "BEFORE AFTER",
              "Decides whether an optimized model still is the model that it was made from. Exit "
              "status 0: proved; 1: refuted, or another interface; 4: unknown.");
  flags.Real("time-limit", &options.time_limit, "seconds after which the answer is unknown");
  flags.Int("work", &options.work, "steps after which the proof of a region is given up");
  flags.Choice("accept", &accept, {"bit_exact", "reassociates", "real_only"},
               "the loosest contract with which exit status 0 is given");
  flags.String("counterexample", &options.counterexample, "DIR",
               "write inputs that show a difference, and the smallest pair of models that does");
  flags.String("certificate", &options.certificate, "FILE",
               "if the models are proved equal, write what lemma check needs to repeat the proof");
  flags.String("report", &report, "FILE",
               "write a page (HTML) with the verdict, the regions and both graphs");
  flags.Int("channel-block", &options.channel_block,
            "channels in a block of com.microsoft.nchwc, 8 or 16; 0: as the model shows, or 16");
  flags.List(
      "inputs", &options.inputs, "FILE,...",
      "execute both models on these tensors too (.pb, .npy, or a folder with input_0.pb, …)");
  flags.Int("samples", &options.samples,
            "random inputs, for each choice of sizes, on which both models are executed");
  std::vector<std::map<std::string, int64_t>> hints;
  flags.SizeSets("hint", &hints,
                 "sizes of symbolic dimensions at which both models are executed, beside others");
  common.AddRanges(&flags);
  flags.Int("seed", &options.seed, "of the random inputs");
  flags.Bool("verbose", &verbose, "list every region and weight");
  common.AddModel(&flags);
  return ParseAndRun(&flags, arguments, [&](const Positional& models) -> absl::StatusOr<int> {
    if (common.reseed >= 0) {
      return absl::InvalidArgumentError("--reseed-weights: the models are compared as they are");
    }
    if (models.size() != 2) return absl::InvalidArgumentError("two models, please: BEFORE AFTER");
    std::vector<std::string> inputs = options.inputs;
    inputs.insert(inputs.end(), {models[0], models[1]});
    if (absl::Status s = api::CheckOutputs({report, options.certificate}, inputs); !s.ok())
      return s;
    InterruptScope interrupt;
    const Deadline deadline = Deadline::After(options.time_limit, &interrupt.flag());
    options.interrupted = &interrupt.flag();
    options.accept = *ParseFloatContract(accept);
    options.dims = common.dims;
    for (const auto& [name, range] : common.ranges) {
      options.ranges[name] = {range.first, range.second};
    }
    if (hints.size() > 1) return absl::InvalidArgumentError("--hint: give it once");
    if (!hints.empty()) options.hint = hints[0];
    ProgressLine progress(common.json);
    options.progress = ShowStages(&progress);
    options.note = [&](const std::string& path, const std::string& note) {
      progress.Clear();
      PrintNote(common.json, absl::StrCat(path, ": ", note));
    };
    auto result = api::Referee(models[0], models[1], options);
    progress.Clear();
    if (!result.ok()) return WithFlags(result.status());
    if (!report.empty()) {
      absl::Status written = WriteReport(models[0], models[1], deadline, report, &*result);
      if (!written.ok()) return written;
    }
    common.json ? PrintJson(ToJson(models[0], models[1], *result))
                : PrintText(TextOf(*result, verbose));
    const bool is_proved = result->verdict.answer == referee::Answer::kProved;
    if (!options.certificate.empty() && !is_proved) {
      PrintNote(/*json=*/false, absl::StrCat(options.certificate,
                                             " is not written: the models are not proved equal"));
    }
    if (result->verdict.answer == referee::Answer::kUnknown) return kExitUnknown;
    return result->accepted ? kExitOk : kExitNo;
  });
}

}  // namespace lemma::cli
