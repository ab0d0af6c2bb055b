// Names the processor and oneDNN's version, and sets the number of threads that oneDNN uses.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_CPU_DEVICE_H_
#define LEMMA_RUNTIME_CPU_KERNELS_CPU_DEVICE_H_

#include <string>

namespace lemma::cpu {

// The processor's model and widest instruction set: "AMD EPYC, AVX-512".
std::string ProcessorName();
// The same with the library: "AMD EPYC, AVX-512, oneDNN 2.6.3".
std::string DeviceName();

// As long as the object lives, oneDNN uses `threads` threads if the thread that made the object
// calls it. Sets OpenMP's number of threads, and restores the old one at the end.
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
