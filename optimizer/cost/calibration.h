// What runs of whole graphs teach about kernels that were measured on their own.
#ifndef LEMMA_OPTIMIZER_COST_CALIBRATION_H_
#define LEMMA_OPTIMIZER_COST_CALIBRATION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "optimizer/cost/cost_db.h"

namespace lemma::optimizer {

// The kind of a kernel: what its signature begins with, up to the operands ("conv", "copy").
absl::string_view KindOfKernel(absl::string_view signature);

// A kernel that was timed in runs costs what it took there. Any other costs what it took alone
// times a factor of its kind: the least-squares fit, variances in proportion to the times, of the
// kernels of that kind for which both are known; of all kinds if there is none of its own; 1 if
// there is none at all. Else a search would prefer what was never tried.
class Calibration {
 public:
  // `known`: of one device.
  explicit Calibration(const std::vector<CostEntry>& known);

  double Milliseconds(absl::string_view signature, double alone_ms) const;
  double FactorOf(absl::string_view kind) const;

 private:
  struct Sums {
    double alone = 0, in_graph = 0;
    double Factor() const { return alone > 0 ? in_graph / alone : 1; }
  };
  absl::flat_hash_map<std::string, double> in_graph_;
  std::map<std::string, Sums, std::less<>> kinds_;
  Sums all_;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_CALIBRATION_H_
