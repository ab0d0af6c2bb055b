// Pieces of HTML pages: cells, tables, drawings, and the page around them. Internal to the reports.
#ifndef LEMMA_API_REPORT_HTML_H_
#define LEMMA_API_REPORT_HTML_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "graph/graph.h"

namespace lemma::api {

// `text` with &, <, > and " written as HTML entities.
std::string Escaped(const std::string& text);
// A cell of a table with this text, which is escaped. `number`: set as a number.
std::string Cell(const std::string& text, bool number = false);

// "1 operator", "2 operators".
std::string CountOfOperators(int count);

// Names and values, in the page's order.
using Facts = std::vector<std::pair<std::string, std::string>>;
std::string FactsTable(const Facts& facts);

struct DrawingOptions {
  std::string search;  // the id of the drawing's search field; "": a small drawing without one
  std::function<std::string(const Node&)> classes;  // as in DotOptions (api/draw.h)
  // If the graph has more than 800 operators, only nodes for which this is true and their operands
  // are drawn; if there are none, or if this is absent, the page says so instead.
  std::function<bool(const Node&)> matters;
};

// HTML with the number of operators, and a graph that can be moved, enlarged and searched; a small
// drawing is the graph alone. After the deadline a graph is not drawn, and the page says so. Errors
// are those of DotToSvg (api/draw.h).
absl::StatusOr<std::string> Drawing(const Graph& graph, const DrawingOptions& options,
                                    const Deadline& deadline);

// A page that needs no other file. `body` is HTML.
std::string HtmlPage(const std::string& title, const std::string& body);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_HTML_H_
