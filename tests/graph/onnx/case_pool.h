// Runs test cases in child processes, so that a crash fails only its own case.
#ifndef LEMMA_TESTS_GRAPH_ONNX_CASE_POOL_H_
#define LEMMA_TESTS_GRAPH_ONNX_CASE_POOL_H_

#include <functional>
#include <string>
#include <vector>

namespace lemma {

// Calls run(i) for all i < count in `processes` child processes, and returns
// the results by i. A result must be one line. If a child dies in case i, or
// spends more than `seconds` on it, the result of this case is "FAIL: crash
// (signal N)" or "FAIL: crash (exit status N)", and a new child process runs
// the remaining cases of the child that died.
std::vector<std::string> RunIsolated(int count, const std::function<std::string(int)>& run,
                                     int processes, int seconds);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_CASE_POOL_H_
