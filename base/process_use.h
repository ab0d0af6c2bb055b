// Reads how much processor time and memory this process has used.
#ifndef LEMMA_BASE_PROCESS_USE_H_
#define LEMMA_BASE_PROCESS_USE_H_

#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

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

// Resident memory of this process, in bytes; 0 if the system does not report it.
struct ProcessMemory {
  int64_t bytes = 0;       // now
  int64_t peak_bytes = 0;  // the most since the process started or since ForgetPeak()

  static ProcessMemory Now() {
    ProcessMemory memory;
    std::ifstream status("/proc/self/status");
    for (std::string name; status >> name; std::getline(status, name)) {
      int64_t* const field = name == "VmRSS:"   ? &memory.bytes
                             : name == "VmHWM:" ? &memory.peak_bytes
                                                : nullptr;
      if (field == nullptr) continue;
      status >> *field;  // in units of 2^10 bytes
      *field *= 1024;
    }
    return memory;
  }
  static void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }
};

}  // namespace lemma

#endif  // LEMMA_BASE_PROCESS_USE_H_
