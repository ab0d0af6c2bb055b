// The check executes kernels with short cuts: values that are the same for all threads are computed
// once, loops whose threads stay together need no record of who runs, and vectors compute what
// cannot overflow. Random kernels give what a slow execution without short cuts gives, and the same
// kernels have faults.
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/expr/field.h"
#include "gtest/gtest.h"
#include "kernels/codegen/grid_program.h"
#include "tests/base/repetitions.h"
#include "verifier/kernels/kernel_run.h"
#include "verifier/kernels/printed/analysis.h"
#include "verifier/kernels/printed/parser.h"

namespace lemma::kernels {
namespace {

constexpr int kThreads = 64, kBlocks = 2, kResults = 8;
constexpr int64_t kItems = kThreads * kBlocks;

// Executes kernels one thread at a time. Supports what RandomKernel writes.
class SlowMachine {
 public:
  // `inputs`: two tensors, of integers and of elements of the field.
  SlowMachine(const PrintedKernel& kernel, std::vector<std::vector<int64_t>> inputs)
      : kernel_(kernel), slots_(std::move(inputs)) {
    slots_.resize(4);
    slots_[2].assign(kItems * kResults, -1);
    slots_[3].assign(kItems * kResults, -1);
  }

  // The fault; "" if there is none. `steps` steps may be executed at most.
  std::string Run(int64_t steps) {
    steps_ = steps;
    for (block_ = 0; block_ < kBlocks && fault_.empty(); ++block_) {
      cells_.assign(kThreads, std::vector<std::vector<int64_t>>(kernel_.variables.size()));
      set_ = cells_;
      shared_.assign(kernel_.variables.size(), {});
      for (size_t v = 0; v < kernel_.variables.size(); ++v) {
        shared_[v].resize(kernel_.variables[v].cells);
        for (int t = 0; t < kThreads; ++t) {
          cells_[t][v].assign(kernel_.variables[v].cells, 0);
          set_[t][v].assign(kernel_.variables[v].cells, 0);
        }
      }
      Active all;
      all.fill(true);
      Execute(*kernel_.body, &all, nullptr);
    }
    return fault_;
  }
  const std::vector<int64_t>& slot(int s) const { return slots_[s]; }
  bool out_of_steps() const { return steps_ < 0; }

 private:
  using Active = std::array<bool, kThreads>;
  struct SharedCell {
    bool written = false;
    int64_t value = 0;
    std::set<int> readers, writers;  // since the last barrier
  };

  void Fault(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }
  static Field F(int64_t raw) { return Field::FromRaw(static_cast<uint64_t>(raw)); }
  static int64_t Raw(Field x) { return static_cast<int64_t>(x.raw()); }

  int64_t Checked(Type type, __int128 x) {
    if (x < INT64_MIN || x > INT64_MAX || !Fits(type, static_cast<int64_t>(x))) {
      Fault("overflow");
      return 0;
    }
    return static_cast<int64_t>(x);
  }

  int64_t CellAt(int variable, const std::vector<ExprPtr>& indices, int t) {
    const Variable& v = kernel_.variables[variable];
    int64_t cell = 0;
    for (size_t k = 0; k < indices.size(); ++k) {
      const int64_t at = Value(*indices[k], t);
      if (at < 0 || at >= v.dims[k]) Fault("index");
      if (!fault_.empty()) return 0;
      cell = cell * v.dims[k] + at;
    }
    return cell;
  }

  int64_t Value(const Expr& e, int t) {
    if (!fault_.empty() || --steps_ < 0) {
      Fault("steps");
      return 0;
    }
    const auto arg = [&](size_t i) { return Value(*e.args[i], t); };
    switch (e.kind) {
      case Expr::Kind::kLiteral:
        return IsReal(e.type) ? Raw(Field::FromDouble(e.real)) : e.value;
      case Expr::Kind::kBlock:
        return block_;
      case Expr::Kind::kThread:
        return t;
      case Expr::Kind::kVariable: {
        const int64_t cell = CellAt(e.variable, e.args, t);
        if (!fault_.empty()) return 0;
        const Variable& v = kernel_.variables[e.variable];
        if (v.shared) {
          SharedCell& c = shared_[e.variable][cell];
          if (!c.written) Fault("nothing wrote");
          for (int w : c.writers) {
            if (w != t) Fault("race");
          }
          c.readers.insert(t);
          return c.value;
        }
        const bool marked_by_nan = IsReal(v.type) && !v.dims.empty();
        if (set_[t][e.variable][cell] == 0) {
          if (marked_by_nan) return Raw(Field::NaN());
          Fault("no value");
        }
        return cells_[t][e.variable][cell];
      }
      case Expr::Kind::kBinary: {
        const __int128 a = arg(0), b = arg(1);
        if (e.op == Expr::Op::kAdd) return Checked(e.type, a + b);
        if (e.op == Expr::Op::kSub) return Checked(e.type, a - b);
        if (e.op == Expr::Op::kMul) return Checked(e.type, a * b);
        if (e.op == Expr::Op::kXor) {
          return Checked(e.type, static_cast<int64_t>(a) ^ static_cast<int64_t>(b));
        }
        if (b == 0) Fault("division by 0");
        if (b == 0) return 0;
        return Checked(e.type, e.op == Expr::Op::kDiv ? a / b : a % b);
      }
      case Expr::Kind::kCompare: {
        const int64_t a = arg(0), b = arg(1);
        return e.op == Expr::Op::kLess ? a < b : e.op == Expr::Op::kLessEqual ? a <= b : a == b;
      }
      case Expr::Kind::kNegate:
        return Checked(e.type, -static_cast<__int128>(arg(0)));
      case Expr::Kind::kNot:
        return arg(0) == 0;
      case Expr::Kind::kAnd:
        return arg(0) != 0 && arg(1) != 0;
      case Expr::Kind::kOr:
        return arg(0) != 0 || arg(1) != 0;
      case Expr::Kind::kChoose:
        return arg(0) != 0 ? arg(1) : arg(2);
      case Expr::Kind::kConvert:
        return IsReal(e.type) ? Raw(Field(arg(0))) : Checked(e.type, arg(0));
      case Expr::Kind::kFunction: {
        const int64_t a = arg(0), b = e.args.size() > 1 ? arg(1) : 0;
        return Raw(ApplyField(e.fn, F(a), F(b)));
      }
      case Expr::Kind::kRead: {
        const int64_t at = arg(0);
        if (at < 0 || at >= static_cast<int64_t>(slots_[e.slot].size())) Fault("reads outside");
        return fault_.empty() ? slots_[e.slot][at] : 0;
      }
      default:
        ADD_FAILURE() << "an expression that no random kernel has";
        return 0;
    }
  }

  // `left`: the threads that left the loop around `s` by break.
  void Execute(const Statement& s, Active* active, Active* left) {
    if (!fault_.empty() || *active == Active{}) return;
    const auto each = [&](const auto& f) {
      for (int t = 0; t < kThreads && fault_.empty(); ++t) {
        if ((*active)[t]) f(t);
      }
    };
    const auto assign = [&](int t) {
      // Only scalars and cells; a shared cell records who wrote.
      const int64_t value = Value(*s.value, t), cell = CellAt(s.variable, s.indices, t);
      if (!fault_.empty()) return;
      if (kernel_.variables[s.variable].shared) {
        pending_.push_back({t, cell, value});
        return;
      }
      cells_[t][s.variable][cell] = value;
      set_[t][s.variable][cell] = 1;
    };
    switch (s.kind) {
      case Statement::Kind::kBlock:
        for (const StatementPtr& inner : s.body) Execute(*inner, active, left);
        return;
      case Statement::Kind::kDeclare:
        if (kernel_.variables[s.variable].shared) return;
        each([&](int t) {
          if (s.value != nullptr) return assign(t);
          set_[t][s.variable].assign(set_[t][s.variable].size(), 0);
        });
        return;
      case Statement::Kind::kAssign:
        pending_.clear();
        each(assign);
        for (const auto& [t, cell, value] : pending_) {
          SharedCell& c = shared_[s.variable][cell];
          for (int other : c.writers) {
            if (other != t) Fault("race");
          }
          for (int other : c.readers) {
            if (other != t) Fault("race");
          }
          c.writers.insert(t);
          c.written = true;
          c.value = value;
        }
        return;
      case Statement::Kind::kIf: {
        Active then{}, otherwise{};
        each([&](int t) { (Value(*s.value, t) != 0 ? then : otherwise)[t] = true; });
        Execute(*s.body[0], &then, left);
        if (s.body.size() > 1) Execute(*s.body[1], &otherwise, left);
        for (int t = 0; t < kThreads; ++t) (*active)[t] = then[t] || otherwise[t];
        return;
      }
      case Statement::Kind::kFor: {
        Execute(*s.first, active, left);
        Active running = *active, behind{};
        while (fault_.empty() && running != Active{}) {
          for (int t = 0; t < kThreads && s.value != nullptr; ++t) {
            if (!running[t] || Value(*s.value, t) != 0) continue;
            running[t] = false;
            behind[t] = true;
          }
          Execute(*s.body[0], &running, &behind);
          Execute(*s.next, &running, &behind);
          if (--steps_ < 0) Fault("steps");
        }
        *active = behind;
        return;
      }
      case Statement::Kind::kBreak:
        each([&](int t) { (*left)[t] = true; });
        *active = {};
        return;
      case Statement::Kind::kReturn:
        *active = {};
        return;
      case Statement::Kind::kBarrier:
        for (bool a : *active) {
          if (!a) return Fault("barrier");
        }
        for (std::vector<SharedCell>& cells : shared_) {
          for (SharedCell& c : cells) c.readers.clear(), c.writers.clear();
        }
        return;
      case Statement::Kind::kStore:
        each([&](int t) {
          const int64_t at = Value(*s.indices[0], t), value = Value(*s.value, t);
          if (fault_.empty()) slots_[s.slot][at] = value;
        });
        return;
      default:
        ADD_FAILURE() << "a statement that no random kernel has";
    }
  }

  const PrintedKernel& kernel_;
  std::vector<std::vector<int64_t>> slots_;
  int64_t steps_ = 0;
  int64_t block_ = 0;
  std::string fault_;
  std::vector<std::vector<std::vector<int64_t>>> cells_, set_;  // by thread, variable and cell
  std::vector<std::vector<SharedCell>> shared_;                 // by variable
  struct Pending {
    int t;
    int64_t cell, value;
  };
  std::vector<Pending> pending_;
};

class RandomKernel {
 public:
  explicit RandomKernel(uint64_t seed) : random_(seed) {}

  std::string Write() {
    code_ =
        "extern \"C\" __global__ void __launch_bounds__(64)\n"
        "k(const int64* __restrict__ p0, const float* __restrict__ p1, int64* __restrict__ p2, "
        "float* __restrict__ p3) {\n";
    wild_ = random_() % 3 == 0;
    shared_ = random_() % 2 == 0;
    if (shared_) code_ += "__shared__ float sh[64];\n";
    code_ += "const int item = threadIdx.x;\nconst int place = blockIdx.x * 64 + threadIdx.x;\n";
    ints_ = {"item", "place"};
    code_ += "int t[4];\nfor (int z = 0; z < " + std::string(wild_ && Chance(4) ? "3" : "4") +
             "; ++z) t[z] = z * 2;\n";
    Add("const int c0 = ", Small(1), ";\n");
    ints_.push_back("c0");
    for (int i = 0; i < 4; ++i) {
      const std::string name = absl::StrCat("v", i);
      Add("int ", name, " = ", Chance(2) ? Small(1) : absl::StrCat(random_() % 4), ";\n");
      ints_.push_back(name);
      assignable_.push_back(name);
    }
    code_ += "unsigned u0 = 3;\nint64 w0 = 5;\n";
    code_ += "float s[3];\nfloat f = 0.0f;\n";
    code_ += "for (int z = 0; z < 3; ++z) s[z] = Load<float>(p1[z]);\n";
    if (shared_) code_ += "sh[item] = Load<float>(p1[place]);\n__syncthreads();\n";
    Statements(5, 3, true);
    for (int i = 0; i < 4; ++i) Add("Store(p2 + (place * 8 + ", i, "), int64(v", i, "));\n");
    Add("Store(p2 + (place * 8 + 4), int64(u0));\n");
    Add("Store(p2 + (place * 8 + 5), w0);\n");
    Add("Store(p2 + (place * 8 + 6), int64(t[1]));\n");
    Add("Store(p2 + (place * 8 + 7), int64(t[3]));\n");
    for (int i = 0; i < 3; ++i) Add("Store(p3 + (place * 8 + ", i, "), s[", i, "]);\n");
    Add("Store(p3 + (place * 8 + 3), f);\n");
    for (int i = 4; i < 8; ++i) {
      Add("Store(p3 + (place * 8 + ", i, "), ",
          shared_ && i == 7 ? std::string("sh[item]") : std::string("f"), ");\n");
    }
    return code_ + "}\n";
  }

 private:
  template <class... Args>
  void Add(const Args&... args) {
    absl::StrAppend(&code_, args...);
  }
  bool Chance(int of) { return random_() % of == 0; }
  template <class T>
  const T& Any(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }

  std::string Int(int depth) {
    if (depth == 0 || Chance(4)) {
      switch (random_() % 6) {
        case 0:
          return "int(blockIdx.x)";
        case 1:
        case 2:
          return absl::StrCat(random_() % 7);
        case 3:
          return wild_ && Chance(4) ? "2147483647" : "3";
        default:
          return Any(ints_);
      }
    }
    const std::string a = Int(depth - 1), b = Int(depth - 1);
    switch (random_() % 10) {
      case 0:
      case 1:
        return absl::StrCat("(", a, " + ", b, ")");
      case 2:
        return absl::StrCat("(", a, " - ", b, ")");
      case 3:
        return absl::StrCat("(", a, " * ", b, ")");
      case 4:
        return absl::StrCat("(", a, " / ", wild_ && Chance(6) ? b : Any(Divisors()), ")");
      case 5:
        return absl::StrCat("(", a, " % ", Any(Divisors()), ")");
      case 6:
        return absl::StrCat("(", Truth(depth - 1), " ? ", a, " : ", b, ")");
      case 7:
        // An index must not read an array.
        if (indexing_) return a;
        return absl::StrCat("t[", Index(), " % 4]");
      case 8:
        return wild_ ? absl::StrCat("int(unsigned(", a, ") * unsigned(", b, "))")
                     : absl::StrCat("int(int64(", a, ") + int64(", b, "))");
      default:
        return absl::StrCat("(-", a, ")");
    }
  }
  static const std::vector<std::string>& Divisors() {
    static const std::vector<std::string> divisors = {"2", "3", "7", "5", "64"};
    return divisors;
  }
  // Between 0 and 4.
  std::string Small(int depth) { return absl::StrCat("((", Int(depth), " % 5 + 5) % 5)"); }
  std::string Index() {
    const bool before = std::exchange(indexing_, true);
    const std::string index = wild_ && Chance(8) ? Int(1) : Small(1);
    indexing_ = before;
    return index;
  }
  std::string Truth(int depth) {
    const std::string a = Int(depth), b = Int(depth > 0 ? depth - 1 : 0);
    switch (random_() % 9) {
      case 0:
        return absl::StrCat("(", a, " < ", b, ")");
      case 1:
        return absl::StrCat("(", a, " <= ", b, ")");
      case 2:
        return absl::StrCat("(", a, " >= ", b, ")");
      case 3:
        return absl::StrCat("(", a, " > ", b, ")");
      case 4:
        return absl::StrCat("(", a, " == ", b, ")");
      case 5:
        return absl::StrCat("(unsigned(", wild_ ? a : Small(0), ") < ", b, " * ", b, ")");
      case 6:
        return depth > 0 ? absl::StrCat("(", Truth(depth - 1), " && ", Truth(depth - 1), ")")
                         : "(item < 9)";
      case 7:
        return depth > 0 ? absl::StrCat("(", Truth(depth - 1), " || ", Truth(depth - 1), ")")
                         : "(c0 < 2)";
      default:
        return absl::StrCat("!(", a, " < ", b, ")");
    }
  }
  std::string Float(int depth) {
    switch (random_() % (depth == 0 ? 5 : 8)) {
      case 0:
        return "2.0f";
      case 1:
        return "f";
      case 2:
        return absl::StrCat(
            "s[", Chance(2) ? absl::StrCat(random_() % 3) : absl::StrCat("(", Index(), " % 3)"),
            "]");
      case 3:
        return absl::StrCat("Load<float>(p1[", Index(), "])");
      case 4:
        return shared_ ? absl::StrCat("sh[", Chance(3) ? Index() : "item", "]")
                       : "Load<float>(p1[place])";
      case 5:
        return absl::StrCat("fn_mul(", Float(depth - 1), ", ", Float(depth - 1), ")");
      default:
        return absl::StrCat("fn_add(", Float(depth - 1), ", ", Float(depth - 1), ")");
    }
  }

  // `together`: whether all threads run (as far as the text shows).
  void Statements(int count, int depth, bool together) {
    const size_t ints = ints_.size(), assignable = assignable_.size();
    for (int i = 0; i < count; ++i) OneStatement(depth, together);
    ints_.resize(ints);
    assignable_.resize(assignable);
  }

  void OneStatement(int depth, bool together) {
    switch (random_() % (depth > 0 ? 16 : 9)) {
      case 0:
      case 1:
      case 2:
        Add(Any(assignable_), " = ", wild_ ? Int(2) : Small(2), ";\n");
        return;
      case 3: {
        const std::string name = absl::StrCat("n", names_++);
        const bool constant = Chance(2);
        Add(constant ? "const int " : "int ", name, " = ", Small(1), ";\n");
        ints_.push_back(name);
        if (!constant) assignable_.push_back(name);
        return;
      }
      case 4: {
        const std::string& v = Any(assignable_);
        if (Chance(3)) {
          Add(v, " ^= 1;\n");
        } else {
          Add(v, " += ", Small(0), ";\n");
        }
        return;
      }
      case 5:
        Add("t[", Index(), " % 4] = ", Small(1), ";\n");
        return;
      case 6: {
        const std::string cell = Chance(3)   ? std::string("f")
                                 : Chance(2) ? absl::StrCat("s[", random_() % 3, "]")
                                             : absl::StrCat("s[(", Index(), " % 3)]");
        Add(cell, " = fn_add(", cell, ", fn_mul(", Float(1), ", ", Float(1), "));\n");
        return;
      }
      case 7:
        if (shared_ && together && Chance(2)) {
          if (!wild_ || Chance(2)) Add("__syncthreads();\n");
          Add("sh[", wild_ && Chance(2) ? "63 - item" : "item", "] = ", Float(1), ";\n");
          if (!wild_ || Chance(2)) Add("__syncthreads();\n");
          return;
        }
        Add(Chance(2) ? "u0 = unsigned(" : "w0 = int64(", Small(1), ");\n");
        return;
      case 8:
        Add("f = ", Float(2), ";\n");
        return;
      case 9:
      case 10:
        Add("if (", Truth(1), ") {\n");
        Statements(2, depth - 1, wild_ && Chance(3) ? together : false);
        if (Chance(2)) {
          Add("} else {\n");
          Statements(2, depth - 1, false);
        }
        Add("}\n");
        return;
      case 11:
        if (loops_ > 0 && Chance(2)) {
          Add("if (", Truth(1), ") break;\n");
          return;
        }
        if (Chance(20)) Add("if (", Truth(1), ") return;\n");
        return;
      default: {
        const std::string name = absl::StrCat("l", names_++);
        const bool open = Chance(2);
        const std::string end = Chance(2) ? absl::StrCat(1 + random_() % 3) : Small(1);
        Add("for (int ", name, " = ", Chance(3) ? Small(0) : "0", "; ",
            open ? "" : absl::StrCat(name, " < ", end), "; ++", name, ") {\n");
        ints_.push_back(name);
        ++loops_;
        if (open) Add("if (", name, " >= ", end, ") break;\n");
        Statements(3, depth - 1, together);
        --loops_;
        ints_.pop_back();
        Add("}\n");
        return;
      }
    }
  }

  std::mt19937_64 random_;
  std::string code_;
  bool wild_ = false, shared_ = false, indexing_ = false;
  std::vector<std::string> ints_, assignable_;
  int names_ = 0, loops_ = 0;
};

TEST(RandomKernels, AgreeWithASlowExecution) {
  std::map<std::string, int> counts;
  int uniform = 0;
  for (int seed = 0; seed < WholeOr(20000, 1000); ++seed) {
    codegen::GridKernel grid;
    grid.name = "k";
    grid.threads = kThreads;
    grid.reads = {0, 1};
    grid.writes = {2, 3};
    grid.code = RandomKernel(seed).Write();
    const std::vector<SlotInfo> infos = {{DType::kI64, kItems},
                                         {DType::kF32, kItems},
                                         {DType::kI64, kItems * kResults},
                                         {DType::kF32, kItems * kResults}};
    std::vector<PrintedKernel> parsed;
    auto one = ParseKernel(grid, infos);
    if (!one.ok()) {
      ++counts["refused text"];
      continue;
    }
    parsed.push_back(std::move(*one));
    FindUniform(&parsed[0]);
    for (const Variable& v : parsed[0].variables) uniform += v.uniform ? 1 : 0;
    std::vector<SlotMemory> slots(4);
    std::mt19937_64 random(seed);
    for (int s = 0; s < 4; ++s) {
      slots[s].dtype = infos[s].dtype;
      slots[s].integers = infos[s].dtype == DType::kI64;
      slots[s].values.assign(infos[s].elements, -1);
      slots[s].read_by_kernel = s < 2;
      slots[s].written_by_kernel = s >= 2;
      if (s >= 2) slots[s].written.assign(infos[s].elements, false);
      for (int64_t& x : slots[s].values) {
        if (s < 2) x = static_cast<int64_t>(random() % (s == 0 ? 5 : Field::kPrime));
      }
    }
    SlowMachine slow(parsed[0], {slots[0].values, slots[1].values});
    const std::string fault = slow.Run(20000000);
    if (slow.out_of_steps()) {
      ++counts["too many steps"];
      continue;
    }
    int64_t work = int64_t{1} << 40;
    const absl::Status status = RunKernel(absl::MakeSpan(parsed), kBlocks, absl::MakeSpan(slots),
                                          std::nullopt, &work, nullptr);
    ASSERT_EQ(status.ok(), fault.empty()) << seed << ": " << status << "; " << fault << "\n"
                                          << grid.code;
    ++counts[fault.empty() ? "no fault" : fault];
    if (!fault.empty()) continue;
    for (int s = 2; s < 4; ++s) {
      for (int64_t i = 0; i < slots[s].size(); ++i) {
        ASSERT_EQ(slots[s].values[i], slow.slot(s)[i])
            << seed << ": slot " << s << ", element " << i << "\n"
            << grid.code;
      }
    }
  }
  EXPECT_GT(uniform, 1000);
  for (const char* what : {"no fault", "overflow", "race", "no value", "barrier", "index"}) {
    EXPECT_GT(counts[what], 0) << what;
  }
}

}  // namespace
}  // namespace lemma::kernels
