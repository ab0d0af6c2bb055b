#include "api/report/page.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/report/figures.h"
#include "api/report/operators.h"
#include "api/report/overview.h"
#include "api/report/page_data.h"
#include "api/report/summary.h"
#include "api/report/words.h"
#include "base/text_table.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

std::string RuleId(const std::string& name) { return absl::StrCat("rule-", name); }

// Descriptions of rewrites are "rule(x = a; n = 1)"; the rule has a column of its own.
std::string WhereIn(const ReportStep& step) {
  const std::string& where = step.where;
  if (where.rfind(step.rule + "(", 0) != 0 || where.back() != ')') return where;
  return where.substr(step.rule.size() + 1, where.size() - step.rule.size() - 2);
}

std::string Steps(const Report& report) {
  if (report.steps.empty()) return "<p class=\"note\">None: the input is kept.</p>\n";
  std::string html =
      "<div class=\"scroll\"><table id=\"steps\">\n<tr><th class=\"number\">step</th><th>rule</th>"
      "<th class=\"number\">predicted</th><th class=\"number\">change</th><th>where</th></tr>\n";
  double before = report.predicted_ms;
  for (size_t i = 0; i < report.steps.size(); ++i) {
    const ReportStep& step = report.steps[i];
    const bool priced = step.ms >= 0;
    absl::StrAppend(&html, "<tr data-step=\"", i, "\">", Cell(absl::StrCat(i + 1), true),
                    "<td><a href=\"#", Escaped(RuleId(step.rule)), "\">", Escaped(step.rule),
                    "</a></td>", Cell(priced ? FormatMs(step.ms) : "", true),
                    Cell(priced ? ChangeText(step.ms - before) : "", true), "<td class=\"where\">",
                    Escaped(WhereIn(step)), "</td></tr>\n");
    if (priced) before = step.ms;
  }
  return html + "</table></div>\n";
}

std::string Rules(const Report& report) {
  std::string html;
  for (const Substitution& rule : report.rules) {
    absl::StrAppend(&html, "<h3 id=\"", Escaped(RuleId(rule.name)), "\">", Escaped(rule.name),
                    "</h3>\n<p>",
                    Escaped(absl::StrCat(WordsOf(rule, 1), "; ", WordsOf(rule.contract), ".")),
                    "</p>\n<pre tabindex=\"0\">", Escaped(PrintRule(rule)), "</pre>\n");
  }
  return html.empty() ? "" : "<h2 id=\"rules\">Rules</h2>\n" + html;
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
  if (all.empty()) return "";
  std::vector<std::string> names(all.begin(), all.end());
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return before[a].ms + after[a].ms > before[b].ms + after[b].ms;
  });
  std::string html =
      "<details><summary>Kernels as a table</summary>\n<div class=\"scroll\"><table>\n<tr>"
      "<th>kernel</th><th class=\"number\">before</th><th class=\"number\">runs</th>"
      "<th class=\"number\">after</th><th class=\"number\">runs</th></tr>\n";
  for (const std::string& name : names) {
    const KernelSum &b = before[name], &a = after[name];
    absl::StrAppend(&html, "<tr>", Cell(name), Cell(b.count ? FormatMs(b.ms) : "", true),
                    Cell(absl::StrCat(b.count), true), Cell(a.count ? FormatMs(a.ms) : "", true),
                    Cell(absl::StrCat(a.count), true), "</tr>\n");
  }
  return html + "</table></div></details>\n";
}

// One graph with its search field and, for the script, its buttons.
std::string SideHtml(const char* side, const Graph& graph, const std::string& drawing) {
  return absl::StrCat(
      "<div class=\"side\" data-side=\"", side, "\">\n<div class=\"side-head\"><h3>", side,
      " <small>", FormatCount(graph.num_ops(), "operator"),
      "</small></h3><span class=\"tools\" hidden><input type=\"search\" placeholder=\"find\" "
      "aria-label=\"find an operator ",
      side,
      "\"><output></output><button data-zoom=\"0.8\" aria-label=\"smaller\">−</button><button "
      "data-zoom=\"1.25\" aria-label=\"larger\">+</button><button data-zoom=\"fit\">fit</button>"
      "</span></div>\n<div class=\"crumbs\" hidden></div>\n<div class=\"map\">",
      drawing, "</div>\n</div>\n");
}

constexpr char kPlayer[] =
    "<div id=\"player\" hidden><span class=\"buttons\"><button data-go=\"back\" "
    "aria-label=\"previous step\">◀</button><button data-go=\"play\">Play</button><button "
    "data-go=\"next\" aria-label=\"next step\">▶</button></span><input type=\"range\" min=\"0\" "
    "value=\"0\" aria-label=\"step\"><p aria-live=\"polite\"></p></div>\n";

}  // namespace

absl::StatusOr<std::string> ReportPage(const Report& report, const Deadline& deadline) {
  ReportSide before{&report.before, OperatorsOf(report, true), {}};
  ReportSide after{&report.after, OperatorsOf(report, false), {}};
  std::string graphs;
  for (ReportSide* side : {&before, &after}) {
    auto overview = OverviewOf(side->graph->graph, side->ops, deadline);
    if (!overview.ok()) return overview.status();
    side->blocks = std::move(overview->blocks);
    graphs += SideHtml(side == &before ? "before" : "after", side->graph->graph, overview->html);
  }
  const std::string body = absl::StrCat(
      "<main>\n", SummaryOf(report),
      "<h2>Graphs and steps</h2>\n<p class=\"note\">Marked: what "
      "the other graph does not have. <span class=\"script\" hidden>Choose an operator for its "
      "details, a block to open it. Arrow keys move between boxes, Enter chooses.</span></p>\n",
      "<section>\n", report.steps.empty() ? "" : kPlayer, "<div class=\"pair\">", graphs,
      "</div>\n</section>\n<h2>Steps</h2>\n", Steps(report), "<h2>Time</h2>\n", TimeFigure(report),
      Kernels(report), "<h2>Speed against the machine's limits</h2>\n", RooflineFigure(report),
      "<h2>Memory of values over time</h2>\n", MemoryFigure(report), Rules(report),
      "<h2>Details of the run</h2>\n", FactsTable(report.facts),
      "</main>\n<aside id=\"panel\" hidden aria-label=\"details\" tabindex=\"-1\"></aside>\n"
      "<div id=\"hint\" role=\"tooltip\" hidden></div>\n<script type=\"application/json\" "
      "id=\"data\">",
      ScriptText(PageData(report, before, after)), "</script>\n");
  return HtmlPage(absl::StrCat(report.title), body);
}

}  // namespace lemma::api
