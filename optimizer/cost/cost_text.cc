#include "optimizer/cost/cost_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lemma::optimizer {
namespace {

constexpr char kHeader[] = "lemma costs 3";
// Without load and date.
constexpr char kOldHeader[] = "lemma costs 2";
constexpr char kDevice[] = "device ";

// The shortest decimal that reads back as the same number.
std::string Number(double value) {
  for (int digits = 6; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && back == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

auto Key(const CostEntry& entry) { return std::tie(entry.device, entry.signature); }

bool ParseCost(const std::vector<absl::string_view>& words, MeasuredCost* cost) {
  std::vector<std::pair<int, double*>> reals = {{0, &cost->median_ms},
                                                {1, &cost->variance_ms2},
                                                {3, &cost->flops},
                                                {4, &cost->bytes},
                                                {5, &cost->in_graph_ms}};
  if (words.size() > 7) {
    reals.emplace_back(6, &cost->load);
    if (!absl::SimpleAtoi(words[7], &cost->measured_at) || cost->measured_at < 0) return false;
  }
  for (const auto& [word, value] : reals) {
    if (!absl::SimpleAtod(words[word], value) || !std::isfinite(*value) || *value < 0) return false;
  }
  return absl::SimpleAtoi(words[2], &cost->repetitions) && cost->repetitions > 0 &&
         cost->median_ms > 0;
}

}  // namespace

std::string PrintCosts(std::vector<CostEntry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const CostEntry& a, const CostEntry& b) { return Key(a) < Key(b); });
  std::string text = absl::StrCat(kHeader, "\n");
  const std::string* device = nullptr;
  for (const CostEntry& entry : entries) {
    if (device == nullptr || *device != entry.device) {
      absl::StrAppend(&text, kDevice, entry.device, "\n");
    }
    device = &entry.device;
    const MeasuredCost& c = entry.cost;
    absl::StrAppend(&text, Number(c.median_ms), " ", Number(c.variance_ms2), " ", c.repetitions,
                    " ", Number(c.flops), " ", Number(c.bytes), " ", Number(c.in_graph_ms), " ",
                    Number(c.load), " ", c.measured_at, " ", entry.signature, "\n");
  }
  return text;
}

absl::StatusOr<std::vector<CostEntry>> ParseCosts(absl::string_view text) {
  int number = 0;
  auto fail = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", what));
  };
  if (text.empty() || text.back() != '\n') return fail("the text ends within a line");
  text.remove_suffix(1);
  std::vector<CostEntry> entries;
  std::set<std::pair<std::string, std::string>> seen;
  std::string device;
  size_t numbers = 8;  // before the signature
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (++number == 1) {
      if (line == kOldHeader) numbers = 6;
      if (line == kHeader || line == kOldHeader) continue;
      return fail(absl::StrCat("costs begin with the line '", kHeader, "'"));
    }
    if (absl::ConsumePrefix(&line, kDevice)) {
      device = std::string(line);
      continue;
    }
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(' ', static_cast<int>(numbers)));
    CostEntry entry;
    if (words.size() != numbers + 1 || words.back().empty() || !ParseCost(words, &entry.cost)) {
      return fail(absl::StrCat("expected median, variance, runs, flops, bytes, time in graphs",
                               numbers > 6 ? ", load, date" : "", " and signature"));
    }
    if (device.empty()) return fail("a kernel before the first device");
    entry.device = device;
    entry.signature = std::string(words.back());
    if (!seen.emplace(entry.device, entry.signature).second) {
      return fail("this kernel of this device was there before");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace lemma::optimizer
