// Drawings of graphs: DOT, and SVG laid out by Graphviz.
#ifndef LEMMA_API_DRAW_H_
#define LEMMA_API_DRAW_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::api {

struct DotOptions {
  // Nodes that differ from the others: of the class "changed" in SVG. Absent: none.
  std::function<bool(const Node&)> changed;
  // Which operators and inputs to draw. Absent: all.
  std::function<bool(const Node&)> shown;
};

// Operators and inputs as boxes; weights and constants stay out, or they would hide the rest. A
// box's tooltip names its label in the graph, its attributes and the types of its operands.
std::string GraphToDot(const Graph& graph, const DotOptions& options = {});

// One <svg> element, without XML header. InvalidArgument if it is not DOT.
absl::StatusOr<std::string> DotToSvg(const std::string& dot);

}  // namespace lemma::api

#endif  // LEMMA_API_DRAW_H_
