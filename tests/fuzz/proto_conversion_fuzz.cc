// Graphs in the protobuf form.
#include "graph/checker.h"
#include "graph/graph.pb.h"
#include "graph/proto_conversion.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutate_message.h"

namespace lemma {

int FuzzProtoForm(absl::string_view bytes) {
  (void)IsGraphProto(bytes);
  const auto graph = DeserializeGraph(bytes);
  if (!graph.ok()) return 0;
  const absl::Status valid = CheckGraph(*graph);
  fuzz::Require(valid.ok(), "an invalid graph was read:", valid.message());
  const auto written = SerializeGraph(*graph);
  fuzz::Require(written.ok(), "a graph is not written:", written.status().message());
  const auto again = DeserializeGraph(*written);
  fuzz::Require(again.ok(), "what was written is not read:", again.status().message());
  fuzz::Require(SerializeGraph(*again).value_or("") == *written, "another graph was read");
  return 0;
}

}  // namespace lemma

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return lemma::FuzzProtoForm(lemma::fuzz::Text(data, size));
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  lemma::proto::Graph message;
  return lemma::fuzz::MutateSerialized(&message, data, size, max_size, seed);
}
