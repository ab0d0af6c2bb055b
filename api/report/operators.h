// Ties the operators of a reported graph to kernels, steps and the other graph. Internal to the
// reports.
#ifndef LEMMA_API_REPORT_OPERATORS_H_
#define LEMMA_API_REPORT_OPERATORS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/report/page.h"

namespace lemma::api {

// An operator of a reported graph. Operators are numbered by their positions in
// ReportOperators::all, kernels and steps by their positions in ReportGraph::kernels and
// Report::steps.
struct ReportOperator {
  const Node* node = nullptr;  // lives as long as the graph
  std::string label;           // of its first result; "" if this result has no label
  // Whether the other graph has no operator with the same name, label, attributes and types of
  // operands.
  bool changed = false;
  std::vector<int> steps;    // the steps that replaced it (before) or made it (after)
  std::vector<int> kernels;  // the kernels whose ReportOperators::of_kernel is this operator
  // For an operator without kernels: the operator whose kernel computes or reads its results; -1 if
  // there is none, or if the operator has kernels.
  int with = -1;
  double ms = 0;     // sum of the times of its kernels
  double roof = -1;  // RoofOf, for all its kernels together; negative: not known
};

struct ReportOperators {
  std::vector<ReportOperator> all;               // in the order of Graph::nodes()
  absl::flat_hash_map<const Node*, int> number;  // the position in `all`
  // By kernel: the operator whose result it computes; -1 if no operator, or more than one
  // (iterations of a loop), has a result with the kernel's label.
  std::vector<int> of_kernel;
  double ms = 0;  // sum of the times of all kernels
};

// The operators of report.before if `before`, otherwise of report.after. `report` must outlive the
// result.
ReportOperators OperatorsOf(const Report& report, bool before);

// The least time for the kernel's work at the machine's peak rates (Roofline::SecondsFor), divided
// by the kernel's time. Negative if the rates, the work or the time are not known.
double RoofOf(const KernelTiming& kernel, const std::optional<Roofline>& roofline);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_OPERATORS_H_
