#include "runtime/onnxruntime/ort_backend.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/stopwatch.h"
#include "graph/onnx/export.h"
#include "graph/sizes/specialize.h"
#include "runtime/onnxruntime/ort_library.h"
#include "runtime/onnxruntime/ort_session.h"

namespace lemma {
namespace ort {
namespace {

class OrtExecutable : public Executable {
 public:
  OrtExecutable(Graph graph, std::unique_ptr<LoadedModel> model, std::string version, int threads)
      : graph_(std::move(graph)),
        model_(std::move(model)),
        version_(std::move(version)),
        threads_(threads) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    if (absl::Status s = CheckInputs(graph_, inputs); !s.ok()) return s;
    return model_->Run(inputs);
  }

  // One row: the library does not say which operators of the graph a kernel of its own computes.
  absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                               std::vector<KernelTiming>* timings) override {
    const Stopwatch stopwatch(threads_);
    auto outputs = Run(inputs);
    KernelTiming row;
    row.kernel = "model";
    row.label = graph_.name();
    row.ms = stopwatch.Ms();
    *timings = {row};
    return outputs;
  }

  MemoryUse memory() const override { return {}; }
  std::string Describe() const override {
    return absl::StrCat("executed by ONNX Runtime ", version_, "\n");
  }

 private:
  const Graph graph_;
  const std::unique_ptr<LoadedModel> model_;
  const std::string version_;
  const int threads_;
};

class OrtBackend : public Backend {
 public:
  explicit OrtBackend(const OrtOptions& options) : options_(options) {}

  std::string name() const override { return "onnxruntime"; }

  std::string version() const override {
    auto library = Library::Load(options_.library);
    return library.ok() ? absl::StrCat("ONNX Runtime ", (*library)->version()) : "not installed";
  }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions& options) override {
    auto library = Library::Load(options_.library);
    if (!library.ok()) return library.status();
    if (IsSymbolic(graph)) return absl::UnimplementedError("unsupported: symbolic sizes");
    ExportOptions settings;
    if (options_.info != nullptr) settings.info = *options_.info;
    auto model = ExportOnnx(graph, settings);
    if (absl::IsInvalidArgument(model.status())) {
      return absl::UnimplementedError(
          absl::StrCat("too large to be executed in ONNX Runtime: ", model.status().message()));
    }
    if (!model.ok()) return model.status();
    LoadSettings load;
    load.threads = options.threads;
    auto loaded =
        LoadedModel::Create(*library, *model, graph.input_names(), graph.output_names(), load);
    if (!loaded.ok()) return loaded.status();
    return std::make_unique<OrtExecutable>(graph, *std::move(loaded), (*library)->version(),
                                           options.threads);
  }

 private:
  const OrtOptions options_;
};

}  // namespace
}  // namespace ort

absl::Status CheckOrtLibrary(const std::string& library) {
  return ort::Library::Load(library).status();
}

std::unique_ptr<Backend> MakeOrtBackend(const OrtOptions& options) {
  return std::make_unique<ort::OrtBackend>(options);
}

}  // namespace lemma
