// Reads and writes measured costs as text, to keep them beside a model, carry them to another
// machine, or repeat a search bit for bit.
//
//     lemma costs 3
//     device cpu, AMD EPYC, AVX-512, oneDNN 2.6.3, threads 1, kernels 12
//     0.219818 3.7e-07 3 25690112 1204224 0.2431 0.02 1795550400 conv(f32[1,64,56,56] …) …
//
// One line per kernel, with the fields of MeasuredCost (cost_db.h): median in ms, variance in ms^2,
// number of repetitions, flops, bytes, ms in runs of graphs (0: not timed there), load, date in
// seconds since 1970; then the signature. A device's kernels follow its line. Numbers read back
// exactly. Texts that begin with "lemma costs 2" lack load and date, and can be read too.
#ifndef LEMMA_OPTIMIZER_COST_COST_TEXT_H_
#define LEMMA_OPTIMIZER_COST_COST_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/cost/cost_db.h"

namespace lemma::optimizer {

// The text does not depend on the order of the entries. Names of devices and signatures must not
// contain line breaks.
std::string PrintCosts(std::vector<CostEntry> entries);

// InvalidArgument, with the line number, unless the text has the format above: medians and numbers
// of repetitions are positive, no other number is negative, no number is infinite or NaN, each
// kernel of a device occurs once, and no line is truncated.
absl::StatusOr<std::vector<CostEntry>> ParseCosts(absl::string_view text);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_COST_TEXT_H_
