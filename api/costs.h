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

// A device in a database.
struct DeviceCosts {
  std::string device;   // KernelMeasurer::device() (runtime/measure.h)
  int64_t kernels = 0;  // number of kernels that have costs
  // The roofline fitted to these costs (FitRoofline in optimizer/cost/roofline.h).
  double flops_per_second = 0, bytes_per_second = 0;
  double overhead_ns = 0;  // of starting a kernel
};
// The devices of a database, sorted by name. `database` is a file, which is created if it is
// missing. Errors, here and below, as in CostDb (optimizer/cost/cost_db.h).
absl::StatusOr<std::vector<DeviceCosts>> ListCosts(const std::string& database);

// The costs of a device as text (optimizer/cost/cost_text.h); "" stands for all devices.
// InvalidArgument if the database has no such costs.
absl::StatusOr<std::string> ExportCosts(const std::string& database, const std::string& device);

// `imported`: how many costs ImportCosts stored. `kept`: how many costs of the file it did not
// store, because the database had costs of these kernels already.
struct ImportedCosts {
  int64_t imported = 0, kept = 0;
};
// Reads the text of ExportCosts from a file into a database: all costs, or none if there is an
// error. Costs that the database has already stay, unless `replace`. Errors about the file begin
// with its path.
absl::StatusOr<ImportedCosts> ImportCosts(const std::string& database, const std::string& file,
                                          bool replace);

struct CalibrationOptions {
  ExecutionOptions execution;
  InputOptions inputs;
  std::string database = optimizer::CostDb::DefaultPath();
  int64_t runs = 15;   // executions to time the whole model, and as many to time its kernels
  bool learn = false;  // store the kernels' times in the run; they calibrate later costs
};
struct Calibration {
  struct Kernel {
    KernelTiming timing;  // medians over the runs
    std::string kind;     // "conv", "copy": the beginning of its signature
    double predicted_ms = 0;
  };
  std::vector<Kernel> kernels;          // in the order in which they run
  double predicted_ms = 0, run_ms = 0;  // of the whole model; run_ms is a median
  double measuring_seconds = 0;         // spent on kernels without costs
  int64_t learned = 0;  // kernels whose time in the run was stored, because none was stored before
};
// Compares the predicted times of a model's kernels with their times in a run. Kernels without
// costs are measured, and their costs stored. The timing of the whole model ends after a minute.
// Errors about the model begin with its path; errors about an option name the option.
absl::StatusOr<Calibration> Calibrate(const Model& model, const CalibrationOptions& options);
// A table of the kernels by kind, for people.
std::string TextOf(const Calibration& report);

}  // namespace lemma::api

#endif  // LEMMA_API_COSTS_H_
