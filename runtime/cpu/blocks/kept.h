// Caches facts that were found out from operators' definitions.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_KEPT_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_KEPT_H_

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace lemma::cpu {

// The result of `read` for the node. `read` may depend only on the node's application
// (HashApplication in graph/graph.h). Each thread keeps the results of all graphs until the thread
// ends, since a search plans many graphs with the same applications.
template <typename T, T (*read)(const Node&)>
const T& KeptOf(const Node& node) {
  static thread_local absl::flat_hash_map<uint64_t, std::unique_ptr<T>> kept;
  std::unique_ptr<T>& entry = kept[HashApplication(node)];
  if (entry == nullptr) entry = std::make_unique<T>(read(node));
  return *entry;
}

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_KEPT_H_
