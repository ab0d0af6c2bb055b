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
// or NaN; FormatBytes gives "4.2 MB", in powers of 1000; FormatError gives "3.40e-06".
std::string FormatMs(double ms);
std::string FormatBytes(double bytes);
std::string FormatError(double value);
// "1 proof", "2 proofs"; `noun` must form its plural with s.
std::string FormatCount(int64_t count, absl::string_view noun);

}  // namespace lemma

#endif  // LEMMA_BASE_TEXT_TABLE_H_
