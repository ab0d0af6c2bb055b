// lemma costs: lists measured costs, and carries them from one database to another as text.
#include "api/costs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "api/json/costs.h"
#include "api/models/model_file.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

// The devices of a database, with the ceilings that their kernels show.
absl::StatusOr<int> List(const std::string& db_path, bool json) {
  auto devices = api::ListCosts(db_path);
  if (!devices.ok()) return devices.status();
  json ? PrintJson(ToJson(db_path, *devices)) : PrintText(TextOf(*devices));
  return kExitOk;
}

absl::StatusOr<int> Export(const std::string& db_path, const std::string& device,
                           const std::string& output) {
  auto text = api::ExportCosts(db_path, device);
  if (!text.ok()) return text.status();
  if (absl::Status s = api::WriteText(output, *text); !s.ok()) return s;
  return kExitOk;
}

absl::StatusOr<int> Import(const std::string& db_path, const std::string& path, bool replace,
                           bool json) {
  auto done = api::ImportCosts(db_path, path, replace);
  if (!done.ok()) return done.status();
  json ? PrintJson(ToJson(path, *done)) : PrintText(TextOf(*done, db_path));
  return kExitOk;
}

absl::StatusOr<int> MeasureWanted(const std::string& db_path, const std::string& path, bool json) {
  const auto measurers = api::WantedMeasurers();
  InterruptScope interrupt;
  ProgressLine progress(json);
  api::MeasureWantedOptions options;
  for (const auto& measurer : measurers) options.measurers.push_back(measurer.get());
  options.database = db_path;
  options.deadline = Deadline::After(0, &interrupt.flag());
  options.on_kernel = [&](absl::string_view signature, int left) {
    progress.Show(absl::StrCat(signature, ", ", left, " left"));
  };
  const auto done = api::MeasureWanted(path, options);
  progress.Clear();
  if (!done.ok()) return done.status();
  json ? PrintJson(ToJson(path, *done)) : PrintText(TextOf(*done));
  if (interrupt.flag()) return Deadline::Interruption();
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunCosts(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "check") return RunCostsCheck(arguments.subspan(1));
  std::string path = optimizer::CostDb::DefaultPath(), device, output;
  bool json = false, replace = false;
  Flags flags("costs", "[export | import FILE | measure FILE | check MODEL]",
              "Lists the devices whose kernels were measured, and what their kernels reach. export "
              "writes the costs as text, import reads them into a database. measure takes the "
              "kernels that lemma optimize --wanted wrote, on this machine's GPU. check compares "
              "costs with a model's run.");
  flags.Subcommands({"check"});
  flags.String("cost-db", &path, "FILE", "the database");
  flags.String("device", &device, "NAME", "export: of this device only");
  flags.String("output|o", &output, "FILE", "export: where to; else to standard output");
  flags.Bool("replace", &replace, "import: in place of costs that are known");
  AddJson(&flags, &json);
  return ParseAndRun(&flags, arguments, [&](const Positional& words) -> absl::StatusOr<int> {
    const std::string what = words.empty() ? "" : words[0];
    const bool has_file = what == "import" || what == "measure";
    if (!what.empty() && what != "export" && !has_file) {
      return absl::InvalidArgumentError(
          absl::StrCat("costs can be exported, imported, measured or checked, not '", what,
                       "'; see lemma costs --help"));
    }
    if (words.size() != (what.empty() ? 0 : has_file ? 2 : 1)) {
      return absl::InvalidArgumentError(
          has_file ? "which FILE? one, please" : absl::StrCat("'", words.back(), "' is too much"));
    }
    if (what == "measure" && (replace || !output.empty() || !device.empty())) {
      return absl::InvalidArgumentError(absl::StrCat(replace          ? "--replace"
                                                     : output.empty() ? "--device"
                                                                      : "-o",
                                                     ": not with measure"));
    }
    if (what == "measure") return MeasureWanted(path, words[1], json);
    if (what == "import") return Import(path, words[1], replace, json);
    if (absl::Status s = api::CheckOutputs({output}, {path}); !s.ok()) return s;
    return what == "export" ? Export(path, device, output) : List(path, json);
  });
}

}  // namespace lemma::cli
