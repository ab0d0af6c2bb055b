// Writes pieces of HTML pages: cells, tables, drawings, and the page around them. Internal to the
// reports.
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
// The <td> of a table's cell with this text, which is escaped. `number`: aligned as a number.
std::string Cell(const std::string& text, bool number = false);

// Names and values, as text, in the page's order.
using Facts = std::vector<std::pair<std::string, std::string>>;
// A <table> with a row for each fact.
std::string FactsTable(const Facts& facts);

struct DrawingOptions {
  std::string search;  // the id of the drawing's search field; "": a small drawing, no field
  std::function<std::string(const Node&)> classes;  // as in DotOptions (api/draw.h)
  // If the graph has more than 800 operators, only the nodes for which `matters` returns true, and
  // their operands, are drawn. If there are no such nodes, or if `matters` is empty, the page says
  // why there is no drawing.
  std::function<bool(const Node&)> matters;
};

// HTML with the number of operators, and a drawing of the graph that can be moved, enlarged and
// searched; for a small drawing (DrawingOptions::search), only the drawing. After the deadline
// nothing is drawn, and the page says so. Errors are those of DotToSvg (api/draw.h).
absl::StatusOr<std::string> Drawing(const Graph& graph, const DrawingOptions& options,
                                    const Deadline& deadline);

// A page that needs no other file. `body` is HTML.
std::string HtmlPage(const std::string& title, const std::string& body);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_HTML_H_
