#include "base/machine_load.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>

namespace lemma {

MachineLoad::Times MachineLoad::Now() {
  Times times;
  timespec own = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  times.own = static_cast<double>(own.tv_sec) + static_cast<double>(own.tv_nsec) * 1e-9;
  times.now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  // "cpu", then ticks: user, nice, system, idle, iowait, irq, softirq, steal.
  std::ifstream stat("/proc/stat");
  std::string label;
  stat >> label;
  for (int i = 0; i < 8 && label == "cpu"; ++i) {
    int64_t ticks = 0;
    if (!(stat >> ticks)) break;
    times.all += ticks;
    if (i != 3 && i != 4) times.busy += ticks;
  }
  return times;
}

void MachineLoad::Restart() { start_ = Now(); }

double MachineLoad::OthersShare() const {
  const Times now = Now();
  const auto all = static_cast<double>(now.all - start_.all);
  if (all <= 0) return 0;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK)) * (now.own - start_.own);
  return std::clamp((static_cast<double>(now.busy - start_.busy) - ticks) / all, 0.0, 1.0);
}

double MachineLoad::Seconds() const { return Now().now - start_.now; }

}  // namespace lemma
