// Measures how busy other processes keep this machine.
#ifndef LEMMA_BASE_MACHINE_LOAD_H_
#define LEMMA_BASE_MACHINE_LOAD_H_

#include <cstdint>

namespace lemma {

// Counts from its construction, or from the last Restart().
class MachineLoad {
 public:
  MachineLoad() { Restart(); }
  void Restart();
  // The share of all processors' time, from 0 to 1, that other processes took since then; 0 if the
  // system does not tell. Over less than a tenth of a second it is coarse.
  double OthersShare() const;
  // Seconds since then.
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
