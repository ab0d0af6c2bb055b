// ONNX models from memory: what is taken is a graph by all its rules, which prints and reads back.
#include <onnx/onnx_pb.h>

#include "graph/checker.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"
#include "graph/text/text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutate_message.h"

namespace lemma {
namespace {

void ImportOne(absl::string_view bytes, bool training) {
  ImportOptions options;
  options.training = training;
  const auto model = ImportOnnxBytes(bytes, options);
  if (!model.ok()) return;
  const absl::Status valid = CheckGraph(model->graph);
  fuzz::Require(valid.ok(), "an invalid graph was imported:", valid.message());
  if (IsSymbolic(model->graph)) return;  // only ONNX holds such sizes
  const std::string printed = PrintGraph(model->graph);
  const auto again = ParseGraph(printed);
  fuzz::Require(again.ok(), "what was printed is not read:",
                again.ok() ? "" : std::string(again.status().message()) + "\n" + printed);
  fuzz::Require(PrintGraph(*again) == printed, "another graph was read:", printed);
}

}  // namespace
}  // namespace lemma

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)lemma::LooksLikeOnnx(lemma::fuzz::Text(data, size));
  lemma::ImportOne(lemma::fuzz::Text(data, size), size % 8 == 0);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  onnx::ModelProto message;
  return lemma::fuzz::MutateSerialized(&message, data, size, max_size, seed);
}
