// Measured costs of kernels: lists them, copies them between databases, and compares them with a
// run of a model. Code: api/costing.
#ifndef LEMMA_API_COSTS_H_
#define LEMMA_API_COSTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "optimizer/cost/cost_db.h"
#include "runtime/executor.h"

namespace lemma::api {

// A device in a database, the number of its kernels with costs, and their peak rates.
struct DeviceCosts {
  std::string device;
  int64_t kernels = 0;
  double flops_per_second = 0, bytes_per_second = 0;
  double overhead_ns = 0;  // of starting a kernel
};
// The devices of a database, sorted by name. `database` is a file, which is created if it is
// missing.
absl::StatusOr<std::vector<DeviceCosts>> ListCosts(const std::string& database);

// The costs of a device as text (optimizer/cost/cost_text.h); "" stands for all devices.
// InvalidArgument if there are none.
absl::StatusOr<std::string> ExportCosts(const std::string& database, const std::string& device);

// How many costs ImportCosts stored, and for how many it kept those that the database had.
struct ImportedCosts {
  int64_t imported = 0, kept = 0;
};
// Reads the text of ExportCosts from a file into a database, completely or not at all. Costs that
// the database has already stay, unless `replace`.
absl::StatusOr<ImportedCosts> ImportCosts(const std::string& database, const std::string& file,
                                          bool replace);

struct CalibrationOptions {
  ExecutionOptions execution;
  InputOptions inputs;
  std::string database = optimizer::CostDb::DefaultPath();
  int64_t runs = 15;
  bool learn = false;  // store the times in the run; they correct later costs
};
struct Calibration {
  struct Kernel {
    KernelTiming timing;  // in the run
    std::string kind;     // "conv", "copy": the beginning of its signature
    double predicted_ms = 0;
  };
  std::vector<Kernel> kernels;
  double predicted_ms = 0, run_ms = 0;  // of the whole model
  double measuring_seconds = 0;         // spent on kernels without costs
  int64_t learned = 0;                  // kernels whose times were kept
};
// Compares the predicted times of a model's kernels with their times in a run. Kernels without
// costs are measured. Stops timing after a minute. Errors about the model begin with its path;
// those about options name them.
absl::StatusOr<Calibration> Calibrate(const Model& model, const CalibrationOptions& options);
// A table of the kernels by kind, for people.
std::string TextOf(const Calibration& report);

}  // namespace lemma::api

#endif  // LEMMA_API_COSTS_H_
