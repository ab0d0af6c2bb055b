// Returns the part of a text between two positions, such as the positions of two tokens.
#ifndef LEMMA_GRAPH_TEXT_SOURCE_TEXT_H_
#define LEMMA_GRAPH_TEXT_SOURCE_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graph/text/lexer.h"

namespace lemma::text {

class SourceText {
 public:
  // `text` must outlive the object.
  explicit SourceText(absl::string_view text) : lines_(absl::StrSplit(text, '\n')) {}

  // The characters from `begin` to before `end`. Both must be places in the text; `begin` comes
  // first.
  std::string Between(Position begin, Position end) const {
    std::string result;
    for (int line = begin.line; line <= end.line; ++line) {
      absl::string_view part = lines_[line - 1];
      if (line == end.line) part = part.substr(0, end.column - 1);
      if (line == begin.line) part = part.substr(begin.column - 1);
      absl::StrAppend(&result, line == begin.line ? "" : "\n", part);
    }
    return result;
  }

 private:
  std::vector<absl::string_view> lines_;
};

}  // namespace lemma::text

#endif  // LEMMA_GRAPH_TEXT_SOURCE_TEXT_H_
