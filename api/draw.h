// Draws graphs as DOT, and as SVG laid out by Graphviz. Code: api/inspection.
#ifndef LEMMA_API_DRAW_H_
#define LEMMA_API_DRAW_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::api {

struct DotOptions {
  // The CSS classes of a node in SVG, by which a page colours it, separated by spaces; "": none.
  // Absent: no node has any.
  std::function<std::string(const Node&)> classes;
  // Whether to draw an operator or input. Absent: all are drawn.
  std::function<bool(const Node&)> shown;
};

// The graph in the DOT language, with a box for each operator, input and output. Weights and
// constants are left out, since they would hide the rest. A box's tooltip gives its label in the
// graph, its attributes and the types of its operands.
std::string GraphToDot(const Graph& graph, const DotOptions& options = {});

// The drawing of a graph that is written in DOT: one <svg> element without an XML header.
// InvalidArgument if `dot` is not DOT; Internal if Graphviz cannot draw it. Thread-safe.
absl::StatusOr<std::string> DotToSvg(const std::string& dot);

}  // namespace lemma::api

#endif  // LEMMA_API_DRAW_H_
