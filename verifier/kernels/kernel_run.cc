#include "verifier/kernels/kernel_run.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"

namespace lemma::kernels {

std::vector<std::pair<int, int>> RolesOf(const PrintedKernel& kernel) {
  if (!kernel.warpgroups) return {{0, kernel.threads}};
  constexpr int kWarpgroup = 128;
  std::vector<std::pair<int, int>> roles;
  for (int first = 0; first < kernel.threads; first += kWarpgroup) {
    roles.emplace_back(first, std::min(kWarpgroup, kernel.threads - first));
  }
  return roles;
}

int64_t RegisterShare(int threads) {
  constexpr int64_t kRegisters = 65536, kStep = 8;
  return kRegisters / threads / kStep * kStep;
}

namespace {

// A block has the registers that its threads start with.
absl::Status CheckRegisters(const PrintedKernel& kernel, const KernelRun& run) {
  const int64_t registers = RegisterShare(kernel.threads) * kernel.threads;
  int64_t total = 0;
  for (size_t r = 0; r < run.roles.size(); ++r) {
    const int64_t share = run.registers[r];
    if ((share == 0) != (run.registers[0] == 0)) {
      return absl::FailedPreconditionError("some warpgroups give or take registers, others do not");
    }
    total += share * run.roles[r].second;
  }
  if (total > registers || (total > 0 && !kernel.one_block)) {
    return absl::FailedPreconditionError(
        absl::StrCat("its threads take ", total, " registers, of ", registers, " for one block"));
  }
  return absl::OkStatus();
}

absl::Status RunBlocks(absl::Span<PrintedKernel> roles, int64_t blocks, KernelRun* run) {
  std::vector<std::unique_ptr<Machine>> machines;
  for (size_t r = 0; r < roles.size(); ++r) {
    machines.push_back(std::make_unique<Machine>(&roles[r], run, static_cast<int>(r)));
  }
  const int count = static_cast<int>(machines.size());
  for (int64_t block = 0; block < blocks; ++block) {
    if (run->memory != nullptr) run->memory->Begin();
    if (run->schedule == nullptr) {
      if (absl::Status s = machines[0]->RunBlock(block); !s.ok()) return s;
      continue;
    }
    std::vector<absl::Status> statuses(count);
    std::vector<std::function<void()>> bodies;
    bodies.reserve(count);
    for (int r = 0; r < count; ++r) {
      bodies.push_back([&, r] { statuses[r] = machines[r]->RunBlock(block); });
    }
    // Each block in another order.
    run->schedule->Run(bodies, static_cast<int>(block % count), block / count % 2 == 1);
    for (const absl::Status& s : statuses) {
      if (!s.ok()) return s;
    }
    if (const char* what = run->memory->End(); *what != 0) {
      return absl::FailedPreconditionError(absl::StrCat(what, " (block ", block, ")"));
    }
    if (absl::Status s = CheckRegisters(roles[0], *run); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunKernel(absl::Span<PrintedKernel> roles, int64_t blocks,
                       absl::Span<SlotMemory> slots, const std::optional<Extremes>& extremes,
                       int64_t* work, bool* reported) {
  const PrintedKernel& kernel = roles[0];
  RowMaxima maxima;
  RoleSchedule schedule;
  KernelRun run{slots,
                extremes,
                work,
                reported,
                /*maxima=*/nullptr,
                /*finds_maxima=*/false,
                /*memory=*/nullptr,
                /*schedule=*/nullptr,
                RolesOf(kernel),
                /*registers=*/{}};
  run.registers.assign(run.roles.size(), 0);
  if (kernel.shared_bytes > 0) {
    run.memory = std::make_unique<BlockMemory>(kernel.shared_bytes,
                                               static_cast<int>(run.roles.size()), kernel.threads);
  }
  if (kernel.warpgroups) run.schedule = &schedule;
  if (kernel.streams) {
    run.maxima = &maxima;
    run.finds_maxima = true;
    if (absl::Status s = RunBlocks(roles, blocks, &run); !s.ok()) return s;
    run.finds_maxima = false;
  }
  return RunBlocks(roles, blocks, &run);
}

}  // namespace lemma::kernels
