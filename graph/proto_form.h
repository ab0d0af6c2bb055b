// The protobuf form of graphs: the same graph comes back, with names, labels and every bit of its
// payloads. graph/graph.proto says what is in it.
#ifndef LEMMA_GRAPH_PROTO_FORM_H_
#define LEMMA_GRAPH_PROTO_FORM_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

// Whether a file that begins with `bytes` (16 are enough) is one of ours.
bool IsGraphProto(absl::string_view bytes);

// Equal graphs give equal bytes. Fails if it would be larger than protobuf allows (2 GiB).
absl::StatusOr<std::string> SerializeGraph(const Graph& graph);

// Checks everything it reads: the types are inferred again and must agree. Errors are
// InvalidArgument and begin with `file` and, where there is one, the node's number and operator.
absl::StatusOr<Graph> DeserializeGraph(absl::string_view bytes, absl::string_view file = "proto");

}  // namespace lemma

#endif  // LEMMA_GRAPH_PROTO_FORM_H_
