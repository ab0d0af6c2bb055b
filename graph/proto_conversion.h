// Serializes graphs as protobuf messages (graph/graph.proto) and reads them back. Names, labels and
// every bit of the payloads survive.
#ifndef LEMMA_GRAPH_PROTO_CONVERSION_H_
#define LEMMA_GRAPH_PROTO_CONVERSION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

// Whether a file that begins with `bytes` (16 suffice) is a serialized Lemma graph.
bool IsGraphProto(absl::string_view bytes);

// Equal graphs with equal names and labels give equal bytes. InvalidArgument if the message would
// exceed protobuf's limit of 2 GiB. The caller ensures that no size in the graph is symbolic.
absl::StatusOr<std::string> SerializeGraph(const Graph& graph);

// Checks everything that it reads: for example, it infers the types again and compares them. Errors
// are InvalidArgument and begin with `file`, the name of the bytes in messages. For an error in a
// node, the node's number and operator follow.
absl::StatusOr<Graph> DeserializeGraph(absl::string_view bytes, absl::string_view file = "proto");

}  // namespace lemma

#endif  // LEMMA_GRAPH_PROTO_CONVERSION_H_
