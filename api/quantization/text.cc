// The result of a quantization for people.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/quantize.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

std::string Percent(double share) { return absl::StrFormat("%.3g %%", 100 * share); }
std::string Number(double value) { return absl::StrFormat("%.4g", value); }
std::string OrNone(const std::optional<double>& value, std::string (*form)(double)) {
  return value ? form(*value) : "-";
}

// A bound above the values themselves says nothing.
std::string Bound(const std::optional<double>& bound, double magnitude) {
  if (!bound) return "-";
  return std::isfinite(*bound) && *bound < magnitude ? Number(*bound) : "none useful";
}

std::string OperatorTable(const QuantizeResult& result) {
  TextTable table({"operator", "<type", "exact", "bound", "bound, these inputs", "measured",
                   "alone", "in all", "f32 time"});
  for (const OperatorReport& op : result.operators) {
    if (!op.quantized) continue;
    table.Row({op.name, op.type, op.errors.exact ? "yes" : "no",
               Bound(op.errors.bound, op.errors.magnitude),
               Bound(op.errors.for_inputs, op.errors.magnitude), OrNone(op.errors.measured, Number),
               OrNone(op.alone, Percent), OrNone(op.in_all, Percent), OrNone(op.f32_ms, FormatMs)});
  }
  return table.ToString();
}

// "Add (3), Reshape (8)"
std::string Counted(const std::map<std::string, int>& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " (", entry.second, ")");
  });
}

std::string Left(const QuantizeResult& result) {
  std::string text;
  TextTable table({"left in f32", "<type", "<reason"});
  std::map<std::string, int> following;
  bool any = false;
  for (const OperatorReport& op : result.operators) {
    if (op.quantized) continue;
    if (op.reason == kNothingToFollow) {
      ++following[op.type];
      continue;
    }
    table.Row({op.name, op.type, op.reason});
    any = true;
  }
  if (any) text = absl::StrCat("\n", table.ToString());
  if (!following.empty() || !result.left.empty()) absl::StrAppend(&text, "\n");
  if (!following.empty()) {
    absl::StrAppend(&text, "left in f32, since ", kNothingToFollow, ": ", Counted(following), "\n");
  }
  if (!result.left.empty()) {
    absl::StrAppend(&text, "operators of other types, left in f32: ", Counted(result.left), "\n");
  }
  return text;
}

std::string Tried(const QuantizeResult& result) {
  std::vector<TriedModel> tried = result.tried;
  std::stable_sort(tried.begin(), tried.end(),
                   [](const auto& a, const auto& b) { return a.operators > b.operators; });
  TextTable table({"quantized products", "error", "time", "<"});
  for (const TriedModel& one : tried) {
    // On the front, no other one is both faster and nearer.
    const bool beaten = std::any_of(tried.begin(), tried.end(), [&](const TriedModel& other) {
      return one.ms && other.ms && other.error < one.error && *other.ms < *one.ms;
    });
    table.Row({absl::StrCat(one.operators), Percent(one.error), OrNone(one.ms, FormatMs),
               one.ms && !beaten ? "on the front" : ""});
  }
  return table.ToString();
}

std::string Ranges(const QuantizeResult& result) {
  TextTable table(
      {"value", "<type", "least", "most", "low", "high", "step", "zero point", "clipped"});
  for (const ValueRange& range : result.ranges) {
    table.Row({range.name, range.type, Number(range.least), Number(range.most), Number(range.low),
               Number(range.high), Number(range.scale), absl::StrCat(range.zero_point),
               Percent(range.clipped)});
  }
  return table.ToString();
}

void AddErrors(const char* what, int64_t samples, const std::vector<OutputError>& errors,
               std::string* text) {
  for (const OutputError& error : errors) {
    absl::StrAppendFormat(
        text,
        "%s  %s: relative error %s, %.1f dB, largest difference %s (measured on %d sample%s)\n",
        what, error.name, Percent(error.relative), error.snr_db, Number(error.largest), samples,
        samples == 1 ? "" : "s");
  }
}

}  // namespace

std::string TextOf(const QuantizeResult& result, bool verbose) {
  if (!result.written) {
    return absl::StrCat("nothing is quantized: no operator keeps to the budget\n", Left(result));
  }
  std::string text = OperatorTable(result) + Left(result);
  if (verbose && !result.ranges.empty()) absl::StrAppend(&text, "\n", Ranges(result));
  if (!result.tried.empty()) absl::StrAppend(&text, "\ntried, measured:\n", Tried(result));
  const auto count = std::count_if(result.operators.begin(), result.operators.end(),
                                   [](const OperatorReport& op) { return op.quantized; });
  absl::StrAppend(&text, "\nquantized   ", count, " of ", result.operators.size(),
                  " operators that can be quantized\n");
  AddErrors("error     ", result.calibration_samples, result.errors, &text);
  AddErrors("held out  ", result.held_out_samples, result.held_out, &text);
  if (result.quantized_ms) {
    absl::StrAppend(&text, "time        ", FormatMs(*result.f32_ms), " in f32, ",
                    FormatMs(*result.quantized_ms), " quantized (measured on ", result.backend,
                    ")\n");
  }
  absl::StrAppend(&text, "size        ", FormatBytes(static_cast<double>(result.bytes_before)),
                  ", now ", FormatBytes(static_cast<double>(result.bytes_after)), "\n");
  if (result.synthetic) {
    absl::StrAppend(&text, "the samples are random: ranges and errors say nothing of real data\n");
  }
  return text;
}

std::string TextOf(const QuantizedIfFaster& outcome, const std::string& output) {
  return absl::StrCat(outcome.quantized ? TextOf(*outcome.quantized, false) : "",
                      outcome.kept.empty() ? "bounds are of single operators: a bound of the whole "
                                             "model would grow with each layer, "
                                             "and say nothing"
                                           : absl::StrCat("kept the model in f32: ", outcome.kept),
                      "\nwritten to ", output, "\n");
}

}  // namespace lemma::api
