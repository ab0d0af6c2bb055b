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

// A kernel of a plan, and how often it runs.
struct KernelUse {
  int kernel = 0;  // its number in the cost model
  // How often the kernel occurs in the plan. If the model prices a graph at several sizes
  // (optimizer/cost/sized_cost.h): the weighted sum of these numbers over the sizes.
  double times = 1;
};
// The kernels of a plan, each once, in ascending order of their numbers.
using KernelList = std::vector<KernelUse>;

// The time of one run of a kernel, and its standard error.
struct KernelPrice {
  double ns = 0, error_ns = 0;  // ns is infinite if the kernel cannot run
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  // The cost of one run of the graph. Foldable values are free: they are computed once, when
  // optimization ends (optimizer/folding/constant_folding.h). A graph that cannot run costs
  // infinity; an error status means that the model itself failed. Equal graphs get equal costs
  // during the model's lifetime, unless kernels are measured again (Refine, Confirm).
  virtual absl::StatusOr<Cost> CostOf(const Graph& graph) = 0;

  // As CostOf, but measures nothing: an unknown cost is estimated, too low rather than too high.
  virtual absl::StatusOr<Cost> EstimateOf(const Graph& graph) { return CostOf(graph); }

  // By position in graph.nodes(): the node's share of CostOf(graph). If several operators are
  // computed together, their cost is the share of the first, and the shares of the others are 0.
  // The sum of the shares is at most CostOf(graph). Empty if the model knows no shares, or if the
  // graph cannot run.
  virtual absl::StatusOr<std::vector<Cost>> SharesOf(const Graph& /*graph*/) {
    return std::vector<Cost>();
  }

  // The cost that this operator node adds to any graph in which it is not folded. It depends on the
  // node's operator, attributes and types only, not on other nodes. So the model is a sum over
  // operators, and a search prices only the operators that a rewrite changes. Other models return
  // nullopt for every node.
  virtual std::optional<Cost> CostOfOperator(const Node& /*node*/) { return std::nullopt; }

  // Whether the model prices a graph by the kernels of a back end's plan. The next five functions
  // are for such models. In other models, KernelsOf and PricesOf return Unimplemented, TraitsOf
  // returns empty traits, and Refine and Confirm return false. Numbers of kernels and references to
  // traits are valid during the model's lifetime.
  virtual bool ListsKernels() const { return false; }
  // nullopt: the graph cannot run.
  virtual absl::StatusOr<std::optional<KernelList>> KernelsOf(const Graph& /*graph*/) {
    return absl::UnimplementedError("the model lists no kernels");
  }
  virtual const KernelTraits& TraitsOf(int kernel);
  // The price of one run of each kernel, in the list's order. Kernels whose prices are not known
  // are measured or, if the model measures nothing or has no time to measure, estimated.
  virtual absl::StatusOr<std::vector<KernelPrice>> PricesOf(const KernelList& kernels);
  // Measures again the kernels of the list whose prices are uncertain. During the model's lifetime,
  // each kernel is measured again at most once or, on a busy machine, three times. Returns whether
  // a kernel was measured.
  virtual absl::StatusOr<bool> Refine(const KernelList& kernels);
  // The same for all kernels of the list that may be measured again. Among many rewrites, the
  // ones that seem best are often those with the largest errors of measurement, so a gain is
  // confirmed by a second measurement.
  virtual absl::StatusOr<bool> Confirm(const KernelList& kernels);

  // One line for reports, such as "measured on cpu, AMD EPYC, …, threads 1, kernels 12".
  virtual std::string Describe() const = 0;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_MODEL_H_
