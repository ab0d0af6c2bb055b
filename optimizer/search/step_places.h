// Follows the nodes that the steps of a certificate replace and make, for programs that show where
// a step took place.
#ifndef LEMMA_OPTIMIZER_SEARCH_STEP_PLACES_H_
#define LEMMA_OPTIMIZER_SEARCH_STEP_PLACES_H_

#include <map>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma::optimizer {

// Where a step took place. Both lists are ascending and have at most 200 entries. They may contain
// nodes that are not operators.
struct StepPlace {
  // The nodes that the step replaced, as positions in nodes() of the input. In place of a node that
  // an earlier step made, the list has the nodes in `replaced` of that earlier step. Empty if not
  // known.
  std::vector<int> replaced;
  // The nodes that the step made, as positions in nodes() of the output. In place of a node that a
  // later step replaced, the list has the nodes in `made` of that later step. Nodes that folding
  // removed are left out. Empty if not known.
  std::vector<int> made;
};

struct StepPlaces {
  // How many nodes the input and the output have. The positions mean nothing in a graph with
  // another number of nodes, such as a version of the input or output at other sizes.
  int input_nodes = 0, output_nodes = 0;
  std::vector<StepPlace> steps;  // one for each step, in order
};

// Records the places while the steps are repeated on a graph whose nodes have fixed numbers
// (EditGraph in rewrite/matching/edit_graph.h). The number of a node of the input must be its
// position in nodes(). Call Step or Forget once for each step, in order.
class PlaceKeeper {
 public:
  explicit PlaceKeeper(const Graph& input);

  // For a step that replaced the nodes `matched` by the nodes `made`.
  void Step(absl::Span<const int> matched, absl::Span<const int> made);
  // For a step that gave all nodes new numbers. The places of this step and of all earlier steps
  // are then unknown, and so is `replaced` of all later steps.
  void Forget();
  // The places of all steps. `last`: the graph after the last step. `nodes`: the nodes of `last` by
  // number; nullptr for a number without a node. `output`: `last` without barriers
  // (graph/barrier.h) and with its constants folded.
  StepPlaces Finish(const std::vector<NodePtr>& nodes, const Graph& last,
                    const Graph& output) const;

 private:
  struct Numbers {
    std::vector<int> matched, made;
  };
  int input_nodes_ = 0;
  bool knows_input_ = true;  // whether the input's nodes still have their positions as numbers
  size_t first_known_ = 0;   // the places of the steps before this step are not known
  std::vector<Numbers> steps_;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_STEP_PLACES_H_
