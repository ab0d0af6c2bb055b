// Runs cases in child processes, so that a crash is laid at one case's door.
#ifndef LEMMA_TESTS_GRAPH_ONNX_CASE_POOL_H_
#define LEMMA_TESTS_GRAPH_ONNX_CASE_POOL_H_

#include <functional>
#include <string>
#include <vector>

namespace lemma {

// run(i) for all i < count, in `processes` children. A child that dies, or spends more than
// `seconds` on a case, costs that case only: its result is "FAIL: crash (signal N)".
std::vector<std::string> RunIsolated(int count, const std::function<std::string(int)>& run,
                                     int processes, int seconds);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_CASE_POOL_H_
