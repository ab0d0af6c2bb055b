// Measured costs as text: to keep them beside a model, to carry them to another machine, to repeat
// a search bit for bit.
//
//     lemma costs 2
//     device cpu, AMD EPYC, AVX-512, oneDNN 2.6.3, threads 1, kernels 4
//     0.219818 3.7e-07 3 25690112 1204224 0.2431 conv(f32[1,64,56,56] …) …
//
// A line for each kernel: median in ms, variance in ms^2, runs, flops, bytes, ms in runs of graphs
// (0: not timed there), signature; all of a device follow its line. Numbers read back as they were.
#ifndef LEMMA_OPTIMIZER_COST_COST_TEXT_H_
#define LEMMA_OPTIMIZER_COST_COST_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/cost/cost_db.h"

namespace lemma::optimizer {

// The same entries in another order give the same text. Devices and signatures are single lines.
std::string PrintCosts(std::vector<CostEntry> entries);

// InvalidArgument, with the number of the line, unless it is text as above: times finite and
// positive, nothing negative, no kernel of a device twice, no line cut off.
absl::StatusOr<std::vector<CostEntry>> ParseCosts(absl::string_view text);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_TEXT_H_
