// The interface of a cost model, which maps a graph to a Cost. Searches see only this interface.
#ifndef LEMMA_OPTIMIZER_COST_COST_MODEL_H_
#define LEMMA_OPTIMIZER_COST_COST_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "optimizer/cost/cost.h"
#include "runtime/measure.h"

namespace lemma::optimizer {

// A kernel of a plan, by its number in the cost model, and how often it runs: as often as it occurs
// in the plan, or a weighted sum of that over several sizes (optimizer/cost/sized_cost.h).
struct KernelUse {
  int kernel = 0;
  double times = 1;
};
// The kernels of a plan, each once, by number.
using KernelList = std::vector<KernelUse>;

// The time of one run of a kernel, and its standard error.
struct KernelPrice {
  double ns = 0, error_ns = 0;  // ns is infinite if the kernel cannot run
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  // The cost of one run of the graph. Values that depend on known weights only are free: they are
  // computed once, when optimization ends (optimizer/folding/constant_folding.h). A graph that
  // cannot run costs infinity; an error status means that the model itself failed. Equal graphs get
  // equal costs during the model's lifetime, unless kernels are measured again (Refine).
  virtual absl::StatusOr<Cost> CostOf(const Graph& graph) = 0;

  // As CostOf, but measures nothing: an unknown cost is estimated, too low rather than too high.
  virtual absl::StatusOr<Cost> EstimateOf(const Graph& graph) { return CostOf(graph); }

  // The share of each node in CostOf, by position in nodes(). The cost of operators that are
  // computed together counts at the first of them; the others cost 0. The sum is at most CostOf.
  // Empty if the model cannot tell.
  virtual absl::StatusOr<std::vector<Cost>> SharesOf(const Graph& /*graph*/) {
    return std::vector<Cost>();
  }

  // The cost that one application adds to any graph in which it is not folded. Depends on its
  // operator, attributes and types only, not on its neighbours. nullopt, for every application, if
  // the model is not such a sum. If it is, a search prices only the operators that a rewrite
  // changes.
  virtual std::optional<Cost> CostOfOperator(const Node& /*node*/) { return std::nullopt; }

  // Whether the model prices a graph by the kernels of a back end's plan. The four functions below
  // are for such models; in others, KernelsOf and PricesOf are Unimplemented. Numbers of kernels
  // are valid during the model's lifetime.
  virtual bool ListsKernels() const { return false; }
  // nullopt: the graph cannot run.
  virtual absl::StatusOr<std::optional<KernelList>> KernelsOf(const Graph& /*graph*/) {
    return absl::UnimplementedError("the model lists no kernels");
  }
  virtual const KernelTraits& TraitsOf(int kernel);
  // The prices in the list's order. Measures the kernels whose prices are not known.
  virtual absl::StatusOr<std::vector<KernelPrice>> PricesOf(const KernelList& kernels);
  // Measures those kernels again whose prices are uncertain, each at most once during the model's
  // lifetime; returns whether there was one.
  virtual absl::StatusOr<bool> Refine(const KernelList& kernels);

  // One line for reports: "measured on cpu (…), 2 threads".
  virtual std::string Describe() const = 0;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_MODEL_H_
