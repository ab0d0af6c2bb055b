// Corrects times of kernels that were measured alone, using times of kernels in runs of whole
// graphs.
#ifndef LEMMA_OPTIMIZER_COST_CALIBRATION_H_
#define LEMMA_OPTIMIZER_COST_CALIBRATION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "optimizer/cost/cost_db.h"

namespace lemma::optimizer {

// The kind of a kernel: the beginning of its signature, up to the operands ("conv", "copy").
absl::string_view KindOfKernel(absl::string_view signature);

// The cost of a kernel that was timed in runs of whole graphs is its time in these runs. The cost
// of any other kernel is its time when measured alone, multiplied by a factor. The factor is a
// least-squares fit, with variances proportional to the times, over the kernels of the same kind
// for which both times are known. If there is no such kernel, the fit is over the kernels of all
// kinds; if both times are known for no kernel, the factor is 1. Without the factor, a search would
// prefer kernels that were never run in a graph.
class Calibration {
 public:
  // `known`: the entries of one device.
  explicit Calibration(const std::vector<CostEntry>& known);

  // The cost of a kernel that takes `alone_ms` when it is measured alone.
  double Milliseconds(absl::string_view signature, double alone_ms) const;
  // Whether the kernel was timed in runs of graphs.
  bool IsTimed(absl::string_view signature) const { return timed_.find(signature) != timed_.end(); }
  // From now on the kernel counts as not timed in runs of graphs, also for the factors.
  void Forget(absl::string_view signature);
  // The factor for kernels of this kind that were not timed in runs.
  double FactorOf(absl::string_view kind) const;

 private:
  struct Sums {
    double alone = 0, in_graph = 0;
    double Factor() const { return alone > 0 ? in_graph / alone : 1; }
  };
  void Fit();
  // By signature; ordered, so that sums are the same in every run.
  std::map<std::string, Sums, std::less<>> timed_;
  std::map<std::string, Sums, std::less<>> kinds_;
  Sums all_;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_CALIBRATION_H_
