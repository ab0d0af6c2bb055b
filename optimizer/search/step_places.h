// Follows the operators that the steps of a certificate replace and make, for programs that show
// where a step took place.
#ifndef LEMMA_OPTIMIZER_SEARCH_STEP_PLACES_H_
#define LEMMA_OPTIMIZER_SEARCH_STEP_PLACES_H_

#include <map>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma::optimizer {

// Where a step took place. Both lists are ascending, may have nodes that are no operators, and are
// cut off after 200 entries.
struct StepPlace {
  // Positions in nodes() of the input: what the step replaced. If earlier steps had made it, this
  // is what they replaced.
  std::vector<int> replaced;
  // Positions in nodes() of the output: what the step made. If later steps replaced it, this is
  // what they made. Empty if folding took all of it, or if it is not known.
  std::vector<int> made;
};

struct StepPlaces {
  // The number of nodes of both graphs. The positions are of no other graphs.
  int input_nodes = 0, output_nodes = 0;
  std::vector<StepPlace> steps;
};

// Keeps the places while the steps are repeated on a graph whose nodes have numbers that do not
// change (EditGraph in rewrite/matching/edit_graph.h). The input's nodes have their positions as
// numbers.
class PlaceKeeper {
 public:
  explicit PlaceKeeper(const Graph& input);

  // A step replaced the nodes `matched` by the nodes `made`.
  void Step(absl::Span<const int> matched, absl::Span<const int> made);
  // A step gave all nodes new numbers, so nothing is known of what it and the steps before it did.
  void Forget();
  // `nodes`: the nodes of `last`, the graph after the last step, by number; nullptr for a number
  // without a node. `output`: the same graph with its constants folded.
  StepPlaces Finish(const std::vector<NodePtr>& nodes, const Graph& last,
                    const Graph& output) const;

 private:
  struct Numbers {
    std::vector<int> matched, made;
  };
  int input_nodes_ = 0;
  bool knows_input_ = true;  // whether the input's nodes still have their positions as numbers
  size_t first_known_ = 0;   // the steps before this one are not known
  std::vector<Numbers> steps_;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_STEP_PLACES_H_
