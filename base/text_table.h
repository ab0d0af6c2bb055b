// Prints tables and numbers for people.
#ifndef LEMMA_BASE_TEXT_TABLE_H_
#define LEMMA_BASE_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lemma {

// A table whose columns are as wide as their widest cell. The first column is left-aligned. A
// column whose name starts with '<' is left-aligned too, and the '<' is not printed. All other
// columns are right-aligned.
class TextTable {
 public:
  // `header`: the names of the columns.
  explicit TextTable(std::vector<std::string> header);
  // Adds a row. Missing cells are empty; cells beyond the header are dropped.
  void Row(std::vector<std::string> cells);
  // One line per row, the header first; each line ends with a newline.
  std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

// FormatMs takes milliseconds and gives "12.30 ms", "85.0 us" or "15.0 s", and "-" for an infinity
// or NaN; FormatBytes gives "4.2 MB", in powers of 1000; FormatError gives "3.40e-06";
// FormatDuration takes seconds and gives "48 s" below 100 s, "12 min" below 100 min, otherwise
// "3.5 h".
std::string FormatMs(double ms);
std::string FormatBytes(double bytes);
std::string FormatError(double value);
std::string FormatDuration(double seconds);
// "1 proof", "2 proofs"; `noun` must form its plural with s.
std::string FormatCount(int64_t count, absl::string_view noun);
// `text` with codes, such as \x1b, in place of its control characters. Names in a file may contain
// any character; a control character could make a terminal show something else than was printed.
std::string Printable(absl::string_view text);
// `text` (UTF-8) if it has at most `width` characters, else its first width - 1 characters and "…".
// `width` must be at least 1.
std::string Shortened(const std::string& text, size_t width);

}  // namespace lemma

#endif  // LEMMA_BASE_TEXT_TABLE_H_
