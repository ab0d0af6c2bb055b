#include "api/execution/profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

double BytesOf(const Work& work) { return work.bytes_read + work.bytes_written; }

// Operations per byte; 0 if no bytes are moved.
double Intensity(const Work& work) { return BytesOf(work) > 0 ? work.flops / BytesOf(work) : 0; }

double Roof(const KernelTiming& row, const Roofline& roofline) {
  return row.ms > 0 ? roofline.SecondsFor(row.work) / (row.ms * 1e-3) : 0;
}

std::string Formatted(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Kernels of one value, which is computed in blocks, are one row.
std::vector<KernelTiming> Combined(const std::vector<KernelTiming>& rows) {
  std::vector<KernelTiming> combined;
  std::vector<int> times;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> place;
  for (const KernelTiming& row : rows) {
    const auto [at, fresh] = place.try_emplace({row.kernel, row.label, row.note}, combined.size());
    if (fresh) {
      combined.push_back(row);
      times.push_back(1);
      continue;
    }
    KernelTiming& all = combined[at->second];
    all.ms += row.ms;
    all.work.flops += row.work.flops;
    all.work.bytes_read += row.work.bytes_read;
    all.work.bytes_written += row.work.bytes_written;
    ++times[at->second];
  }
  for (size_t i = 0; i < combined.size(); ++i) {
    if (times[i] == 1) continue;
    std::string& note = combined[i].note;
    note = absl::StrCat(note, note.empty() ? "" : ", ", times[i], " times");
  }
  return combined;
}

}  // namespace

ProfileTotals TotalsOf(const std::vector<KernelTiming>& rows, const Roofline& roofline) {
  ProfileTotals totals;
  double least = 0;
  for (const KernelTiming& row : rows) {
    totals.ms += row.ms;
    totals.work.flops += row.work.flops;
    totals.work.bytes_read += row.work.bytes_read;
    totals.work.bytes_written += row.work.bytes_written;
    least += roofline.SecondsFor(row.work);
  }
  if (totals.ms <= 0) return totals;
  totals.roof = least / (totals.ms * 1e-3);
  totals.mfu = totals.work.flops / (totals.ms * 1e-3) / roofline.flops_per_second;
  return totals;
}

std::string ProfileTable(const std::vector<KernelTiming>& rows, const Roofline& roofline) {
  const ProfileTotals totals = TotalsOf(rows, roofline);
  TextTable table({"kernel", "<value", "ms", "share", "Mflop", "MB", "flop/B", "roof", "<note"});
  for (const KernelTiming& row : Combined(rows)) {
    table.Row({row.kernel, row.label, Formatted("%.3f", row.ms),
               Formatted("%.1f%%", 100 * row.ms / std::max(totals.ms, 1e-9)),
               Formatted("%.2f", row.work.flops * 1e-6),
               Formatted("%.3f", BytesOf(row.work) * 1e-6), Formatted("%.1f", Intensity(row.work)),
               Formatted("%.0f%%", 100 * Roof(row, roofline)), row.note});
  }
  char summary[256];
  std::snprintf(summary, sizeof summary,
                "kernels      %.3f ms, %.1f Mflop, %.1f MB: %.0f%% of the roofline "
                "(%.1f Gflop/s, %.1f GB/s), MFU %.1f%%\n",
                totals.ms, totals.work.flops * 1e-6, BytesOf(totals.work) * 1e-6, 100 * totals.roof,
                roofline.flops_per_second * 1e-9, roofline.bytes_per_second * 1e-9,
                100 * totals.mfu);
  return table.ToString() + summary;
}

Json ProfileJson(const std::vector<KernelTiming>& rows, const Roofline& roofline) {
  Json kernels = Json::Array();
  for (const KernelTiming& row : Combined(rows)) {
    Json kernel = Json::Object();
    kernel.Set("kernel", row.kernel).Set("value", row.label);
    kernel.Set("ms", row.ms).Set("note", row.note);
    kernel.Set("flops", row.work.flops).Set("bytes_read", row.work.bytes_read);
    kernel.Set("bytes_written", row.work.bytes_written);
    kernel.Set("flops_per_byte", Intensity(row.work)).Set("roof", Roof(row, roofline));
    kernels.Add(std::move(kernel));
  }
  return kernels;
}

std::string ChromeTrace(const std::string& process, const std::vector<KernelTiming>& rows) {
  Json events = Json::Array();
  Json name = Json::Object(), arguments = Json::Object();
  arguments.Set("name", process);
  name.Set("name", "process_name").Set("ph", "M").Set("pid", 1).Set("args", std::move(arguments));
  events.Add(std::move(name));
  for (const KernelTiming& row : rows) {
    Json details = Json::Object();
    details.Set("value", row.label).Set("note", row.note).Set("flops", row.work.flops);
    details.Set("bytes", BytesOf(row.work));
    Json slice = Json::Object();
    slice.Set("name", row.kernel).Set("cat", "kernel").Set("ph", "X").Set("pid", 1).Set("tid", 1);
    slice.Set("ts", row.start_ms * 1e3).Set("dur", row.ms * 1e3).Set("args", std::move(details));
    events.Add(std::move(slice));
  }
  Json trace = Json::Object();
  trace.Set("displayTimeUnit", "ms").Set("traceEvents", std::move(events));
  return trace.ToString() + "\n";
}

}  // namespace lemma::api
