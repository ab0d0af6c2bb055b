// lemma costs: lists measured costs, and carries them from one database to another as text.
#include "api/costs.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/json/costs.h"
#include "api/models/model_file.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

// The devices of a database, with the ceilings that their kernels show.
absl::StatusOr<int> List(const std::string& db_path, bool json) {
  auto devices = api::ListCosts(db_path);
  if (!devices.ok()) return devices.status();
  if (json) {
    PrintJson(ToJson(db_path, *devices));
    return kExitOk;
  }
  TextTable table({"<device", "kernels", "GFLOP/s", "GB/s", "overhead"});
  for (const api::DeviceCosts& device : *devices) {
    table.Row({device.device, absl::StrCat(device.kernels),
               absl::StrFormat("%.1f", device.flops_per_second * 1e-9),
               absl::StrFormat("%.1f", device.bytes_per_second * 1e-9),
               absl::StrFormat("%.1f us", device.overhead_ns * 1e-3)});
  }
  std::fputs(table.ToString().c_str(), stdout);
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
  if (json) {
    PrintJson(ToJson(path, *done));
    return kExitOk;
  }
  std::printf("%d costs imported into %s", static_cast<int>(done->imported), db_path.c_str());
  if (done->kept > 0) {
    std::printf("; %d were known and stay as they are", static_cast<int>(done->kept));
  }
  std::puts("");
  return kExitOk;
}

absl::StatusOr<int> MeasureWanted(const std::string& db_path, const std::string& path, bool json) {
  api::BackendOptions by_model;  // the kernels that a search elsewhere plans
  by_model.tiles = api::kModelTiles;
  const auto measurer = api::MakeMeasurer("cuda", 1, by_model);
  const auto generated = api::MakeMeasurer("cuda-generated", 1, by_model);
  InterruptScope interrupt;
  ProgressLine progress(json);
  api::MeasureWantedOptions options;
  options.measurers = {measurer.get(), generated.get()};
  options.database = db_path;
  options.deadline = Deadline::After(0, &interrupt.flag());
  options.on_kernel = [&](absl::string_view signature, int left) {
    progress.Show(absl::StrCat(signature, ", ", left, " left"));
  };
  const auto done = api::MeasureWanted(path, options);
  progress.Clear();
  if (!done.ok()) return done.status();
  if (json) {
    PrintJson(ToJson(path, *done));
  } else {
    std::printf("%s measured on %s", FormatCount(done->measured, "kernel").c_str(),
                done->device.c_str());
    if (done->known > 0) std::printf("; %d were known", done->known);
    if (done->failed > 0) std::printf("; %d cannot run there", done->failed);
    if (done->left > 0) std::printf("; %d are left", done->left);
    std::puts("");
  }
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
  flags.Bool("json", &json, "print one JSON object instead of text");
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
