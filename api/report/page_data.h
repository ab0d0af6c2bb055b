// Writes what the script of a report's page needs, as JSON. Internal to the reports.
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
  const ReportGraph* graph = nullptr;  // never null when used
  ReportOperators ops;
  std::vector<Block> blocks;
};

// An object with
//   before, after: ops [{op, name, types, attrs, reads, kernels, with, time, share, roof, steps,
//     changed}], kernels [{name, value, time, share, start, work, roof, note, op}] and blocks
//     [{name, first, period, copies, share}];
//   steps: [{rule, words, where, time, change, before, after}], where the last two are numbers of
//     operators;
//   rules: by name {words, text, doc, contract, proof, covers}.
// Numbers are texts with their units; numbers of operators, kernels and steps are numbers. Members
// without a value are left out.
Json PageData(const Report& report, const ReportSide& before, const ReportSide& after);

// The JSON as the contents of a <script> element.
std::string ScriptText(const Json& json);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_PAGE_DATA_H_
