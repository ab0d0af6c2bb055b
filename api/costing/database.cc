// Lists measured costs, and carries them from one database to another as text.
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/costs.h"
#include "base/file.h"
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

}  // namespace lemma::api
