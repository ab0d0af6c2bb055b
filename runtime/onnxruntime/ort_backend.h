// ONNX Runtime as a back end: a graph is exported to ONNX, and ONNX Runtime optimizes and executes
// it on the CPU. Its library is loaded when it is first needed (ort_library.h).
#ifndef LEMMA_RUNTIME_ONNXRUNTIME_ORT_BACKEND_H_
#define LEMMA_RUNTIME_ONNXRUNTIME_ORT_BACKEND_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "graph/onnx/model_info.h"
#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma {

struct OrtOptions {
  std::string library;  // path of libonnxruntime.so; "": where tools/lib/ort installs it
  // The model that the executed graphs came from; they are exported as versions of it. nullptr:
  // none.
  std::shared_ptr<const OnnxInfo> info;
};

// Whether the library can be loaded; errors as in ort::Library::Load.
absl::Status CheckOrtLibrary(const std::string& library);

// Compile is Unimplemented if a graph has no form in ONNX, has symbolic sizes, or if ONNX Runtime
// has no kernel for an operator of it. How much memory a run takes is not known: memory() is 0.
std::unique_ptr<Backend> MakeOrtBackend(const OrtOptions& options = {});

// Prices the groups of operators that ONNX Runtime probably executes together (ort_groups.h), each
// as a model of its own (group_model.h). nullptr if the library cannot be loaded.
std::unique_ptr<KernelMeasurer> MakeOrtMeasurer(int threads = 1, const OrtOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_ORT_BACKEND_H_
