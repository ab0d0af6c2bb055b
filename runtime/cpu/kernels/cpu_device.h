// Names the processor and oneDNN's version, and sets the number of threads that oneDNN uses.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_CPU_DEVICE_H_
#define LEMMA_RUNTIME_CPU_KERNELS_CPU_DEVICE_H_

#include <string>

namespace lemma::cpu {

// The processor's model and widest instruction set: "AMD EPYC, AVX-512".
std::string ProcessorName();
// ProcessorName with the library and its version: "AMD EPYC, AVX-512, oneDNN 2.6.3".
std::string DeviceName();

// While the object lives, oneDNN uses `threads` threads when it is called by the thread that made
// the object. Sets OpenMP's number of threads; the destructor restores the old number. Destroy the
// object on the thread that made it.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;

 private:
  int before_;  // the old number of threads
};

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_CPU_DEVICE_H_
