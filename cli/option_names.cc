#include "cli/option_names.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace lemma::cli {

absl::Status InFlags(const absl::Status& status) {
  const std::string begin = "option '";
  std::string text(status.message());
  for (size_t at = 0; (at = text.find(begin, at)) != std::string::npos; ++at) {
    const size_t name = at + begin.size(), end = text.find('\'', name);
    if (end == std::string::npos) break;
    const std::string option = text.substr(name, end - name);
    const std::string flag =
        option == "output" ? "-o" : absl::StrCat("--", absl::StrReplaceAll(option, {{"_", "-"}}));
    text.replace(at, end + 1 - at, flag);
  }
  return absl::Status(status.code(), text);
}

}  // namespace lemma::cli
