#include "api/draw.h"

#include <graphviz/gvc.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace lemma::api {
namespace {

std::string Quoted(const std::string& text) {
  return absl::StrCat(
      "\"",
      absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}, {"&", "&amp;"}}),
      "\"");
}

std::string Tooltip(const Graph& graph, const NodePtr& node) {
  std::vector<std::string> lines;
  const absl::string_view label = graph.LabelOf(Value(node, 0));
  if (!label.empty()) lines.emplace_back(label);
  for (const auto& [name, value] : node->attrs()) {
    lines.push_back(absl::StrCat(name, " = ", ToString(value)));
  }
  for (const Value& v : node->inputs()) {
    const bool is_weight = !v.node().is_op() && v.node().kind() != Node::Kind::kInput;
    lines.push_back(absl::StrCat(is_weight ? "weight " : "reads ", v.type().ToString()));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace

// The limits keep Graphviz from taking minutes over graphs with long edges, such as DenseNet.
std::string GraphToDot(const Graph& graph, const DotOptions& options) {
  std::string text =
      absl::StrCat("digraph ", Quoted(graph.name()),
                   " {\n  graph [nslimit=0.2, nslimit1=0.2, mclimit=0.05, splines=polyline];\n"
                   "  node [shape=box, fontname=Helvetica];\n");
  std::map<const Node*, int> number;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op() && node->kind() != Node::Kind::kInput) continue;
    const int id = static_cast<int>(number.size());
    number[node.get()] = id;
    if (options.shown && !options.shown(*node)) continue;
    const std::string classes = options.classes ? options.classes(*node) : "";
    const std::string label =
        node->is_op() ? node->op().name : graph.input_names()[node->input_index()];
    absl::StrAppend(&text, "  n", id, " [label=", Quoted(label + "\n" + node->type(0).ToString()),
                    ", tooltip=", Quoted(Tooltip(graph, node)),
                    node->is_op() ? "" : ", style=rounded",
                    classes.empty() ? "" : absl::StrCat(", class=", Quoted(classes)), "];\n");
    for (const Value& v : node->inputs()) {
      auto operand = number.find(&v.node());
      if (operand == number.end() || (options.shown && !options.shown(v.node()))) continue;
      absl::StrAppend(&text, "  n", operand->second, " -> n", id, ";\n");
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Node& source = graph.outputs()[i].node();
    auto operand = number.find(&source);
    if (options.shown && !options.shown(source)) continue;
    absl::StrAppend(&text, "  out", i, " [label=", Quoted(graph.output_names()[i]),
                    ", style=rounded];\n");
    if (operand == number.end()) continue;
    absl::StrAppend(&text, "  n", operand->second, " -> out", i, ";\n");
  }
  return text + "}\n";
}

absl::StatusOr<std::string> DotToSvg(const std::string& dot) {
  // One context, never freed: Graphviz's text layout remembers a font's name from the last context.
  static std::mutex* const mutex = new std::mutex;
  static GVC_t* const context = gvContext();
  std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<Agraph_t, int (*)(Agraph_t*)> graph(agmemread(dot.c_str()), agclose);
  if (graph == nullptr) return absl::InvalidArgumentError("Graphviz cannot read this graph");
  if (gvLayout(context, graph.get(), "dot") != 0) {
    return absl::InternalError("Graphviz cannot lay out this graph");
  }
  char* data = nullptr;
  unsigned int length = 0;
  const int failed = gvRenderData(context, graph.get(), "svg", &data, &length);
  std::string svg = failed == 0 ? std::string(data, length) : "";
  if (data != nullptr) gvFreeRenderData(data);
  gvFreeLayout(context, graph.get());
  const size_t start = svg.find("<svg");
  if (start == std::string::npos) return absl::InternalError("Graphviz cannot draw this graph");
  return svg.substr(start);
}

}  // namespace lemma::api
