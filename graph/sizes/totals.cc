#include "graph/sizes/totals.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace lemma {
namespace {

void FitTotal(const std::string& total, const std::string& rest, const std::set<std::string>& fixed,
              DimValues* sizes) {
  const auto past = sizes->find(absl::StrCat("past_", rest));
  if (past == sizes->end()) return;
  auto now = sizes->find(absl::StrCat("kv_", rest));
  if (now == sizes->end()) now = sizes->find(rest);
  const int64_t added = now == sizes->end() ? 1 : now->second;
  int64_t& sum = sizes->at(total);
  if (fixed.count(total) == 0) {
    sum = past->second + added;
  } else if (fixed.count(past->first) == 0) {
    if (sum > added) past->second = sum - added;
  } else if (now != sizes->end() && fixed.count(now->first) == 0) {
    if (sum > past->second) now->second = sum - past->second;
  }
}

// The value of the sum that the name is; nullopt if it is none.
std::optional<int64_t> ValueOf(const std::string& name, const DimValues& sizes) {
  const auto sum = ParseSize(name, [&](const std::string& part) -> std::optional<IndexExpr> {
    const auto size = sizes.find(part);
    return IndexExpr(size == sizes.end() ? 1 : size->second);
  });
  if (!sum || !sum->is_const()) return std::nullopt;
  return sum->value();
}

}  // namespace

void FitTotals(const std::set<std::string>& fixed, DimValues* sizes) {
  const DimValues before = *sizes;
  for (const auto& [name, size] : before) {
    absl::string_view rest = name;
    if (absl::ConsumePrefix(&rest, "total_")) FitTotal(name, std::string(rest), fixed, sizes);
  }
  for (const auto& [name, size] : before) {
    if (IsDimName(name) || fixed.count(name) > 0) continue;
    const std::optional<int64_t> sum = ValueOf(name, *sizes);
    if (sum && *sum >= 1) sizes->at(name) = *sum;
  }
}

}  // namespace lemma
