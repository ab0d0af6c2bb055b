// Imports a model and exports it again: reexport IN.onnx OUT.onnx. For trying results in other tools.
#include <cstdio>

#include "graph/onnx/export.h"
#include "graph/onnx/import.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "Usage: reexport IN.onnx OUT.onnx\n");
    return 2;
  }
  auto model = lemma::ImportOnnx(argv[1]);
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
