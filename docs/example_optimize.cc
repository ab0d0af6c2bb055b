// Makes a model faster: `example_optimize MODEL OUT` writes OUT and its certificate, OUT.cert.
#include <cstdio>
#include <string>

#include "api/models/random_values.h"
#include "api/optimize.h"

namespace api = lemma::api;

absl::Status MakeFaster(const std::string& path, const std::string& output) {
  auto model = api::LoadModel(path);
  if (!model.ok()) return model.status();
  auto record = api::RecordInput(path, *model);
  if (!record.ok()) return record.status();
  auto inputs = api::RandomInputs(model->graph, /*seed=*/1, /*integer_range=*/2);
  if (!inputs.ok()) return inputs.status();

  api::OptimizeOptions options;
  options.costs.measured = false;  // an estimate is quick, and good enough to begin with
  options.deadline = lemma::Deadline::After(/*seconds=*/60);
  auto result = api::Optimize(model->graph, *inputs, options);
  if (!result.ok()) return result.status();

  const api::Acceptance& accepted = result->accepted;
  for (const lemma::optimizer::RewriteStep& step : accepted.rewrites) std::puts(step.name.c_str());
  std::printf("%.3f ms before, %.3f ms after\n", accepted.ms_before, accepted.ms_after);
  return api::SaveOptimized(*model, *record, *result, output, output + ".cert");
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: example_optimize MODEL OUT\n", stderr);
    return 2;
  }
  const absl::Status status = MakeFaster(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
