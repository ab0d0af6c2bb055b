#include "api/hunting/message_kind.h"

#include <regex>

namespace lemma::hunt {

std::string MessageKind(absl::string_view message) {
  std::string text(message);
  for (const char* name :
       {"\\\\n|[{}\"\n]", "'[^']*'", "\\([^)]*\\)", "/[^ :]*", "-?[0-9]+", " *error:"}) {
    text = std::regex_replace(text, std::regex(name), "");
  }
  return text.substr(0, 120);
}

}  // namespace lemma::hunt
