#include "api/models/option_error.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace lemma::api {
namespace {

constexpr char kPayload[] = "lemma.api/options", kWord[] = "option ";

bool IsOfName(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; }

// The message with replace(NAME) in the place of each "option NAME".
std::string Replaced(absl::string_view message,
                     absl::FunctionRef<std::string(absl::string_view name)> replace) {
  std::string result;
  for (size_t at = message.find(kWord); at != absl::string_view::npos; at = message.find(kWord)) {
    absl::StrAppend(&result, message.substr(0, at));
    message.remove_prefix(at + sizeof kWord - 1);
    const auto length =
        std::find_if_not(message.begin(), message.end(), IsOfName) - message.begin();
    const absl::string_view name = message.substr(0, length);
    absl::StrAppend(&result, replace(name));
    message.remove_prefix(length);
  }
  return absl::StrCat(result, message);
}

}  // namespace

absl::Status MarkOptionError(absl::Status error) {
  std::vector<std::string> names;
  Replaced(error.message(), [&names](absl::string_view name) {
    names.emplace_back(name);
    return std::string();
  });
  error.SetPayload(kPayload, absl::Cord(absl::StrJoin(names, " ")));
  return error;
}

absl::Status OptionError(absl::string_view message) {
  return MarkOptionError(absl::InvalidArgumentError(message));
}

absl::Status CheckRuns(int64_t runs, int64_t least) {
  constexpr int64_t kMostRuns = 1000000;
  if (runs < least) return OptionError(absl::StrCat("option runs: must be at least ", least));
  if (runs > kMostRuns)
    return OptionError(absl::StrCat("option runs: must be at most ", kMostRuns));
  return absl::OkStatus();
}

absl::Status RenameOptions(const absl::Status& error,
                           absl::FunctionRef<std::string(absl::string_view name)> rename) {
  const auto payload = error.GetPayload(kPayload);
  if (!payload) return error;
  // Only these names: the message may contain others in a file's name.
  const std::vector<std::string> names = absl::StrSplit(std::string(*payload), ' ');
  return absl::Status(error.code(), Replaced(error.message(), [&](absl::string_view name) {
                        return absl::c_linear_search(names, name) ? rename(name)
                                                                  : absl::StrCat(kWord, name);
                      }));
}

}  // namespace lemma::api
