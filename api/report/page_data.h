// Writes the data that the script of a report's page reads, as JSON. Internal to the reports.
#ifndef LEMMA_API_REPORT_PAGE_DATA_H_
#define LEMMA_API_REPORT_PAGE_DATA_H_

#include <string>
#include <vector>

#include "api/report/blocks.h"
#include "api/report/operators.h"
#include "api/report/page.h"
#include "base/json.h"

namespace lemma::api {

// One side of the page: a graph, its operators, and the blocks of its drawing.
struct ReportSide {
  const ReportGraph* graph = nullptr;  // not owned; never null in the functions below
  ReportOperators ops;
  std::vector<Block> blocks;
};

// An object with
//   before, after: ops [{op, name, types, attrs, reads, kernels, with, time, share, roof, steps,
//     changed}], kernels [{name, value, time, share, work, roof, note, op}] and blocks
//     [{name, first, period, copies, time, share}];
//   steps: [{rule, where, time, change, before, after}], where `before` and `after` list the
//     operators that the step replaced and made;
//   rules: by name {words, text, doc, contract, proof, covers}.
// Times, shares and other quantities are texts with units. `op` in ops is the operator's name, such
// as "matmul". Everywhere else, operators, kernels and steps are given by their numbers
// (ReportOperator), as JSON numbers. Members without a value are left out.
Json PageData(const Report& report, const ReportSide& before, const ReportSide& after);

// The JSON as text that may stand inside a <script> element.
std::string ScriptText(const Json& json);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_PAGE_DATA_H_
