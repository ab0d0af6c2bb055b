// Finds the ONNX Runtime that tools/lib/ort has installed.
#ifndef LEMMA_TESTS_CLI_ONNXRUNTIME_INSTALLED_H_
#define LEMMA_TESTS_CLI_ONNXRUNTIME_INSTALLED_H_

#include <string>

namespace lemma {

// The path of ONNX Runtime's library for x64; "" if it is not installed.
std::string InstalledOnnxRuntime();

}  // namespace lemma

#endif  // LEMMA_TESTS_CLI_ONNXRUNTIME_INSTALLED_H_
