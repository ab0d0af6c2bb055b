#include "verifier/kernels/memory.h"

namespace lemma::kernels {

int64_t Wrapped(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? 1 : 0;
    case DType::kI8:
      return static_cast<int8_t>(value);
    case DType::kU8:
      return static_cast<uint8_t>(value);
    case DType::kI16:
      return static_cast<int16_t>(value);
    case DType::kU16:
      return static_cast<uint16_t>(value);
    case DType::kI32:
      return static_cast<int32_t>(value);
    case DType::kU32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

uint64_t Mix(uint64_t seed) {
  uint64_t z = seed + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void SharedMemory::Clear(uint64_t seed, uint64_t limit) {
  Barrier();
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i] = static_cast<int64_t>(Mix(seed + i) % limit);
  }
}

const char* SharedMemory::Read(int64_t cell, int thread, int64_t* value) {
  Mark& mark = marks_[cell];
  if (mark.written_at == now_ && mark.writer != thread) {
    return "a thread reads shared memory that another one writes, without a barrier between";
  }
  mark.reader = mark.read_at == now_ && mark.reader != thread ? kSeveral : thread;
  mark.read_at = now_;
  *value = values_[cell];
  return "";
}

const char* SharedMemory::Write(int64_t cell, int thread, int64_t value) {
  Mark& mark = marks_[cell];
  if (mark.written_at == now_ && mark.writer != thread) {
    return "two threads write one place of shared memory without a barrier between";
  }
  if (mark.read_at == now_ && mark.reader != thread) {
    return "a thread writes shared memory that another one reads, without a barrier between";
  }
  mark.written_at = now_;
  mark.writer = thread;
  values_[cell] = value;
  return "";
}

}  // namespace lemma::kernels
