// Imports a model and exports it again, for trying results in other tools:
//   reexport IN.onnx OUT.onnx [INPUT=TENSOR.pb ...]
#include <cstdio>
#include <string>

#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/tensor_proto.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "Usage: reexport IN.onnx OUT.onnx [INPUT=TENSOR.pb ...]\n");
    return 2;
  }
  lemma::ImportOptions import_options;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.rfind('=');
    auto tensor = lemma::ReadTensorProto(argument.substr(equals + 1));
    if (equals == std::string::npos || !tensor.ok()) {
      std::fprintf(stderr, "%s\n", std::string(tensor.status().message()).c_str());
      return 2;
    }
    import_options.input_values[argument.substr(0, equals)] = tensor->tensor;
  }
  auto model = lemma::ImportOnnx(argv[1], import_options);
  absl::Status status = model.status();
  if (status.ok()) {
    lemma::ExportOptions options;
    options.info = model->info;
    status = lemma::WriteOnnx(model->graph, argv[2], options);
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 2;
}
