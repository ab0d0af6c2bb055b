// Runs ONNX Runtime in a process of its own, for models that may make ONNX Runtime crash.
#ifndef LEMMA_RUNTIME_ONNXRUNTIME_ORT_PROCESS_H_
#define LEMMA_RUNTIME_ONNXRUNTIME_ORT_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor.h"
#include "runtime/engine.h"

namespace lemma {

struct OrtProcessOptions {
  std::string library;  // as OrtOptions::library
  double seconds = 30;  // limit on the time of the start, and of each run
  // If *interrupted becomes true, Start and Run stop and return Cancelled. nullptr: they are never
  // interrupted.
  const std::atomic<bool>* interrupted = nullptr;
};

// An engine that executes each operator with one thread. The caller's own process does not load
// ONNX Runtime's library.
class OrtProcess : public Engine {
 public:
  // Starts the process. Errors are those of ort::Library::Load; ResourceExhausted if no process can
  // be started; Aborted and DeadlineExceeded as in Run. *options.interrupted must outlive the
  // engine.
  static absl::StatusOr<std::unique_ptr<Engine>> Start(const OrtProcessOptions& options);
  ~OrtProcess() override;
  OrtProcess(const OrtProcess&) = delete;

  std::string Name() const override;
  // "disabled", "basic", "extended", "all"
  const std::vector<std::string>& Levels() const override;
  absl::StatusOr<std::vector<Tensor>> Run(const SerializedModel& model,
                                          absl::Span<const Tensor> inputs,
                                          const std::string& level) override;

 private:
  explicit OrtProcess(const OrtProcessOptions& options) : options_(options) {}
  absl::Status Spawn();
  std::string End();  // how the process ended
  // The next message of the process.
  absl::StatusOr<std::string> Receive();

  const OrtProcessOptions options_;
  std::string version_;
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_ORT_PROCESS_H_
