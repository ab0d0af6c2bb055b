#include "generator/run/class_file.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "generator/run/bytes.h"

namespace lemma::generator {
namespace {

constexpr char kClassesMagic[] = "lemma classes, format 1\n";
constexpr int64_t kMostClassesBytes = int64_t{1} << 36;

void Write(const CompactGraph& graph, ByteWriter* out) {
  out->Byte(graph.num_ops);
  out->Byte(graph.num_outputs);
  for (int i = 0; i < graph.num_ops; ++i) {
    out->Byte(graph.ops[i].variant);
    for (int8_t operand : graph.ops[i].operands) out->Byte(static_cast<uint8_t>(operand));
  }
  for (int i = 0; i < graph.num_outputs; ++i) out->Byte(static_cast<uint8_t>(graph.outputs[i]));
}

// IsOf checks later that there are not too many operators or outputs.
CompactGraph ReadGraph(ByteReader* in) {
  CompactGraph graph;
  graph.num_ops = in->Byte();
  graph.num_outputs = in->Byte();
  for (size_t i = 0; i < std::min<size_t>(graph.num_ops, graph.ops.size()); ++i) {
    graph.ops[i].variant = in->Byte();
    for (int8_t& operand : graph.ops[i].operands) operand = static_cast<int8_t>(in->Byte());
  }
  for (size_t i = 0; i < std::min<size_t>(graph.num_outputs, graph.outputs.size()); ++i) {
    graph.outputs[i] = static_cast<int8_t>(in->Byte());
  }
  return graph;
}

absl::Status Damaged(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is damaged; delete it, and make it anew"));
}

bool IsOf(const OperatorSet& set, const CompactGraph& graph) {
  if (graph.num_ops > graph.ops.size() || graph.num_outputs > graph.outputs.size()) return false;
  // A value is an input or an output of one of the first `ops` operators.
  auto is_value = [&](int value, int ops) {
    if (value < 0) return static_cast<size_t>(-1 - value) < set.inputs().size();
    const int op = value / kMostOutputs;
    return op < ops && value % kMostOutputs < set.variants()[graph.ops[op].variant].num_outputs;
  };
  for (int i = 0; i < graph.num_ops; ++i) {
    const CompactGraph::Op& op = graph.ops[i];
    if (op.variant >= set.variants().size()) return false;
    const int num_operands = set.variants()[op.variant].num_operands;
    for (int k = 0; k < kMostOperands; ++k) {
      const bool is_there = op.operands[k] != CompactGraph::kNoOperand;
      if (is_there != (k < num_operands) || (is_there && !is_value(op.operands[k], i))) {
        return false;
      }
    }
  }
  return std::all_of(graph.outputs.begin(), graph.outputs.begin() + graph.num_outputs,
                     [&](int value) { return is_value(value, graph.num_ops); });
}

bool Before(const CompactGraph& a, const CompactGraph& b) {
  return std::memcmp(&a, &b, sizeof(a)) < 0;
}
bool Before(const ValueClass& a, const ValueClass& b) {
  return std::lexicographical_compare(
      a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
      [](const CompactGraph& x, const CompactGraph& y) { return Before(x, y); });
}

}  // namespace

std::string ToString(const Shard& shard) { return absl::StrCat(shard.index, "/", shard.count); }

absl::StatusOr<Shard> ParseShard(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  Shard shard;
  if (!absl::SimpleAtoi(parts.first, &shard.index) ||
      !absl::SimpleAtoi(parts.second, &shard.count) || shard.index < 0 ||
      shard.index >= shard.count || shard.count > kMostShards) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not I/N with I in 0…N-1 and N in 1…", kMostShards));
  }
  return shard;
}

absl::Status WriteClassFile(const std::string& path, const RunId& run, const Shard& shard,
                            const Enumerated& enumerated) {
  ByteWriter out;
  run.Write(&out);
  out.Signed(shard.index);
  out.Signed(shard.count);
  // Only the program that wrote a file reads it, so the in-memory representation suffices.
  static_assert(std::is_trivially_copyable_v<EnumeratorStats>);
  const EnumeratorStats& stats = enumerated.stats;
  out.Bytes({reinterpret_cast<const char*>(&stats), sizeof(stats)});
  out.Number(enumerated.max_ops);
  out.Number(enumerated.classes.size());
  for (const ValueClass& one : enumerated.classes) {
    out.Number(one.members.size());
    for (const CompactGraph& member : one.members) Write(member, &out);
  }
  ByteWriter checksum;
  checksum.Fixed(HashString(out.bytes()));
  return WriteFileAtomically(path, {kClassesMagic, checksum.bytes(), out.bytes()});
}

absl::StatusOr<ClassFile> ReadClassFile(const std::string& path) {
  LEMMA_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMostClassesBytes));
  absl::string_view body = bytes;
  if (!absl::ConsumePrefix(&body, kClassesMagic)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a file of classes that this lemma generate wrote"));
  }
  ByteReader in(body);
  const uint64_t checksum = in.Fixed();
  if (!in.ok() || checksum != HashString(in.rest())) return Damaged(path);
  ClassFile file;
  file.path = path;
  file.run = RunId::Read(&in);
  file.shard.index = in.Signed();
  file.shard.count = in.Signed();
  const absl::string_view stats = in.Bytes();
  // Another build may use another layout; the caller detects that the file is from another build.
  if (stats.size() == sizeof(EnumeratorStats)) {
    std::memcpy(&file.enumerated.stats, stats.data(), stats.size());
  }
  file.enumerated.max_ops = static_cast<int>(in.Number());
  file.enumerated.classes.resize(in.Count());
  for (ValueClass& one : file.enumerated.classes) {
    one.members.resize(in.Count());
    for (CompactGraph& member : one.members) member = ReadGraph(&in);
  }
  const Shard& shard = file.shard;
  if (!in.ok() || !in.rest().empty() || shard.index < 0 || shard.index >= shard.count ||
      shard.count > kMostShards) {
    return Damaged(path);
  }
  return file;
}

absl::Status CheckClasses(const Enumerated& enumerated, const OperatorSet& set) {
  for (const ValueClass& one : enumerated.classes) {
    if (one.members.size() < 2 ||
        !std::all_of(one.members.begin(), one.members.end(),
                     [&](const CompactGraph& member) { return IsOf(set, member); })) {
      return absl::InvalidArgumentError("its graphs are none of its operator set's");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Enumerated> Merged(std::vector<ClassFile> shards) {
  if (shards.empty()) return absl::InvalidArgumentError("no shards to merge");
  const ClassFile& first = shards[0];
  std::map<int64_t, const ClassFile*> by_index;
  for (const ClassFile& shard : shards) {
    std::string differs = Difference(shard.run, first.run);
    if (differs.empty() && shard.shard.count != first.shard.count) {
      differs = absl::StrCat("shard ", ToString(shard.shard), ", not one of ", first.shard.count);
    }
    if (!differs.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(shard.path, " does not go with ", first.path, ": it is of ", differs));
    }
    auto [it, is_new] = by_index.emplace(shard.shard.index, &shard);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(it->second->path, " and ", shard.path,
                                                     " are both shard ", ToString(shard.shard)));
    }
  }
  std::vector<std::string> missing;
  for (int64_t i = 0; i < first.shard.count; ++i) {
    if (by_index.count(i) == 0) missing.push_back(ToString({i, first.shard.count}));
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shards are missing: ", absl::StrJoin(missing, ", ")));
  }
  Enumerated merged;
  merged.max_ops = first.enumerated.max_ops;
  // Each shard enumerated all graphs.
  merged.stats = first.enumerated.stats;
  merged.stats.classes = merged.stats.members = merged.stats.colliding_graphs = 0;
  for (ClassFile& shard : shards) {
    merged.stats.classes += shard.enumerated.stats.classes;
    merged.stats.members += shard.enumerated.stats.members;
    merged.stats.colliding_graphs += shard.enumerated.stats.colliding_graphs;
    std::move(shard.enumerated.classes.begin(), shard.enumerated.classes.end(),
              std::back_inserter(merged.classes));
  }
  SortClasses(&merged);
  return merged;
}

void SortClasses(Enumerated* enumerated) {
  std::vector<ValueClass>& classes = enumerated->classes;
  std::sort(classes.begin(), classes.end(),
            [](const ValueClass& a, const ValueClass& b) { return Before(a, b); });
  classes.erase(std::unique(classes.begin(), classes.end(),
                            [](const ValueClass& a, const ValueClass& b) {
                              return !Before(a, b) && !Before(b, a);
                            }),
                classes.end());
}

}  // namespace lemma::generator
