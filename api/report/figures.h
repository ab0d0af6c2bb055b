// Draws the plots of a report as HTML with SVG, with axes and units. Internal to the reports.
//
// A plot is as wide as the page: positions along the x axis are percentages of this width. The
// texts of a y axis are left of position 0; the page's style leaves room for them.
#ifndef LEMMA_API_REPORT_FIGURES_H_
#define LEMMA_API_REPORT_FIGURES_H_

#include <map>
#include <string>
#include <vector>

#include "api/report/page.h"

namespace lemma::api {

// Five to eleven numbers for an axis: the multiples of a round step from 0 to `top`, which must be
// positive.
std::vector<double> RoundNumbers(double top);

// The kinds of the kernels of both graphs: the kind of "conv+relu" is "conv". The kinds are
// numbered from 0 by the time that their kernels take in both graphs together, the longest time
// first.
std::map<std::string, int> KernelKinds(const Report& report);
// The CSS class that gives the kernel the color of its kind: "k0" to "k6" for the numbers 0 to 6,
// "k7" for all greater numbers. `kinds` must contain the kind.
std::string KindClass(const std::map<std::string, int>& kinds, const KernelTiming& kernel);

// Two bars for each graph, in which widths are times: the kernels in the order in which they run,
// and the sums of their times by kind. The mark of a kernel has the attributes data-side ("before"
// or "after") and data-kernel (its position in ReportGraph::kernels). Without kernels, a note.
std::string TimeFigure(const Report& report);
// The speed of each kernel against its operations per byte, with the machine's limits if the report
// has them. Shows only kernels whose operations, bytes and time are known; without such kernels, a
// note. The marks have the attributes data-side and data-kernel as in TimeFigure.
std::string RooflineFigure(const Report& report);
// The bytes of the live values while each operator runs, for both graphs; if they are not known, a
// note.
std::string MemoryFigure(const Report& report);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_FIGURES_H_
