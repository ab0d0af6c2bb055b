// Reads how much processor time and memory this process has used.
#ifndef LEMMA_BASE_PROCESS_USE_H_
#define LEMMA_BASE_PROCESS_USE_H_

#include <sys/resource.h>

namespace lemma {

struct ProcessUse {
  double seconds = 0;    // processor time in user mode, summed over all threads
  double megabytes = 0;  // peak resident memory, in units of 2^20 bytes

  // The use since the process started.
  static ProcessUse SoFar() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return {static_cast<double>(usage.ru_utime.tv_sec) +
                static_cast<double>(usage.ru_utime.tv_usec) * 1e-6,
            static_cast<double>(usage.ru_maxrss) / 1024.0};
  }
};

}  // namespace lemma

#endif  // LEMMA_BASE_PROCESS_USE_H_
