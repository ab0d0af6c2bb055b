// Measures how busy other processes keep this machine.
#ifndef LEMMA_BASE_MACHINE_LOAD_H_
#define LEMMA_BASE_MACHINE_LOAD_H_

#include <cstdint>

namespace lemma {

// Measures from its start, which is the construction or the last Restart().
class MachineLoad {
 public:
  MachineLoad() { Restart(); }
  void Restart();
  // The share of all processors' time, from 0 to 1, that other processes took since the start; 0 if
  // /proc/stat cannot be read. Imprecise in the first tenth of a second after the start.
  double OthersShare() const;
  // Seconds since the start.
  double Seconds() const;

 private:
  struct Times {
    int64_t busy = 0, all = 0;  // clock ticks of all processors
    double own = 0, now = 0;    // seconds: processor time of this process, and wall-clock time
  };
  static Times Now();
  Times start_;
};

}  // namespace lemma

#endif  // LEMMA_BASE_MACHINE_LOAD_H_
