// ONNX Runtime as a back end: a graph is exported to ONNX, and ONNX Runtime optimizes and executes
// it on the CPU. ONNX Runtime's library is loaded when it is first needed (ort_library.h).
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
  std::string library;  // path of libonnxruntime.so; "" as in ort::Library::Load
  // Describes the ONNX model from which the executed graphs were made; the graphs are exported as
  // versions of this model. nullptr: the graphs were not made from an ONNX model.
  std::shared_ptr<const OnnxInfo> info;
};

// OK if the library can be loaded; otherwise the error of ort::Library::Load. `library` is as in
// OrtOptions.
absl::Status CheckOrtLibrary(const std::string& library);

// The back end's Compile returns Unimplemented in four cases: the graph cannot be written to ONNX,
// it is too large for one file, it has symbolic sizes, or ONNX Runtime has no kernel for one of its
// operators. If the library cannot be loaded, Compile returns the error of ort::Library::Load. The
// memory that a run takes is not known: Executable::memory returns zeros.
std::unique_ptr<Backend> MakeOrtBackend(const OrtOptions& options = {});

// Measures the groups of operators that ONNX Runtime probably executes together (ort_groups.h),
// each as a model of its own (group_model.h). nullptr if the library cannot be loaded.
std::unique_ptr<KernelMeasurer> MakeOrtMeasurer(int threads = 1, const OrtOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_ORT_BACKEND_H_
