#include "runtime/cpu/kernels/packed_weights.h"

#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {
namespace {

struct Copy {
  NodePtr weight;  // keeps the payload, so that no other weight gets its address
  dnnl::memory memory;
};

struct Entry {
  dnnl::memory::desc from, to;
  std::weak_ptr<Copy> copy;
};

struct Pool {
  std::mutex mutex;
  absl::flat_hash_map<const void*, std::vector<Entry>> copies;  // by payload

  void RemoveExpired(const void* payload) {
    const std::lock_guard<std::mutex> lock(mutex);
    auto at = copies.find(payload);
    if (at == copies.end()) return;
    std::vector<Entry>& entries = at->second;
    for (size_t i = entries.size(); i-- > 0;) {
      if (entries[i].copy.expired()) entries.erase(entries.begin() + static_cast<int64_t>(i));
    }
    if (entries.empty()) copies.erase(at);
  }
};

Pool& ThePool() {
  static auto* pool = new Pool;
  return *pool;
}

}  // namespace

std::shared_ptr<const dnnl::memory> PackedWeight(const Value& weight, const Tensor& value,
                                                 const dnnl::memory::desc& from,
                                                 const dnnl::memory::desc& to) {
  const void* const payload = value.raw();
  const bool shared = weight && weight.node().has_payload() && payload != nullptr &&
                      weight.node().payload().raw() == payload;
  if (!shared) return std::make_shared<const dnnl::memory>(Packed(value, from, to));
  Pool& pool = ThePool();
  auto memory_of = [](const std::shared_ptr<Copy>& copy) {
    return std::shared_ptr<const dnnl::memory>(copy, &copy->memory);
  };
  auto find = [&]() -> std::shared_ptr<Copy> {
    for (const Entry& entry : pool.copies[payload]) {
      // Only the copy that is returned is locked: the last owner's release needs the mutex.
      if (entry.from != from || entry.to != to) continue;
      if (std::shared_ptr<Copy> copy = entry.copy.lock()) return copy;
    }
    return nullptr;
  };
  {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    if (std::shared_ptr<Copy> copy = find()) return memory_of(copy);
  }
  std::shared_ptr<Copy> made(new Copy{weight.node_ptr(), Packed(value, from, to)},
                             [payload](Copy* copy) {
                               ThePool().RemoveExpired(payload);
                               delete copy;
                             });
  const std::lock_guard<std::mutex> lock(pool.mutex);
  if (std::shared_ptr<Copy> copy = find()) return memory_of(copy);  // another thread was faster
  pool.copies[payload].push_back({from, to, made});
  return memory_of(made);
}

}  // namespace lemma::cpu
