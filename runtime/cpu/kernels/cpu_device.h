// Names the processor and oneDNN's version, and sets the number of oneDNN's threads.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_CPU_DEVICE_H_
#define LEMMA_RUNTIME_CPU_KERNELS_CPU_DEVICE_H_

#include <string>

namespace lemma::cpu {

// "AMD EPYC, AVX-512".
std::string ProcessorName();
// "AMD EPYC, AVX-512, oneDNN 2.6.3".
std::string DeviceName();

// During its life, oneDNN uses `threads` threads when called from this thread.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_CPU_DEVICE_H_
