#include "api/report/overview.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/draw.h"
#include "api/report/html.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr int kMostBoxes = 150;
constexpr int kLargestBlock = 400;   // operators of an opened block
constexpr int kNamedOperators = 3;   // in the box of a block
constexpr size_t kLongestName = 28;  // letters

// Graphviz decodes entities, and expands what follows a backslash: once in labels, twice in
// tooltips.
std::string DotQuoted(const std::string& text, int expansions = 1) {
  const std::string backslash(size_t{1} << expansions, '\\');
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ') {
      quoted += ' ';
    } else if (c == '\\') {
      quoted += backslash;
    } else if (c == '&' || c == '"') {
      absl::StrAppend(&quoted, "&#", static_cast<int>(c), ";");
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// Cut between letters, not within one.
std::string Short(const std::string& text) {
  if (text.size() <= kLongestName) return text;
  size_t end = kLongestName - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

// A drawing in the DOT language.
class Drawer {
 public:
  Drawer() {
    // The limits are those of GraphToDot (api/draw.h).
    text_ =
        "digraph graph_of_report {\n  graph [nslimit=0.2, nslimit1=0.2, mclimit=0.05, "
        "splines=polyline, "
        "ranksep=0.28, nodesep=0.18];\n"
        "  node [shape=box, fontname=Helvetica, fontsize=12, height=0.3, margin=\"0.1,0.05\"];\n"
        "  edge [arrowsize=0.6];\n";
  }

  void Box(const std::string& id, const std::string& label, const std::string& tooltip,
           const std::string& classes, const char* style = "") {
    absl::StrAppend(&text_, "  ", id, " [label=", DotQuoted(label),
                    ", tooltip=", DotQuoted(tooltip, 2), ", class=", DotQuoted(classes), style,
                    "];\n");
  }
  // One line, however many values go this way.
  void Edge(const std::string& from, const std::string& to) {
    if (from == to || !edges_.emplace(from, to).second) return;
    absl::StrAppend(&text_, "  ", from, " -> ", to, ";\n");
  }
  absl::StatusOr<std::string> ToSvg() const { return DotToSvg(text_ + "}\n"); }

 private:
  std::string text_;
  std::set<std::pair<std::string, std::string>> edges_;
};

constexpr char kRounded[] = ", style=rounded";

std::string OpLabel(const Node& node) {
  return absl::StrCat(node.op().name, "\n", Short(node.type(0).ToString()));
}

void DrawOp(const ReportOperator& op, int number, Drawer* drawer) {
  drawer->Box(absl::StrCat("n", number), OpLabel(*op.node), op.label,
              absl::StrCat("op_", number, op.changed ? " changed" : ""));
}

// The most frequent operators: "conv2d, relu, add, …".
std::string OperatorsIn(const Block& block, const ReportOperators& ops) {
  std::map<std::string, int> counts;
  for (int i = block.first; i < block.first + block.period; ++i) {
    ++counts[ops.all[i].node->op().name];
  }
  std::vector<std::pair<int, std::string>> sorted;
  sorted.reserve(counts.size());
  for (const auto& [name, count] : counts) sorted.emplace_back(-count, name);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < sorted.size() && i < kNamedOperators; ++i) {
    names.push_back(sorted[i].second);
  }
  if (sorted.size() > kNamedOperators) names.emplace_back("…");
  return absl::StrJoin(names, ", ");
}

void DrawBlock(const Block& block, int number, const ReportOperators& ops, Drawer* drawer) {
  bool changed = false;
  for (int i = block.first; i < block.end(); ++i) changed = changed || ops.all[i].changed;
  const std::string size =
      block.copies > 1 ? absl::StrCat("of ", FormatCount(block.period, "operator"), "\n") : "";
  drawer->Box(absl::StrCat("b", number),
              absl::StrCat(NameOf(block), "\n", size, OperatorsIn(block, ops)), NameOf(block),
              absl::StrCat("block_", number, " block", changed ? " changed" : ""));
}

// By operator: the id of the box that shows it.
std::vector<std::string> BoxIds(const ReportOperators& ops, const std::vector<Block>& blocks) {
  std::vector<std::string> ids(ops.all.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = absl::StrCat("n", i);
  for (size_t b = 0; b < blocks.size(); ++b) {
    std::fill(ids.begin() + blocks[b].first, ids.begin() + blocks[b].end(), absl::StrCat("b", b));
  }
  return ids;
}

absl::StatusOr<std::string> DrawFolded(const Graph& graph, const ReportOperators& ops,
                                       const std::vector<Block>& blocks) {
  const std::vector<std::string> ids = BoxIds(ops, blocks);
  Drawer drawer;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    drawer.Box(absl::StrCat("in", i),
               absl::StrCat(Short(graph.input_names()[i]), "\n",
                            Short(graph.inputs()[i].type().ToString())),
               graph.input_names()[i], "port", kRounded);
  }
  size_t next = 0;
  for (int i = 0; i < static_cast<int>(ops.all.size()); ++i) {
    while (next < blocks.size() && blocks[next].end() <= i) ++next;
    const bool folded = next < blocks.size() && blocks[next].first <= i;
    if (!folded) DrawOp(ops.all[i], i, &drawer);
    if (folded && blocks[next].first == i) {
      DrawBlock(blocks[next], static_cast<int>(next), ops, &drawer);
    }
    for (const Value& v : ops.all[i].node->inputs()) {
      if (auto it = ops.number.find(&v.node()); it != ops.number.end()) {
        drawer.Edge(ids[it->second], ids[i]);
      } else if (v.node().kind() == Node::Kind::kInput) {
        drawer.Edge(absl::StrCat("in", v.node().input_index()), ids[i]);
      }
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& output = graph.outputs()[i];
    drawer.Box(absl::StrCat("out", i), Short(graph.output_names()[i]), graph.output_names()[i],
               "port", kRounded);
    if (auto it = ops.number.find(&output.node()); it != ops.number.end()) {
      drawer.Edge(ids[it->second], absl::StrCat("out", i));
    } else if (output.node().kind() == Node::Kind::kInput) {
      drawer.Edge(absl::StrCat("in", output.node().input_index()), absl::StrCat("out", i));
    }
  }
  return drawer.ToSvg();
}

// The first copy, and what it reads.
absl::StatusOr<std::string> DrawOpened(const Graph& graph, const ReportOperators& ops,
                                       const Block& block) {
  Drawer drawer;
  std::set<std::string> outside;
  for (int i = block.first; i < block.first + block.period; ++i) {
    DrawOp(ops.all[i], i, &drawer);
    for (const Value& v : ops.all[i].node->inputs()) {
      const auto it = ops.number.find(&v.node());
      if (it == ops.number.end() && v.node().kind() != Node::Kind::kInput) continue;
      const bool is_op = it != ops.number.end();
      const std::string id =
          is_op ? absl::StrCat("n", it->second) : absl::StrCat("in", v.node().input_index());
      if ((!is_op || it->second < block.first) && outside.insert(id).second) {
        const std::string name =
            is_op ? ops.all[it->second].label : graph.input_names()[v.node().input_index()];
        drawer.Box(id, absl::StrCat("from ", is_op ? v.node().op().name : Short(name)), name,
                   "outside", ", style=\"rounded,dashed\"");
      }
      drawer.Edge(id, absl::StrCat("n", i));
    }
  }
  return drawer.ToSvg();
}

}  // namespace

std::string NameOf(const Block& block) {
  if (block.copies > 1) return absl::StrCat("block × ", block.copies);
  return absl::StrCat("operators ", block.first + 1, " to ", block.end());
}

absl::StatusOr<Overview> OverviewOf(const Graph& graph, const ReportOperators& ops,
                                    const Deadline& deadline) {
  Overview overview;
  if (deadline.Passed()) {
    overview.html = "<p class=\"note\">Not drawn: the time is up.</p>\n";
    return overview;
  }
  overview.blocks = BlocksOf(graph, kMostBoxes);
  auto svg = DrawFolded(graph, ops, overview.blocks);
  if (!svg.ok()) return svg.status();
  overview.html = absl::StrCat("<div class=\"sheet\">", *svg, "</div>\n");
  for (size_t b = 0; b < overview.blocks.size(); ++b) {
    const Block& block = overview.blocks[b];
    if (deadline.Passed() || block.period > kLargestBlock) continue;
    auto opened = DrawOpened(graph, ops, block);
    if (!opened.ok()) return opened.status();
    absl::StrAppend(&overview.html, "<template data-block=\"", b, "\">", *opened, "</template>\n");
  }
  return overview;
}

}  // namespace lemma::api
