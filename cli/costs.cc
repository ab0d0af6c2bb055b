// lemma costs: what measured costs there are; carries them from one database to another as text.
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/model_file.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "optimizer/cost/cost_db.h"
#include "optimizer/cost/cost_text.h"
#include "optimizer/cost/roofline.h"

namespace lemma::cli {
namespace {

constexpr int64_t kMaxTextBytes = int64_t{1} << 30;

// The devices of a database, with the ceilings that their kernels show.
absl::StatusOr<int> List(CostDb* db, bool json) {
  auto devices = db->Devices();
  if (!devices.ok()) return devices.status();
  Json list = Json::Array();
  TextTable table({"<device", "kernels", "GFLOP/s", "GB/s", "overhead"});
  for (const std::string& device : *devices) {
    auto entries = db->Entries(device);
    if (!entries.ok()) return entries.status();
    const Roofline machine = FitRoofline(*entries);
    Json json_device = Json::Object();
    json_device.Set("device", device).Set("kernels", static_cast<int64_t>(entries->size()));
    json_device.Set("flops_per_second", machine.flops_per_second);
    json_device.Set("bytes_per_second", machine.bytes_per_second);
    json_device.Set("overhead_ns", machine.overhead_ns);
    list.Add(std::move(json_device));
    table.Row({device, absl::StrCat(entries->size()),
               absl::StrFormat("%.1f", machine.flops_per_second * 1e-9),
               absl::StrFormat("%.1f", machine.bytes_per_second * 1e-9),
               absl::StrFormat("%.1f us", machine.overhead_ns * 1e-3)});
  }
  if (json) {
    Json all = Json::Object();
    all.Set("file", db->path()).Set("devices", std::move(list));
    std::puts(all.ToString().c_str());
  } else {
    std::fputs(table.ToString().c_str(), stdout);
  }
  return kExitOk;
}

absl::StatusOr<int> Export(CostDb* db, const std::string& device, const std::string& output) {
  auto entries = db->Entries(device);
  if (!entries.ok()) return entries.status();
  if (entries->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(db->path(), ": no costs",
                     device.empty() ? "" : absl::StrCat(" of the device '", device, "'"),
                     "; lemma costs lists what there is"));
  }
  const std::string text = PrintCosts(*std::move(entries));
  if (absl::Status s = api::WriteText(output, text); !s.ok()) return s;
  return kExitOk;
}

absl::StatusOr<int> Import(const std::string& db_path, const std::string& path, bool replace,
                           bool json) {
  auto text = ReadFile(path, kMaxTextBytes);
  if (!text.ok()) return api::Prefixed(path, text.status());
  auto entries = ParseCosts(*text);
  if (!entries.ok()) return api::Prefixed(path, entries.status());
  // Not before: what cannot be read should leave no new database.
  auto db = CostDb::Open(db_path);
  if (!db.ok()) return db.status();
  auto changed = (*db)->PutAll(*entries, replace);
  if (!changed.ok()) return changed.status();
  const int64_t kept = static_cast<int64_t>(entries->size()) - *changed;
  if (json) {
    Json all = Json::Object();
    all.Set("file", path).Set("imported", *changed).Set("kept", kept);
    std::puts(all.ToString().c_str());
  } else {
    std::printf("%d costs imported into %s", static_cast<int>(*changed), db_path.c_str());
    if (kept > 0) std::printf("; %d were known and stay as they are", static_cast<int>(kept));
    std::puts("");
  }
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunCosts(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "check") return RunCostsCheck(arguments.subspan(1));
  std::string path = CostDb::DefaultPath(), device, output;
  bool json = false, replace = false;
  Flags flags("costs", "[export | import FILE | check MODEL]",
              "Lists the devices whose kernels were measured, and what their kernels reach. export "
              "writes the costs as text, import reads them into a database. check compares them "
              "with a model's run: see lemma costs check --help.");
  flags.String("cost-db", &path, "FILE", "the database");
  flags.String("device", &device, "NAME", "export: of this device only");
  flags.String("output|o", &output, "FILE", "export: where to; else to standard output");
  flags.Bool("replace", &replace, "import: in place of costs that are known");
  flags.Bool("json", &json, "print one JSON object instead of text");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  const std::string what = positional->empty() ? "" : (*positional)[0];
  const size_t wanted = what.empty() ? 0 : what == "import" ? 2 : 1;
  if (!what.empty() && what != "export" && what != "import") {
    return absl::InvalidArgumentError(absl::StrCat(
        "costs can be exported, imported or checked, not '", what, "'; see lemma costs --help"));
  }
  if (positional->size() != wanted) {
    return absl::InvalidArgumentError(what == "import"
                                          ? "which FILE of costs? one, please"
                                          : absl::StrCat("'", positional->back(), "' is too much"));
  }
  if (what == "import") return Import(path, (*positional)[1], replace, json);
  if (absl::Status s = api::CheckOutputs({output}, {path}); !s.ok()) return s;
  auto db = CostDb::Open(path);
  if (!db.ok()) return db.status();
  if (what == "export") return Export(db->get(), device, output);
  return List(db->get(), json);
}

}  // namespace lemma::cli
