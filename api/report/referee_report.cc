// The page of a verdict: lemma referee --report.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/referee.h"
#include "api/report.h"
#include "api/report/alignment.h"
#include "api/report/html.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

using referee::Answer;

constexpr size_t kMostNames = 12;    // operators named in a row
constexpr int64_t kMostNumbers = 8;  // of a tensor
constexpr size_t kMostDrawn = 800;   // operators that matter, in a graph of which a part is drawn

// Classes of the page's style sheet, which gives them colors.
std::string ClassOf(Standing standing, const std::optional<FloatContract>& contract) {
  switch (standing) {
    case Standing::kSame:
      return "same";
    case Standing::kProved:
      // Where the contract is not known, no color says more than the loosest one.
      return Name(contract.value_or(FloatContract::kRealOnly));
    case Standing::kOpen:
      return "open";
    case Standing::kRefuted:
      return "refuted";
    case Standing::kBehind:
      return "behind";
    case Standing::kUnsaid:
      break;
  }
  return "";
}

std::string Badge(const std::string& tone, const std::string& text) {
  return absl::StrCat("<span class=\"badge ", tone, "\">", Escaped(text), "</span>");
}

std::string BadgeOf(const AlignedPart& part) {
  std::string text = ClassOf(part.standing, part.contract);
  if (part.standing == Standing::kProved && !part.contract) text = "proved";
  return Badge(ClassOf(part.standing, part.contract), text);
}

std::string Named(const std::string& label) { return label.empty() ? "(unnamed)" : label; }

std::string Some(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kMostNames, ", "), ", … ",
                      names.size() - kMostNames, " more");
}

std::string Headed(const std::string& heading, const std::string& html) {
  return absl::StrCat("<h2>", heading, "</h2>\n", html);
}

// A table of rows of cells.
std::string Table(const std::vector<std::pair<std::string, bool>>& header,
                  const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=\"scroll\"><table>\n<tr>";
  for (const auto& [name, number] : header) {
    absl::StrAppend(&html, number ? "<th class=\"number\">" : "<th>", name, "</th>");
  }
  html += "</tr>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) html += Cell(row[i], header[i].second);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string VerdictBadge(const RefereeResult& result) {
  const referee::RefereeResult& verdict = result.verdict;
  switch (verdict.answer) {
    case Answer::kProved:
      return Badge(Name(verdict.contract), "proved");
    case Answer::kUnknown:
      return Badge("open", "unknown");
    case Answer::kRefuted:
      return Badge("refuted", "refuted");
    case Answer::kDifferentInterface:
      return Badge("refuted", "different interface");
  }
  return "";
}

std::string Regions(const referee::RefereeResult& verdict) {
  std::map<FloatContract, int> counts;
  for (const referee::ProvedRegion& region : verdict.regions) ++counts[region.contract];
  return absl::StrCat(verdict.regions.size(), " proved (",
                      absl::StrJoin(counts, ", ",
                                    [](std::string* out, const auto& count) {
                                      absl::StrAppend(out, count.second, " ", Name(count.first));
                                    }),
                      "); ", verdict.proofs, " proofs, ", verdict.remembered, " repeated");
}

Facts FactsOf(const std::string& before, const std::string& after, const RefereeResult& result) {
  const referee::RefereeResult& verdict = result.verdict;
  Facts facts = {
      {"before", absl::StrCat(before, ", ", FormatCount(result.before.num_ops(), "operator"))},
      {"after", absl::StrCat(after, ", ", FormatCount(result.after.num_ops(), "operator"))}};
  if (verdict.answer == Answer::kProved) {
    facts.emplace_back("contract", absl::StrCat(Name(verdict.contract),
                                                result.accepted ? "" : ", looser than accepted"));
    facts.emplace_back("sizes", verdict.coverage);
  }
  if (verdict.refutation && !verdict.refutation->sizes.empty()) {
    facts.emplace_back("sizes",
                       absl::StrJoin(verdict.refutation->sizes, ", ", absl::PairFormatter("=")));
  }
  for (const std::string& line : verdict.interface) facts.emplace_back("interface", line);
  if (!verdict.regions.empty()) facts.emplace_back("regions", Regions(verdict));
  for (const std::string& note : verdict.notes) facts.emplace_back("note", note);
  for (const std::string& file : result.files) facts.emplace_back("written", file);
  facts.emplace_back("time", absl::StrFormat("%.1f s", result.seconds));
  return facts;
}

std::string FirstNumbers(const Tensor& tensor) {
  std::vector<std::string> numbers;
  for (int64_t i = 0; i < std::min(tensor.size(), kMostNumbers); ++i) {
    numbers.push_back(absl::StrFormat("%.9g", tensor.AtDouble(i)));
  }
  if (tensor.size() > kMostNumbers) numbers.emplace_back("…");
  return absl::StrJoin(numbers, ", ");
}

absl::StatusOr<std::string> Refuted(const referee::Refutation& refutation,
                                    const Deadline& deadline) {
  if (!refutation.pair) {
    return std::string(
        "<p>No pair of small graphs shows the difference: the models were compared as a "
        "whole.</p>\n");
  }
  const referee::DifferentPair& pair = *refutation.pair;
  auto before = Drawing(pair.before, {}, deadline), after = Drawing(pair.after, {}, deadline);
  if (!before.ok()) return before.status();
  if (!after.ok()) return after.status();
  std::string html = absl::StrCat("<p>", Escaped(Named(pair.before_label)), " and ",
                                  Escaped(Named(pair.after_label)), " ", HowTheyDiffer(pair), ".");
  if (refutation.only_here) {
    html +=
        refutation.by_weights
            ? " Only the strange weights below make the difference; all else is proved equal."
        : refutation.places > 1
            ? absl::StrCat(" ", refutation.places - 1,
                           " other places differ, too, or use the same wrong number; all else is "
                           "proved equal.")
            : " All else is proved equal.";
  }
  absl::StrAppend(&html, "</p>\n<div class=\"pair\"><div><p>before</p>\n", *before,
                  "</div><div><p>after</p>\n", *after, "</div></div>\n");
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < pair.inputs.size() && i < pair.before.input_names().size(); ++i) {
    rows.push_back({pair.before.input_names()[i], pair.inputs[i].type().ToString(),
                    FirstNumbers(pair.inputs[i])});
  }
  return html + Table({{"operand", false}, {"type", false}, {"first elements", false}}, rows);
}

std::string Review(const Alignment& alignment) {
  if (alignment.parts.empty()) return "<p>Nothing was compared region by region.</p>\n";
  std::string html =
      "<p>In the order of the second model. A click marks a row in both graphs, and an operator "
      "its "
      "row. <input data-filter=\"review\" placeholder=\"search\"></p>\n<div class=\"scroll\">"
      "<table id=\"review\">\n<tr><th class=\"number\"></th><th></th><th>before</th><th>after</th>"
      "<th></th></tr>\n";
  for (size_t i = 0; i < alignment.parts.size(); ++i) {
    const AlignedPart& part = alignment.parts[i];
    absl::StrAppend(&html, "<tr id=\"part-", i, "\" data-part=\"", i,
                    "\"><td class=\"number\"><a href=\"#part-", i, "\">", i + 1, "</a></td><td>",
                    BadgeOf(part), "</td>");
    if (part.standing == Standing::kSame) {
      absl::StrAppend(&html, "<td colspan=\"3\">",
                      FormatCount(static_cast<int>(part.after_operators.size()), "operator"),
                      " that both have: ", Escaped(Some(part.after_operators)), "</td></tr>\n");
      continue;
    }
    for (const bool before : {true, false}) {
      absl::StrAppend(&html, "<td><b>", Escaped(Named(before ? part.before : part.after)), "</b> ",
                      Escaped(Some(before ? part.before_operators : part.after_operators)),
                      "</td>");
    }
    absl::StrAppend(&html, Cell(part.note), "</tr>\n");
  }
  return html + "</table></div>\n";
}

// Of a graph too large to be drawn whole: what is not proved, and, if there is room, what differs.
std::function<bool(const Node&)> MattersIn(
    const Graph& graph, const Alignment& alignment,
    const absl::flat_hash_map<const Node*, PartOfOperator>& places) {
  const auto matters = [&](const Node& node, bool proved_too) {
    auto it = places.find(&node);
    if (it == places.end()) return false;
    switch (it->second.standing) {
      case Standing::kOpen:
      case Standing::kRefuted:
        return true;
      case Standing::kProved: {
        const AlignedPart& part = alignment.parts[it->second.part];
        return proved_too && part.before_operators != part.after_operators;
      }
      default:
        return false;
    }
  };
  size_t all = 0;
  for (const NodePtr& node : graph.nodes()) all += matters(*node, true) ? 1 : 0;
  const bool proved_too = all <= kMostDrawn;
  return [matters, proved_too](const Node& node) { return matters(node, proved_too); };
}

absl::StatusOr<std::string> Graphs(const RefereeResult& result, const Alignment& alignment,
                                   const Deadline& deadline) {
  std::string html = "<p>Drag to move, turn the wheel to enlarge, double-click to see all. ";
  for (const char* tone : {"same", "bit_exact", "reassociates", "real_only", "open", "refuted"}) {
    html += Badge(tone, tone) + " ";
  }
  html += Badge("behind", "depends on what differs") + "</p>\n<div class=\"pair\">";
  for (const bool before : {true, false}) {
    const auto& places = before ? alignment.before : alignment.after;
    const Graph& graph = before ? result.before : result.after;
    DrawingOptions options;
    options.search = before ? "search-before" : "search-after";
    options.classes = [&](const Node& node) {
      auto it = places.find(&node);
      if (it == places.end()) return std::string();
      const auto& [standing, part] = it->second;
      if (part < 0) return absl::StrCat("toned ", ClassOf(standing, std::nullopt));
      return absl::StrCat("toned ", ClassOf(standing, alignment.parts[part].contract), " part_",
                          part);
    };
    options.matters = MattersIn(graph, alignment, places);
    auto drawn = Drawing(graph, options, deadline);
    if (!drawn.ok()) return drawn.status();
    absl::StrAppend(&html, "<div>", *drawn, "</div>");
  }
  return html + "</div>\n";
}

std::string Weights(const referee::RefereeResult& verdict) {
  std::vector<std::vector<std::string>> rows;
  for (const referee::FoldedWeight& weight : verdict.weights) {
    rows.push_back({weight.after, weight.before, weight.exact ? "copied" : "computed",
                    weight.exact ? "0" : absl::StrFormat("%.3g", weight.ulps),
                    absl::StrCat(weight.elements)});
  }
  if (rows.empty()) return "<p>None is computed from others.</p>\n";
  return Table({{"after", false}, {"from", false}, {"", false}, {"ulps", true}, {"elements", true}},
               rows);
}

std::string StrangeWeights(const referee::RefereeResult& verdict) {
  if (verdict.strange_weights.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const referee::StrangeWeight& w : verdict.strange_weights) {
    rows.push_back({w.after, w.before, absl::StrCat(w.outside),
                    absl::StrCat("[", absl::StrJoin(w.index, ","), "]"),
                    absl::StrFormat("%.9g", w.value),
                    absl::StrFormat("%.9g to %.9g", w.low, w.high)});
  }
  return Headed(
      "Strange weights",
      "<p>These are like weights of the first model, but have elements that no evaluation "
      "in f32 gives.</p>\n" +
          Table({{"after", false},
                 {"like", false},
                 {"elements outside", true},
                 {"the first", false},
                 {"value", true},
                 {"every evaluation", true}},
                rows));
}

std::string Outputs(const referee::RefereeResult& verdict) {
  std::vector<std::vector<std::string>> rows;
  for (const referee::OutputComparison& output : verdict.outputs) {
    rows.push_back({output.name, absl::StrFormat("%.3g", output.difference),
                    absl::StrFormat("%.3g", output.scale),
                    absl::StrFormat("%.3g", output.explained)});
  }
  if (rows.empty()) return "<p>The models were not executed.</p>\n";
  return Table({{"output", false},
                {"largest difference", true},
                {"values up to", true},
                {"rounding explains", true}},
               rows);
}

}  // namespace

absl::StatusOr<std::string> ReportOf(const std::string& before, const std::string& after,
                                     const RefereeResult& result, const Deadline& deadline) {
  const referee::RefereeResult& verdict = result.verdict;
  const Alignment alignment = Align(result.before, result.after, verdict);
  std::string body =
      absl::StrCat("<h1>", VerdictBadge(result), " ", Escaped(after), "</h1>\n<p>",
                   Escaped(Headline(result)), "</p>\n", FactsTable(FactsOf(before, after, result)));
  if (verdict.refutation && verdict.refutation->failure.empty()) {
    auto refuted = Refuted(*verdict.refutation, deadline);
    if (!refuted.ok()) return refuted.status();
    body += Headed("Where they differ", *refuted);
  }
  auto graphs = Graphs(result, alignment, deadline);
  if (!graphs.ok()) return graphs.status();
  absl::StrAppend(&body, StrangeWeights(verdict), Headed("Regions", Review(alignment)),
                  Headed("Graphs before and after", *graphs), Headed("Weights", Weights(verdict)),
                  Headed("Outputs on random inputs", Outputs(verdict)));
  return HtmlPage(after, body);
}

}  // namespace lemma::api
