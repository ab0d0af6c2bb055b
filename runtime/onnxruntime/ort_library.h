// Loads the shared library of ONNX Runtime when it is first needed.
//
// Lemma is built without ONNX Runtime. The library exports one function, which returns a table of C
// functions. New versions only append to the table, so a position in it holds the same function in
// all versions from 1.7 on. ORT_FUNCTIONS lists the positions that Lemma uses.
#ifndef LEMMA_RUNTIME_ONNXRUNTIME_ORT_LIBRARY_H_
#define LEMMA_RUNTIME_ONNXRUNTIME_ORT_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma::ort {

// Objects of the library; Lemma sees only their addresses.
struct ApiStatus;
struct Environment;
struct Session;
struct SessionOptions;
struct ApiValue;
struct MemoryInfo;
struct RunOptions;
struct ShapeInfo;

// F(position in the table, our name of the function, result type, parameters…)
#define ORT_FUNCTIONS(F)                                                               \
  F(1, ErrorCode, int, const ApiStatus*)                                               \
  F(2, ErrorMessage, const char*, const ApiStatus*)                                    \
  F(3, CreateEnvironment, ApiStatus*, int severity, const char* name, Environment**)   \
  F(6, DisableTelemetry, ApiStatus*, const Environment*)                               \
  F(8, CreateSession, ApiStatus*, const Environment*, const void* model, size_t bytes, \
    const SessionOptions*, Session**)                                                  \
  F(9, Run, ApiStatus*, Session*, const RunOptions*, const char* const* input_names,   \
    const ApiValue* const* inputs, size_t num_inputs, const char* const* output_names, \
    size_t num_outputs, ApiValue** outputs)                                            \
  F(10, CreateSessionOptions, ApiStatus*, SessionOptions**)                            \
  F(11, SetOptimizedModelPath, ApiStatus*, SessionOptions*, const char* path)          \
  F(23, SetOptimizationLevel, ApiStatus*, SessionOptions*, int level)                  \
  F(24, SetIntraOpThreads, ApiStatus*, SessionOptions*, int threads)                   \
  F(25, SetInterOpThreads, ApiStatus*, SessionOptions*, int threads)                   \
  F(49, CreateTensor, ApiStatus*, const MemoryInfo*, void* data, size_t bytes,         \
    const int64_t* shape, size_t rank, int type, ApiValue**)                           \
  F(51, TensorData, ApiStatus*, ApiValue*, void**)                                     \
  F(60, ElementType, ApiStatus*, const ShapeInfo*, int*)                               \
  F(61, Rank, ApiStatus*, const ShapeInfo*, size_t*)                                   \
  F(62, Dimensions, ApiStatus*, const ShapeInfo*, int64_t*, size_t rank)               \
  F(65, TypeAndShape, ApiStatus*, const ApiValue*, ShapeInfo**)                        \
  F(69, CreateCpuMemoryInfo, ApiStatus*, int allocator, int memory, MemoryInfo**)      \
  F(93, ReleaseStatus, void, ApiStatus*)                                               \
  F(94, ReleaseMemoryInfo, void, MemoryInfo*)                                          \
  F(95, ReleaseSession, void, Session*)                                                \
  F(96, ReleaseValue, void, ApiValue*)                                                 \
  F(99, ReleaseShapeInfo, void, ShapeInfo*)                                            \
  F(100, ReleaseSessionOptions, void, SessionOptions*)                                 \
  F(130, AddConfigEntry, ApiStatus*, SessionOptions*, const char* key, const char* value)

// Typed pointers into the library's table.
struct Functions {
#define ORT_DECLARE(position, name, result, ...) result (*name)(__VA_ARGS__);
  ORT_FUNCTIONS(ORT_DECLARE)
#undef ORT_DECLARE
};

// The library, with its environment. It stays loaded until the process ends.
class Library {
 public:
  // The library at `path`, loaded once per process. "": the newest library that tools/lib/ort has
  // installed or, if there is none, the library that the system's loader finds. NotFound if the
  // library cannot be loaded, with the reason and how to install it; FailedPrecondition if the file
  // is another library or too old.
  static absl::StatusOr<const Library*> Load(const std::string& path);

  const Functions& api() const { return functions_; }
  const Environment* environment() const { return environment_; }
  const MemoryInfo* cpu_memory() const { return memory_; }
  // For example "1.30.0".
  const std::string& version() const { return version_; }

  // Converts a status of the library to an absl::Status and releases it. OK for nullptr.
  // Unimplemented if the library has no kernel for an operator, InvalidArgument if it refuses the
  // model or the values, Internal otherwise.
  absl::Status Take(ApiStatus* status) const;

 private:
  Library() = default;
  static absl::StatusOr<const Library*> Open(const std::string& path);

  Functions functions_ = {};
  Environment* environment_ = nullptr;
  MemoryInfo* memory_ = nullptr;
  std::string version_;
};

}  // namespace lemma::ort

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_ORT_LIBRARY_H_
