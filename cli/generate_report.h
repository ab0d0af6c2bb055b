// What `lemma generate` writes and prints.
#ifndef LEMMA_CLI_GENERATE_REPORT_H_
#define LEMMA_CLI_GENERATE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "generator/run/generate.h"
#include "generator/run/run_id.h"

namespace lemma::cli {

// A file of the rules that are needed. Its first line names the command that makes it.
std::string RulesText(const generator::RunId& run, const generator::Generated& generated);
// A file of those that follow from them; the last line above each says from which. "" if there are
// none.
std::string PrunedText(const generator::RunId& run, const generator::Generated& generated);
// A line for each pair that is refuted or undecided, with the reason.
std::string RejectedText(const generator::Generated& generated);

struct Figure {
  const char* name;
  int64_t value;
};
std::vector<Figure> FiguresOf(const generator::EnumeratorStats& stats);
std::vector<Figure> FiguresOf(const generator::Generated& generated);

// What the program has used so far.
struct Usage {
  double seconds = 0, megabytes = 0;  // of processor time; at most
  static Usage Now();
};

// Prints the figures with what was used until now, and until the enumeration was done.
void PrintFigures(const std::vector<Figure>& figures, const Usage& enumeration, bool json);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_GENERATE_REPORT_H_
