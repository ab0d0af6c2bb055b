// Draws graphs as DOT, and as SVG laid out by Graphviz. Code: api/inspection.
#ifndef LEMMA_API_DRAW_H_
#define LEMMA_API_DRAW_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::api {

struct DotOptions {
  // Returns the CSS classes of a node's box in the SVG, separated by spaces; "" for none. A page
  // can use them to color the box. Absent: no node has classes.
  std::function<std::string(const Node&)> classes;
  // Returns whether to draw an operator or input. An output of the graph is drawn only if the node
  // that computes it is drawn. Absent: all are drawn.
  std::function<bool(const Node&)> shown;
};

// The graph in the DOT language, with a box for each operator, input and output. Weights and
// constants are left out, since they would hide the rest. The tooltip of an operator or input gives
// the label of its first result (Graph::LabelOf), its attributes and the types of its operands.
std::string GraphToDot(const Graph& graph, const DotOptions& options = {});

// The drawing of a graph in the DOT language: one <svg> element without an XML header.
// InvalidArgument if `dot` is not DOT; Internal if Graphviz cannot draw it. Thread-safe.
absl::StatusOr<std::string> DotToSvg(const std::string& dot);

}  // namespace lemma::api

#endif  // LEMMA_API_DRAW_H_
