// Lists the measured costs of kernels, copies them between databases, and compares them with a run
// of a model. Code: api/costing.
#ifndef LEMMA_API_COSTS_H_
#define LEMMA_API_COSTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "base/deadline.h"
#include "optimizer/cost/cost_db.h"
#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma::api {

// A summary of one device's costs in a database.
struct DeviceCosts {
  std::string device;   // KernelMeasurer::device() (runtime/measure.h)
  int64_t kernels = 0;  // number of kernels that have costs
  // The roofline fitted to these costs (FitRoofline in optimizer/cost/roofline.h).
  double flops_per_second = 0, bytes_per_second = 0;
  double overhead_ns = 0;  // fixed time to start a kernel
};
// The devices of a database, sorted by name. `database` is a file, which is created if it is
// missing. This function and the other functions on databases return the errors of CostDb
// (optimizer/cost/cost_db.h).
absl::StatusOr<std::vector<DeviceCosts>> ListCosts(const std::string& database);
// The devices as a table for people.
std::string TextOf(const std::vector<DeviceCosts>& devices);

// The costs of a device as text (optimizer/cost/cost_text.h); "" stands for all devices.
// InvalidArgument if the database has no costs of this device.
absl::StatusOr<std::string> ExportCosts(const std::string& database, const std::string& device);

// `imported`: the number of costs that ImportCosts stored. `kept`: the number of costs in the file
// that it did not store, because the database already had costs of these kernels.
struct ImportedCosts {
  int64_t imported = 0, kept = 0;
};
// Reads a file with the text of ExportCosts, and stores its costs in a database: all costs, or none
// if there is an error. Costs that the database already has are kept, unless `replace` is true.
// Errors about the file begin with its path.
absl::StatusOr<ImportedCosts> ImportCosts(const std::string& database, const std::string& file,
                                          bool replace);
// The result in one line.
std::string TextOf(const ImportedCosts& done, const std::string& database);

struct CalibrationOptions {
  ExecutionOptions execution;
  InputOptions inputs;
  std::string database = optimizer::CostDb::DefaultPath();
  int64_t runs = 15;   // executions to time the whole model, and as many to time its kernels
  bool learn = false;  // store the kernels' times in the run, to correct measured costs later
};
struct Calibration {
  struct Kernel {
    KernelTiming timing;  // medians over the runs
    std::string kind;     // such as "conv" or "copy": the beginning of the kernel's signature
    double predicted_ms = 0;
  };
  std::vector<Kernel> kernels;          // in the order in which they run
  double predicted_ms = 0, run_ms = 0;  // of the whole model; run_ms is a median
  double measuring_seconds = 0;         // spent on kernels without costs
  // The number of kernels whose time in the run was stored. A time that was stored before stays.
  int64_t learned = 0;
};
// Compares the predicted times of a model's kernels with their times in a run. Kernels without
// costs are measured, and their costs stored. After a minute, the timing of the whole model ends
// early if at least three executions are timed. Errors about the model begin with its path; errors
// about an option name the option.
absl::StatusOr<Calibration> CompareCosts(const Model& model, const CalibrationOptions& options);
// A table of the kernels by kind, for people.
std::string TextOf(const Calibration& report);

// The CUDA kernels whose costs a search for an absent device estimated
// (CostOptions::on_estimate in api/optimization/costs.h). MeasureWanted measures these kernels on
// the device. A second search with the same database then has measured costs for them.
class WantedKernels {
 public:
  explicit WantedKernels(std::string device) : device_(std::move(device)) {}
  // Copies between device and host are left out.
  void Add(const PlannedKernel& kernel, double ms);  // estimated milliseconds
  size_t size() const { return kernels_.size(); }
  int left_out() const { return left_out_; }  // kernels that cannot be written as a graph
  // The contents of a file: a heading and the device, then the signature of each kernel and the
  // graph that it computes, the longest estimate first.
  std::string Text() const;

 private:
  std::string device_;
  std::vector<std::pair<double, std::string>> kernels_;
  int left_out_ = 0;
};

// The measurers of this machine's GPU for MeasureWanted, one for each back end for CUDA. They plan
// kernels by the time model (kModelTiles in api/execution/backends.h), as a search without the
// device does. None is null, even without a GPU.
std::vector<std::unique_ptr<KernelMeasurer>> WantedMeasurers();

struct MeasureWantedOptions {
  // The measurers of back ends for CUDA; none is null. The kernels are measured
  // by the measurer of the device that the file names.
  std::vector<KernelMeasurer*> measurers;
  std::string database = optimizer::CostDb::DefaultPath();
  Deadline deadline;  // no kernel is begun after it
  // Called after each measurement; `left`: the number of kernels after this one
  // in the file.
  std::function<void(absl::string_view signature, int left)> on_kernel;
};
struct MeasuredKernels {
  std::string device;
  // Numbers of kernels. known: the database had their costs already. failed: the device cannot run
  // them. left: not reached before the deadline.
  int measured = 0, known = 0;
  int failed = 0, left = 0;
};
// Measures the kernels of a file with the text of WantedKernels, and stores
// their costs. NotFound if the file does not exist; InvalidArgument if it has
// another form; FailedPrecondition if no measurer is for the device of the
// kernels. These messages begin with the path. Other errors are those of the
// device and of the database.
absl::StatusOr<MeasuredKernels> MeasureWanted(const std::string& file,
                                              const MeasureWantedOptions& options);
// The result in one line.
std::string TextOf(const MeasuredKernels& done);

}  // namespace lemma::api

#endif  // LEMMA_API_COSTS_H_
