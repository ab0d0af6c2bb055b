// Ties the operators of a reported graph to kernels, steps and the other graph. Internal to the
// reports.
#ifndef LEMMA_API_REPORT_OPERATORS_H_
#define LEMMA_API_REPORT_OPERATORS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/report/page.h"

namespace lemma::api {

struct ReportOperator {
  const Node* node = nullptr;  // lives as long as the graph
  std::string label;           // of its first result; "" if there is none
  bool changed = false;        // the other graph has no such operator
  std::vector<int> steps;      // the steps that replaced it (before) or made it (after)
  std::vector<int> kernels;    // of its own
  // Without a kernel of its own: the operator whose kernel computes or reads it; -1 if there is
  // none.
  int with = -1;
  double ms = 0;     // of its kernels
  double roof = -1;  // the least time for its work, divided by its time; negative: not known
};

struct ReportOperators {
  std::vector<ReportOperator> all;  // in the order of Graph::nodes()
  absl::flat_hash_map<const Node*, int> number;
  // By kernel: the operator whose value it computes; -1 if that has no label.
  std::vector<int> of_kernel;
  double ms = 0;  // of all kernels
};

// The operators of report.before or report.after.
ReportOperators OperatorsOf(const Report& report, bool before);

// The least time for the kernel's work, divided by its time; negative if one of them is not known.
double RoofOf(const KernelTiming& kernel, const std::optional<Roofline>& roofline);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_OPERATORS_H_
