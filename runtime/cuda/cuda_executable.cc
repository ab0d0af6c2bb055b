#include "runtime/cuda/cuda_executable.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/launches.h"
#include "runtime/plan/group_work.h"
#include "runtime/reference/static_evaluator.h"

namespace lemma::cuda {

namespace {

class CudaExecutable : public Executable, public StateKeeper {
 public:
  CudaExecutable(const CudaDevice& device, Graph graph, CudaPlan plan)
      : device_(device),
        cuda_(*device.driver),
        graph_(std::move(graph)),
        plan_(std::move(plan)),
        is_state_(plan_.inputs.size(), false),
        launches_(device_, graph_, plan_) {
    for (const StatePair& pair : plan_.state) is_state_[pair.input] = true;
  }

  ~CudaExecutable() override {
    if (graph_exec_ != nullptr) cuda_.cuGraphExecDestroy(graph_exec_);
    if (captured_ != nullptr) cuda_.cuGraphDestroy(captured_);
    for (CUevent event : events_) cuda_.cuEventDestroy(event);
    if (stream_ != nullptr) cuda_.cuStreamDestroy(stream_);
  }

  absl::Status Prepare(int threads, bool libraries) {
    absl::Status s = cuda_.Check(cuda_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
    if (s.ok()) s = AllocateMemory();
    if (s.ok()) s = UploadStatics(threads);
    if (s.ok()) s = launches_.Prepare(memory_, stream_, libraries);
    if (s.ok()) s = Capture();
    return s;
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    return RunWith(inputs, [this] { return Replay(); });
  }

  absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                               std::vector<KernelTiming>* timings) override {
    auto outputs = RunWith(inputs, [this] { return LaunchOneByOne(); });
    if (!outputs.ok()) return outputs;
    timings->clear();
    // One row per step: its launches are consecutive.
    for (size_t l = 0; l < plan_.launches.size();) {
      const int id = plan_.launches[l].step;
      const size_t first = l;
      std::vector<std::string> schedules;
      for (; l < plan_.launches.size() && plan_.launches[l].step == id; ++l) {
        schedules.push_back(launches_.ScheduleOf(l));
      }
      float start = 0, ms = 0;
      absl::Status s = cuda_.Check(cuda_.cuEventElapsedTime(&start, events_[0], events_[first]),
                                   launches_.NameOf(first));
      s.Update(cuda_.Check(cuda_.cuEventElapsedTime(&ms, events_[first], events_[l]),
                           launches_.NameOf(first)));
      if (!s.ok()) return s;
      const cuda::CudaStep& step = plan_.steps[id];
      while (static_cast<int>(work_.size()) <= id) {
        work_.push_back(WorkOfGroup(plan_.steps[work_.size()].nodes));
      }
      timings->push_back({step.operators, plan_.LabelOf(graph_, id), ms,
                          absl::StrJoin(schedules, "; "), step.signature, work_[id], start});
    }
    return outputs;
  }

  // nullptr if a new value is another variable's old value: the copies would then need an order.
  StateKeeper* state_keeper() override {
    for (const StatePair& pair : plan_.state) {
      const int from = plan_.outputs[pair.output];
      const auto& inputs = plan_.inputs;
      if (from != inputs[pair.input] && std::count(inputs.begin(), inputs.end(), from) > 0) {
        return nullptr;
      }
    }
    return plan_.state.empty() ? nullptr : this;
  }

  absl::Status SetState(absl::Span<const Tensor> values) override {
    absl::Status s = CheckInputs(graph_, values, is_state_);
    if (s.ok()) s = MakeCurrent();
    for (const StatePair& pair : plan_.state) {
      if (s.ok()) s = StageInput(values[pair.input], static_cast<size_t>(pair.input));
    }
    return s.ok() ? Synchronize() : s;
  }

  absl::StatusOr<std::vector<Tensor>> Step(absl::Span<const Tensor> inputs) override {
    std::vector<bool> uploaded = is_state_, downloaded(plan_.outputs.size(), true);
    uploaded.flip();
    for (const StatePair& pair : plan_.state) downloaded[pair.output] = false;
    return RunWith(
        inputs, [this] { return Replay(); }, uploaded, downloaded);
  }

  absl::StatusOr<std::vector<Tensor>> State() override {
    absl::Status s = MakeCurrent();
    for (const StatePair& pair : plan_.state) {
      if (!s.ok()) return s;
      s = Download(plan_.inputs[pair.input], staging_offset_[pair.input], StateName(pair));
    }
    if (s.ok()) s = Synchronize();
    if (!s.ok()) return s;
    std::vector<Tensor> state(plan_.inputs.size());
    for (const StatePair& pair : plan_.state) {
      auto value = FromStaging(graph_.inputs()[pair.input].type(), staging_offset_[pair.input]);
      if (!value.ok()) return value.status();
      state[pair.input] = *std::move(value);
    }
    return state;
  }

  absl::StatusOr<std::vector<double>> TimeRuns(absl::Span<const Tensor> inputs, int runs) override {
    absl::Status s = Begin(inputs);
    if (s.ok()) s = EnsureEvents(2 * static_cast<size_t>(runs));
    for (int run = 0; s.ok() && run < runs; ++run) {
      // Uploads again before each run: the arena may have given the inputs' memory to other values.
      for (size_t i = 0; s.ok() && run > 0 && i < inputs.size(); ++i) s = UploadInput(i);
      s.Update(cuda_.Check(cuda_.cuEventRecord(events_[2 * run], stream_), "event"));
      if (s.ok()) s = Replay();
      s.Update(cuda_.Check(cuda_.cuEventRecord(events_[2 * run + 1], stream_), "event"));
    }
    if (s.ok()) s = End();
    std::vector<double> ms(static_cast<size_t>(std::max(runs, 0)));
    for (size_t run = 0; s.ok() && run < ms.size(); ++run) {
      float elapsed = 0;
      s = cuda_.Check(cuda_.cuEventElapsedTime(&elapsed, events_[2 * run], events_[2 * run + 1]),
                      "event");
      ms[run] = elapsed;
    }
    if (!s.ok()) return s;
    return ms;
  }

  absl::StatusOr<double> TimeInSequence(absl::Span<const Tensor> inputs, int repeats, int runs) {
    CUgraph sequence = nullptr;
    CUgraphExec exec = nullptr;
    absl::Status s = cuda_.Check(cuda_.cuGraphCreate(&sequence, 0), "CUDA graph");
    std::vector<CUgraphNode> last;
    for (int i = 0; s.ok() && i < repeats; ++i) {
      for (size_t l = 0; s.ok() && l < plan_.launches.size(); ++l) {
        CUgraphNode node = nullptr;
        s = launches_.AddTo(sequence, l, last, &node);
        last = {node};
      }
    }
    if (s.ok()) s = Instantiate(sequence, &exec);
    if (s.ok()) s = EnsureEvents(static_cast<size_t>(runs) + 1);
    if (s.ok()) s = Begin(inputs);
    // The first run warms up.
    for (int run = 0; s.ok() && run <= runs; ++run) {
      s = cuda_.Check(cuda_.cuGraphLaunch(exec, stream_), graph_.name());
      s.Update(cuda_.Check(cuda_.cuEventRecord(events_[run], stream_), "event"));
    }
    if (s.ok()) s = End();
    std::vector<double> times;
    for (int run = 0; s.ok() && run < runs; ++run) {
      float ms = 0;
      s = cuda_.Check(cuda_.cuEventElapsedTime(&ms, events_[run], events_[run + 1]), "event");
      times.push_back(ms);
    }
    if (exec != nullptr) cuda_.cuGraphExecDestroy(exec);
    if (sequence != nullptr) cuda_.cuGraphDestroy(sequence);
    if (!s.ok()) return s;
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    return times[static_cast<size_t>(runs / 2)] / repeats;
  }

  MemoryUse memory() const override { return plan_.memory; }
  std::string Describe() const override { return plan_.Describe(graph_); }

 private:
  absl::Status AllocateMemory() {
    using Where = Memory::Where;
    absl::Status s = arena_.Allocate(cuda_, Where::kDevice, plan_.memory.planned_bytes, "values");
    if (!s.ok()) return s;
    s = statics_.Allocate(cuda_, Where::kDevice, plan_.memory.weight_bytes, "weights");
    if (!s.ok()) return s;
    const int64_t errors = static_cast<int64_t>(plan_.launches.size() * sizeof(int));
    s = errors_.Allocate(cuda_, Where::kDevice, errors, "error words");
    if (!s.ok()) return s;
    s = host_errors_.Allocate(cuda_, Where::kHost, errors, "pinned error words");
    if (!s.ok()) return s;
    s = offloaded_.Allocate(cuda_, Where::kHost, plan_.memory.host_bytes,
                            "pinned memory to offload to");
    if (!s.ok()) return s;
    memory_ = {arena_.device(), statics_.device(), offloaded_.host(), errors_.device()};
    int64_t staged = 0;
    for (const std::vector<int>* buffers : {&plan_.inputs, &plan_.outputs}) {
      for (int b : *buffers) {
        staging_offset_.push_back(staged);
        staged += (plan_.buffers[b].type.num_bytes() + 63) / 64 * 64;
      }
    }
    return staging_.Allocate(cuda_, Where::kHost, staged, "pinned memory");
  }

  absl::Status UploadStatics(int threads) {
    StaticEvaluator evaluator(threads);
    for (size_t i = 0; i < plan_.statics.size(); ++i) {
      absl::StatusOr<Tensor> value = evaluator.Evaluate(plan_.statics[i]);
      if (!value.ok()) return value.status();
      const size_t bytes = static_cast<size_t>(value->type().num_bytes());
      if (bytes == 0) continue;
      absl::Status s = cuda_.Check(
          cuda_.cuMemcpyHtoD(Address(plan_.static_buffers[i]), value->raw(), bytes), "weights");
      if (!s.ok()) return s;
    }
    return absl::OkStatus();
  }

  CUdeviceptr Address(int buffer) const { return memory_.AddressOf(plan_.buffers[buffer]); }

  // Captures the launches with the plan's order among them; the device runs independent branches in
  // parallel.
  absl::Status Capture() {
    absl::Status s = cuda_.Check(cuda_.cuGraphCreate(&captured_, 0), "CUDA graph");
    std::vector<CUgraphNode> nodes(plan_.launches.size());
    for (size_t l = 0; s.ok() && l < nodes.size(); ++l) {
      std::vector<CUgraphNode> after;
      for (int before : plan_.launches[l].after) after.push_back(nodes[before]);
      s = launches_.AddTo(captured_, l, after, &nodes[l]);
    }
    return s.ok() ? Instantiate(captured_, &graph_exec_) : s;
  }

  absl::Status Instantiate(CUgraph graph, CUgraphExec* exec) const {
    return cuda_.Check(cuda_.cuGraphInstantiateWithFlags(exec, graph, 0), "CUDA graph");
  }

  // Copies new state to where the next run reads it, unless it was written there.
  absl::Status MoveState() {
    absl::Status s;
    for (const StatePair& pair : plan_.state) {
      const int from = plan_.outputs[pair.output], to = plan_.inputs[pair.input];
      const size_t bytes = static_cast<size_t>(plan_.buffers[to].type.num_bytes());
      if (!s.ok() || from == to || bytes == 0) continue;
      s = cuda_.Check(cuda_.cuMemcpyDtoDAsync(Address(to), Address(from), bytes, stream_),
                      StateName(pair));
    }
    return s;
  }
  std::string StateName(const StatePair& pair) const {
    return absl::StrCat("state ", graph_.input_names()[pair.input]);
  }

  absl::Status Replay() {
    if (plan_.launches.empty()) return absl::OkStatus();
    return cuda_.Check(cuda_.cuGraphLaunch(graph_exec_, stream_), graph_.name());
  }

  absl::Status EnsureEvents(size_t count) {
    while (events_.size() < count) {
      CUevent event = nullptr;
      absl::Status s = cuda_.Check(cuda_.cuEventCreate(&event, CU_EVENT_DEFAULT), "event");
      if (!s.ok()) return s;
      events_.push_back(event);
    }
    return absl::OkStatus();
  }

  absl::Status LaunchOneByOne() {
    absl::Status s = EnsureEvents(plan_.launches.size() + 1);
    s.Update(cuda_.Check(cuda_.cuEventRecord(events_[0], stream_), "event"));
    for (size_t l = 0; s.ok() && l < plan_.launches.size(); ++l) {
      s = launches_.Launch(l);
      if (s.ok()) s = cuda_.Check(cuda_.cuEventRecord(events_[l + 1], stream_), "event");
    }
    return s;
  }

  size_t ErrorBytes() const { return plan_.launches.size() * sizeof(int); }

  absl::Status MakeCurrent() {
    return cuda_.Check(cuda_.cuCtxSetCurrent(device_.context), "cuCtxSetCurrent");
  }
  absl::Status Synchronize() {
    return cuda_.Check(cuda_.cuStreamSynchronize(stream_), graph_.name());
  }

  // Clears the error words and uploads the inputs; only those of `which` if it is not empty.
  absl::Status Begin(absl::Span<const Tensor> inputs, const std::vector<bool>& which = {}) {
    if (absl::Status s = CheckInputs(graph_, inputs, which); !s.ok()) return s;
    absl::Status s = MakeCurrent();
    if (!plan_.launches.empty()) {
      s.Update(cuda_.Check(cuda_.cuMemsetD8Async(errors_.device(), 0, ErrorBytes(), stream_),
                           "error words"));
    }
    for (size_t i = 0; s.ok() && i < inputs.size(); ++i) {
      if (which.empty() || which[i]) s = StageInput(inputs[i], i);
    }
    return s;
  }

  absl::Status StageInput(const Tensor& value, size_t i) {
    const size_t bytes = static_cast<size_t>(value.type().num_bytes());
    if (bytes > 0) std::memcpy(staging_.host() + staging_offset_[i], value.raw(), bytes);
    return UploadInput(i);
  }

  absl::Status UploadInput(size_t i) {
    const size_t bytes = static_cast<size_t>(plan_.buffers[plan_.inputs[i]].type.num_bytes());
    if (bytes == 0) return absl::OkStatus();
    return cuda_.Check(
        cuda_.cuMemcpyHtoDAsync(Address(plan_.inputs[i]), staging_.host() + staging_offset_[i],
                                bytes, stream_),
        absl::StrCat("input ", graph_.input_names()[i]));
  }

  // Waits for all enqueued work, and reports errors that kernels found.
  absl::Status End() {
    absl::Status s;
    if (!plan_.launches.empty()) {
      s = cuda_.Check(
          cuda_.cuMemcpyDtoHAsync(host_errors_.host(), errors_.device(), ErrorBytes(), stream_),
          "error words");
    }
    if (s.ok()) s = Synchronize();
    return s.ok() ? CheckErrorWords() : s;
  }

  // Enqueues a copy of `buffer` to pinned memory.
  absl::Status Download(int buffer, int64_t to, const std::string& what) {
    const size_t bytes = static_cast<size_t>(plan_.buffers[buffer].type.num_bytes());
    if (bytes == 0) return absl::OkStatus();
    return cuda_.Check(
        cuda_.cuMemcpyDtoHAsync(staging_.host() + to, Address(buffer), bytes, stream_), what);
  }
  absl::StatusOr<Tensor> FromStaging(const TensorType& type, int64_t offset) const {
    absl::StatusOr<Tensor> value = Tensor::Allocate(type);
    if (!value.ok()) return value;
    std::memcpy(value->mutable_raw(), staging_.host() + offset,
                static_cast<size_t>(type.num_bytes()));
    return value;
  }

  // Uses the inputs and outputs of these masks; an empty mask means all, as if there were no state.
  template <class Launches>
  absl::StatusOr<std::vector<Tensor>> RunWith(absl::Span<const Tensor> inputs,
                                              const Launches& launches,
                                              const std::vector<bool>& uploaded = {},
                                              const std::vector<bool>& downloaded = {}) {
    absl::Status s = Begin(inputs, uploaded);
    if (s.ok()) s = launches();
    auto wanted = [&](size_t i) { return downloaded.empty() || downloaded[i]; };
    const int64_t* const offsets = staging_offset_.data() + inputs.size();
    for (size_t i = 0; s.ok() && i < plan_.outputs.size(); ++i) {
      if (!wanted(i)) continue;
      s = Download(plan_.outputs[i], offsets[i], absl::StrCat("output ", graph_.output_names()[i]));
    }
    // After the downloads: an output may be the old value of a state variable.
    if (s.ok() && !downloaded.empty()) s = MoveState();
    if (s.ok()) s = End();
    if (!s.ok()) return s;
    std::vector<Tensor> results(plan_.outputs.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (!wanted(i)) continue;
      absl::StatusOr<Tensor> result = FromStaging(graph_.outputs()[i].type(), offsets[i]);
      if (!result.ok()) return result.status();
      results[i] = *std::move(result);
    }
    return results;
  }

  absl::Status CheckErrorWords() const {
    for (size_t l = 0; l < plan_.launches.size(); ++l) {
      int error = 0;
      std::memcpy(&error, host_errors_.host() + l * sizeof(int), sizeof(int));
      if (error == 1) {
        return absl::OutOfRangeError(
            absl::StrCat(launches_.NameOf(l), ": an index is outside its tensor"));
      }
      if (error != 0) {
        return absl::InternalError(absl::StrCat(launches_.NameOf(l), ": reads outside a tensor"));
      }
    }
    return absl::OkStatus();
  }

  const CudaDevice& device_;
  const CudaDriver& cuda_;
  Graph graph_;
  CudaPlan plan_;
  std::vector<bool> is_state_;  // by input
  PlacedMemory memory_;
  CUstream stream_ = nullptr;
  CUgraph captured_ = nullptr;
  CUgraphExec graph_exec_ = nullptr;
  std::vector<CUevent> events_;
  std::vector<Work> work_;  // by step; empty until requested
  Memory arena_, statics_, errors_, host_errors_, offloaded_, staging_;
  Launches launches_;
  std::vector<int64_t> staging_offset_;  // of the inputs, then of the outputs
};

}  // namespace

absl::StatusOr<double> TimeInSequence(Executable* executable, absl::Span<const Tensor> inputs,
                                      int repeats, int runs) {
  auto* cuda = dynamic_cast<CudaExecutable*>(executable);
  if (cuda == nullptr) return absl::InvalidArgumentError("an executable of another back end");
  return cuda->TimeInSequence(inputs, repeats, runs);
}

absl::StatusOr<std::unique_ptr<Executable>> LoadPlan(const CudaDevice& device, const Graph& graph,
                                                     CudaPlan plan, int threads, bool libraries) {
  auto executable = std::make_unique<CudaExecutable>(device, graph, std::move(plan));
  if (absl::Status s = executable->Prepare(threads, libraries); !s.ok()) {
    return absl::Status(s.code(), absl::StrCat(graph.name(), ": ", s.message()));
  }
  return executable;
}

}  // namespace lemma::cuda
