#include "api/report/html.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/draw.h"
#include "api/report/page_template.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr int kLargestDrawing = 800;  // operators

}  // namespace

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Cell(const std::string& text, bool number) {
  return absl::StrCat(number ? "<td class=\"number\">" : "<td>", Escaped(text), "</td>");
}

std::string FactsTable(const Facts& facts) {
  std::string html = "<table>\n";
  for (const auto& [what, value] : facts) {
    absl::StrAppend(&html, "<tr>", Cell(what), Cell(value), "</tr>\n");
  }
  return html + "</table>\n";
}

absl::StatusOr<std::string> Drawing(const Graph& graph, const DrawingOptions& options,
                                    const Deadline& deadline) {
  if (deadline.Passed()) {
    return absl::StrCat("<p>", FormatCount(graph.num_ops(), "operator"),
                        "; not drawn: the time is up</p>\n");
  }
  DotOptions dot;
  dot.classes = options.classes;
  const bool all = graph.num_ops() <= kLargestDrawing;
  absl::flat_hash_set<const Node*> around;
  for (const NodePtr& node : graph.nodes()) {
    if (all || !options.matters || !options.matters(*node)) continue;
    around.insert(node.get());
    for (const Value& v : node->inputs()) around.insert(&v.node());
  }
  if (!all && around.empty()) {
    return absl::StrCat("<p>", FormatCount(graph.num_ops(), "operator"),
                        "; not drawn: there are more than ", kLargestDrawing,
                        ", and none is marked</p>\n");
  }
  if (!all) dot.shown = [&](const Node& node) { return around.contains(&node); };
  auto svg = DotToSvg(GraphToDot(graph, dot));
  if (!svg.ok()) return svg.status();
  const std::string& id = options.search;
  if (id.empty()) return absl::StrCat("<div class=\"graph small\">", *svg, "</div>\n");
  return absl::StrCat("<p>", FormatCount(graph.num_ops(), "operator"),
                      all ? "" : "; what changed is drawn, and its operands", " <input id=\"", id,
                      "\" placeholder=\"search\"> <span id=\"", id,
                      "-count\"></span></p>\n<div class=\"graph\" data-search=\"", id, "\">", *svg,
                      "</div>\n");
}

std::string HtmlPage(const std::string& title, const std::string& body) {
  return absl::StrReplaceAll(kReportTemplate, {{"@TITLE@", Escaped(title)}, {"@BODY@", body}});
}

}  // namespace lemma::api
