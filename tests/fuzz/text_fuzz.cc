// Graphs in text form: any text that parses must print, and the print must parse to the same.
#include "graph/checker.h"
#include "graph/text/text.h"
#include "tests/fuzz/fuzz_target.h"

namespace lemma {

int FuzzText(absl::string_view text) {
  ParseOptions options;
  options.max_fill_bytes = 1 << 16;
  const auto graphs = ParseGraphs(text, options);
  if (!graphs.ok()) return 0;
  for (const Graph& graph : *graphs) {
    const absl::Status valid = CheckGraph(graph);
    fuzz::Require(valid.ok(), "an invalid graph was read:", valid.message());
    const std::string printed = PrintGraph(graph);
    const auto again = ParseGraph(printed);
    fuzz::Require(again.ok(), "what was printed is not read:",
                  again.ok() ? "" : std::string(again.status().message()) + "\n" + printed);
    const std::string twice = PrintGraph(*again);
    fuzz::Require(twice == printed, "another graph was read:", printed + "\n" + twice);
  }
  return 0;
}

}  // namespace lemma

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return lemma::FuzzText(lemma::fuzz::Text(data, size));
}
