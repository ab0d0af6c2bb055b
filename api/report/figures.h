// Draws the plots of a report as SVG, with axes and units. Internal to the reports.
//
// A plot is as wide as the page: places along the x axis are percentages. The texts of its y axis
// are left of 0, where the page's style leaves room.
#ifndef LEMMA_API_REPORT_FIGURES_H_
#define LEMMA_API_REPORT_FIGURES_H_

#include <map>
#include <string>
#include <vector>

#include "api/report/page.h"

namespace lemma::api {

// Round numbers from 0 to `top`, four to nine of them; for an axis.
std::vector<double> RoundNumbers(double top);

// The kinds of the kernels of both graphs, such as "conv" for "conv+relu", the longest time first.
// The number of a kind is its colour: the class k0, k1, …; kinds from 7 on share one.
std::map<std::string, int> KernelKinds(const Report& report);
// The class of the kernel's kind.
std::string KindClass(const std::map<std::string, int>& kinds, const KernelTiming& kernel);

// The kernels of both graphs in the order in which they run, as wide as their times, and their sums
// by kind. The mark of a kernel has data-side and data-kernel.
std::string TimeFigure(const Report& report);
// Work per byte against the speed reached, for kernels whose work is known, below the machine's
// limits. The marks have data-side and data-kernel too.
std::string RooflineFigure(const Report& report);
// The bytes of live values while each operator runs.
std::string MemoryFigure(const Report& report);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_FIGURES_H_
