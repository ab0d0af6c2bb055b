#include "api/report/page.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/report/html.h"
#include "base/text_table.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

std::string RuleId(const std::string& name) { return absl::StrCat("rule-", name); }

std::string Steps(const Report& report) {
  if (report.steps.empty()) return "<p>None: the input is kept.</p>\n";
  std::string html =
      "<div class=\"scroll\"><table>\n<tr><th class=\"number\">step</th><th>rule</th>"
      "<th class=\"number\">predicted</th><th class=\"number\">change</th><th>where</th></tr>\n";
  double before = report.predicted_ms;
  for (size_t i = 0; i < report.steps.size(); ++i) {
    const ReportStep& step = report.steps[i];
    const bool priced = step.ms >= 0;
    absl::StrAppend(&html, "<tr>", Cell(absl::StrCat(i + 1), true), "<td><a href=\"#",
                    Escaped(RuleId(step.rule)), "\">", Escaped(step.rule), "</a></td>",
                    Cell(priced ? FormatMs(step.ms) : "", true),
                    Cell(priced ? absl::StrFormat("%+.4f ms", step.ms - before) : "", true),
                    Cell(step.where), "</tr>\n");
    if (priced) before = step.ms;
  }
  return html + "</table></div>\n";
}

std::string Rules(const Report& report) {
  std::string html;
  for (const Substitution& rule : report.rules) {
    absl::StrAppend(&html, "<h3 id=\"", Escaped(RuleId(rule.name)), "\">", Escaped(rule.name),
                    "</h3>\n<pre>", Escaped(PrintRule(rule)), "</pre>\n");
  }
  return html;
}

struct KernelSum {
  int count = 0;
  double ms = 0;
};

std::map<std::string, KernelSum> ByKernel(const std::vector<KernelTiming>& timings) {
  std::map<std::string, KernelSum> sums;
  for (const KernelTiming& timing : timings) {
    KernelSum& sum = sums[timing.kernel];
    ++sum.count;
    sum.ms += timing.ms;
  }
  return sums;
}

std::string Kernels(const Report& report) {
  std::map<std::string, KernelSum> before = ByKernel(report.before.kernels);
  std::map<std::string, KernelSum> after = ByKernel(report.after.kernels);
  std::set<std::string> all;
  for (const auto* sums : {&before, &after}) {
    for (const auto& [name, sum] : *sums) all.insert(name);
  }
  if (all.empty()) return "<p>Not executed.</p>\n";
  std::vector<std::string> names(all.begin(), all.end());
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return before[a].ms + after[a].ms > before[b].ms + after[b].ms;
  });
  std::string html =
      "<table>\n<tr><th>kernel</th><th class=\"number\">before</th><th class=\"number\">runs</th>"
      "<th class=\"number\">after</th><th class=\"number\">runs</th></tr>\n";
  for (const std::string& name : names) {
    const KernelSum &b = before[name], &a = after[name];
    absl::StrAppend(&html, "<tr>", Cell(name), Cell(b.count ? FormatMs(b.ms) : "", true),
                    Cell(absl::StrCat(b.count), true), Cell(a.count ? FormatMs(a.ms) : "", true),
                    Cell(absl::StrCat(a.count), true), "</tr>\n");
  }
  return html + "</table>\n";
}

// `top`: the value at the upper edge.
std::string Plot(const std::vector<int64_t>& values, int64_t top) {
  std::string html =
      "<svg class=\"plot\" viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\"><polyline "
      "points=\"";
  const double width = 1000.0 / static_cast<double>(std::max<size_t>(values.size(), 1));
  for (size_t i = 0; i < values.size(); ++i) {
    const double y = 100 - 96 * static_cast<double>(values[i]) / static_cast<double>(top);
    absl::StrAppendFormat(&html, "%.1f,%.1f %.1f,%.1f ", width * static_cast<double>(i), y,
                          width * static_cast<double>(i + 1), y);
  }
  return html + "\"/></svg>\n";
}

std::string Memory(const Report& report) {
  int64_t top = 1;
  for (const ReportGraph* side : {&report.before, &report.after}) {
    for (int64_t bytes : side->live_bytes) top = std::max(top, bytes);
  }
  std::string html = "<div class=\"pair\">";
  for (const ReportGraph* side : {&report.before, &report.after}) {
    const auto& live = side->live_bytes;
    const int64_t peak = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
    absl::StrAppend(&html, "<div><p>", side == &report.before ? "before" : "after", ": at most ",
                    FormatBytes(static_cast<double>(peak)), "</p>\n", Plot(live, top), "</div>");
  }
  return html + "</div>\n";
}

// The node without its operands: if these counted, every node behind a change would differ.
std::string LocalText(const Graph& graph, const NodePtr& node) {
  std::string text =
      absl::StrCat(node->is_op() ? node->op().name : "", " ", graph.LabelOf(Value(node, 0)));
  for (const auto& [name, value] : node->attrs()) {
    absl::StrAppend(&text, " ", name, "=", ToString(value));
  }
  for (const Value& v : node->inputs()) absl::StrAppend(&text, " ", v.type().ToString());
  return text;
}

// The operators of `graph` that `other` does not have.
absl::flat_hash_set<const Node*> Changed(const Graph& graph, const Graph& other) {
  absl::flat_hash_set<std::string> known;
  for (const NodePtr& node : other.nodes()) known.insert(LocalText(other, node));
  absl::flat_hash_set<const Node*> changed;
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_op() && !known.contains(LocalText(graph, node))) changed.insert(node.get());
  }
  return changed;
}

absl::StatusOr<std::string> DrawingOf(const Graph& graph, const Graph& other, const std::string& id,
                                      const Deadline& deadline) {
  const absl::flat_hash_set<const Node*> changed = Changed(graph, other);
  DrawingOptions options;
  options.search = id;
  options.classes = [&](const Node& node) { return changed.contains(&node) ? "changed" : ""; };
  options.matters = [&](const Node& node) { return changed.contains(&node); };
  return Drawing(graph, options, deadline);
}

}  // namespace

absl::StatusOr<std::string> ReportPage(const Report& report, const Deadline& deadline) {
  const Graph &before = report.before.graph, &after = report.after.graph;
  auto drawn_before = DrawingOf(before, after, "search-before", deadline);
  if (!drawn_before.ok()) return drawn_before.status();
  auto drawn_after = DrawingOf(after, before, "search-after", deadline);
  if (!drawn_after.ok()) return drawn_after.status();
  const std::string body = absl::StrCat(
      "<h1>", Escaped(report.title), "</h1>\n", FactsTable(report.facts),
      "<h2>Graphs before and after</h2>\n",
      "<p>Drag to move, turn the wheel to enlarge, double-click to see all. Marked: what the other "
      "graph does not have.</p>\n<div class=\"pair\"><div>",
      *drawn_before, "</div><div>", *drawn_after, "</div></div>\n<h2>Steps</h2>\n", Steps(report),
      "<h2>Time by kernel</h2>\n", Kernels(report), "<h2>Memory of values over time</h2>\n",
      Memory(report), "<h2>Rules</h2>\n", Rules(report));
  return HtmlPage(report.title, body);
}

}  // namespace lemma::api
