// Lists measured costs, and carries them from one database to another as text.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/costs.h"
#include "base/file.h"
#include "base/text_table.h"
#include "optimizer/cost/cost_text.h"
#include "optimizer/cost/roofline.h"

namespace lemma::api {
namespace {

constexpr int64_t kMaxTextBytes = int64_t{1} << 30;

}  // namespace

absl::StatusOr<std::vector<DeviceCosts>> ListCosts(const std::string& database) {
  auto db = optimizer::CostDb::Open(database);
  if (!db.ok()) return db.status();
  auto devices = (*db)->Devices();
  if (!devices.ok()) return devices.status();
  std::vector<DeviceCosts> list;
  for (const std::string& device : *devices) {
    auto entries = (*db)->Entries(device);
    if (!entries.ok()) return entries.status();
    const optimizer::Roofline machine = optimizer::FitRoofline(*entries);
    list.push_back({device, static_cast<int64_t>(entries->size()), machine.flops_per_second,
                    machine.bytes_per_second, machine.overhead_ns});
  }
  return list;
}

absl::StatusOr<std::string> ExportCosts(const std::string& database, const std::string& device) {
  auto db = optimizer::CostDb::Open(database);
  if (!db.ok()) return db.status();
  auto entries = (*db)->Entries(device);
  if (!entries.ok()) return entries.status();
  if (entries->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        database, ": no costs", device.empty() ? "" : absl::StrCat(" of the device '", device, "'"),
        "; lemma costs lists what there is"));
  }
  return optimizer::PrintCosts(*std::move(entries));
}

absl::StatusOr<ImportedCosts> ImportCosts(const std::string& database, const std::string& file,
                                          bool replace) {
  auto text = ReadFile(file, kMaxTextBytes);
  if (!text.ok()) return Prefixed(file, text.status());
  auto entries = optimizer::ParseCosts(*text);
  if (!entries.ok()) return Prefixed(file, entries.status());
  // Opened only now: a text that cannot be read should leave no new database.
  auto db = optimizer::CostDb::Open(database);
  if (!db.ok()) return db.status();
  auto changed = (*db)->PutAll(*entries, replace);
  if (!changed.ok()) return changed.status();
  return ImportedCosts{*changed, static_cast<int64_t>(entries->size()) - *changed};
}

std::string TextOf(const std::vector<DeviceCosts>& devices) {
  TextTable table({"<device", "kernels", "GFLOP/s", "GB/s", "overhead"});
  for (const DeviceCosts& device : devices) {
    table.Row({device.device, absl::StrCat(device.kernels),
               absl::StrFormat("%.1f", device.flops_per_second * 1e-9),
               absl::StrFormat("%.1f", device.bytes_per_second * 1e-9),
               absl::StrFormat("%.1f us", device.overhead_ns * 1e-3)});
  }
  return table.ToString();
}

std::string TextOf(const ImportedCosts& done, const std::string& database) {
  std::string text = absl::StrCat(FormatCount(done.imported, "cost"), " imported into ", database);
  if (done.kept > 0) {
    absl::StrAppend(
        &text, "; ", done.kept,
        done.kept == 1 ? " was known and stays as it is" : " were known and stay as they are");
  }
  return text + "\n";
}

}  // namespace lemma::api
