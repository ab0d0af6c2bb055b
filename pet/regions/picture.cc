#include "pet/regions/picture.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lemma::pet {
namespace {

constexpr int64_t kLargest = 100;  // rows or columns
constexpr int kSide = 8;           // of a square, in pixels

// The region in one plane of the last two dimensions, and where that plane occurs.
struct Panel {
  std::vector<Box> where;  // boxes of the other dimensions
  std::vector<Box> differs;
};

std::string KeyOf(const std::vector<Box>& boxes) {
  std::string key;
  for (const Box& box : boxes) absl::StrAppend(&key, ToString(box));
  return key;
}

// A shape with fewer than two dimensions is drawn as a row.
struct Plane {
  size_t outer = 0;  // dimensions before the last two
  int64_t rows = 1, columns = 1;
};

Plane PlaneOf(const Shape& shape) {
  Plane plane;
  if (!shape.empty()) plane.columns = shape.back();
  if (shape.size() > 1) plane.rows = shape[shape.size() - 2];
  plane.outer = shape.size() > 2 ? shape.size() - 2 : 0;
  return plane;
}

// Splits the other dimensions into cells, one dimension at a time, where the set of boxes changes.
std::vector<Panel> PanelsOf(const Region& region) {
  const Plane plane = PlaneOf(region.shape);
  std::vector<Box> cells = {Box()};
  for (size_t d = 0; d < plane.outer; ++d) {
    // Indices in the same boxes belong together.
    std::map<std::vector<bool>, std::vector<Box>> alike;
    for (int64_t i = 0; i < region.shape[d]; ++i) {
      std::vector<bool> inside;
      for (const Box& box : region.differs) inside.push_back(box[d].Contains(i));
      alike[inside].push_back({{i, 1, 1}});
    }
    std::vector<Box> next;
    for (auto& [inside, indices] : alike) {
      for (const Box& range : MergeBoxes(std::move(indices))) {
        for (Box cell : cells) {
          cell.push_back(range[0]);
          next.push_back(std::move(cell));
        }
      }
    }
    cells = std::move(next);
  }
  std::map<std::string, Panel> panels;
  for (const Box& cell : cells) {
    std::vector<Box> differs;
    for (const Box& box : region.differs) {
      bool here = true;
      for (size_t d = 0; d < plane.outer; ++d) here = here && box[d].Contains(cell[d].start);
      if (here)
        differs.emplace_back(box.begin() + static_cast<std::ptrdiff_t>(plane.outer), box.end());
    }
    Panel& panel = panels[KeyOf(differs)];
    panel.where.push_back(cell);
    panel.differs = std::move(differs);
  }
  std::vector<Panel> result;
  for (auto& [key, panel] : panels) {
    if (plane.outer > 0) panel.where = MergeBoxes(std::move(panel.where));
    result.push_back(std::move(panel));
  }
  std::sort(result.begin(), result.end(), [](const Panel& a, const Panel& b) {
    return std::lexicographical_compare(
        a.where[0].begin(), a.where[0].end(), b.where[0].begin(), b.where[0].end(),
        [](const Range& x, const Range& y) { return x.start < y.start; });
  });
  return result;
}

std::string WhereText(const Panel& panel, const Shape& shape) {
  std::string text;
  for (const Box& box : panel.where) {
    absl::StrAppend(&text, text.empty() ? "at " : " and ", "[");
    for (size_t d = 0; d < box.size(); ++d) {
      const bool all = box[d] == Range{0, shape[d], 1};
      const std::string range = ToString(Box{box[d]});
      absl::StrAppend(&text, d ? ", " : "", all ? "*" : range.substr(1, range.size() - 2));
    }
    text += "]";
  }
  return text;
}

bool DiffersAt(const Panel& panel, int64_t row, int64_t column) {
  for (const Box& box : panel.differs) {
    if (box.empty()) return true;
    const bool in_row = box.size() < 2 || box[0].Contains(row);
    if (in_row && box.back().Contains(column)) return true;
  }
  return false;
}

}  // namespace

std::string TextPicture(const Region& region) {
  const Plane plane = PlaneOf(region.shape);
  std::string text;
  for (const Panel& panel : PanelsOf(region)) {
    if (plane.outer > 0) absl::StrAppend(&text, WhereText(panel, region.shape), ":\n");
    for (int64_t row = 0; row < std::min(plane.rows, kLargest); ++row) {
      text += "  ";
      for (int64_t column = 0; column < std::min(plane.columns, kLargest); ++column) {
        text += DiffersAt(panel, row, column) ? '#' : '.';
      }
      text += "\n";
    }
  }
  if (std::max(plane.rows, plane.columns) > kLargest) {
    absl::StrAppend(&text, "(the first ", kLargest, " rows and columns of ", plane.rows, " x ",
                    plane.columns, ")\n");
  }
  return text;
}

std::string SvgPicture(const Region& region) {
  const Plane plane = PlaneOf(region.shape);
  const int64_t rows = std::min(plane.rows, kLargest), columns = std::min(plane.columns, kLargest);
  std::string body;
  int64_t top = 0;
  for (const Panel& panel : PanelsOf(region)) {
    top += 18;
    absl::StrAppend(&body, "<text x=\"4\" y=\"", top - 4, "\">", WhereText(panel, region.shape),
                    "</text>\n");
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        absl::StrAppend(&body, "<rect x=\"", 4 + kSide * column, "\" y=\"", top + kSide * row,
                        "\" width=\"", kSide - 1, "\" height=\"", kSide - 1, "\" fill=\"",
                        DiffersAt(panel, row, column) ? "#c33" : "#ddd", "\"/>\n");
      }
    }
    top += kSide * rows;
  }
  return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"",
                      std::max<int64_t>(8 + kSide * columns, 240), "\" height=\"", top + 8,
                      "\" font-family=\"monospace\" font-size=\"11\">\n", body, "</svg>\n");
}

}  // namespace lemma::pet
