#include "runtime/cuda/cuda_plan.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "graph/barrier.h"
#include "runtime/cuda/fusion/byte_factors.h"
#include "runtime/cuda/fusion/fusion.h"
#include "runtime/cuda/fusion/narrow_weights.h"
#include "runtime/cuda/fusion/store_factors.h"
#include "runtime/cuda/horizontal_fusion.h"
#include "runtime/cuda/state_in_place.h"
#include "runtime/plan/compose_nodes.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

using codegen::GridKernel;
using codegen::GridProgram;

namespace {

// The alignment of cudaMalloc, which generated kernels rely on.
constexpr int64_t kAlignment = 256;

// Launches between two uses of memory. On an H100 a step of ResNet-50 takes 5.6 ms with none, 4.3
// with 4, and 4.2 with 16 or more.
constexpr int kLaunchesApart[] = {16, 8, 4, 2};
constexpr int64_t kLittleBytes = int64_t{32} << 20;

int64_t Align(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Planner {
 public:
  Planner(const Graph& graph, NodeTraitsCache& traits, const PlanOptions& options)
      : graph_(graph),
        traits_(traits),
        options_(options),
        uses_(graph),
        byte_factors_(FindByteFactors(uses_, traits, options.grid)) {
    const std::vector<bool> unpacking = FindUnpacking(uses_, traits);
    for (size_t i = 0; i < unpacking.size(); ++i) {
      if (unpacking[i]) byte_factors_[i] = true;
    }
    if (!ReadsNarrow()) return;
    for (size_t i = 0; i < uses_.nodes.size(); ++i) {
      if (IsWidening(*uses_.nodes[i])) uses_.is_static[i] = false;
    }
  }

  absl::StatusOr<CudaPlan> Run() {
    if (absl::Status s = CheckDefined(); !s.ok()) return s;
    fusion_ = Fuse(uses_, traits_, byte_factors_, options_.grid);
    buffer_of_.assign(uses_.users.size(), -1);
    for (const Value& v : graph_.inputs()) {
      plan_.inputs.push_back(AddBuffer(Buffer::Kind::kInput, v.type()));
      buffer_of_[uses_.IdOf(v)] = plan_.inputs.back();
    }
    for (size_t i = 0; i < uses_.nodes.size(); ++i) {
      const int group = fusion_.group_of[i];
      if (group < 0 || fusion_.groups[group].back() != static_cast<int>(i)) continue;
      if (fusion_.is_transfer[i]) {
        AddTransfer(uses_.nodes[i]);
      } else if (absl::Status s = AddStep(fusion_.groups[group]); !s.ok()) {
        return s;
      }
    }
    for (const Value& v : graph_.outputs()) plan_.outputs.push_back(BufferOf(v));
    if (options_.horizontal_fusion) FuseSmallLaunches(&plan_);
    AddLaunches();
    plan_.state = StatePairs(graph_);
    UpdateStateInPlace([this](const Value& v) { return buffer_of_[uses_.IdOf(v)]; }, traits_,
                       &plan_);
    if (absl::Status s = PlaceAndOrder(); !s.ok()) return s;
    DropImplied();
    if (options_.with_places) ListPlaces();
    return std::move(plan_);
  }

 private:
  // Whether kernels read values that are widened from 16 bits as they were before.
  bool ReadsNarrow() const { return options_.grid.precision != codegen::ProductPrecision::kF32; }

  absl::Status CheckDefined() {
    for (const NodePtr& node : uses_.nodes) {
      for (const TensorType& type : node->types()) {
        const bool is_small = IsSmallFloat(type.dtype) || BitsOf(type.dtype) < 8;
        if (!is_small && (node->is_op() || !IsOpaque(type.dtype))) continue;
        return absl::UnimplementedError(
            absl::StrCat("unsupported: values of element type ", Name(type.dtype), " on a GPU"));
      }
      if (!node->is_op() || traits_.Of(*node).defined) continue;
      const absl::Status why = DefinitionOf(*node).status();
      return absl::UnimplementedError(
          absl::StrCat("unsupported: ", node->op().name, " (", why.message(), ")"));
    }
    return absl::OkStatus();
  }

  int AddBuffer(Buffer::Kind kind, const TensorType& type) {
    Buffer buffer;
    buffer.kind = kind;
    buffer.type = type;
    plan_.buffers.push_back(std::move(buffer));
    return static_cast<int>(plan_.buffers.size()) - 1;
  }

  int BufferOf(const Value& v) {
    const int node = uses_.NodeOf(v.node());
    int& buffer = buffer_of_[uses_.IdOf(v)];
    if (buffer >= 0) return buffer;
    if (fusion_.is_alias[node]) return buffer = BufferOf(v.node().inputs()[0]);
    if (uses_.is_static[node]) {
      plan_.statics.push_back(v);
      plan_.static_buffers.push_back(AddBuffer(Buffer::Kind::kStatic, v.type()));
      return buffer = plan_.static_buffers.back();
    }
    const bool offloaded = fusion_.is_transfer[node] && IsOffload(v.node());
    return buffer = AddBuffer(offloaded ? Buffer::Kind::kHost : Buffer::Kind::kArena, v.type());
  }

  void AddTransfer(const NodePtr& node) {
    CudaStep step;
    step.nodes = {node};
    step.operators = node->op().name;
    step.buffers = {BufferOf(node->inputs()[0]), BufferOf(Value(node, 0))};
    step.signature = absl::StrCat(step.operators, " ", node->type(0).ToString());
    plan_.steps.push_back(std::move(step));
  }

  absl::Status AddStep(const std::vector<int>& members) {
    CudaStep step;
    for (int member : members) step.nodes.push_back(uses_.nodes[member]);
    step.operators = OperatorsOf(step.nodes);
    const std::vector<Value> operands = OperandsOf(step.nodes);
    absl::StatusOr<Definition> definition = ComposeNodes(step.nodes, operands);
    if (!definition.ok()) return Annotated(definition.status(), step);
    // What is stored may be narrower than the value.
    for (size_t i = 0; i < operands.size(); ++i) {
      definition->inputs[i].dtype = plan_.buffers[BufferOf(operands[i])].type.dtype;
    }
    const std::string meaning = definition->ToString();
    step.signature = SignatureOf(step.nodes, *definition, operands, HashString(meaning));
    std::shared_ptr<const GridProgram>& program =
        programs_[absl::StrCat(TypesOf(*definition), meaning)];
    if (program == nullptr) {
      absl::StatusOr<GridProgram> made = codegen::MakeGridProgram(*definition, options_.grid);
      if (!made.ok()) return Annotated(made.status(), step);
      program = std::make_shared<const GridProgram>(*std::move(made));
    }
    step.program = program;
    absl::StrAppend(&step.signature, TunedTilesOf(*program));
    step.buffers.assign(program->slots.size(), -1);
    for (size_t i = 0; i < operands.size(); ++i) step.buffers[i] = BufferOf(operands[i]);
    for (size_t k = 0; k < program->outputs.size(); ++k) {
      step.buffers[program->outputs[k]] = BufferOf(Value(step.nodes.back(), static_cast<int>(k)));
    }
    for (size_t k = 0; k < program->kernels.size(); ++k) {
      for (int slot : program->kernels[k].writes) {
        if (step.buffers[slot] >= 0) continue;
        const codegen::GridSlot& temporary = program->slots[slot];
        step.buffers[slot] =
            AddBuffer(Buffer::Kind::kArena, {temporary.dtype, {temporary.elements}});
      }
    }
    plan_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  // The tiles that the table of tiles changes, since the kernel takes another time with them.
  std::string TunedTilesOf(const GridProgram& program) const {
    if (options_.grid.tiles == nullptr) return "";
    std::string text;
    for (const GridKernel& kernel : program.kernels) {
      if (kernel.tile) {
        const auto& [tile, parts] = kernel.tile->choice;
        const codegen::TileChoice model =
            codegen::ChooseTile(kernel.tile->size, kernel.tile->precision);
        if (tile == model.tile && parts == model.parts) continue;
        absl::StrAppend(&text, " tile ", NameOf(kernel.tile->choice, kernel.tile->precision));
      } else if (kernel.streamed) {
        const codegen::TunedTile* tuned = options_.grid.tiles->Find(TunedSizeOf(kernel));
        if (tuned == nullptr) continue;
        absl::StrAppend(&text, " tile ", NameOf(tuned->stream));
      }
    }
    return text;
  }

  // Differences that bodies do not show: element types, the order of outputs, and the sizes of
  // inputs (two slices of 4 × 4, one of 4 × 8 and one of 4 × 16, have equal bodies but different
  // strides).
  static std::string TypesOf(const Definition& definition) {
    std::string text;
    for (const ExprType& input : definition.inputs) {
      absl::StrAppend(&text, Name(input.dtype), "[");
      for (const IndexExpr& dim : input.dims) absl::StrAppend(&text, dim.ToString(), ",");
      absl::StrAppend(&text, "]");
    }
    for (const TensorExpr& tensor : definition.tensors) {
      absl::StrAppend(&text, " ", Name(tensor.dtype));
    }
    return absl::StrCat(text, " -> ", absl::StrJoin(definition.outputs, ","), "\n");
  }

  void ListPlaces() {
    for (const NodePtr& node : uses_.nodes) {
      for (int k = 0; k < node->num_outputs(); ++k) {
        const Value v(node, k);
        const int buffer = buffer_of_[uses_.IdOf(v)];
        // An unused buffer was merged with another one.
        if (buffer < 0 || plan_.buffers[buffer].first > plan_.buffers[buffer].last) continue;
        plan_.places.emplace_back(v, buffer);
      }
    }
  }

  void AddLaunches() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (plan_.steps[s].program == nullptr) {
        plan_.launches.push_back({static_cast<int>(s), -1, {}});
        continue;
      }
      for (size_t k = 0; k < plan_.steps[s].program->kernels.size(); ++k) {
        plan_.launches.push_back({static_cast<int>(s), static_cast<int>(k), {}});
      }
    }
  }

  static std::string SignatureOf(const std::vector<NodePtr>& nodes, const Definition& definition,
                                 const std::vector<Value>& operands, uint64_t meaning) {
    auto type = [](std::string* text, const TensorType& t) { text->append(t.ToString()); };
    std::vector<TensorType> types;
    for (size_t i = 0; i < operands.size(); ++i) {
      types.push_back({definition.inputs[i].dtype, operands[i].shape()});
    }
    return absl::StrCat(OperatorsOf(nodes), "(", absl::StrJoin(types, ", ", type), ") -> ",
                        absl::StrJoin(nodes.back()->types(), ", ", type), " #",
                        absl::Hex(meaning, absl::kZeroPad16));
  }

  static absl::Status Annotated(const absl::Status& status, const CudaStep& step) {
    return absl::Status(status.code(), absl::StrCat(step.operators, ": ", status.message()));
  }

  struct Placement {
    std::vector<BufferLife> lives;
    std::vector<Buffer*> buffers;
  };
  // Reuses memory `apart` launches after its last use or later.
  static absl::StatusOr<MemoryPlan> Place(const Placement& placement, int apart) {
    std::vector<BufferLife> lives = placement.lives;
    int end = 0;
    for (const BufferLife& life : lives) end = std::max(end, life.last);
    for (BufferLife& life : lives) life.last = std::min(end, life.last + apart);
    const MemoryPlan memory = PlanMemory(lives, kAlignment);
    if (absl::Status s = CheckMemoryPlan(placement.lives, memory); !s.ok()) return s;
    for (size_t i = 0; i < memory.offsets.size(); ++i) {
      placement.buffers[i]->offset = memory.offsets[i];
    }
    return memory;
  }

  // Late reuse of memory costs memory and cache hits, so it is used only if launches wait less.
  absl::Status PlaceAndOrder() {
    if (absl::Status s = PlaceBuffers(0); !s.ok()) return s;
    FindOrder();
    if (!options_.reuse_late) return absl::OkStatus();
    const MemoryUse least = plan_.memory;
    const int64_t most = least.planned_bytes + std::max(least.planned_bytes / 8, kLittleBytes);
    const int longest = LongestChain();
    for (int apart : kLaunchesApart) {
      if (absl::Status s = PlaceBuffers(apart); !s.ok()) return s;
      if (plan_.memory.planned_bytes > most) continue;
      FindOrder();
      plan_.memory.live_bytes = least.live_bytes;
      if (LongestChain() <= longest - std::max(1, longest / 16)) return absl::OkStatus();
      break;  // closer reuse will not help either
    }
    if (absl::Status s = PlaceBuffers(0); !s.ok()) return s;
    FindOrder();
    return absl::OkStatus();
  }

  // The length of the longest chain of launches that wait for each other.
  int LongestChain() const {
    std::vector<int> length;
    for (const Launch& launch : plan_.launches) {
      int before = 0;
      for (int l : launch.after) before = std::max(before, length[l]);
      length.push_back(before + 1);
    }
    return length.empty() ? 0 : *std::max_element(length.begin(), length.end());
  }

  // `apart` as in Place.
  absl::Status PlaceBuffers(int apart) {
    const int end = static_cast<int>(plan_.launches.size());
    for (Buffer& buffer : plan_.buffers) buffer.first = end + 1;
    for (int l = 0; l < end; ++l) {
      for (int b : plan_.Arguments(plan_.launches[l])) {
        plan_.buffers[b].first = std::min(plan_.buffers[b].first, l + 1);
        plan_.buffers[b].last = std::max(plan_.buffers[b].last, l + 1);
      }
    }
    // Inputs arrive before the first launch, outputs are read after the last one.
    for (int b : plan_.inputs) plan_.buffers[b].first = 0;
    for (int b : plan_.outputs) plan_.buffers[b].last = end + 1;
    // State keeps its memory between runs.
    for (const StatePair& pair : plan_.state) {
      plan_.buffers[plan_.inputs[pair.input]].last = end + 1;
    }
    Placement arena, host;
    int64_t statics = 0;
    for (Buffer& buffer : plan_.buffers) {
      const int64_t bytes = buffer.type.num_bytes();
      if (buffer.kind == Buffer::Kind::kStatic) {
        buffer.offset = statics;
        statics += Align(bytes);
        continue;
      }
      if (buffer.first > buffer.last) continue;
      Placement& where = buffer.kind == Buffer::Kind::kHost ? host : arena;
      where.lives.push_back({bytes, buffer.first, buffer.last});
      where.buffers.push_back(&buffer);
    }
    absl::StatusOr<MemoryPlan> memory = Place(arena, apart);
    absl::StatusOr<MemoryPlan> on_host = Place(host, /*apart=*/0);
    if (!memory.ok()) return memory.status();
    if (!on_host.ok()) return on_host.status();
    plan_.memory.host_bytes = on_host->total_bytes;
    plan_.memory.weight_bytes = statics;
    plan_.memory.planned_bytes = memory->total_bytes;
    plan_.memory.live_bytes = memory->live_bytes;
    return absl::OkStatus();
  }

  struct Access {
    bool on_host;
    int64_t begin, end;
    int launch, buffer;
    bool write;
  };

  // Whether two kernels of one step write one result: they then write different elements of it.
  bool Together(const Access& a, const Access& b) const {
    return a.write && b.write && a.buffer == b.buffer &&
           plan_.launches[a.launch].step == plan_.launches[b.launch].step;
  }

  // Finds the earlier launches that each launch must wait for: the writers of what it reads, and
  // all that touched the memory that it writes.
  void FindOrder() {
    std::vector<int> writers(plan_.buffers.size(), 0);
    for (const Launch& launch : plan_.launches) {
      const std::vector<int> arguments = plan_.Arguments(launch);
      for (size_t i = plan_.NumReads(launch); i < arguments.size(); ++i) ++writers[arguments[i]];
    }
    std::vector<Access> past;
    for (size_t l = 0; l < plan_.launches.size(); ++l) {
      Launch& launch = plan_.launches[l];
      launch.after.clear();
      const std::vector<int> arguments = plan_.Arguments(launch);
      std::vector<Access> now;
      for (size_t i = 0; i < arguments.size(); ++i) {
        const Buffer& buffer = plan_.buffers[arguments[i]];
        if (buffer.kind == Buffer::Kind::kStatic) continue;
        now.push_back({buffer.kind == Buffer::Kind::kHost, buffer.offset,
                       buffer.offset + buffer.type.num_bytes(), static_cast<int>(l), arguments[i],
                       i >= plan_.NumReads(launch)});
      }
      for (const Access& access : now) {
        for (const Access& before : past) {
          const bool overlap = before.on_host == access.on_host && before.begin < access.end &&
                               access.begin < before.end;
          if (Together(before, access)) continue;
          if (overlap && (before.write || access.write)) launch.after.push_back(before.launch);
        }
      }
      std::sort(launch.after.begin(), launch.after.end());
      launch.after.erase(std::unique(launch.after.begin(), launch.after.end()), launch.after.end());
      // If one kernel rewrites a buffer completely, later launches only need to wait for that
      // kernel.
      for (const Access& access : now) {
        if (!access.write || writers[access.buffer] > 1) continue;
        past.erase(std::remove_if(past.begin(), past.end(),
                                  [&](const Access& before) {
                                    return before.on_host == access.on_host &&
                                           access.begin <= before.begin && before.end <= access.end;
                                  }),
                   past.end());
      }
      past.insert(past.end(), now.begin(), now.end());
    }
  }

  // Drops launches that another one in `after` already waits for.
  void DropImplied() {
    const size_t n = plan_.launches.size();
    std::vector<std::vector<bool>> before(n);  // by launch: all launches that end before it starts
    for (size_t l = 0; l < n; ++l) {
      before[l].assign(l, false);
      std::vector<int>& after = plan_.launches[l].after;
      std::vector<int> needed;
      for (auto direct = after.rbegin(); direct != after.rend(); ++direct) {
        if (before[l][*direct]) continue;
        needed.push_back(*direct);
        before[l][*direct] = true;
        for (int earlier = 0; earlier < *direct; ++earlier) {
          if (before[*direct][earlier]) before[l][earlier] = true;
        }
      }
      after.assign(needed.rbegin(), needed.rend());
    }
  }

  const Graph& graph_;
  NodeTraitsCache& traits_;
  const PlanOptions& options_;
  UseTable uses_;
  // By node: whether it computes factors from bytes, or unpacks weights.
  std::vector<bool> byte_factors_;
  Fusion fusion_;
  std::vector<int> buffer_of_;  // by value
  absl::flat_hash_map<std::string, std::shared_ptr<const GridProgram>> programs_;
  CudaPlan plan_;
};

}  // namespace

std::string OperatorsOf(const std::vector<NodePtr>& nodes) {
  return absl::StrJoin(nodes, "+", [](std::string* text, const NodePtr& node) {
    absl::StrAppend(text, node->op().key());
  });
}

size_t CudaPlan::NumReads(const Launch& launch) const {
  return IsCopy(launch) ? 1 : KernelOf(launch).reads.size();
}

std::vector<int> CudaPlan::Arguments(const Launch& launch) const {
  if (IsCopy(launch)) return steps[launch.step].buffers;
  const GridKernel& kernel = KernelOf(launch);
  std::vector<int> result;
  for (int slot : kernel.reads) result.push_back(steps[launch.step].buffers[slot]);
  for (int slot : kernel.writes) result.push_back(steps[launch.step].buffers[slot]);
  return result;
}

std::string CudaPlan::LabelOf(const Graph& graph, int step) const {
  const std::string label(graph.LabelOf(Value(steps[step].nodes.back(), 0)));
  return label.empty() ? absl::StrCat("#", step) : label;
}

std::string CudaPlan::Describe(const Graph& graph) const {
  std::string text;
  for (size_t l = 0; l < launches.size(); ++l) {
    const Launch& launch = launches[l];
    const std::vector<int> arguments = Arguments(launch);
    const Buffer& out = buffers[arguments.back()];
    absl::StrAppendFormat(&text, "%3d  %s -> %s %s at %d: ", l, steps[launch.step].operators,
                          LabelOf(graph, launch.step), out.type.ToString(), out.offset);
    if (IsCopy(launch)) {
      const bool out_there = out.kind == Buffer::Kind::kHost;
      absl::StrAppend(&text, out_there ? "to the host's memory" : "from the host's memory");
    } else {
      const GridKernel& kernel = KernelOf(launch);
      absl::StrAppendFormat(&text, "%s, %d blocks of %d", kernel.schedule, kernel.blocks,
                            kernel.threads);
      if (kernel.gemm) {
        absl::StrAppendFormat(&text, ", a product of %dx%dx%d", kernel.gemm->m, kernel.gemm->n,
                              kernel.gemm->k);
        if (kernel.gemm->batch > 1) absl::StrAppendFormat(&text, " times %d", kernel.gemm->batch);
      }
    }
    if (!launch.after.empty()) absl::StrAppend(&text, ", after ", absl::StrJoin(launch.after, " "));
    text += '\n';
  }
  return text;
}

codegen::TunedSize TunedSizeOf(const GridKernel& kernel) {
  codegen::TunedSize size;
  if (kernel.tile) {
    size.product = kernel.tile->size;
    size.precision = kernel.tile->precision;
  } else if (kernel.streamed) {
    size.stream = *kernel.streamed;
  }
  return size;
}

std::vector<KernelSet> KernelSetsOf(const CudaPlan& plan) {
  constexpr size_t kKernels = 16;  // a source's fixed cost equals a few kernels'
  std::vector<KernelSet> sets;
  absl::flat_hash_set<std::string> known;
  for (const CudaStep& step : plan.steps) {
    if (step.program == nullptr) continue;
    for (const GridKernel& kernel : step.program->kernels) {
      if (!known.insert(kernel.name).second) continue;
      if (sets.empty() || sets.back().size() == kKernels) sets.emplace_back();
      sets.back().push_back(&kernel);
    }
  }
  return sets;
}

absl::StatusOr<CudaPlan> PlanGraph(const Graph& graph, NodeTraitsCache& traits,
                                   const PlanOptions& options) {
  return Planner(graph, traits, options).Run();
}

}  // namespace lemma::cuda
