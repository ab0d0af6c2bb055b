#include "base/text_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lemma {
namespace {

// Counts characters, not bytes: labels may be UTF-8.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header) {
  for (size_t i = 0; i < header.size(); ++i) {
    const bool marked = !header[i].empty() && header[i][0] == '<';
    left_.push_back(i == 0 || marked);
    if (marked) header[i].erase(0, 1);
  }
  rows_.push_back(std::move(header));
}

void TextTable::Row(std::vector<std::string> cells) {
  cells.resize(left_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString() const {
  std::vector<size_t> widths(left_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - Width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += left_[i] ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string FormatMs(double ms) {
  if (!std::isfinite(ms)) return "-";
  if (ms < 0.1) return absl::StrFormat("%.1f us", ms * 1e3);
  if (ms >= 1e4) return absl::StrFormat("%.1f s", ms * 1e-3);
  return absl::StrFormat("%.*f ms", ms < 10 ? 3 : ms < 100 ? 2 : 1, ms);
}

std::string FormatBytes(double bytes) {
  if (bytes < 1e3) return absl::StrFormat("%.0f B", bytes);
  if (bytes < 1e6) return absl::StrFormat("%.1f kB", bytes * 1e-3);
  if (bytes < 1e9) return absl::StrFormat("%.1f MB", bytes * 1e-6);
  return absl::StrFormat("%.2f GB", bytes * 1e-9);
}

std::string FormatError(double value) { return absl::StrFormat("%.2e", value); }

std::string FormatDuration(double seconds) {
  if (seconds < 100) return absl::StrFormat("%.0f s", seconds);
  if (seconds < 6000) return absl::StrFormat("%.0f min", seconds / 60);
  return absl::StrFormat("%.1f h", seconds / 3600);
}

std::string FormatCount(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string Printable(absl::string_view text) {
  std::string printable;
  unsigned char last = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // The second half of U+0080 to U+009F in UTF-8, which are control characters, too.
    const bool is_control = last == 0xc2 && byte >= 0x80 && byte <= 0x9f;
    if (is_control) {
      printable.pop_back();
      printable += "\\xc2";
    }
    if (byte < 0x20 || byte == 0x7f || is_control) {
      absl::StrAppendFormat(&printable, "\\x%02x", byte);
    } else {
      printable += c;
    }
    last = byte;
  }
  return printable;
}

std::string Shortened(const std::string& text, size_t width) {
  size_t characters = 0, cut = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xc0) == 0x80) continue;  // inside a character
    if (++characters == width) cut = i;
  }
  return characters <= width ? text : text.substr(0, cut) + "…";
}

}  // namespace lemma
